// Who one is, and the chat list with summaries and unread marks.
import { h, placeChildren, drawKeyed } from "./dom.js";
import { avatar, chatAvatar } from "./avatar.js";
import { summaryOf } from "./content.js";
import { icon } from "./icons.js";
import { clockText } from "./texts.js";

/** `page` as for rows; `actions`: become(open_id), switchLanguage(), showChat(chat_id), titleOf(chat). */
export function createSidebar(page, actions) {
  const self = h("div", { class: "self" });
  const list = h("nav", { class: "chat-list" });
  const about = h("footer", { class: "about" });
  const items = new Map();

  /** Redraw for the present person and language; `openChat` is the chat on screen. */
  function draw(openChat) {
    const { store, t } = page;
    drawKeyed(self, [store.me, [...store.people.keys()], page.language], drawSelf);
    list.setAttribute("aria-label", t.chats);
    placeChildren(
      list,
      store.chatsByTime().map((chat) => itemOf(chat, chat.chat_id === openChat)),
    );
    about.textContent = t.about;
  }

  function drawSelf() {
    const { store, t } = page;
    const me = store.people.get(store.me);
    const choice = h(
      "select",
      { class: "identity", "aria-label": t.switchTo, on: { change: (event) => actions.become(event.target.value) } },
      [...store.people.values()].map((person) => h("option", { value: person.open_id, text: person.name })),
    );
    choice.value = store.me;
    const language = h(
      "button",
      { type: "button", class: "language", title: t.language, on: { click: actions.switchLanguage } },
      icon("globe", 16),
      h("span", { text: t.language }),
    );
    return [
      me ? avatar(me.open_id, me.name, 40) : null,
      h("label", { class: "self-name" }, h("small", { text: t.you }), choice),
      language,
    ];
  }

  function itemOf(chat, open) {
    const { store, t } = page;
    const last = store.lastMessage(chat.chat_id);
    const unread = open ? 0 : store.unread(chat.chat_id);
    const fromGroup = last && !last.recalled && chat.kind !== "p2p";
    const who = fromGroup ? `${store.isMine(last) ? t.you_ : store.nameOf(last.sender)}: ` : "";
    const shown = {
      title: actions.titleOf(chat),
      time: last ? clockText(last.create_ms) : "",
      text: last ? who + summaryOf(last, store, t, page.language) : t.quiet,
      badge: unread > 99 ? "99+" : unread ? String(unread) : "",
      tag: { topic: t.topics, p2p: t.bot }[chat.kind] ?? "",
    };
    if (!items.has(chat.chat_id)) items.set(chat.chat_id, newItem(chat));
    const node = items.get(chat.chat_id);
    node.classList.toggle("open", open);
    drawKeyed(node, shown, () => drawItem(chat, shown));
    return node;
  }

  function newItem(chat) {
    const click = () => actions.showChat(chat.chat_id);
    return h("button", { type: "button", class: "chat-item", dataset: { chatId: chat.chat_id }, on: { click } });
  }

  function drawItem(chat, { title, time, text, badge, tag }) {
    const top = h(
      "span",
      { class: "chat-top" },
      h("span", { class: "chat-name", text: title }),
      tag ? h("span", { class: chat.kind === "topic" ? "kind-tag" : "bot-tag", text: tag }) : null,
      h("time", { text: time }),
    );
    const bottom = h(
      "span",
      { class: "chat-bottom" },
      h("span", { class: "chat-last", text }),
      badge ? h("span", { class: "badge", text: badge }) : null,
    );
    return [chatAvatar(chat, 42), h("span", { class: "chat-words" }, top, bottom)];
  }

  return { element: h("aside", { class: "sidebar" }, self, list, about), draw };
}
