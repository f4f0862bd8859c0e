// Block Markdown as Feishu cards render it. Schema 2.0: CommonMark plus tables, without HTML blocks; schema 1.0: lists, fences and
// rules only, everything else raw; lark_md: inline marks only. What Feishu would show raw comes out as plain text on purpose.
import { h, replaceChildren } from "./dom.js";
import { drawInline, parseInline } from "./inline.js";
import { icon } from "./icons.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const HTML_RULE = /^\s*<hr\s*\/?>\s*$/i;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])(?:( +)(.*)|)$/;
const DELIMITER_ROW = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const REFERENCE = /^ {0,3}\[([^\]]+)\]:\s*<?(\S+?)>?(?:\s+"[^"]*")?\s*$/;
export const TABLE_PAGE_ROWS = 5;

/** Draw Markdown text into a fragment. `flavour`: card2, card1 or lark_md; `context` as in inline.js. */
export function drawMarkdown(text, flavour, context) {
  const source = String(text ?? "")
    .replace(/\r\n?/g, "\n")
    .replace(/\t/g, "    ");
  if (flavour === "lark_md")
    return h("div", { class: "md" }, h("p", {}, drawInline(parseInline(source, flavour), context)));
  const references = new Map();
  const blocks = parseBlocks(source.split("\n"), flavour, references);
  return h("div", { class: "md" }, drawBlocks(blocks, flavour, context, references));
}

function parseBlocks(lines, flavour, references) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const [block, next] =
      takeFence(lines, at) ??
      takeRule(lines, at) ??
      takeHeading(lines, at, flavour) ??
      takeQuote(lines, at, flavour, references) ??
      takeList(lines, at, flavour, references) ??
      takeTable(lines, at, flavour) ??
      takeIndented(lines, at, flavour) ??
      takeParagraph(lines, at, flavour, references);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

function takeFence(lines, at) {
  const open = FENCE.exec(lines[at]);
  if (!open) return null;
  const close = new RegExp(`^ {0,3}${open[1][0] === "`" ? "`" : "~"}{${open[1].length},}\\s*$`);
  let end = at + 1;
  while (end < lines.length && !close.test(lines[end])) end += 1;
  return [
    { type: "code", language: open[2].trim().split(/\s+/)[0], text: lines.slice(at + 1, end).join("\n") },
    end + 1,
  ];
}

function takeRule(lines, at) {
  return RULE.test(lines[at]) || HTML_RULE.test(lines[at]) ? [{ type: "rule" }, at + 1] : null;
}

function takeHeading(lines, at, flavour) {
  const found = flavour === "card2" ? HEADING.exec(lines[at]) : null;
  return found
    ? [{ type: "heading", level: found[1].length, text: (found[2] ?? "").replace(/^#+$/, "") }, at + 1]
    : null;
}

function takeQuote(lines, at, flavour, references) {
  if (flavour !== "card2" || !QUOTE.test(lines[at])) return null;
  const inner = [];
  let end = at;
  while (end < lines.length && lines[end].trim() && (QUOTE.test(lines[end]) || !startsBlock(lines, end, flavour))) {
    inner.push(lines[end].replace(QUOTE, ""));
    end += 1;
  }
  return [{ type: "quote", blocks: parseBlocks(inner, flavour, references) }, end];
}

function takeList(lines, at, flavour, references) {
  const first = ITEM.exec(lines[at]);
  if (!first || RULE.test(lines[at])) return null;
  const kind = first[2].length > 1 ? first[2].slice(-1) : first[2];
  const items = [];
  let end = at;
  while (end < lines.length) {
    const item = ITEM.exec(lines[end]);
    if (!item || RULE.test(lines[end]) || (item[2].length > 1 ? item[2].slice(-1) : item[2]) !== kind) break;
    const [inner, next] = takeItem(lines, end, item, flavour);
    items.push(parseBlocks(inner, flavour, references));
    end = next;
  }
  return [{ type: "list", ordered: first[2].length > 1, start: parseInt(first[2], 10) || 1, items }, end];
}

function takeItem(lines, at, [, indent, marker, gap = " ", rest = ""], flavour) {
  const width = indent.length + marker.length + (gap.length > 4 ? 1 : gap.length);
  const inner = [gap.length > 4 ? gap.slice(1) + rest : rest];
  let end = at + 1;
  while (end < lines.length) {
    const line = lines[end];
    const depth = /^ */.exec(line)[0].length;
    if (!line.trim()) {
      const next = lines[end + 1];
      if (next === undefined || /^ */.exec(next)[0].length < width || !next.trim()) break;
    } else if (
      depth < width &&
      (ITEM.test(line) || startsBlock(lines, end, flavour) || !inner[inner.length - 1].trim())
    )
      break;
    inner.push(line.slice(Math.min(depth, width)));
    end += 1;
  }
  let next = end;
  while (next < lines.length && !lines[next].trim()) next += 1;
  return [inner, next < lines.length && ITEM.test(lines[next]) ? next : end];
}

export function splitRow(line) {
  const cells = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "")
    .split(/(?<!\\)\|/);
  return cells.map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function takeTable(lines, at, flavour) {
  if (flavour !== "card2" || !startsTable(lines, at)) return null;
  const columns = splitRow(lines[at]);
  const aligns = splitRow(lines[at + 1]).map((cell) =>
    /^:.*:$/.test(cell) ? "center" : /:$/.test(cell) ? "right" : "left",
  );
  const rows = [];
  let end = at + 2;
  while (end < lines.length && lines[end].trim() && !startsBlock(lines, end, flavour)) {
    const cells = splitRow(lines[end]);
    rows.push(columns.map((_, index) => cells[index] ?? ""));
    end += 1;
  }
  return [{ type: "table", columns, aligns, rows }, end];
}

function startsTable(lines, at) {
  const next = lines[at + 1];
  return (
    lines[at].includes("|") &&
    next !== undefined &&
    DELIMITER_ROW.test(next) &&
    splitRow(lines[at]).length === splitRow(next).length
  );
}

function takeIndented(lines, at, flavour) {
  if (flavour !== "card2" || !/^ {4}/.test(lines[at])) return null;
  let end = at;
  while (end < lines.length && (/^ {4}/.test(lines[end]) || !lines[end].trim())) end += 1;
  return [
    {
      type: "code",
      language: "",
      text: lines
        .slice(at, end)
        .map((line) => line.slice(4))
        .join("\n")
        .replace(/\n+$/, ""),
    },
    end,
  ];
}

function startsBlock(lines, at, flavour) {
  const line = lines[at];
  if (FENCE.test(line) || RULE.test(line) || HTML_RULE.test(line)) return true;
  const item = ITEM.exec(line);
  if (item && item[4] !== undefined && (item[2].length === 1 || /^1[.)]$/.test(item[2]) || flavour === "card1"))
    return true;
  return flavour === "card2" && (HEADING.test(line) || QUOTE.test(line) || startsTable(lines, at));
}

function takeParagraph(lines, at, flavour, references) {
  const reference = flavour === "card2" ? REFERENCE.exec(lines[at]) : null;
  if (reference) {
    references.set(reference[1].trim().toLowerCase(), reference[2]);
    return [null, at + 1];
  }
  let end = at + 1;
  while (end < lines.length && lines[end].trim()) {
    const underline = flavour === "card2" ? /^ {0,3}(=+|-+)[ \t]*$/.exec(lines[end]) : null;
    if (underline)
      return [
        { type: "heading", level: underline[1][0] === "=" ? 1 : 2, text: lines.slice(at, end).join("\n").trim() },
        end + 1,
      ];
    if (startsBlock(lines, end, flavour)) break;
    end += 1;
  }
  return [
    {
      type: "paragraph",
      text: lines
        .slice(at, end)
        .map((line) => line.replace(/^ +/, ""))
        .join("\n")
        .replace(/ +$/, ""),
    },
    end,
  ];
}

function drawBlocks(blocks, flavour, context, references) {
  const inline = (text) => drawInline(parseInline(text, flavour, references), context);
  return blocks.map((block) => {
    switch (block.type) {
      case "code":
        return drawCode(block, context);
      case "rule":
        return h("hr", { class: "md-rule" });
      case "heading":
        return h(`h${block.level}`, { class: `md-h md-h${block.level}` }, inline(block.text));
      case "quote":
        return h("blockquote", { class: "md-quote" }, drawBlocks(block.blocks, flavour, context, references));
      case "list":
        return drawList(block, flavour, context, references);
      case "table":
        return drawPagedTable(
          block.columns.map(inline),
          block.rows.map((row) => row.map(inline)),
          block.aligns,
          TABLE_PAGE_ROWS,
        );
      default:
        return h("p", {}, inline(block.text));
    }
  });
}

function drawList(block, flavour, context, references) {
  const items = block.items.map((blocks) => h("li", {}, drawBlocks(blocks, flavour, context, references)));
  return block.ordered
    ? h("ol", { class: "md-list", start: block.start }, items)
    : h("ul", { class: "md-list" }, items);
}

function drawCode({ language, text }, context) {
  const copied = context.language === "en" ? "Copy" : "复制";
  const copy = h(
    "button",
    {
      class: "md-copy",
      type: "button",
      title: copied,
      "aria-label": copied,
      on: { click: () => navigator.clipboard?.writeText(text) },
    },
    icon("copy", 14),
  );
  return h(
    "figure",
    { class: "md-block" },
    h("figcaption", {}, h("span", { text: language || "Plain Text" }), copy),
    h("pre", {}, h("code", { text })),
  );
}

/** A table that shows a page of rows at a time, as Feishu does; cells are arrays of DOM nodes. */
export function drawPagedTable(columns, rows, aligns, pageRows, headClass = "") {
  const pages = Math.max(1, Math.ceil(rows.length / pageRows));
  const head = h(
    "thead",
    { class: headClass },
    h(
      "tr",
      {},
      columns.map((cell, index) => h("th", { style: { textAlign: aligns[index] ?? "left" } }, cell)),
    ),
  );
  const body = h("tbody");
  const label = h("span", { class: "pager-label" });
  const previous = h(
    "button",
    { type: "button", class: "pager-button", "aria-label": "previous page", on: { click: () => show(page - 1) } },
    icon("left", 14),
  );
  const next = h(
    "button",
    { type: "button", class: "pager-button", "aria-label": "next page", on: { click: () => show(page + 1) } },
    icon("right", 14),
  );
  let page = 0;
  const show = (wanted) => {
    page = Math.min(Math.max(wanted, 0), pages - 1);
    const visible = rows.slice(page * pageRows, (page + 1) * pageRows);
    replaceChildren(
      body,
      visible.map((row) =>
        h(
          "tr",
          {},
          row.map((cell, index) => h("td", { style: { textAlign: aligns[index] ?? "left" } }, cell)),
        ),
      ),
    );
    label.textContent = `${page + 1} / ${pages}`;
    previous.disabled = page === 0;
    next.disabled = page === pages - 1;
  };
  show(0);
  return h(
    "div",
    { class: "table-box" },
    h("div", { class: "table-scroll" }, h("table", {}, head, body)),
    pages > 1 ? h("div", { class: "pager" }, previous, label, next) : null,
  );
}
