// Inputs of a card: in a form they wait for its submit button, outside one a change is sent at once.
import { h } from "./dom.js";
import { drawText, localText } from "./card_text.js";
import { drawChildren } from "./containers.js";
import { icon } from "./icons.js";

function label(element, context) {
  return element.label
    ? h(
        "span",
        { class: "input-label" },
        localText(element.label, context),
        element.required ? h("b", { text: " *" }) : null,
      )
    : null;
}

function callbackValue(element) {
  const behavior = (element.behaviors ?? []).find((each) => each.type === "callback");
  return behavior ? (behavior.value ?? {}) : element.value;
}

function named(element) {
  return {
    name: element.name,
    required: element.required,
    disabled: element.disabled,
    dataset: { cardTag: element.tag },
  };
}

export function drawForm(element, context) {
  const form = h("form", { class: "card-form", name: element.name, on: { submit: (event) => event.preventDefault() } });
  form.append(drawChildren(element.elements, context, element, "form", { vertical: "12px", horizontal: "12px" }));
  return form;
}

/** The values of a form by component name, or null (with the first missing field shown) when it is not complete. */
export function readForm(form) {
  if (!form.reportValidity()) return null;
  const values = {};
  for (const field of form.querySelectorAll("[name][data-card-tag]")) {
    if (field.type === "checkbox") values[field.name] = field.checked;
    else if (field.multiple) values[field.name] = [...field.selectedOptions].map((option) => option.value);
    else values[field.name] = field.value;
  }
  return values;
}

export function drawInput(element, context, inside) {
  const many = element.input_type === "multiline_text";
  const field = h(many ? "textarea" : "input", {
    ...named(element),
    class: "card-input",
    placeholder: localText(element.placeholder, context),
    maxlength: element.max_length,
    rows: many ? (element.rows ?? 3) : undefined,
    type: many ? undefined : element.input_type === "password" ? "password" : "text",
  });
  field.value = element.default_value ?? "";
  field.defaultValue = field.value;
  if (!context.inForm(inside)) {
    const send = () =>
      context.act({ tag: "input", value: callbackValue(element) ?? {}, name: element.name, input_value: field.value });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        send();
      }
    });
  }
  return h("label", { class: "card-field-box" }, label(element, context), field);
}

export function drawSelect(element, context, inside) {
  const many = element.tag.startsWith("multi_");
  const people = element.tag.endsWith("person");
  const options = element.options ?? [];
  const field = h("select", { ...named(element), class: "card-input", multiple: many });
  if (!many)
    field.append(
      h("option", {
        value: "",
        text: localText(element.placeholder, context) || (context.language === "en" ? "Select" : "请选择"),
      }),
    );
  for (const option of options) {
    field.append(
      h("option", {
        value: option.value,
        text: people ? (context.people?.(option.value) ?? option.value) : localText(option.text, context),
      }),
    );
  }
  if (element.initial_option) field.value = element.initial_option;
  if (!context.inForm(inside)) {
    field.addEventListener("change", () => {
      const chosen = [...field.selectedOptions].map((option) => option.value);
      context.act({
        tag: element.tag,
        value: callbackValue(element) ?? {},
        name: element.name,
        ...(many ? { options: chosen } : { option: chosen[0] }),
      });
    });
  }
  return h("label", { class: "card-field-box" }, label(element, context), field);
}

const PICKERS = {
  date_picker: ["date", "initial_date"],
  picker_time: ["time", "initial_time"],
  picker_datetime: ["datetime-local", "initial_datetime"],
};

export function drawPicker(element, context, inside) {
  const [type, initial] = PICKERS[element.tag];
  const field = h("input", { ...named(element), class: "card-input", type });
  field.value = String(element[initial] ?? "").replace(" ", "T");
  if (!context.inForm(inside))
    field.addEventListener("change", () =>
      context.act({
        tag: element.tag,
        value: callbackValue(element) ?? {},
        name: element.name,
        option: field.value.replace("T", " "),
      }),
    );
  return h("label", { class: "card-field-box" }, label(element, context), field);
}

export function drawChecker(element, context, inside) {
  const box = h("input", { ...named(element), type: "checkbox" });
  box.checked = element.checked === true;
  if (!context.inForm(inside))
    box.addEventListener("change", () =>
      context.act({ tag: "checker", value: callbackValue(element) ?? {}, name: element.name, checked: box.checked }),
    );
  return h("label", { class: "card-checker" }, box, drawText(element.text, context));
}

export function drawOverflow(element, context) {
  const menu = h("div", { class: "overflow-menu", hidden: true });
  for (const option of element.options ?? []) {
    menu.append(
      h("button", {
        type: "button",
        text: localText(option.text, context),
        on: {
          click: () => {
            menu.hidden = true;
            context.act({ tag: "overflow", value: callbackValue(element) ?? {}, option: option.value });
          },
        },
      }),
    );
  }
  return h(
    "div",
    { class: "card-overflow" },
    h(
      "button",
      {
        type: "button",
        class: "card-button default medium",
        "aria-label": "more",
        on: {
          click: () => {
            menu.hidden = !menu.hidden;
          },
        },
      },
      icon("menu", 16),
    ),
    menu,
  );
}
