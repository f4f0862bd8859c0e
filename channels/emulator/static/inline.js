// Inline Markdown as Feishu cards understand it: CommonMark's own delimiter rules, so that a `**` which Feishu leaves raw stays raw here.
//
// Flavours: "card2" (markdown element, schema 2.0), "card1" (markdown element, schema 1.0), "lark_md" (text objects).
import { h, link, webAddress } from "./dom.js";
import { color, TAG_COLORS } from "./colors.js";
import { emoji, knowsEmoji } from "./emoji.js";
import { libraryIcon } from "./icons.js";

const ENTITIES = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  ensp: "\u2002",
  emsp: "\u2003",
  sim: "∼",
  copy: "©",
  reg: "®",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  middot: "·",
  bull: "•",
  times: "×",
  rarr: "→",
  larr: "←",
  le: "≤",
  ge: "≥",
  ne: "≠",
  yen: "¥",
  deg: "°",
};

const PAIRED = {
  card2: ["person", "local_datetime", "at", "a", "text_tag", "raw", "link", "font", "number_tag"],
  card1: ["person", "at", "a", "text_tag", "link", "font"],
  lark_md: ["at", "a", "text_tag", "font"],
};

const PUNCTUATION = /[\p{P}\p{S}]/u;

export function decodeEntities(text) {
  return text.replace(/&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{2,10});/g, (whole, name) => {
    if (name[0] !== "#") return ENTITIES[name] ?? whole;
    const code = /^#[xX]/.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
  });
}

function readAttributes(source) {
  const attributes = {};
  for (const [, name, double, single, bare] of source.matchAll(/([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g))
    attributes[name] = double ?? single ?? bare;
  return attributes;
}

/** Parse one run of text into nodes for `drawInline`. `references` maps lower-case labels to addresses. */
export function parseInline(source, flavour, references = new Map()) {
  const items = [];
  const brackets = [];
  let plain = "";
  const flush = () => {
    if (plain) items.push({ type: "text", text: plain });
    plain = "";
  };
  const push = (node) => {
    flush();
    items.push(node);
  };
  let at = 0;
  while (at < source.length) {
    const rest = source.slice(at);
    const taken =
      takeEscape(rest) ??
      takeBreak(rest) ??
      takeCode(rest, flavour) ??
      takeTag(rest, flavour, references) ??
      takeEmoji(rest) ??
      takeEntity(rest);
    if (taken) {
      if (typeof taken.node === "string") plain += taken.node;
      else push(taken.node);
      at += taken.length;
    } else if ("*_~".includes(source[at])) {
      const run = /^(\*+|_+|~+)/.exec(rest)[0];
      push(delimiter(run, source[at - 1], source[at + run.length]));
      at += run.length;
    } else if (source[at] === "[" || (source[at] === "!" && source[at + 1] === "[" && flavour !== "lark_md")) {
      const image = source[at] === "!";
      push({ type: "text", text: image ? "![" : "[" });
      brackets.push({ item: items.length - 1, image, from: at + (image ? 2 : 1) });
      at += image ? 2 : 1;
    } else if (source[at] === "]") {
      flush();
      const used = closeBracket(source, at, items, brackets, references);
      if (!used) plain += "]";
      at += used || 1;
    } else {
      plain += source[at];
      at += 1;
    }
  }
  flush();
  return pairDelimiters(items);
}

function takeEscape(rest) {
  return /^\\[!-/:-@[-`{-~]/.test(rest) ? { node: rest[1], length: 2 } : null;
}

function takeEntity(rest) {
  const found = rest[0] === "&" ? /^&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{2,10});/.exec(rest) : null;
  return found ? { node: decodeEntities(found[0]), length: found[0].length } : null;
}

function takeBreak(rest) {
  const found = /^(?: *\\?\n|<br\s*\/?>\n?)/i.exec(rest);
  return found ? { node: { type: "break" }, length: found[0].length } : null;
}

function takeCode(rest, flavour) {
  if (rest[0] !== "`") return null;
  const ticks = /^`+/.exec(rest)[0];
  if (flavour !== "card2") return { node: ticks, length: ticks.length };
  const close = new RegExp(`(?<!\`)${ticks}(?!\`)`).exec(rest.slice(ticks.length));
  if (!close) return { node: ticks, length: ticks.length };
  let text = rest.slice(ticks.length, ticks.length + close.index).replace(/\n/g, " ");
  if (/^ .* $/.test(text) && text.trim()) text = text.slice(1, -1);
  return { node: { type: "code", text }, length: ticks.length * 2 + close.index };
}

function takeEmoji(rest) {
  const found = rest[0] === ":" ? /^:([A-Za-z0-9_]{2,30}):/.exec(rest) : null;
  return found && knowsEmoji(found[1]) ? { node: { type: "emoji", name: found[1] }, length: found[0].length } : null;
}

function takeTag(rest, flavour, references) {
  if (rest[0] !== "<") return null;
  const auto = /^<(https?:\/\/[^\s<>]+)>/i.exec(rest);
  if (auto && flavour === "card2")
    return {
      node: { type: "link", href: auto[1], children: [{ type: "text", text: auto[1] }] },
      length: auto[0].length,
    };
  const open = /^<([a-z_]+)((?:\s+[^<>]*)?)>/.exec(rest);
  if (!open || !PAIRED[flavour].includes(open[1])) return null;
  const end = matchingClose(rest, open[1], open[0].length);
  if (end === null) return null;
  const inner = rest.slice(open[0].length, end);
  const children = open[1] === "raw" ? [{ type: "text", text: inner }] : parseInline(inner, flavour, references);
  return {
    node: { type: "tag", name: open[1], attributes: readAttributes(open[2]), inner, children },
    length: end + open[1].length + 3,
  };
}

/** Offset of the `</name>` that closes an open tag, counting nested ones; null when there is none. */
function matchingClose(text, name, from) {
  const finder = new RegExp(`<(/?)${name}(?:\\s[^<>]*)?>`, "g");
  finder.lastIndex = from;
  let depth = 1;
  for (let found = finder.exec(text); found; found = finder.exec(text)) {
    depth += found[1] ? -1 : 1;
    if (depth === 0) return found.index;
  }
  return null;
}

function delimiter(run, before = " ", after = " ") {
  const spaceBefore = /\s/.test(before),
    spaceAfter = /\s/.test(after);
  const markBefore = PUNCTUATION.test(before),
    markAfter = PUNCTUATION.test(after);
  const left = !spaceAfter && (!markAfter || spaceBefore || markBefore);
  const right = !spaceBefore && (!markBefore || spaceAfter || markAfter);
  const under = run[0] === "_";
  return {
    type: "delimiter",
    mark: run[0],
    count: run.length,
    size: run.length,
    opens: under ? left && (!right || markBefore) : left,
    closes: under ? right && (!left || markAfter) : right,
  };
}

/** Turn `[text](address)` that ends here into a link or image; returns how many characters were used from the `]`, or 0. */
function closeBracket(source, at, items, brackets, references) {
  const opener = brackets.pop();
  if (!opener || opener.dead) return 0;
  const tail = /^\]\(\s*(?:<([^<>\n]*)>|((?:[^\s()]|\([^\s()]*\))*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(
    source.slice(at),
  );
  const label = /^\]\[([^\]]*)\]/.exec(source.slice(at));
  const text = source.slice(opener.from, at);
  let href = tail ? (tail[1] ?? tail[2]) : undefined;
  let used = tail ? tail[0].length : 0;
  if (!tail) {
    href = references.get((label?.[1] || text).trim().toLowerCase());
    used = label ? label[0].length : 1;
  }
  if (href === undefined) return 0;
  const children = pairDelimiters(items.splice(opener.item + 1));
  items.pop();
  items.push(opener.image ? { type: "image", key: href, alt: text } : { type: "link", href, children });
  if (!opener.image) for (const earlier of brackets) earlier.dead = earlier.dead || !earlier.image;
  return used;
}

/** CommonMark's "process emphasis" on a flat list; what finds no partner becomes plain text. */
function pairDelimiters(items) {
  for (let close = 0; close < items.length; close += 1) {
    const closer = items[close];
    if (closer.type !== "delimiter" || !closer.closes) continue;
    const open = findOpener(items, close, closer);
    if (open < 0) continue;
    const opener = items[open];
    const width = closer.mark === "~" ? closer.count : Math.min(2, opener.count, closer.count);
    const children = items.slice(open + 1, close).map(asText);
    const node = { type: closer.mark === "~" ? "strike" : width === 2 ? "strong" : "emphasis", children };
    opener.count -= width;
    closer.count -= width;
    const kept = [opener.count ? [opener] : [], [node], closer.count ? [closer] : []].flat();
    items.splice(open, close - open + 1, ...kept);
    close = open + (opener.count ? 1 : 0);
  }
  return items.map(asText);
}

function findOpener(items, close, closer) {
  for (let open = close - 1; open >= 0; open -= 1) {
    const opener = items[open];
    if (opener.type !== "delimiter" || opener.mark !== closer.mark || !opener.opens) continue;
    if (closer.mark === "~" && (opener.count !== closer.count || closer.count > 2)) continue;
    const both = opener.closes || closer.opens;
    if (both && (opener.size + closer.size) % 3 === 0 && (opener.size % 3 !== 0 || closer.size % 3 !== 0)) continue;
    return open;
  }
  return -1;
}

function asText(item) {
  return item.type === "delimiter" ? { type: "text", text: item.mark.repeat(item.count) } : item;
}

/** DOM nodes for parsed inline nodes. `context`: people (id → name), mediaAddress(key), colors (config.style.color), language. */
export function drawInline(nodes, context) {
  return nodes.map((node) => drawNode(node, context));
}

function drawNode(node, context) {
  switch (node.type) {
    case "text":
      return document.createTextNode(node.text);
    case "break":
      return h("br");
    case "code":
      return h("code", { class: "md-code", text: node.text });
    case "emoji":
      return emoji(node.name, 20);
    case "strong":
      return h("strong", {}, drawInline(node.children, context));
    case "emphasis":
      return h("em", {}, drawInline(node.children, context));
    case "strike":
      return h("s", {}, drawInline(node.children, context));
    case "image":
      return drawImage(node.key, decodeEntities(node.alt), context);
    case "link":
      return drawLink(node.href, drawInline(node.children, context));
    default:
      return drawTag(node, context);
  }
}

function drawLink(href, children) {
  const address = webAddress(decodeEntities(href));
  return address ? link(address, ...children) : h("span", {}, ...children);
}

/** Feishu takes image keys only; anything else (a web address above all) is shown as the broken picture people would see. */
export function drawImage(key, alt, context) {
  const address = /^img_[\w-]+$/.test(key) ? context.mediaAddress?.(key) : null;
  if (!address) return h("span", { class: "md-image-broken", title: key, text: alt || "image" });
  return h("img", { class: "md-image", src: address, alt, title: alt, loading: "lazy" });
}

function drawTag({ name, attributes, inner, children }, context) {
  switch (name) {
    case "font":
      return h(
        "span",
        { style: { color: color(attributes.color, context.colors) ?? "" } },
        drawInline(children, context),
      );
    case "at":
      return drawMention(attributes, context);
    case "a":
      return drawLink(attributes.href ?? inner, inner.trim() ? drawInline(children, context) : [attributes.href ?? ""]);
    case "link":
      return drawLink(
        attributes.pc_url || attributes.url || "",
        [attributes.icon ? libraryIcon(attributes.icon, 15) : null, ...drawInline(children, context)].filter(Boolean),
      );
    case "text_tag":
      return textTag(drawInline(children, context), attributes.color);
    case "number_tag":
      return h("span", {
        class: "number-tag",
        text: inner.trim(),
        style: {
          background: color(attributes.background_color, context.colors) ?? "",
          color: color(attributes.font_color, context.colors) ?? "",
        },
      });
    case "person":
      return h("span", {
        class: "person-tag",
        text: context.people?.(attributes.id) ?? (context.language === "en" ? "Unknown user" : "未知用户"),
      });
    case "local_datetime":
      return h("time", { text: drawTime(attributes, context.language) });
    default:
      return document.createTextNode(inner);
  }
}

function drawMention(attributes, context) {
  const ids = (attributes.ids ?? attributes.id ?? attributes.email ?? attributes.user_id ?? "").split(",");
  const names = ids.map((id) =>
    id === "all" ? (context.language === "en" ? "All" : "所有人") : (context.people?.(id) ?? id),
  );
  return h("span", { class: "mention", text: names.map((name) => `@${name}`).join(" ") });
}

export function textTag(children, name) {
  const hue = TAG_COLORS.includes(name) ? name : "neutral";
  return h(
    "span",
    {
      class: "text-tag",
      style: { background: color(`${hue}-100`), color: color(hue === "neutral" ? "grey-600" : `${hue}-700`) },
    },
    children,
  );
}

function drawTime({ millisecond, format_type: kind = "date_num" }, language) {
  const moment = millisecond ? new Date(Number(millisecond)) : new Date();
  if (Number.isNaN(moment.valueOf())) return "";
  const pad = (number) => String(number).padStart(2, "0");
  const clock = `${pad(moment.getHours())}:${pad(moment.getMinutes())}`;
  const shapes = {
    date: { year: "numeric", month: language === "en" ? "short" : "long", day: "numeric" },
    date_short: { month: language === "en" ? "short" : "long", day: "numeric" },
    week: { weekday: "long" },
    week_short: { weekday: "short" },
  };
  if (kind === "time") return clock;
  if (kind === "time_sec") return `${clock}:${pad(moment.getSeconds())}`;
  if (shapes[kind]) return moment.toLocaleDateString(language === "en" ? "en-US" : "zh-CN", shapes[kind]);
  return `${moment.getFullYear()}-${pad(moment.getMonth() + 1)}-${pad(moment.getDate())}`;
}
