// Message rows: kept between redraws by message id, so that a streaming card or a playing video is never torn down.
import { h, replaceChildren } from "./dom.js";
import { avatar, botAvatar } from "./avatar.js";
import { createCard } from "./card.js";
import { drawContent, summaryOf } from "./content.js";
import { emoji, PICKABLE } from "./emoji.js";
import { icon } from "./icons.js";
import { clockText, dayText } from "./texts.js";
import { mediaAddress } from "./wire.js";

/** One pane's rows. `page`: store, t, language, phone and the page's actions; `place`: "chat" or "topic". */
export function createRows(page, place) {
  const rows = new Map();

  /** DOM nodes for these messages, oldest first, with day lines between them. */
  function draw(messages) {
    const nodes = [];
    let day = "",
      before = null;
    for (const message of messages) {
      const today = dayText(message.create_ms, page.language);
      if (today !== day) nodes.push(h("div", { class: "day", text: today }));
      const joined =
        before &&
        today === day &&
        before.sender === message.sender &&
        message.create_ms - before.create_ms < 180000 &&
        !before.recalled &&
        !(place === "chat" && (message.thread_id || before.thread_id));
      day = today;
      before = message;
      nodes.push(rowOf(message, Boolean(joined)));
    }
    const wanted = new Set(messages.map((message) => message.message_id));
    for (const [id, row] of rows) {
      if (wanted.has(id)) continue;
      row.card?.remove();
      rows.delete(id);
    }
    return nodes;
  }

  function rowOf(message, joined) {
    const row = rows.get(message.message_id) ?? { node: h("div"), around: "", message: null, card: null };
    rows.set(message.message_id, row);
    const { language, store } = page;
    const bare = { ...message, card: null, streaming: null };
    const around = JSON.stringify([bare, language, store.me, joined, topicKey(message)]);
    const fresh = row.language !== language;
    const changed = row.message !== message;
    Object.assign(row, { message, language });
    if (row.around !== around) drawRow(row, message, joined, fresh);
    else if (changed && row.card) row.card.update(shownCard(message));
    row.around = around;
    return row.node;
  }

  function topicKey(message) {
    if (place !== "chat" || !message.thread_id) return null;
    const replies = repliesOf(message);
    return [
      replies.length,
      replies.at(-1) ? summaryOf(replies.at(-1), page.store, page.t, page.language) : "",
      page.store.threadUnread(message.thread_id),
    ];
  }

  function repliesOf(message) {
    return page.store.threadMessages(message.thread_id).filter((each) => each.message_id !== message.message_id);
  }

  function drawRow(row, message, joined, fresh) {
    const { store, t } = page,
      mine = store.isMine(message);
    row.node.className = `row ${mine ? "mine" : ""} ${joined ? "joined" : ""} ${message.by_bot ? "from-bot" : ""}`;
    row.node.dataset.messageId = message.message_id;
    if (message.recalled) {
      row.card?.remove();
      row.card = null;
      row.node.className = "row recalled";
      replaceChildren(row.node, h("div", { class: "notice", text: summaryOf(message, store, t, page.language) }));
      return;
    }
    const name = store.nameOf(message.sender) ?? "?";
    const meta = h(
      "div",
      { class: "meta" },
      h("span", { class: "name", text: name }),
      message.by_bot ? h("span", { class: "bot-tag", text: t.bot }) : null,
      h("time", { text: clockText(message.create_ms) }),
    );
    const bubble = bubbleOf(row, message, fresh);
    const topic = place === "chat" && message.thread_id ? drawTopic(message) : null;
    replaceChildren(
      row.node,
      message.by_bot ? botAvatar(36) : avatar(message.sender, name, 36),
      h(
        "div",
        { class: "stack" },
        meta,
        quoteOf(message),
        h("div", { class: "bubble-line" }, bubble, tools(message, mine)),
        drawReactions(message),
        topic,
      ),
    );
  }

  function bubbleOf(row, message, fresh) {
    if (message.card) {
      const card = shownCard(message);
      if (!row.card) row.card = createCard(card, hostFor(message));
      else if (fresh) row.card.refresh(card);
      else row.card.update(card);
      return row.card.element;
    }
    const bare = ["image", "sticker", "media", "file"].includes(message.type);
    return h(
      "div",
      { class: `bubble ${bare ? "bare" : ""} type-${message.type}` },
      drawContent(message, page.store, page.t, page.language),
      message.edited ? h("span", { class: "edited", text: page.t.edited }) : null,
    );
  }

  /** The card as it lives: the platform ends streaming after its limit, whatever the JSON still says. */
  function shownCard(message) {
    const { card } = message;
    return message.card_id && !message.streaming && card.config?.streaming_mode
      ? { ...card, config: { ...card.config, streaming_mode: false } }
      : card;
  }

  function hostFor(message) {
    return {
      get language() {
        return page.language;
      },
      get phone() {
        return page.phone;
      },
      people: (id) => page.store.nameOf(id),
      mediaAddress,
      act: (action) => page.clickCard(message.message_id, action),
      notice: (text, kind) => page.toast(text, kind),
    };
  }

  function quoteOf(message) {
    const root = message.thread_id ? message.root_id : "";
    if (!message.parent_id || message.parent_id === root) return null;
    const quoted = page.store.messages.get(message.parent_id);
    if (!quoted) return null;
    return h("div", {
      class: "quote",
      text:
        page.t.quoting(page.store.nameOf(quoted.sender) ?? "?") + summaryOf(quoted, page.store, page.t, page.language),
    });
  }

  function drawReactions(message) {
    if (!message.reactions.length) return null;
    const groups = new Map();
    for (const reaction of message.reactions)
      groups.set(reaction.emoji_type, [...(groups.get(reaction.emoji_type) ?? []), reaction]);
    return h(
      "div",
      { class: "reactions" },
      [...groups].map(([name, each]) => {
        const mine = each.find((reaction) => reaction.open_id === page.store.me);
        return h(
          "button",
          {
            type: "button",
            class: `reaction ${mine ? "own" : ""}`,
            title: name,
            dataset: { emoji: name },
            on: { click: () => page.toggleReaction(message, name, mine?.reaction_id) },
          },
          emoji(name, 18),
          h("span", { text: each.map((reaction) => reaction.name).join(page.language === "en" ? ", " : "、") }),
        );
      }),
    );
  }

  function tools(message, mine) {
    const chat = page.store.chats.get(message.chat_id);
    const button = (name, label, action) =>
      h(
        "button",
        { type: "button", class: `tool tool-${name}`, title: label, "aria-label": label, on: { click: action } },
        icon(name, 16),
      );
    const { t } = page;
    return h(
      "div",
      { class: "tools", role: "toolbar" },
      button("smile", t.react, (event) => pickEmoji(event.currentTarget, message)),
      button("reply", t.reply, () => page.startQuote(message, place)),
      place === "chat" && chat?.threads_allowed ? button("topic", t.replyInTopic, () => page.openTopic(message)) : null,
      mine ? button("undo", t.recall, () => page.recall(message)) : null,
    );
  }

  function pickEmoji(anchor, message) {
    document.querySelector(".emoji-menu")?.remove();
    const menu = h(
      "div",
      { class: "emoji-menu" },
      PICKABLE.map((name) =>
        h(
          "button",
          {
            type: "button",
            title: name,
            "aria-label": name,
            on: {
              click: () => {
                menu.remove();
                page.toggleReaction(message, name);
              },
            },
          },
          emoji(name, 24),
        ),
      ),
    );
    page.root.append(menu);
    const box = anchor.getBoundingClientRect(),
      own = menu.getBoundingClientRect();
    menu.style.left = `${Math.max(8, Math.min(box.left + box.width / 2 - own.width / 2, window.innerWidth - own.width - 8))}px`;
    menu.style.top = `${box.top > own.height + 16 ? box.top - own.height - 6 : box.bottom + 6}px`;
    const close = (event) => {
      if (menu.contains(event.target) || anchor.contains(event.target)) return;
      menu.remove();
      document.removeEventListener("pointerdown", close);
    };
    document.addEventListener("pointerdown", close);
  }

  function drawTopic(message) {
    const replies = repliesOf(message);
    const chat = page.store.chats.get(message.chat_id);
    if (!replies.length && chat?.kind !== "topic") return null;
    const latest = replies
      .slice(-2)
      .map((reply) =>
        h(
          "div",
          { class: "topic-line" },
          reply.by_bot ? botAvatar(20) : avatar(reply.sender, page.store.nameOf(reply.sender) ?? "?", 20),
          h("b", { text: page.store.nameOf(reply.sender) ?? "?" }),
          h("span", { text: summaryOf(reply, page.store, page.t, page.language) }),
        ),
      );
    return h(
      "button",
      {
        type: "button",
        class: `topic-box ${page.store.threadUnread(message.thread_id) ? "unread" : ""}`,
        on: { click: () => page.openTopic(message) },
      },
      latest,
      h(
        "span",
        { class: "topic-foot" },
        icon("topic", 14),
        replies.length ? page.t.replies(replies.length) : page.t.replyInTopic,
      ),
    );
  }

  return {
    draw,
    clear: () => {
      for (const row of rows.values()) row.card?.remove();
      rows.clear();
    },
  };
}
