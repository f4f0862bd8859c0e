// The table component: typed columns, a page of rows at a time.
import { h } from "./dom.js";
import { localText } from "./card_text.js";
import { textTag } from "./inline.js";
import { drawMarkdown, drawPagedTable } from "./markdown.js";

export function drawTable(element, context) {
  const columns = (element.columns ?? []).slice(0, 50);
  const style = element.header_style ?? {};
  const aligns = columns.map((column) => column.horizontal_align ?? (column.data_type === "number" ? "right" : "left"));
  const heads = columns.map((column) => [
    document.createTextNode(
      localText({ content: column.display_name, i18n_content: column.i18n_display_name }, context),
    ),
  ]);
  const rows = (element.rows ?? []).map((row) => columns.map((column) => drawCell(row[column.name], column, context)));
  const size = Math.min(10, Math.max(1, element.page_size ?? 5));
  const head = [
    style.background_style === "grey" ? "grey-head" : "",
    style.bold === false ? "thin-head" : "",
    style.text_color === "grey" ? "pale-head" : "",
  ]
    .join(" ")
    .trim();
  const node = drawPagedTable(heads, rows, aligns, size, head);
  node.classList.add(
    "card-table",
    `rows-${["low", "middle", "high", "auto"].includes(element.row_height) ? element.row_height : "low"}`,
  );
  return node;
}

function drawCell(value, column, context) {
  if (value === undefined || value === null || value === "") return [];
  switch (column.data_type) {
    case "number":
      return [formatNumber(Number(value), column.format ?? {})];
    case "lark_md":
      return [drawMarkdown(value, "lark_md", context)];
    case "markdown":
      return [drawMarkdown(value, context.schema === 2 ? "card2" : "card1", context)];
    case "options":
      return (Array.isArray(value) ? value : [{ text: value, color: "blue" }]).map((option) =>
        textTag([String(option.text)], option.color ?? "blue"),
      );
    case "persons":
      return [value].flat().map((id) => h("span", { class: "person-tag", text: context.people?.(id) ?? id }));
    case "date":
      return [formatDate(Number(value), column.date_format ?? "YYYY-MM-DD HH:mm")];
    default:
      return [String(value)];
  }
}

function formatNumber(value, { symbol = "", precision, separator = false }) {
  const digits = precision === undefined ? {} : { minimumFractionDigits: precision, maximumFractionDigits: precision };
  return symbol + value.toLocaleString("en-US", { useGrouping: separator, maximumFractionDigits: 10, ...digits });
}

function formatDate(value, pattern) {
  const moment = new Date(value);
  const parts = {
    YYYY: moment.getFullYear(),
    MM: moment.getMonth() + 1,
    DD: moment.getDate(),
    HH: moment.getHours(),
    mm: moment.getMinutes(),
    ss: moment.getSeconds(),
  };
  return pattern.replace(/YYYY|MM|DD|HH|mm|ss/g, (part) => String(parts[part]).padStart(2, "0"));
}
