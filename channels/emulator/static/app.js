// The chat page: chat list on the left, messages in the middle, an open topic on the right; on a phone one of them at a time.
import { drawKeyed, h } from "./dom.js";
import { chatAvatar } from "./avatar.js";
import { createComposer } from "./composer.js";
import { icon } from "./icons.js";
import { createRows } from "./rows.js";
import { createScroller } from "./scroller.js";
import { createSidebar } from "./sidebar.js";
import { Store } from "./store.js";
import { firstLanguage, textsFor } from "./texts.js";
import * as wire from "./wire.js";

const store = new Store();
const narrow = window.matchMedia("(max-width: 760px)");
const page = {
  store,
  language: firstLanguage(),
  get t() {
    return textsFor(this.language);
  },
  get phone() {
    return narrow.matches;
  },
  root: null,
  clickCard,
  toast,
  toggleReaction,
  startQuote,
  openTopic,
  recall,
  say,
  sendFile,
};
let openChat = "";
let topic = null; // {root: message_id} of the open topic
const waiting = new Set(); // messages this person just wrote: the topic of one opens as soon as the bot answers in it

const sidebar = createSidebar(page, { become, switchLanguage, showChat, titleOf });
const chatHead = h("header", { class: "pane-head" });
const chatScroll = createScroller({ role: "log" });
const chatRows = createRows(page, "chat");
const chatComposer = createComposer(page, () => ({ chat: store.chats.get(openChat) }));
const chatPane = h("main", { class: "pane chat-pane" }, chatHead, chatScroll.element, chatComposer.element);
const topicHead = h("header", { class: "pane-head" });
const topicScroll = createScroller();
const topicRows = createRows(page, "topic");
const topicComposer = createComposer(page, topicPlace);
const topicPane = h(
  "section",
  { class: "pane topic-pane", hidden: true },
  topicHead,
  topicScroll.element,
  topicComposer.element,
);
const toasts = h("div", { class: "toasts", role: "status" });
const offline = h("div", { class: "offline", hidden: true });
const app = (page.root = h("div", { class: "app" }, sidebar.element, chatPane, topicPane, toasts, offline));

function topicRoot() {
  return topic ? store.messages.get(topic.root) : undefined;
}

function topicPlace() {
  const root = topicRoot();
  return {
    chat: store.chats.get(root?.chat_id),
    thread_id: root?.thread_id || undefined,
    parent_id: root?.thread_id ? undefined : root?.message_id,
    in_topic: true,
  };
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
  sidebar.draw(openChat);
  drawChat();
  drawTopic(root);
  const unread = [...store.chats.keys()].reduce((sum, id) => sum + store.unread(id), 0);
  document.title = (unread ? `(${unread}) ` : "") + page.t.title;
  app.dataset.view = topic ? "topic" : openChat ? "chat" : "list";
}

function titleOf(chat) {
  return chat.kind === "p2p" ? store.bot.name : chat.name;
}

function nothing(words) {
  return h("div", { class: "nothing" }, icon("chat", 42), h("p", { text: words }));
}

function drawChat() {
  const chat = store.chats.get(openChat);
  const { t } = page;
  chatPane.classList.toggle("empty", !chat);
  if (!chat) {
    drawKeyed(chatHead, null, () => []);
    chatScroll.place([nothing(t.noChat)]);
    return;
  }
  drawKeyed(chatHead, [chat, page.language, store.me], () => drawChatHead(chat));
  const rows = chatRows.draw(store.mainMessages(openChat));
  chatScroll.place(rows.length ? rows : [nothing(t.noMessages)]);
  chatComposer.refresh();
}

function drawChatHead(chat) {
  const { t } = page;
  const kind = { p2p: t.bot, topic: t.topics, group: t.group }[chat.kind];
  const notes = [
    chat.kind === "p2p" ? kind : `${kind} · ${t.people(chat.members.length)}`,
    chat.threads_allowed ? null : t.noThreads,
    chat.disbanded ? t.disbanded : chat.bot_in_chat ? null : t.botAway,
  ];
  return [
    headButton("back", t.back, 22, leaveChat),
    chatAvatar(chat, 34),
    headWords(titleOf(chat), notes.filter(Boolean).join(" · ")),
  ];
}

function drawTopic(root) {
  topicPane.hidden = !root;
  app.classList.toggle("with-topic", Boolean(root));
  if (!root) return;
  const messages = root.thread_id ? store.threadMessages(root.thread_id) : [root];
  const chat = store.chats.get(root.chat_id);
  drawKeyed(topicHead, [chat.name, messages.length, page.language], () => drawTopicHead(chat, messages.length - 1));
  topicScroll.place(topicRows.draw(messages));
  topicComposer.refresh();
}

function drawTopicHead(chat, replies) {
  const { t } = page;
  return [
    headButton("back", t.back, 22, closeTopic),
    headWords(t.topic, `${titleOf(chat)} · ${t.replies(replies)}`),
    headButton("close", t.close, 20, closeTopic),
  ];
}

function headButton(name, label, size, click) {
  return h(
    "button",
    { type: "button", class: name, "aria-label": label, title: label, on: { click } },
    icon(name, size),
  );
}

function headWords(title, below) {
  return h("div", { class: "head-words" }, h("h1", { text: title }), h("p", { text: below }));
}

// Actions

function leaveChat() {
  openChat = "";
  closeTopic();
}

function closeTopic() {
  topic = null;
  topicRows.clear();
  redraw();
}

function showChat(chatId) {
  if (openChat !== chatId) {
    chatRows.clear();
    topicRows.clear();
    topic = null;
    chatComposer.clear();
    chatScroll.toEnd();
  }
  openChat = chatId;
  if (store.chats.get(chatId)?.kind === "p2p") attempt(wire.enter({ user: store.me, chat_id: chatId }));
  redraw();
  if (!page.phone) requestAnimationFrame(() => chatComposer.focus());
}

function openTopic(message) {
  topicRows.clear();
  topicScroll.toEnd();
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
  (where.in_topic ? topicScroll : chatScroll).toEnd();
}

function recall(message) {
  return attempt(wire.recall({ user: store.me, message_id: message.message_id }));
}

function toggleReaction(message, name, reactionId) {
  return attempt(
    wire.react({ user: store.me, message_id: message.message_id, emoji_type: name, reaction_id: reactionId }),
  );
}

async function clickCard(messageId, action) {
  const answer = await attempt(wire.click({ user: store.me, message_id: messageId, ...action }));
  if (answer?.toast?.content)
    toast(answer.toast.i18n?.[page.language === "en" ? "en_us" : "zh_cn"] ?? answer.toast.content, answer.toast.type);
}

function toast(text, kind = "info") {
  const known = ["info", "success", "warning", "error"].includes(kind) ? kind : "info";
  const drawn = h(
    "div",
    { class: `toast ${known}` },
    icon({ success: "check", warning: "warning", error: "warning", info: "info" }[known], 18),
    h("span", { text }),
  );
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
  chatScroll.toEnd();
  redraw();
}

function switchLanguage() {
  page.language = page.language === "en" ? "zh" : "en";
  localStorage.setItem("emulator.language", page.language);
  redraw();
}

// Following the emulator

let held = []; // changes that came while a snapshot was on its way
let loads = 0;

/** Read everything this person sees; changes that arrive meanwhile are taken afterwards, those it holds already are not. */
async function load(user) {
  loads += 1;
  const snapshot = await attempt(wire.snapshot(user));
  loads -= 1;
  if (snapshot) store.load(snapshot);
  if (loads > 0) return;
  const changes = held;
  held = [];
  changes.forEach(changed);
  if (!openChat && !page.phone) openChat = store.chatsByTime()[0]?.chat_id ?? "";
  redraw();
}

function changed(change) {
  if (loads > 0) return void held.push(change);
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
