// Buttons, and the small dialogue that asks "are you sure" before one acts.
import { h, webAddress } from "./dom.js";
import { drawIcon, localText } from "./card_text.js";

const TYPES = [
  "default",
  "primary",
  "danger",
  "text",
  "primary_text",
  "danger_text",
  "primary_filled",
  "danger_filled",
  "laser",
];

/** What pressing does, or null for a button that does nothing: schema 2.0 knows `behaviors` only, 1.0 also a bare `value` or `url`. */
export function pressOf(element, schema) {
  const behaviors = element.behaviors ?? [];
  const callback = behaviors.find((behavior) => behavior.type === "callback");
  const opened = behaviors.find((behavior) => behavior.type === "open_url");
  const address = webAddress(
    opened?.pc_url || opened?.default_url || (schema === 1 ? (element.multi_url?.url ?? element.url) : "") || "",
  );
  if (callback) return { value: callback.value ?? {}, address };
  if (schema === 1 && element.value !== undefined) return { value: element.value, address };
  return address ? { value: null, address } : null;
}

/** Draw a button; inside a form, `form_action_type` submit gathers the form, reset empties it. */
export function drawButton(element, context, inside) {
  const kind = TYPES.includes(element.type) ? element.type : "default";
  const size = ["tiny", "small", "medium", "large"].includes(element.size) ? element.size : "medium";
  const node = h(
    "button",
    {
      type: "button",
      class: `card-button ${kind} ${size}`,
      title: localText(element.hover_tips, context) || undefined,
    },
    drawIcon(element.icon, context, 14),
    h("span", { text: localText(element.text, context) }),
  );
  if (element.width === "fill") node.classList.add("fill");
  else if (/^\d+px$/.test(element.width ?? "")) node.style.width = element.width;
  if (element.disabled) {
    node.classList.add("disabled");
    node.setAttribute("aria-disabled", "true");
  }
  node.addEventListener("click", () => press(node, element, context, inside));
  return node;
}

async function press(node, element, context, inside) {
  if (element.disabled) {
    const tip = localText(element.disabled_tips, context);
    if (tip) context.notice?.(tip, "info");
    return;
  }
  const kind = element.form_action_type ?? element.action_type?.replace(/^form_/, "");
  if (inside === "form" && kind === "reset") return void node.closest("form")?.reset();
  const done = pressOf(element, context.schema);
  const submits = Boolean(node.closest("form")) && kind === "submit";
  if (!done && !submits) return;
  const form = submits ? context.readForm(node.closest("form")) : undefined;
  if (submits && form === null) return;
  if (element.confirm && !(await confirmed(element.confirm, context))) return;
  if (done?.address) window.open(done.address, "_blank", "noopener");
  if (done && done.value === null && !submits) return;
  node.classList.add("busy");
  try {
    await context.act({ tag: "button", value: done?.value ?? {}, name: element.name, form });
  } finally {
    node.classList.remove("busy");
  }
}

function confirmed(confirm, context) {
  return new Promise((resolve) => {
    const answer = (yes) => {
      dialog.close();
      dialog.remove();
      resolve(yes);
    };
    const words = context.language === "en" ? ["Cancel", "Confirm"] : ["取消", "确定"];
    const dialog = h(
      "dialog",
      { class: "confirm", on: { cancel: (event) => (event.preventDefault(), answer(false)) } },
      h("h3", { text: localText(confirm.title, context) }),
      h("p", { text: localText(confirm.text, context) }),
      h(
        "div",
        { class: "confirm-buttons" },
        h("button", {
          type: "button",
          class: "card-button default medium",
          text: words[0],
          on: { click: () => answer(false) },
        }),
        h("button", {
          type: "button",
          class: "card-button primary_filled medium",
          text: words[1],
          on: { click: () => answer(true) },
        }),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}
