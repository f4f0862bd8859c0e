// The box in which a person writes: Enter sends, @ offers the bot, files by button, paste or drop.
import { h, replaceChildren } from "./dom.js";
import { icon } from "./icons.js";
import { avatar, botAvatar } from "./avatar.js";
import { summaryOf } from "./content.js";

/** `page` as for rows; `place()` gives {chat, thread_id, parent_id, in_topic} of where the next message goes. */
export function createComposer(page, place) {
  const area = h("textarea", {
    class: "compose-text",
    rows: 1,
    spellcheck: "false",
    on: { keydown, input: grow, paste: takePaste },
  });
  const picker = h("input", {
    type: "file",
    class: "compose-file",
    multiple: true,
    hidden: true,
    on: {
      change: () => {
        sendFiles(picker.files);
        picker.value = "";
      },
    },
  });
  const quoteBar = h("div", { class: "quote-bar", hidden: true });
  const menu = h("div", { class: "mention-menu", hidden: true });
  const mention = button("at", () => insertMention(page.store.bot));
  const attach = button("attach", () => picker.click());
  const send = button("send", submit);
  send.classList.add("send");
  const element = h(
    "div",
    { class: "composer", on: { dragover: (event) => event.preventDefault(), drop: takeDrop } },
    quoteBar,
    menu,
    h(
      "div",
      { class: "compose-box" },
      area,
      h("div", { class: "compose-bar" }, mention, attach, picker, h("span", { class: "hint" }), send),
    ),
  );
  let quoted = null;

  function button(name, action) {
    return h(
      "button",
      { type: "button", class: `compose-button compose-${name}`, on: { click: action } },
      icon(name, 20),
    );
  }

  function keydown(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!menu.hidden) menu.firstChild?.click();
      else submit();
    } else if (event.key === "Escape") {
      menu.hidden = true;
      quote(null);
    }
  }

  function grow() {
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, 160)}px`;
    send.classList.toggle("ready", Boolean(area.value.trim()));
    const typed = /(?:^|\s)@([^\s@]*)$/.exec(area.value.slice(0, area.selectionStart));
    showMenu(typed && place().chat?.kind !== "p2p" ? typed[1].toLowerCase() : null);
  }

  function showMenu(start) {
    const { store } = page;
    const members = place().chat?.members ?? [];
    const people = [
      store.bot,
      ...[...store.people.values()].filter((person) => person.open_id !== store.me && members.includes(person.open_id)),
    ];
    const found = start === null ? [] : people.filter((person) => person.name.toLowerCase().includes(start));
    menu.hidden = found.length === 0;
    replaceChildren(
      menu,
      found.map((person) =>
        h(
          "button",
          { type: "button", on: { click: () => insertMention(person) } },
          person === store.bot ? botAvatar(24) : avatar(person.open_id, person.name, 24),
          h("span", { text: person.name }),
        ),
      ),
    );
  }

  function insertMention(person) {
    const before = area.value.slice(0, area.selectionStart).replace(/@[^\s@]*$/, "");
    const after = area.value.slice(area.selectionStart);
    const space = before && !/\s$/.test(before) ? " " : "";
    area.value = `${before}${space}@${person.name} ${after.replace(/^ /, "")}`;
    menu.hidden = true;
    area.focus();
    area.selectionStart = area.selectionEnd = before.length + space.length + person.name.length + 2;
    grow();
  }

  async function submit() {
    const text = area.value.trim();
    if (!text) return;
    const where = where_();
    area.value = "";
    grow();
    quote(null);
    if (!(await page.say(text, where))) {
      area.value = text;
      grow();
    }
  }

  function where_() {
    const now = place();
    return {
      chat_id: now.chat.chat_id,
      thread_id: now.thread_id,
      parent_id: quoted?.message_id ?? now.parent_id,
      in_topic: now.in_topic,
    };
  }

  async function sendFiles(files) {
    for (const file of [...files]) await page.sendFile(file, where_());
    quote(null);
  }

  function takePaste(event) {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    sendFiles(event.clipboardData.files);
  }

  function takeDrop(event) {
    event.preventDefault();
    if (event.dataTransfer?.files.length) sendFiles(event.dataTransfer.files);
  }

  /** Quote a message in the next one, or none. */
  function quote(message) {
    quoted = message;
    quoteBar.hidden = !message;
    if (!message) return;
    replaceChildren(
      quoteBar,
      h("span", {
        text:
          page.t.quoting(page.store.nameOf(message.sender) ?? "?") +
          summaryOf(message, page.store, page.t, page.language),
      }),
      h("button", { type: "button", "aria-label": page.t.cancel, on: { click: () => quote(null) } }, icon("close", 14)),
    );
    area.focus();
  }

  /** Redraw for the present chat, language and person. */
  function refresh() {
    const { chat, in_topic } = place();
    if (!chat) return;
    const { t } = page;
    area.placeholder = in_topic
      ? t.writeTopic
      : chat.kind === "topic"
        ? t.newTopic
        : t.write(chat.kind === "p2p" ? page.store.bot.name : chat.name);
    area.setAttribute("aria-label", area.placeholder);
    for (const [node, label] of [
      [mention, t.mention],
      [attach, t.attach],
      [send, t.send],
    ]) {
      node.title = label;
      node.setAttribute("aria-label", label);
    }
    mention.hidden = chat.kind === "p2p";
    element.querySelector(".hint").textContent = t.sendHint;
    element.classList.toggle("closed", chat.disbanded);
    area.disabled = chat.disbanded;
  }

  return {
    element,
    refresh,
    quote,
    focus: () => area.focus(),
    clear: () => {
      area.value = "";
      quote(null);
      grow();
    },
  };
}
