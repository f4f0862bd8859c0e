// What stands inside a message, by type; and its one-line form for the chat list, quotes and topic previews.
import { h, link, linkified, webAddress } from "./dom.js";
import { cardSummary } from "./card.js";
import { emoji, knowsEmoji } from "./emoji.js";
import { icon } from "./icons.js";
import { mediaAddress } from "./wire.js";

/** One line of plain text for a message. `t` are the page's texts. */
export function summaryOf(message, store, t, language) {
  if (message.recalled) return store.isMine(message) ? t.youRecalled : t.recalled(store.nameOf(message.sender) ?? "");
  switch (message.type) {
    case "text":
      return withMentions(message.content.text ?? "", message, store, t)
        .map((part) => part.text)
        .join("");
    case "post":
      return (
        postParagraphs(message.content, language)
          .lines.flat()
          .map(
            (part) => part.text ?? (part.tag === "img" ? t.image : part.tag === "at" ? `@${part.user_name ?? ""}` : ""),
          )
          .join(" ") || postParagraphs(message.content, language).title
      );
    case "image":
      return t.image;
    case "file":
      return `${t.file} ${message.content.file_name ?? ""}`;
    case "audio":
      return t.audio;
    case "media":
      return t.media;
    case "sticker":
      return t.sticker;
    case "interactive":
      return cardSummary(message.card, language);
    case "merge_forward":
      return t.forward;
    case "share_chat":
      return t.shareChat;
    case "share_user":
      return t.shareUser;
    default:
      return t.unknown;
  }
}

/** Cut a text at its mention keys: parts {text, mention: boolean}. */
function withMentions(text, message, store, t) {
  const names = new Map((message.mentions ?? []).map((mention) => [mention.key, mention.name]));
  names.set("@_all", t.everyone);
  const parts = [];
  let last = 0;
  for (const match of text.matchAll(/@_user_\d+|@_all|<at user_id="([^"]+)">([^<]*)<\/at>/g)) {
    const name = match[1]
      ? (store.nameOf(match[1]) ?? (match[1] === "all" ? t.everyone : match[2]))
      : names.get(match[0]);
    if (name === undefined) continue;
    parts.push({ text: text.slice(last, match.index) }, { text: `@${name}`, mention: true });
    last = match.index + match[0].length;
  }
  parts.push({ text: text.slice(last) });
  return parts.filter((part) => part.text);
}

function postParagraphs(content, language) {
  const post = content.content
    ? content
    : (content[language === "en" ? "en_us" : "zh_cn"] ?? Object.values(content)[0] ?? {});
  return { title: post.title ?? "", lines: post.content ?? [] };
}

/** The inside of a bubble for everything that is not a card. */
export function drawContent(message, store, t, language) {
  switch (message.type) {
    case "text":
      return h(
        "div",
        { class: "text" },
        withMentions(message.content.text ?? "", message, store, t).map((part) =>
          part.mention ? h("span", { class: "mention", text: part.text }) : drawWords(part.text),
        ),
      );
    case "post":
      return drawPost(message, store, t, language);
    case "image":
      return drawPicture(message.content.image_key, t.image);
    case "sticker":
      return h("div", { class: "sticker" }, emoji("SMILE", 72));
    case "file":
      return drawFile(message.content, t);
    case "audio":
      return h("audio", { controls: true, preload: "none", src: mediaAddress(message.content.file_key ?? "") });
    case "media":
      return h("video", {
        class: "picture",
        controls: true,
        preload: "metadata",
        src: mediaAddress(message.content.file_key ?? ""),
      });
    case "merge_forward":
      return drawForward(message, store, t, language);
    case "share_chat":
      return h(
        "div",
        { class: "file" },
        icon("people", 26),
        h("div", { class: "file-name", text: store.chats.get(message.content.chat_id)?.name ?? t.shareChat }),
      );
    default:
      return h("div", { class: "text muted", text: summaryOf(message, store, t, language) });
  }
}

function drawWords(text) {
  const parts = [];
  let last = 0;
  for (const match of text.matchAll(/\[([A-Za-z_]{2,20})\]/g)) {
    if (!knowsEmoji(match[1])) continue;
    parts.push(linkified(text.slice(last, match.index)), emoji(match[1], 20));
    last = match.index + match[0].length;
  }
  parts.push(linkified(text.slice(last)));
  return h("span", {}, parts);
}

function drawPicture(key, alt) {
  return h(
    "a",
    { href: mediaAddress(key ?? ""), target: "_blank", rel: "noopener" },
    h("img", { class: "picture", src: mediaAddress(key ?? ""), alt }),
  );
}

function drawFile(content, t) {
  const name = content.file_name ?? t.file;
  const kind = name.includes(".") ? name.split(".").pop().slice(0, 4).toUpperCase() : "FILE";
  return h(
    "a",
    { class: "file", href: mediaAddress(content.file_key ?? ""), download: name, title: t.download },
    h("span", { class: "file-kind", text: kind }),
    h("span", { class: "file-name", text: name }),
  );
}

function drawPost(message, store, t, language) {
  const { title, lines } = postParagraphs(message.content, language);
  const node = h("div", { class: "post" }, title ? h("h4", { text: title }) : null);
  for (const line of lines)
    node.append(
      h(
        "div",
        { class: "post-line" },
        line.map((part) => drawPostPart(part, message, store, t)),
      ),
    );
  return node;
}

function drawPostPart(part, message, store, t) {
  const styles = (part.style ?? []).map((style) => `post-${style}`).join(" ");
  switch (part.tag) {
    case "text":
      return h("span", { class: styles }, linkified(part.text ?? ""));
    case "a":
      return webAddress(part.href)
        ? link(webAddress(part.href), part.text ?? part.href)
        : h("span", { text: part.text ?? "" });
    case "at":
      return h("span", {
        class: "mention",
        text: `@${part.user_name ?? message.mentions?.find((mention) => mention.key === part.user_id)?.name ?? store.nameOf(part.user_id) ?? (part.user_id === "all" ? t.everyone : part.user_id)}`,
      });
    case "img":
      return drawPicture(part.image_key, t.image);
    case "media":
      return h("video", { class: "picture", controls: true, src: mediaAddress(part.file_key ?? "") });
    case "emotion":
      return emoji(part.emoji_type ?? "", 20);
    case "code_block":
      return h("pre", { class: "post-code", text: part.text ?? "" });
    case "hr":
      return h("hr");
    // A "md" part is Markdown on Feishu as well; the page shows its text, which is all that a post promises here.
    default:
      return h("span", { class: "post-md", text: part.text ?? "" });
  }
}

function drawForward(message, store, t, language) {
  const lines = (message.children ?? []).slice(0, 4).map((child) =>
    h("div", {
      class: "forward-line",
      text: `${store.nameOf(child.sender) ?? "?"}: ${summaryOf(child, store, t, language)}`,
    }),
  );
  return h("div", { class: "forward" }, h("h4", { text: t.chatHistory }), lines);
}
