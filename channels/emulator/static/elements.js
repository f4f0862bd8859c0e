// The body components of a card, one drawing function each. A component in a place where Feishu refuses it, or one that it does not
// know, becomes the "please upgrade" box, so that a wrong card looks wrong here too.
import { h } from "./dom.js";
import { color } from "./colors.js";
import { libraryIcon, icon } from "./icons.js";
import { drawImage, textTag } from "./inline.js";
import { drawMarkdown, drawPagedTable } from "./markdown.js";
import { drawInput, drawForm, drawSelect, drawPicker, drawChecker, drawOverflow } from "./inputs.js";
import { drawButton } from "./button.js";

const TEXT_SIZES = {
  "heading-0": 30, "heading-1": 24, "heading-2": 20, "heading-3": 18, "heading-4": 16, heading: 16, normal: 14, notation: 12, "xxxx-large": 30,
  "xxx-large": 24, "xx-large": 20, "x-large": 18, large: 16, medium: 14, small: 12, "x-small": 10, normal_v2: 14,
};
const SPACES = { small: "4px", medium: "8px", large: "12px", extra_large: "16px", default: "8px" };
const ALIGN = { left: "flex-start", center: "center", right: "flex-end", top: "flex-start", bottom: "flex-end" };

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
  const chosen = custom ? (context.phone ? custom.mobile : custom.pc) ?? custom.default : name;
  return `${TEXT_SIZES[chosen] ?? 14}px`;
}

/** Draw a text object: plain_text as it is, lark_md with inline marks, markdown in full (only where a title allows it). */
export function drawText(object, context, className = "card-text") {
  const text = localText(object, context);
  const flavour = { lark_md: "lark_md", markdown: context.schema === 2 ? "card2" : "card1" }[object?.tag];
  const node = h("div", { class: className }, flavour ? drawMarkdown(text, flavour, context) : document.createTextNode(text));
  node.style.fontSize = object?.text_size ? textSize(object.text_size, context) : "";
  node.style.textAlign = object?.text_align ?? "";
  if (!flavour) node.style.color = color(object?.text_color, context.colors) ?? "";
  if (object?.lines > 0) Object.assign(node.style, { display: "-webkit-box", webkitLineClamp: String(object.lines), webkitBoxOrient: "vertical", overflow: "hidden" });
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
  const words = context.language === "en" ? "Please upgrade to the latest version of the client to view this content" : "请升级至最新版本客户端，以查看内容";
  return h("div", { class: "card-upgrade", dataset: { tag: String(tag) } }, icon("info", 16), h("span", { text: words }));
}

/** Draw one component. `inside` names the container it stands in ("" for the card itself). */
export function drawElement(element, context, inside = "") {
  const draw = context.schema === 2 ? SCHEMA_2[element?.tag] : (SCHEMA_1[element?.tag] ?? SCHEMA_2[element?.tag]);
  const misplaced = inside && ["table", "form"].includes(element?.tag) && context.schema === 2;
  const node = draw && !misplaced ? draw(element, context, inside) : drawUpgrade(context, element?.tag);
  node.classList.add("card-element");
  if (element?.element_id) node.dataset.elementId = element.element_id;
  const margin = space(element?.margin, null);
  if (margin) node.style.margin = margin;
  return node;
}

/** Lay children out as every container does: direction, spacing, alignment, padding. */
export function drawChildren(elements, context, container, inside, defaults = { vertical: "8px", horizontal: "8px" }) {
  const across = container.direction === "horizontal";
  const box = h("div", { class: across ? "card-flow across" : "card-flow" }, (elements ?? []).map((element) => drawElement(element, context, inside)));
  box.style.rowGap = space(container.vertical_spacing, defaults.vertical);
  box.style.columnGap = space(container.horizontal_spacing, defaults.horizontal);
  box.style[across ? "justifyContent" : "alignItems"] = ALIGN[container.horizontal_align] ?? "";
  box.style[across ? "alignItems" : "justifyContent"] = ALIGN[container.vertical_align] ?? "";
  return box;
}

function drawMarkdownElement(element, context) {
  const typed = context.typed?.(element) ?? localText(element, context);
  const text = drawMarkdown(typed, context.schema === 2 ? "card2" : "card1", context);
  const node = h("div", { class: "card-markdown" }, drawIcon(element.icon, context), text);
  node.style.fontSize = element.text_size ? textSize(element.text_size, context) : "";
  node.style.textAlign = element.text_align ?? "";
  if (context.isTyping?.(element)) node.classList.add("typing");
  return node;
}

function drawDiv(element, context) {
  const fields = (element.fields ?? []).map((field) => h("div", { class: field.is_short ? "card-field short" : "card-field" }, drawText(field.text, context)));
  const node = h("div", { class: "card-div" }, drawIcon(element.icon, context), element.text ? drawText(element.text, context) : null, fields.length ? h("div", { class: "card-fields" }, fields) : null, element.extra ? drawElement(element.extra, context, "extra") : null);
  if (/^\d+px$/.test(element.width ?? "")) node.style.width = element.width;
  return node;
}

function drawPicture(element, context) {
  const key = element.i18n_img_key?.[context.language === "en" ? "en_us" : "zh_cn"] ?? element.img_key ?? "";
  const node = h("figure", { class: "card-img" }, drawImage(key, localText(element.alt, context), context), element.title ? drawText(element.title, context) : null);
  node.firstChild.style.borderRadius = /^\d+(px|%)$/.test(element.corner_radius ?? "") ? element.corner_radius : "";
  return node;
}

function drawPictures(element, context) {
  return h("div", { class: "card-imgs" }, (element.img_list ?? []).map((item) => drawImage(item.img_key ?? "", "", context)));
}

function drawTable(element, context) {
  const columns = (element.columns ?? []).slice(0, 50);
  const style = element.header_style ?? {};
  const aligns = columns.map((column) => column.horizontal_align ?? (column.data_type === "number" ? "right" : "left"));
  const heads = columns.map((column) => [document.createTextNode(localText({ content: column.display_name, i18n_content: column.i18n_display_name }, context))]);
  const rows = (element.rows ?? []).map((row) => columns.map((column) => drawCell(row[column.name], column, context)));
  const size = Math.min(10, Math.max(1, element.page_size ?? 5));
  const head = [style.background_style === "grey" ? "grey-head" : "", style.bold === false ? "thin-head" : "", style.text_color === "grey" ? "pale-head" : ""].join(" ").trim();
  const node = drawPagedTable(heads, rows, aligns, size, head);
  node.classList.add("card-table", `rows-${["low", "middle", "high", "auto"].includes(element.row_height) ? element.row_height : "low"}`);
  return node;
}

function drawCell(value, column, context) {
  if (value === undefined || value === null || value === "") return [];
  switch (column.data_type) {
    case "number": return [formatNumber(Number(value), column.format ?? {})];
    case "lark_md": return [drawMarkdown(value, "lark_md", context)];
    case "markdown": return [drawMarkdown(value, context.schema === 2 ? "card2" : "card1", context)];
    case "options": return (Array.isArray(value) ? value : [{ text: value, color: "blue" }]).map((option) => textTag([String(option.text)], option.color ?? "blue"));
    case "persons": return [value].flat().map((id) => h("span", { class: "person-tag", text: context.people?.(id) ?? id }));
    case "date": return [formatDate(Number(value), column.date_format ?? "YYYY-MM-DD HH:mm")];
    default: return [String(value)];
  }
}

function formatNumber(value, { symbol = "", precision, separator = false }) {
  const digits = precision === undefined ? {} : { minimumFractionDigits: precision, maximumFractionDigits: precision };
  return symbol + value.toLocaleString("en-US", { useGrouping: separator, maximumFractionDigits: 10, ...digits });
}

function formatDate(value, pattern) {
  const moment = new Date(value);
  const parts = { YYYY: moment.getFullYear(), MM: moment.getMonth() + 1, DD: moment.getDate(), HH: moment.getHours(), mm: moment.getMinutes(), ss: moment.getSeconds() };
  return pattern.replace(/YYYY|MM|DD|HH|mm|ss/g, (part) => String(parts[part]).padStart(2, "0"));
}

function drawPanel(element, context) {
  const header = element.header ?? {};
  const arrow = header.icon ? drawIcon(header.icon, context, 10) : icon("down", 14);
  arrow.classList.add("panel-arrow");
  const position = ["left", "follow_text"].includes(header.icon_position) ? header.icon_position : "right";
  const title = h("button", { type: "button", class: `panel-title arrow-${position}` }, drawText(header.title, context), arrow);
  const body = h("div", { class: "panel-body" }, drawChildren(element.elements, context, element, "collapsible_panel"));
  const node = h("section", { class: "card-panel" }, title, body);
  const bordered = element.border || element.background_color;
  node.classList.toggle("bordered", Boolean(element.border));
  node.style.borderColor = element.border ? color(element.border.color === "grey" || !element.border.color ? "grey-300" : element.border.color, context.colors) ?? "" : "";
  node.style.borderRadius = space(element.border?.corner_radius, bordered ? "5px" : "");
  node.style.background = color(element.background_color === "grey" ? "grey-50" : element.background_color, context.colors) ?? "";
  title.style.background = color(header.background_color === "grey" ? "grey-100" : header.background_color, context.colors) ?? "";
  title.style.padding = space(header.padding, bordered ? "4px 8px" : "0");
  body.style.padding = space(element.padding, bordered ? "8px" : "8px 0 0 0");
  const angle = [-180, -90, 90, 180].includes(header.icon_expanded_angle) ? header.icon_expanded_angle : 180;
  const set = (open) => {
    node.classList.toggle("open", open);
    title.setAttribute("aria-expanded", String(open));
    arrow.style.transform = open ? `rotate(${angle}deg)` : "";
  };
  set(context.panelOpen?.(element) ?? element.expanded === true);
  title.addEventListener("click", () => {
    set(!node.classList.contains("open"));
    context.rememberPanel?.(element, node.classList.contains("open"));
  });
  return node;
}

function drawColumns(element, context) {
  const node = h("div", { class: `card-columns flex-${["none", "stretch", "flow", "bisect", "trisect"].includes(element.flex_mode) ? element.flex_mode : "none"}` });
  node.style.gap = space(element.horizontal_spacing, "8px");
  node.style.justifyContent = ALIGN[element.horizontal_align] ?? "";
  node.style.background = background(element.background_style, context);
  for (const column of element.columns ?? []) {
    const box = drawChildren(column.elements, context, column, "column");
    const cell = h("div", { class: "card-column" }, box);
    const weight = column.width === "weighted" || column.width === undefined ? Math.min(5, Math.max(1, column.weight ?? 1)) : 0;
    cell.style.flex = /^\d+px$/.test(column.width ?? "") ? `0 0 ${column.width}` : weight ? `${weight} 1 0` : "0 1 auto";
    cell.style.alignSelf = ALIGN[column.vertical_align] ?? "flex-start";
    cell.style.background = background(column.background_style, context);
    cell.style.padding = space(column.padding, "0");
    node.append(cell);
  }
  return node;
}

function background(name, context) {
  return name && name !== "default" ? color(name === "grey" ? "grey-50" : name, context.colors) ?? "" : "";
}

function drawContainer(element, context) {
  const node = h("div", { class: "card-container" }, drawChildren(element.elements, context, element, "interactive_container", { vertical: "4px", horizontal: "8px" }));
  node.style.background = background(element.background_style, context);
  node.style.padding = space(element.padding, "4px 12px");
  node.style.borderRadius = space(element.corner_radius, "");
  if (element.has_border) node.style.border = `1px solid ${color(element.border_color, context.colors) ?? "#dee0e3"}`;
  const press = (element.behaviors ?? []).find((behavior) => behavior.type === "callback");
  if (press && !element.disabled) {
    node.classList.add("pressable");
    node.addEventListener("click", (event) => event.target.closest("a,button,input,select") === null && context.act({ tag: "interactive_container", value: press.value ?? {} }));
  }
  return node;
}

function drawPerson(element, context) {
  const ids = element.tag === "person_list" ? (element.persons ?? []).map((person) => person.id) : [element.user_id];
  return h("div", { class: "card-people" }, ids.map((id) => h("span", { class: "person-tag", text: context.people?.(id) ?? (context.language === "en" ? "Unknown user" : "未知用户") })));
}

function drawPlaceholder(element, context) {
  const words = context.language === "en" ? "not drawn by this emulator" : "此模拟器不绘制";
  return h("div", { class: "card-placeholder", text: `${element.tag} · ${words}` });
}

function drawNote(element, context) {
  return h("div", { class: "card-note" }, (element.elements ?? []).map((part) => (part.tag === "img" ? drawImage(part.img_key ?? "", "", context) : part.tag === "standard_icon" ? drawIcon(part, context, 14) : drawText(part, context))));
}

function drawActions(element, context) {
  return h("div", { class: "card-actions" }, (element.actions ?? []).map((action) => drawElement(action, context, "action")));
}

function drawPlainText(element, context) {
  const typed = context.typed?.(element);
  return typed === undefined ? drawText(element, context) : h("div", { class: "card-text", text: typed });
}

const SCHEMA_2 = {
  markdown: drawMarkdownElement, div: drawDiv, plain_text: drawPlainText, hr: () => h("hr", { class: "card-hr" }), img: drawPicture, img_combination: drawPictures, table: drawTable,
  collapsible_panel: drawPanel, column_set: drawColumns, interactive_container: drawContainer, person: drawPerson, person_list: drawPerson, button: drawButton, form: drawForm,
  input: drawInput, select_static: drawSelect, multi_select_static: drawSelect, select_person: drawSelect, multi_select_person: drawSelect, select_img: drawPlaceholder, checker: drawChecker,
  date_picker: drawPicker, picker_time: drawPicker, picker_datetime: drawPicker, overflow: drawOverflow, chart: drawPlaceholder, audio: drawPlaceholder,
};
const SCHEMA_1 = { note: drawNote, action: drawActions };
