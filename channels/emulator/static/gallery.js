// The card preview: choose, drop or paste card JSON files and see them as Feishu would show them. Nothing leaves the page.
// It begins with the files of the emulator's gallery folder, if it has one. Of files that come in two languages
// (name.zh.json, name.en.json) those in the page's language are shown.
import { h, replaceChildren } from "./dom.js";
import { createCard } from "./card.js";
import { firstLanguage, textsFor } from "./texts.js";
import { gallery, mediaAddress } from "./wire.js";

let language = firstLanguage();
let cards = []; // {name, text}
const narrow = window.matchMedia("(max-width: 760px)");
const list = h("div", { class: "gallery-cards" });
const picker = h("input", {
  type: "file",
  accept: ".json,application/json",
  multiple: true,
  hidden: true,
  on: { change: () => take(picker.files) },
});
const paste = h("textarea", {
  class: "gallery-paste",
  placeholder: '{"schema": "2.0", …}',
  "aria-label": "card JSON",
  rows: 2,
  spellcheck: "false",
  on: { input: () => paste.value.trim() && show([{ name: "pasted", text: paste.value }]) },
});
const head = h("header", { class: "gallery-head" });

async function take(files) {
  const read = await Promise.all([...files].map(async (file) => ({ name: file.name, text: await file.text() })));
  show(read.sort((a, b) => (a.name < b.name ? -1 : 1)));
}

function show(chosen) {
  cards = chosen;
  draw();
}

function inThisLanguage({ name }) {
  const own = /\.(zh|en)\.json$/.exec(name);
  return !own || own[1] === language;
}

function draw() {
  const t = textsFor(language);
  const shown = cards.filter(inThisLanguage);
  replaceChildren(
    head,
    h("h1", { text: t.gallery }),
    h("p", { text: shown.length ? String(shown.length) : t.noCards }),
    h("button", {
      type: "button",
      class: "card-button primary_filled medium",
      text: "JSON…",
      on: { click: () => picker.click() },
    }),
    h("button", {
      type: "button",
      class: "card-button default medium language",
      text: t.language,
      on: {
        click: () => {
          language = language === "en" ? "zh" : "en";
          draw();
        },
      },
    }),
    picker,
  );
  replaceChildren(
    list,
    shown.map(({ name, text }) =>
      h("section", { class: "gallery-item", dataset: { name } }, h("h2", { text: name }), drawCard(text)),
    ),
  );
}

/** A file holds a card, or an object with the card under "card" (as the answer to a click has it, or our golden files). */
function cardIn(text) {
  const value = JSON.parse(text);
  return value.schema === undefined && value.card ? (value.card.data ?? value.card) : value;
}

function drawCard(text) {
  try {
    return createCard(cardIn(text), {
      language,
      phone: narrow.matches,
      people: () => undefined,
      mediaAddress,
      act: async () => {},
      notice: () => {},
    }).element;
  } catch (error) {
    return h("div", { class: "gallery-error", text: String(error) });
  }
}

document.body.append(head, paste, list);
document.body.addEventListener("dragover", (event) => event.preventDefault());
document.body.addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer?.files.length) take(event.dataTransfer.files);
});
draw();
const { cards: kept } = await gallery();
if (kept.length && !cards.length) show(kept);
document.body.dataset.ready = "yes";
