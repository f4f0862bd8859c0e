// The card renderer: card JSON (schema 2.0, and 1.0 in its basic parts) to DOM, live.
//
//   const view = createCard(card, host); page.append(view.element); … view.update(newCard); … view.remove();
//
// `host`: language ("zh" | "en"), phone (boolean), people(id) → name, mediaAddress(key) → address, act(action) → promise,
// notice(text, type). An update keeps what the reader did (opened panels, typed text) and redraws only components that changed.
import { h, placeChildren } from "./dom.js";
import { color, TEMPLATES } from "./colors.js";
import { drawIcon, drawText, drawUpgrade, localText, space } from "./card_text.js";
import { drawElement } from "./elements.js";
import { textTag } from "./inline.js";
import { readForm } from "./inputs.js";
import { createTypewriter } from "./typewriter.js";

/** What the chat list shows for a card: its summary, else "generating" while it streams, else its title or first words. */
export function cardSummary(card, language) {
  const context = { language };
  const summary = localText(card?.config?.summary, context);
  if (summary) return summary;
  if (card?.config?.streaming_mode) return language === "en" ? "Generating…" : "生成中…";
  const title = localText(card?.header?.title, context);
  if (title) return title;
  const first = (bodyOf(card, language) ?? []).find((element) => element.content || element.text);
  return first
    ? localText(first.content ? first : first.text, context).slice(0, 60)
    : language === "en"
      ? "[Card]"
      : "[卡片]";
}

function bodyOf(card, language) {
  if (schemaOf(card) === 2) return card.body?.elements;
  return (
    card?.i18n_elements?.[language === "en" ? "en_us" : "zh_cn"] ??
    Object.values(card?.i18n_elements ?? {})[0] ??
    card?.elements
  );
}

function schemaOf(card) {
  return String(card?.schema ?? "1.0") === "2.0" ? 2 : 1;
}

export function createCard(first, host) {
  const element = h("article", { class: "card" });
  const opened = new Map();
  let card = null;
  let drawn = [];
  let head = null;
  let box = null;
  const typewriter = createTypewriter((id) => redrawTyped(id));

  const context = {
    get language() {
      return host.language;
    },
    get phone() {
      return host.phone;
    },
    get schema() {
      return schemaOf(card);
    },
    get colors() {
      return card?.config?.style?.color ?? {};
    },
    get sizes() {
      return card?.config?.style?.text_size ?? {};
    },
    people: (id) => host.people?.(id),
    mediaAddress: (key) => host.mediaAddress?.(key),
    notice: (text, type) => host.notice?.(text, type),
    act: (action) => host.act?.(action),
    readForm,
    inForm: (inside) => inside === "form" || (context.formDepth ?? 0) > 0,
    typed: (part) => typewriter.shown(part, localText(part, context)),
    isTyping: (part) => typewriter.isTyping(part),
    panelOpen: (part) => opened.get(part.element_id ?? localText(part.header?.title, context)),
    rememberPanel: (part, open) => opened.set(part.element_id ?? localText(part.header?.title, context), open),
  };

  function redrawTyped(id) {
    const entry = drawn.find((each) => JSON.stringify(each.part).includes(`"element_id":"${id}"`));
    if (entry) redraw(entry);
  }

  function keyOf(part) {
    return JSON.stringify(part) + typewriter.progress(part);
  }

  function redraw(entry) {
    const fresh = drawPart(entry.part);
    entry.node.replaceWith(fresh);
    entry.node = fresh;
    entry.key = keyOf(entry.part);
  }

  function drawPart(part) {
    context.formDepth = part?.tag === "form" ? 1 : 0;
    const node = drawElement(part, context);
    context.formDepth = 0;
    return node;
  }

  function drawBody(elements) {
    const next = elements.map((part) => {
      const key = keyOf(part);
      const kept = drawn.find((entry) => entry.key === key && !entry.taken);
      if (kept) {
        kept.taken = true;
        return { ...kept, taken: false };
      }
      return { key, part, node: drawPart(part) };
    });
    drawn = next;
    return next.map((entry) => entry.node);
  }

  /** The body's box, made anew only when its own layout changed; its components are placed by `update`. */
  function bodyBox() {
    const { elements, ...layout } = card.body ?? {};
    const key = JSON.stringify([layout, context.schema]);
    if (box?.key === key) return box;
    const flow = h("div", { class: layout.direction === "horizontal" ? "card-flow across" : "card-flow" });
    flow.style.rowGap = space(layout.vertical_spacing, context.schema === 2 ? "8px" : "12px");
    flow.style.columnGap = space(layout.horizontal_spacing, "8px");
    const node = h("div", { class: "card-body" }, flow);
    node.style.padding = space(layout.padding, "12px");
    box = { key, node, flow };
    return box;
  }

  function headBox() {
    const key = JSON.stringify([card.header, card.config?.style, context.schema]);
    if (head?.key !== key) head = { key, node: drawHeader(card.header, context) };
    return head.node;
  }

  function update(next) {
    card = next && typeof next === "object" ? next : {};
    const width = card.config?.width_mode;
    element.className = `card schema-${context.schema} width-${["fill", "compact"].includes(width) ? width : "default"}`;
    element.classList.toggle("streaming", card.config?.streaming_mode === true);
    const parts = bodyOf(card, host.language) ?? [];
    const known = Array.isArray(parts);
    typewriter.follow(card.config ?? {}, known ? parts : [], (part) => localText(part, context));
    if (known) placeChildren(bodyBox().flow, drawBody(parts));
    placeChildren(element, [headBox(), known ? bodyBox().node : drawUpgrade(context, "body")].filter(Boolean));
  }

  /** Draw everything again, for a new language or width. */
  function refresh(next = card) {
    drawn = [];
    head = box = null;
    update(next);
  }

  update(first);
  return { element, update, refresh, remove: () => typewriter.stop() };
}

function drawHeader(header, context) {
  if (!header || !(header.title || header.subtitle)) return null;
  const hue = TEMPLATES.includes(header.template) ? header.template : "default";
  const locale = context.language === "en" ? "en_us" : "zh_cn";
  const tags = (header.i18n_text_tag_list?.[locale] ?? header.text_tag_list ?? []).slice(0, 3);
  const old = header.ud_icon ? { token: header.ud_icon.token, color: header.ud_icon.style?.color } : null;
  const picture = header.icon?.tag
    ? header.icon
    : (old ?? (header.icon?.img_key ? { tag: "custom_icon", img_key: header.icon.img_key } : null));
  const titles = h(
    "div",
    { class: "card-titles" },
    h(
      "div",
      { class: "card-title-line" },
      header.title ? drawText(header.title, context, "card-title") : null,
      tags.map((tag) => textTag([localText(tag.text, context)], tag.color)),
    ),
    header.subtitle && localText(header.subtitle, context) ? drawText(header.subtitle, context, "card-subtitle") : null,
  );
  const node = h(
    "header",
    { class: `card-header template-${hue}` },
    picture ? drawIcon(picture, context, 20) : null,
    titles,
  );
  if (hue !== "default") {
    node.style.background = color(`${hue}-100`);
    node.style.color = color(`${hue}-800`);
  }
  if (header.padding) node.style.padding = space(header.padding, "");
  return node;
}
