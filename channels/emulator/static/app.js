// The chat page: chat list on the left, messages in the middle, an open topic on the right; on a phone one of them at a time.
import { h, replaceChildren } from "./dom.js";
import { avatar, chatAvatar } from "./avatar.js";
import { createComposer } from "./composer.js";
import { summaryOf } from "./content.js";
import { icon } from "./icons.js";
import { createRows } from "./rows.js";
import { Store } from "./store.js";
import { clockText, firstLanguage, textsFor } from "./texts.js";
import * as wire from "./wire.js";

const store = new Store();
const narrow = window.matchMedia("(max-width: 760px)");
const page = {
  store, language: firstLanguage(), get t() { return textsFor(this.language); }, get phone() { return narrow.matches; },
  root: null, clickCard, toast, toggleReaction, startQuote, openTopic, recall, say, sendFile,
};
let openChat = "";
let topic = null; // {root: message_id} of the open topic
const waiting = new Set(); // messages this person just wrote: the topic of one opens as soon as the bot answers in it

const sidebar = h("aside", { class: "sidebar" });
const chatHead = h("header", { class: "pane-head" });
const chatScroll = h("div", { class: "scroll", role: "log", "aria-live": "polite" });
const chatRows = createRows(page, "chat");
const chatComposer = createComposer(page, () => ({ chat: store.chats.get(openChat) }));
const chatPane = h("main", { class: "pane chat-pane" }, chatHead, chatScroll, chatComposer.element);
const topicHead = h("header", { class: "pane-head" });
const topicScroll = h("div", { class: "scroll" });
const topicRows = createRows(page, "topic");
const topicComposer = createComposer(page, topicPlace);
const topicPane = h("section", { class: "pane topic-pane", hidden: true }, topicHead, topicScroll, topicComposer.element);
const toasts = h("div", { class: "toasts", role: "status" });
const offline = h("div", { class: "offline", hidden: true });
const app = page.root = h("div", { class: "app" }, sidebar, chatPane, topicPane, toasts, offline);

function topicRoot() {
  return topic ? store.messages.get(topic.root) : undefined;
}

function topicPlace() {
  const root = topicRoot();
  return { chat: store.chats.get(root?.chat_id), thread_id: root?.thread_id || undefined, parent_id: root?.thread_id ? undefined : root?.message_id, in_topic: true };
}

// Drawing

let queued = false;
/** Draw once per frame, however many changes came. */
function redraw() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    drawAll();
  });
}

function drawAll() {
  document.documentElement.lang = page.language === "en" ? "en" : "zh-CN";
  if (openChat && document.visibilityState === "visible") store.markRead(openChat, store.chatMessages(openChat));
  const root = topicRoot();
  if (root?.thread_id) store.markRead(root.thread_id, store.threadMessages(root.thread_id));
  drawSidebar();
  drawChat();
  drawTopic(root);
  const unread = [...store.chats.keys()].reduce((sum, id) => sum + store.unread(id), 0);
  document.title = (unread ? `(${unread}) ` : "") + page.t.title;
  app.dataset.view = topic ? "topic" : openChat ? "chat" : "list";
}

function drawSidebar() {
  const { t } = page;
  const me = store.people.get(store.me);
  const choice = h("select", { class: "identity", "aria-label": t.switchTo, on: { change: (event) => become(event.target.value) } },
    [...store.people.values()].map((person) => h("option", { value: person.open_id, text: person.name })));
  choice.value = store.me;
  const language = h("button", { type: "button", class: "language", title: t.language, on: { click: switchLanguage } }, icon("globe", 16), h("span", { text: t.language }));
  const list = h("nav", { class: "chat-list", "aria-label": t.chats }, store.chatsByTime().map(drawChatItem));
  const old = sidebar.querySelector(".identity");
  if (old && old === document.activeElement) return void sidebar.querySelector(".chat-list").replaceWith(list);
  replaceChildren(sidebar, h("div", { class: "self" }, me ? avatar(me.open_id, me.name, 40) : null, h("label", { class: "self-name" }, h("small", { text: t.you }), choice), language), list, h("footer", { class: "about", text: t.about }));
}

function drawChatItem(chat) {
  const { t } = page;
  const last = store.lastMessage(chat.chat_id), unread = chat.chat_id === openChat ? 0 : store.unread(chat.chat_id);
  const who = last && !last.recalled && chat.kind !== "p2p" ? `${store.isMine(last) ? t.you_ : store.nameOf(last.sender)}: ` : "";
  return h("button", { type: "button", class: `chat-item ${chat.chat_id === openChat ? "open" : ""}`, dataset: { chatId: chat.chat_id }, on: { click: () => showChat(chat.chat_id) } },
    chatAvatar(chat, 42), h("span", { class: "chat-words" },
      h("span", { class: "chat-top" }, h("span", { class: "chat-name", text: titleOf(chat) }), chat.kind === "topic" ? h("span", { class: "kind-tag", text: t.topics }) : chat.kind === "p2p" ? h("span", { class: "bot-tag", text: t.bot }) : null, h("time", { text: last ? clockText(last.create_ms) : "" })),
      h("span", { class: "chat-bottom" }, h("span", { class: "chat-last", text: last ? who + summaryOf(last, store, t, page.language) : t.quiet }), unread ? h("span", { class: "badge", text: unread > 99 ? "99+" : String(unread) }) : null)));
}

function titleOf(chat) {
  return chat.kind === "p2p" ? store.bot.name : chat.name;
}

function drawChat() {
  const chat = store.chats.get(openChat), { t } = page;
  chatPane.classList.toggle("empty", !chat);
  if (!chat) {
    replaceChildren(chatHead);
    replaceChildren(chatScroll, h("div", { class: "nothing" }, icon("chat", 44), h("p", { text: t.noChat })));
    return;
  }
  const notes = [chat.kind === "p2p" ? t.bot : chat.kind === "topic" ? `${t.topics} · ${t.people(chat.members.length)}` : `${t.group} · ${t.people(chat.members.length)}`, !chat.threads_allowed ? t.noThreads : null, chat.disbanded ? t.disbanded : !chat.bot_in_chat ? t.botAway : null];
  replaceChildren(chatHead, h("button", { type: "button", class: "back", "aria-label": t.back, on: { click: () => { openChat = ""; topic = null; redraw(); } } }, icon("back", 22)), chatAvatar(chat, 34),
    h("div", { class: "head-words" }, h("h1", { text: titleOf(chat) }), h("p", { text: notes.filter(Boolean).join(" · ") })));
  fill(chatScroll, chatRows.draw(store.mainMessages(openChat)), h("div", { class: "nothing" }, icon("chat", 40), h("p", { text: t.noMessages })));
  chatComposer.refresh();
}

function drawTopic(root) {
  topicPane.hidden = !root;
  app.classList.toggle("with-topic", Boolean(root));
  if (!root) return;
  const { t } = page;
  const messages = root.thread_id ? store.threadMessages(root.thread_id) : [root];
  const close = () => { topic = null; topicRows.clear(); redraw(); };
  replaceChildren(topicHead, h("button", { type: "button", class: "back", "aria-label": t.back, on: { click: close } }, icon("back", 22)), h("div", { class: "head-words" }, h("h1", { text: t.topic }), h("p", { text: `${titleOf(store.chats.get(root.chat_id))} · ${t.replies(messages.length - 1)}` })),
    h("button", { type: "button", class: "close", "aria-label": t.close, title: t.close, on: { click: close } }, icon("close", 20)));
  fill(topicScroll, topicRows.draw(messages));
  topicComposer.refresh();
}

/** Put rows into a scroller; someone at the bottom stays there. Rows that are already in place are not moved. */
function fill(scroller, nodes, empty = null) {
  const wasLow = scroller.dataset.fresh === "yes" || scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
  const wanted = nodes.length || !empty ? nodes : [empty];
  wanted.forEach((node, index) => {
    if (scroller.childNodes[index] !== node) scroller.insertBefore(node, scroller.childNodes[index] ?? null);
  });
  while (scroller.childNodes.length > wanted.length) scroller.lastChild.remove();
  if (wasLow) scroller.scrollTop = scroller.scrollHeight;
  scroller.dataset.fresh = "no";
}

// Actions

function showChat(chatId) {
  if (openChat !== chatId) {
    chatRows.clear();
    topicRows.clear();
    topic = null;
    chatComposer.clear();
    chatScroll.dataset.fresh = "yes";
  }
  openChat = chatId;
  if (store.chats.get(chatId)?.kind === "p2p") attempt(wire.enter({ user: store.me, chat_id: chatId }));
  redraw();
  if (!page.phone) requestAnimationFrame(() => chatComposer.focus());
}

function openTopic(message) {
  topicRows.clear();
  topicScroll.dataset.fresh = "yes";
  topic = { root: message.message_id };
  redraw();
  if (!page.phone) requestAnimationFrame(() => topicComposer.focus());
}

function startQuote(message, place) {
  (place === "topic" ? topicComposer : chatComposer).quote(message);
}

async function attempt(promise) {
  try {
    return await promise;
  } catch (error) {
    toast(error instanceof wire.Refusal && error.message ? error.message : page.t.failed, "error");
    return null;
  }
}

async function say(text, where) {
  const members = [store.bot, ...store.people.values()];
  const mentions = members.filter((person) => text.includes(`@${person.name}`)).map((person) => person.open_id);
  const answer = await attempt(wire.say({ user: store.me, text, mentions, ...where }));
  showNewest(where);
  return answer;
}

async function sendFile(file, where) {
  await attempt(wire.sendFile(store.me, where, file));
  showNewest(where);
}

function showNewest(where) {
  (where.in_topic ? topicScroll : chatScroll).dataset.fresh = "yes";
}

function recall(message) {
  return attempt(wire.recall({ user: store.me, message_id: message.message_id }));
}

function toggleReaction(message, name, reactionId) {
  return attempt(wire.react({ user: store.me, message_id: message.message_id, emoji_type: name, reaction_id: reactionId }));
}

async function clickCard(messageId, action) {
  const answer = await attempt(wire.click({ user: store.me, message_id: messageId, ...action }));
  if (answer?.toast?.content) toast(answer.toast.i18n?.[page.language === "en" ? "en_us" : "zh_cn"] ?? answer.toast.content, answer.toast.type);
}

function toast(text, kind = "info") {
  const known = ["info", "success", "warning", "error"].includes(kind) ? kind : "info";
  const drawn = h("div", { class: `toast ${known}` }, icon({ success: "check", warning: "warning", error: "warning", info: "info" }[known], 18), h("span", { text }));
  toasts.append(drawn);
  drawn.addEventListener("animationend", () => drawn.remove());
}

async function become(openId) {
  const chat = store.chats.get(openChat);
  chatRows.clear();
  topicRows.clear();
  topic = null;
  waiting.clear();
  await load(openId);
  if (chat?.kind === "p2p") openChat = [...store.chats.values()].find((each) => each.kind === "p2p")?.chat_id ?? "";
  else if (!store.chats.has(openChat)) openChat = "";
  chatScroll.dataset.fresh = "yes";
  redraw();
}

function switchLanguage() {
  page.language = page.language === "en" ? "zh" : "en";
  localStorage.setItem("emulator.language", page.language);
  redraw();
}

// Following the emulator

async function load(user) {
  const snapshot = await attempt(wire.snapshot(user));
  if (!snapshot) return;
  store.load(snapshot);
  if (!openChat && !page.phone) openChat = store.chatsByTime()[0]?.chat_id ?? "";
  redraw();
}

function changed(change) {
  if (!store.take(change)) return;
  if (change.type === "message") followTopic(store.messages.get(change.message.message_id));
  redraw();
}

/** On a wide screen the bot's first answer in a new topic of ours opens that topic, unless another one is open. */
function followTopic(message) {
  if (store.isMine(message) && !message.root_id) waiting.add(message.message_id);
  if (!message.by_bot || !message.thread_id || !waiting.delete(message.root_id)) return;
  if (message.chat_id === openChat && !topic && !page.phone) openTopic(store.messages.get(message.root_id));
}

document.body.append(app);
narrow.addEventListener("change", redraw);
document.addEventListener("visibilitychange", redraw);
wire.follow({
  onChange: changed,
  onOpen: async () => {
    await load(store.me);
    offline.hidden = true;
    document.body.dataset.ready = "yes";
  },
  onLost: () => {
    offline.textContent = page.t.offline;
    offline.hidden = false;
  },
});
