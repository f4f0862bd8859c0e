"""What is said about launches and wake-ups: the text that opens a topic, and why something was not begun. Pure."""

from collections.abc import Mapping

_EN: Mapping[str, str] = {
    "opening": "Begun for you: {text}",
    "user_may_not_chat": "{user} may not chat with the bot. Nothing was begun. `channels access grant` lets them in.",
    "private_chats_off": "The settings answer nobody in {user}'s private chat ([chat] dm). Nothing was begun.",
    "unknown_chat": "There is no chat {chat}. Nothing was begun. /groupid, sent in a group, tells its id.",
    "bot_not_in_chat": "The bot is not in the chat {chat}, or may not speak there. Nothing was begun. Add it there.",
    "chat_dissolved": "The chat {chat} is dissolved. Nothing was begun.",
    "chat_unverified": "Feishu does not show the chat {chat} to this app, and nobody has written there yet. Nothing "
    "was begun. Give the app the permission im:chat:readonly, or write to the bot there once.",
    "not_their_chat": "{chat} is not the private chat of {user}. Nothing was begun. Leave the chat out to reach it.",
    "unknown_agent": "There is no agent {agent}. Nothing was begun. There are: {agents}.",
    "key_conflict": "Under the key {key} something else was asked for before. Nothing was begun. Take another key.",
    "quota": "The quota of {user} is used up until {until}. Nothing was begun. Ask again then.",
    "unknown_topic": "No conversation is in the topic {place}. Nothing was begun.",
    "topic_expired": "The topic {place} has expired. Nothing was begun. `channels topic start` opens another one.",
    "unknown_session": "There is no session {place}. Nothing was begun.",
    "session_archived": "The session {place} belongs to no conversation any more. Nothing was begun. /resume brings it "
    "back, `channels topic start` opens another one.",
    "still_opening": "The session {place} is just being opened. Nothing was begun. Ask again in a moment.",
    "queue_full": "Too many turns wait in {place} already. Nothing was begun. Ask again later.",
    "topic_unreachable": "The file knows no message of the topic {place} that could be answered. Nothing was begun. "
    "Write there once.",
}
_ZH: Mapping[str, str] = {
    "opening": "为你发起：{text}",
    "user_may_not_chat": "{user} 没有与机器人对话的权限，没有发起。可以用 `channels access grant` 授权。",
    "private_chats_off": "按当前设置（[chat] dm），机器人不在 {user} 的私聊里回答，没有发起。",
    "unknown_chat": "没有会话 {chat}，没有发起。在群里发送 /groupid 可以看到它的 ID。",
    "bot_not_in_chat": "机器人不在会话 {chat} 里，或者不能在那里发言，没有发起。请先把它加进群。",
    "chat_dissolved": "会话 {chat} 已经解散，没有发起。",
    "chat_unverified": "飞书不让这个应用查看会话 {chat}，那里也还没有人说过话，没有发起。"
    "请给应用开通 im:chat:readonly 权限，或者先在那里对机器人说一句话。",
    "not_their_chat": "{chat} 不是 {user} 的私聊，没有发起。不写会话就会发到对方的私聊。",
    "unknown_agent": "没有名为 {agent} 的智能体，没有发起。现有：{agents}。",
    "key_conflict": "编号 {key} 之前用于另一个请求，没有发起。请换一个编号。",
    "quota": "{user} 的额度已用完，到 {until} 恢复，没有发起。请到时再试。",
    "unknown_topic": "话题 {place} 里没有对话，没有发起。",
    "topic_expired": "话题 {place} 已过期，没有发起。可以用 `channels topic start` 另开一个。",
    "unknown_session": "没有会话记录 {place}，没有发起。",
    "session_archived": "会话记录 {place} 已不属于任何对话，没有发起。"
    "可以用 /resume 找回，或用 `channels topic start` 另开一个。",
    "still_opening": "会话记录 {place} 正在建立，没有发起。请稍后再试。",
    "queue_full": "{place} 里排队的已经太多，没有发起。请稍后再试。",
    "topic_unreachable": "找不到话题 {place} 里可以回复的消息，没有发起。请先在那里说一句话。",
}


def launch_text(name: str, language: str, **values: str) -> str:
    """The sentence of this name, in the service's language."""
    return (_ZH if language.startswith("zh") else _EN)[name].format(**values)
