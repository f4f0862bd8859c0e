// The body components of a card, one drawing function each. A component in a place where Feishu refuses it, or one that it does not
// know, becomes the "please upgrade" box, so that a wrong card looks wrong here too.
import { h } from "./dom.js";
import { drawButton } from "./button.js";
import { drawTable } from "./card_table.js";
import { drawIcon, drawText, drawUpgrade, localText, space, textSize } from "./card_text.js";
import { drawColumns, drawContainer, drawPanel } from "./containers.js";
import { drawImage } from "./inline.js";
import { drawChecker, drawForm, drawInput, drawOverflow, drawPicker, drawSelect } from "./inputs.js";
import { drawMarkdown } from "./markdown.js";

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
  const fields = (element.fields ?? []).map((field) =>
    h("div", { class: field.is_short ? "card-field short" : "card-field" }, drawText(field.text, context)),
  );
  const node = h(
    "div",
    { class: "card-div" },
    drawIcon(element.icon, context),
    element.text ? drawText(element.text, context) : null,
    fields.length ? h("div", { class: "card-fields" }, fields) : null,
    element.extra ? drawElement(element.extra, context, "extra") : null,
  );
  if (/^\d+px$/.test(element.width ?? "")) node.style.width = element.width;
  return node;
}

function drawPicture(element, context) {
  const key = element.i18n_img_key?.[context.language === "en" ? "en_us" : "zh_cn"] ?? element.img_key ?? "";
  const node = h(
    "figure",
    { class: "card-img" },
    drawImage(key, localText(element.alt, context), context),
    element.title ? drawText(element.title, context) : null,
  );
  node.firstChild.style.borderRadius = /^\d+(px|%)$/.test(element.corner_radius ?? "") ? element.corner_radius : "";
  return node;
}

function drawPictures(element, context) {
  return h(
    "div",
    { class: "card-imgs" },
    (element.img_list ?? []).map((item) => drawImage(item.img_key ?? "", "", context)),
  );
}

function drawPerson(element, context) {
  const ids = element.tag === "person_list" ? (element.persons ?? []).map((person) => person.id) : [element.user_id];
  return h(
    "div",
    { class: "card-people" },
    ids.map((id) =>
      h("span", {
        class: "person-tag",
        text: context.people?.(id) ?? (context.language === "en" ? "Unknown user" : "未知用户"),
      }),
    ),
  );
}

function drawPlaceholder(element, context) {
  const words = context.language === "en" ? "not drawn by this emulator" : "此模拟器不绘制";
  return h("div", { class: "card-placeholder", text: `${element.tag} · ${words}` });
}

function drawNote(element, context) {
  return h(
    "div",
    { class: "card-note" },
    (element.elements ?? []).map((part) =>
      part.tag === "img"
        ? drawImage(part.img_key ?? "", "", context)
        : part.tag === "standard_icon"
          ? drawIcon(part, context, 14)
          : drawText(part, context),
    ),
  );
}

function drawActions(element, context) {
  return h(
    "div",
    { class: "card-actions" },
    (element.actions ?? []).map((action) => drawElement(action, context, "action")),
  );
}

function drawPlainText(element, context) {
  const typed = context.typed?.(element);
  return typed === undefined ? drawText(element, context) : h("div", { class: "card-text", text: typed });
}

const SCHEMA_2 = {
  markdown: drawMarkdownElement,
  div: drawDiv,
  plain_text: drawPlainText,
  hr: () => h("hr", { class: "card-hr" }),
  img: drawPicture,
  img_combination: drawPictures,
  table: drawTable,
  collapsible_panel: drawPanel,
  column_set: drawColumns,
  interactive_container: drawContainer,
  person: drawPerson,
  person_list: drawPerson,
  button: drawButton,
  form: drawForm,
  input: drawInput,
  select_static: drawSelect,
  multi_select_static: drawSelect,
  select_person: drawSelect,
  multi_select_person: drawSelect,
  select_img: drawPlaceholder,
  checker: drawChecker,
  date_picker: drawPicker,
  picker_time: drawPicker,
  picker_datetime: drawPicker,
  overflow: drawOverflow,
  chart: drawPlaceholder,
  audio: drawPlaceholder,
};
const SCHEMA_1 = { note: drawNote, action: drawActions };
