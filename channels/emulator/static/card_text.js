// What every component of a card shares: texts in the reader's language, sizes, spaces, icons, the "please upgrade" box.
import { h } from "./dom.js";
import { color } from "./colors.js";
import { icon, libraryIcon } from "./icons.js";
import { drawImage } from "./inline.js";
import { drawMarkdown } from "./markdown.js";

const TEXT_SIZES = {
  "heading-0": 30,
  "heading-1": 24,
  "heading-2": 20,
  "heading-3": 18,
  "heading-4": 16,
  heading: 16,
  normal: 14,
  notation: 12,
  "xxxx-large": 30,
  "xxx-large": 24,
  "xx-large": 20,
  "x-large": 18,
  large: 16,
  medium: 14,
  small: 12,
  "x-small": 10,
  normal_v2: 14,
};

const SPACES = { small: "4px", medium: "8px", large: "12px", extra_large: "16px", default: "8px" };

/** The text of a text object in the reader's language (`i18n_content` before `content`). */
export function localText(object, context) {
  if (typeof object === "string") return object;
  const locale = context.language === "en" ? "en_us" : "zh_cn";
  return object?.i18n_content?.[locale] || object?.i18n?.[locale] || object?.content || "";
}

export function space(value, fallback) {
  if (typeof value !== "string") return fallback;
  return SPACES[value] ?? (/^(-?\d+(px)?\s*){1,4}$/.test(value) ? value.replace(/(\d)(?!\d|px)/g, "$1px") : fallback);
}

export function textSize(name, context) {
  const custom = context.sizes?.[name];
  const chosen = custom ? ((context.phone ? custom.mobile : custom.pc) ?? custom.default) : name;
  return `${TEXT_SIZES[chosen] ?? 14}px`;
}

/** Draw a text object: plain_text as it is, lark_md with inline marks, markdown in full (only where a title allows it). */
export function drawText(object, context, className = "card-text") {
  const text = localText(object, context);
  const flavour = { lark_md: "lark_md", markdown: context.schema === 2 ? "card2" : "card1" }[object?.tag];
  const node = h(
    "div",
    { class: className },
    flavour ? drawMarkdown(text, flavour, context) : document.createTextNode(text),
  );
  node.style.fontSize = object?.text_size ? textSize(object.text_size, context) : "";
  node.style.textAlign = object?.text_align ?? "";
  if (!flavour) node.style.color = color(object?.text_color, context.colors) ?? "";
  if (object?.lines > 0)
    Object.assign(node.style, {
      display: "-webkit-box",
      webkitLineClamp: String(object.lines),
      webkitBoxOrient: "vertical",
      overflow: "hidden",
    });
  return node;
}

export function drawIcon(object, context, size = 16) {
  if (!object) return null;
  if (object.tag === "custom_icon") return drawImage(object.img_key ?? "", "", context);
  const drawn = libraryIcon(object.token ?? "", parseInt(object.size, 10) || size);
  drawn.style.color = color(object.color, context.colors) ?? "";
  return drawn;
}

export function drawUpgrade(context, tag) {
  const words =
    context.language === "en"
      ? "Please upgrade to the latest version of the client to view this content"
      : "请升级至最新版本客户端，以查看内容";
  return h(
    "div",
    { class: "card-upgrade", dataset: { tag: String(tag) } },
    icon("info", 16),
    h("span", { text: words }),
  );
}
