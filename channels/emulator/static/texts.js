// Every sentence of the page in both languages. Cards bring their own texts.

const TEXTS = {
  zh: {
    title: "飞书模拟器", you: "当前身份", switchTo: "切换身份", language: "English", chats: "消息", noChat: "选择一个会话开始聊天", noMessages: "还没有消息，说点什么吧", quiet: "暂无消息", send: "发送", sendHint: "Enter 发送，Shift + Enter 换行",
    write: (name) => `发送给 ${name}`, writeTopic: "回复话题", newTopic: "发起新话题", mention: "提及机器人", attach: "发送图片或文件", bot: "机器人", group: "群聊", topics: "话题群", people: (n) => `${n} 人`,
    reply: "回复", replyInTopic: "在话题中回复", react: "添加表情", recall: "撤回", topic: "话题", replies: (n) => `${n} 条回复`, openTopic: "查看话题", close: "关闭", back: "返回", cancel: "取消",
    recalled: (name) => `${name} 撤回了一条消息`, youRecalled: "你撤回了一条消息", edited: "（已编辑）", noThreads: "此群不支持话题", disbanded: "群已解散", botAway: "机器人不在群中", quoting: (name) => `回复 ${name}：`,
    image: "[图片]", file: "[文件]", audio: "[语音]", media: "[视频]", sticker: "[表情]", card: "[卡片]", forward: "[聊天记录]", shareChat: "[群名片]", shareUser: "[个人名片]", unknown: "[暂不支持的消息]", chatHistory: "聊天记录",
    today: "今天", yesterday: "昨天", offline: "连接已断开，正在重连…", sent: "已发送", failed: "操作失败，请稍后重试", timedOut: "机器人没有及时响应，请稍后重试", download: "下载", everyone: "所有人", you_: "你", newMessages: "有新消息", about: "本机模拟的飞书，消息只在内存中",
    gallery: "卡片预览", noCards: "没有卡片",
  },
  en: {
    title: "Feishu emulator", you: "You are", switchTo: "Switch identity", language: "中文", chats: "Messages", noChat: "Pick a chat to start", noMessages: "No messages yet. Say something!", quiet: "No messages yet", send: "Send", sendHint: "Enter sends, Shift + Enter makes a new line",
    write: (name) => `Message ${name}`, writeTopic: "Reply in topic", newTopic: "Start a new topic", mention: "Mention the bot", attach: "Send a picture or file", bot: "Bot", group: "Group", topics: "Topic group", people: (n) => `${n} people`,
    reply: "Reply", replyInTopic: "Reply in topic", react: "Add reaction", recall: "Recall", topic: "Topic", replies: (n) => (n === 1 ? "1 reply" : `${n} replies`), openTopic: "Open topic", close: "Close", back: "Back", cancel: "Cancel",
    recalled: (name) => `${name} recalled a message`, youRecalled: "You recalled a message", edited: "(edited)", noThreads: "No topics in this group", disbanded: "Group dissolved", botAway: "The bot is not in this group", quoting: (name) => `Reply to ${name}: `,
    image: "[Picture]", file: "[File]", audio: "[Audio]", media: "[Video]", sticker: "[Sticker]", card: "[Card]", forward: "[Chat history]", shareChat: "[Group card]", shareUser: "[Contact card]", unknown: "[Unsupported message]", chatHistory: "Chat history",
    today: "Today", yesterday: "Yesterday", offline: "Disconnected, trying again…", sent: "Sent", failed: "That did not work, please try again", timedOut: "The bot did not answer in time, please try again", download: "Download", everyone: "All", you_: "You", newMessages: "New messages", about: "Feishu, emulated on this machine; messages live in memory only",
    gallery: "Card preview", noCards: "No cards",
  },
};

export function textsFor(language) {
  return TEXTS[language] ?? TEXTS.zh;
}

/** The language chosen earlier, or the browser's. */
export function firstLanguage() {
  const kept = localStorage.getItem("emulator.language");
  return kept === "zh" || kept === "en" ? kept : navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function clockText(ms) {
  const moment = new Date(ms);
  return `${String(moment.getHours()).padStart(2, "0")}:${String(moment.getMinutes()).padStart(2, "0")}`;
}

export function dayText(ms, language) {
  const moment = new Date(ms), t = textsFor(language);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(ms).setHours(0, 0, 0, 0)) / 86400000);
  if (days === 0) return t.today;
  if (days === 1) return t.yesterday;
  return moment.toLocaleDateString(language === "en" ? "en-US" : "zh-CN", { month: "long", day: "numeric" });
}
