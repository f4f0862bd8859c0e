// What the page knows: people, chats, messages, who reads, what was read. No DOM here.

const READ_KEY = "emulator.read";

export class Store {
  constructor() {
    this.me = localStorage.getItem("emulator.me") ?? "";
    this.bot = { open_id: "", name: "" };
    this.people = new Map();
    this.chats = new Map();
    this.messages = new Map();
    this.number = 0;
    this.read = JSON.parse(localStorage.getItem(READ_KEY) ?? "{}");
  }

  /** Take a snapshot in; changes with a number up to its own are already in it. */
  load(snapshot) {
    this.me = snapshot.me.open_id;
    localStorage.setItem("emulator.me", this.me);
    this.bot = snapshot.bot;
    this.people = new Map(snapshot.people.map((person) => [person.open_id, person]));
    this.chats = new Map(snapshot.chats.map((chat) => [chat.chat_id, { ...chat, messages: undefined }]));
    this.messages = new Map(
      snapshot.chats.flatMap((chat) => chat.messages.map((view) => [view.message_id, adopt(view)])),
    );
    this.number = snapshot.number;
  }

  /** Take one change in; false when it is older than the snapshot or not for this person's chats. */
  take(change) {
    if (change.number <= this.number) return false;
    this.number = change.number;
    if (change.type === "message") {
      if (!this.chats.has(change.message.chat_id)) return false;
      this.messages.set(change.message.message_id, adopt(change.message));
    } else if (change.type === "chat") {
      if (!change.chat.members.includes(this.me)) return false;
      this.chats.set(change.chat.chat_id, change.chat);
    }
    return true;
  }

  nameOf(id) {
    return id === this.bot.open_id ? this.bot.name : this.people.get(id)?.name;
  }

  isMine(message) {
    return !message.by_bot && message.sender === this.me;
  }

  chatMessages(chatId) {
    return [...this.messages.values()].filter((message) => message.chat_id === chatId).sort(byTime);
  }

  /** What stands in the chat itself: messages outside topics, and each topic by its first message. */
  mainMessages(chatId) {
    const seen = new Set();
    return this.chatMessages(chatId).filter((message) => {
      if (!message.thread_id) return true;
      if (seen.has(message.thread_id)) return false;
      seen.add(message.thread_id);
      return true;
    });
  }

  threadMessages(threadId) {
    return [...this.messages.values()].filter((message) => message.thread_id === threadId).sort(byTime);
  }

  chatsByTime() {
    const last = new Map();
    for (const message of this.messages.values())
      last.set(message.chat_id, Math.max(last.get(message.chat_id) ?? 0, message.create_ms));
    const rank = { p2p: 0, group: 1, topic: 2 };
    return [...this.chats.values()].sort(
      (a, b) => (last.get(b.chat_id) ?? 0) - (last.get(a.chat_id) ?? 0) || rank[a.kind] - rank[b.kind],
    );
  }

  /** The newest message a chat list shows, in topics too. */
  lastMessage(chatId) {
    return this.chatMessages(chatId).at(-1);
  }

  unread(chatId) {
    const from = this.read[`${this.me} ${chatId}`] ?? 0;
    return this.chatMessages(chatId).filter(
      (message) => message.create_ms > from && !this.isMine(message) && !message.recalled,
    ).length;
  }

  threadUnread(threadId) {
    const from = this.read[`${this.me} ${threadId}`] ?? 0;
    return this.threadMessages(threadId).some(
      (message) => message.create_ms > from && !this.isMine(message) && message.parent_id,
    );
  }

  /** Remember that this person has seen a chat or topic up to its newest message. */
  markRead(id, messages) {
    const newest = messages.at(-1)?.create_ms ?? 0;
    const key = `${this.me} ${id}`;
    if ((this.read[key] ?? 0) >= newest) return;
    this.read[key] = newest;
    localStorage.setItem(READ_KEY, JSON.stringify(this.read));
  }
}

/** A message as the emulator sends it, with the names this page uses. */
function adopt(view) {
  const children = (view.children ?? []).map(adopt);
  return {
    ...view,
    type: view.message_type,
    sender: view.sender.open_id,
    by_bot: view.sender.kind === "bot",
    create_ms: view.create_time,
    children,
  };
}

function byTime(a, b) {
  return a.create_ms - b.create_ms || a.order - b.order;
}
