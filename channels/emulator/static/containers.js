// Components that hold others: folding panels, columns, pressable containers.
import { h } from "./dom.js";
import { drawIcon, drawText, localText, space } from "./card_text.js";
import { color } from "./colors.js";
import { drawElement } from "./elements.js";
import { icon } from "./icons.js";

const ALIGN = { left: "flex-start", center: "center", right: "flex-end", top: "flex-start", bottom: "flex-end" };

/** Lay children out as every container does: direction, spacing, alignment, padding. */
export function drawChildren(elements, context, container, inside, defaults = { vertical: "8px", horizontal: "8px" }) {
  const across = container.direction === "horizontal";
  const box = h(
    "div",
    { class: across ? "card-flow across" : "card-flow" },
    (elements ?? []).map((element) => drawElement(element, context, inside)),
  );
  box.style.rowGap = space(container.vertical_spacing, defaults.vertical);
  box.style.columnGap = space(container.horizontal_spacing, defaults.horizontal);
  box.style[across ? "justifyContent" : "alignItems"] = ALIGN[container.horizontal_align] ?? "";
  box.style[across ? "alignItems" : "justifyContent"] = ALIGN[container.vertical_align] ?? "";
  return box;
}

export function drawPanel(element, context) {
  const header = element.header ?? {};
  const arrow = header.icon ? drawIcon(header.icon, context, 10) : icon("down", 14);
  arrow.classList.add("panel-arrow");
  const position = ["left", "follow_text"].includes(header.icon_position) ? header.icon_position : "right";
  const title = h(
    "button",
    { type: "button", class: `panel-title arrow-${position}` },
    drawText(header.title, context),
    arrow,
  );
  const body = h("div", { class: "panel-body" }, drawChildren(element.elements, context, element, "collapsible_panel"));
  const node = h("section", { class: "card-panel" }, title, body);
  const bordered = element.border || element.background_color;
  node.classList.toggle("bordered", Boolean(element.border));
  node.style.borderColor = element.border
    ? (color(
        element.border.color === "grey" || !element.border.color ? "grey-300" : element.border.color,
        context.colors,
      ) ?? "")
    : "";
  node.style.borderRadius = space(element.border?.corner_radius, bordered ? "5px" : "");
  node.style.background =
    color(element.background_color === "grey" ? "grey-50" : element.background_color, context.colors) ?? "";
  title.style.background =
    color(header.background_color === "grey" ? "grey-100" : header.background_color, context.colors) ?? "";
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

export function drawColumns(element, context) {
  const node = h("div", {
    class: `card-columns flex-${["none", "stretch", "flow", "bisect", "trisect"].includes(element.flex_mode) ? element.flex_mode : "none"}`,
  });
  node.style.gap = space(element.horizontal_spacing, "8px");
  node.style.justifyContent = ALIGN[element.horizontal_align] ?? "";
  node.style.background = background(element.background_style, context);
  for (const column of element.columns ?? []) {
    const box = drawChildren(column.elements, context, column, "column");
    const cell = h("div", { class: "card-column" }, box);
    const weight =
      column.width === "weighted" || column.width === undefined ? Math.min(5, Math.max(1, column.weight ?? 1)) : 0;
    cell.style.flex = /^\d+px$/.test(column.width ?? "")
      ? `0 0 ${column.width}`
      : weight
        ? `${weight} 1 0`
        : "0 1 auto";
    cell.style.alignSelf = ALIGN[column.vertical_align] ?? "flex-start";
    cell.style.background = background(column.background_style, context);
    cell.style.padding = space(column.padding, "0");
    node.append(cell);
  }
  return node;
}

function background(name, context) {
  return name && name !== "default" ? (color(name === "grey" ? "grey-50" : name, context.colors) ?? "") : "";
}

export function drawContainer(element, context) {
  const node = h(
    "div",
    { class: "card-container" },
    drawChildren(element.elements, context, element, "interactive_container", { vertical: "4px", horizontal: "8px" }),
  );
  node.style.background = background(element.background_style, context);
  node.style.padding = space(element.padding, "4px 12px");
  node.style.borderRadius = space(element.corner_radius, "");
  if (element.has_border) node.style.border = `1px solid ${color(element.border_color, context.colors) ?? "#dee0e3"}`;
  const press = (element.behaviors ?? []).find((behavior) => behavior.type === "callback");
  if (press && !element.disabled) {
    node.classList.add("pressable");
    node.addEventListener(
      "click",
      (event) =>
        event.target.closest("a,button,input,select") === null &&
        context.act({ tag: "interactive_container", value: press.value ?? {} }),
    );
  }
  return node;
}
