"""Sentences about permissions, per language: what an agent asks a person, and the right to have code changed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GateTexts:
    """All of them in one language; as `wording.Texts`."""

    # The card of a question: its title, by how it stands
    title_pending: str  # {agent}
    title_allowed: str
    title_denied: str
    title_expired: str
    title_ended: str

    # What a tool of each kind does
    kind_edit: str
    kind_delete: str
    kind_move: str
    kind_execute: str
    kind_read: str
    kind_search: str
    kind_fetch: str
    kind_think: str
    kind_other: str

    # Below the question
    paths: str
    more_paths: str  # {count}
    cut: str  # {count}: lines that are not shown
    until: str  # the moment follows
    who_may: str
    text_only: str
    by: str  # who follows
    said_expired: str
    said_turn: str
    said_restart: str
    said_no_code_write: str

    # Buttons, by the kind of the agent's option, and the same as done
    allow_once: str
    allow_always: str
    reject_once: str
    reject_always: str
    did_allow_once: str
    did_allow_always: str
    did_reject_once: str
    did_reject_always: str

    # Toasts
    toast_allowed: str
    toast_denied: str
    toast_was_allowed: str
    toast_was_denied: str
    toast_expired: str
    toast_turn: str
    toast_restart: str
    toast_no_code_write: str
    toast_not_yours: str
    toast_not_asker: str
    toast_unknown: str
    toast_fresh: str
    toast_not_lost: str

    # An agent that could not load its old session
    fresh_button: str

    # Asking for the right to have code changed
    right_title: str
    right_lead: str  # {who}
    right_for: str
    right_approved: str  # {what}
    right_denied: str
    right_expired: str
    asked_title: str
    asked_body: str
    asked_approved_title: str
    asked_approved: str
    asked_denied_title: str
    asked_denied: str
    asked_expired_title: str
    asked_expired: str
    toast_asked: str
    toast_asked_already: str
    toast_has_right: str
    toast_right_cooling: str
    toast_right_given: str  # {who}


ZH = GateTexts(
    title_pending="{agent} 请求许可",
    title_allowed="已允许",
    title_denied="已拒绝",
    title_expired="超时未答复，已拒绝",
    title_ended="不再询问",
    kind_edit="修改文件",
    kind_delete="删除",
    kind_move="移动或重命名",
    kind_execute="执行命令",
    kind_read="读取",
    kind_search="搜索",
    kind_fetch="访问网络",
    kind_think="思考",
    kind_other="使用工具",
    paths="涉及",
    more_paths="… 另有 {count} 个",
    cut="… 另有 {count} 行未显示",
    until="无人答复时，自动拒绝于：",
    who_may="由提问的人或管理员决定。",
    text_only="看不到按钮时，无法在这里答复；到时会自动拒绝。",
    by="决定人",
    said_expired="没有人及时答复，智能体已被告知不能这样做。",
    said_turn="这次回答已经结束，无需再决定。什么都没有执行。",
    said_restart="决定之前服务重启了，什么都没有执行。要接着做，请在回答的卡片上点“继续”。",
    said_no_code_write="提问的人已不再有改代码的权限，所以没有执行。",
    allow_once="允许一次",
    allow_always="始终允许",
    reject_once="拒绝",
    reject_always="始终拒绝",
    did_allow_once="允许了这一次。",
    did_allow_always="允许了，这段对话里智能体不再询问同样的事。",
    did_reject_once="拒绝了，没有执行。",
    did_reject_always="拒绝了，这段对话里智能体不再询问同样的事。",
    toast_allowed="已允许",
    toast_denied="已拒绝",
    toast_was_allowed="已经有人允许了。",
    toast_was_denied="已经有人拒绝了。",
    toast_expired="已经超时，按拒绝处理。",
    toast_turn="这次回答已经结束，无需再决定。",
    toast_restart="服务重启过，这个请求已作废。请在回答的卡片上点“继续”。",
    toast_no_code_write="提问的人没有改代码的权限，所以没有执行。",
    toast_not_yours="只有提问的人或管理员可以决定。",
    toast_not_asker="只有提问的人可以为自己申请。",
    toast_unknown="这个按钮已经失效。",
    toast_fresh="正在新的会话里重新回答",
    toast_not_lost="这条回答不需要新的会话。请直接发消息。",
    fresh_button="新会话",
    right_title="有人申请改代码的权限",
    right_lead="{who}想让智能体修改文件或执行命令。",
    right_for="正在处理",
    right_approved="现在可以：{what}。对方需要再发一次消息。",
    right_denied="已告知对方。智能体不会替对方修改文件或执行命令。",
    right_expired="没有人及时决定，权限没有改变。对方可以再次申请。",
    asked_title="已申请改代码的权限",
    asked_body="申请已提交，等机器人的管理员决定，有结果时这张卡片会更新。",
    asked_approved_title="可以改代码了",
    asked_approved="管理员已同意。请再发一次消息，智能体就可以修改文件和执行命令。",
    asked_denied_title="申请被拒绝",
    asked_denied="智能体仍可以阅读和回答，但不会替你修改文件或执行命令。如有需要，请联系机器人的管理员。",
    asked_expired_title="没有人决定",
    asked_expired="管理员没有及时决定。需要时可以再次申请。",
    toast_asked="申请已提交，等管理员决定",
    toast_asked_already="已经申请过了，正在等管理员决定。",
    toast_has_right="你已经有改代码的权限，请再发一次消息。",
    toast_right_cooling="管理员刚刚拒绝过，请过些时候再申请。",
    toast_right_given="{who}现在可以改代码了。",
)

EN = GateTexts(
    title_pending="{agent} asks for permission",
    title_allowed="Allowed",
    title_denied="Refused",
    title_expired="Refused: nobody answered in time",
    title_ended="No longer asked",
    kind_edit="Edit a file",
    kind_delete="Delete",
    kind_move="Move or rename",
    kind_execute="Run a command",
    kind_read="Read",
    kind_search="Search",
    kind_fetch="Go to the network",
    kind_think="Think",
    kind_other="Use a tool",
    paths="Touches",
    more_paths="… {count} more",
    cut="… {count} more lines are not shown",
    until="Without an answer it is refused at",
    who_may="The person who asked, or an admin, decides.",
    text_only="Where no buttons are shown, this cannot be answered here; it will be refused by itself.",
    by="Decided by",
    said_expired="Nobody answered in time. The agent was told that it may not do this.",
    said_turn="The answer has ended, so there is nothing left to decide. Nothing was done.",
    said_restart="The service was restarted before anybody decided. Nothing was done. To go on, press Continue on the "
    "card of the answer.",
    said_no_code_write="The person who asked may not have code changed any more, so nothing was done.",
    allow_once="Allow once",
    allow_always="Always allow",
    reject_once="Refuse",
    reject_always="Always refuse",
    did_allow_once="Allowed this once.",
    did_allow_always="Allowed, and the agent does not ask about the same thing again in this conversation.",
    did_reject_once="Refused. It was not done.",
    did_reject_always="Refused, and the agent does not ask about the same thing again in this conversation.",
    toast_allowed="Allowed",
    toast_denied="Refused",
    toast_was_allowed="Somebody has already allowed this.",
    toast_was_denied="Somebody has already refused this.",
    toast_expired="The time is over: it was refused.",
    toast_turn="The answer has ended: there is nothing left to decide.",
    toast_restart="The service was restarted, so this is void. Press Continue on the card of the answer.",
    toast_no_code_write="The person who asked may not have code changed, so it was not done.",
    toast_not_yours="Only the person who asked, or an admin, can decide this.",
    toast_not_asker="Only the person who asked can ask for this.",
    toast_unknown="This button is out of date.",
    toast_fresh="Answering again in a fresh session",
    toast_not_lost="This answer needs no fresh session. Just send a message.",
    fresh_button="Fresh session",
    right_title="Somebody asks for the right to change code",
    right_lead="{who} wants the agent to change files or run commands.",
    right_for="Working on",
    right_approved="May now: {what}. A new message makes use of it.",
    right_denied="The person has been told. The agent changes nothing and runs nothing for them.",
    right_expired="Nobody decided in time, so nothing has changed. The person can ask again.",
    asked_title="Asked for the right to change code",
    asked_body="Your request waits for an admin of this bot. This card will say what they decide.",
    asked_approved_title="You may have code changed",
    asked_approved="An admin has agreed. Send your message again, and the agent can change files and run commands.",
    asked_denied_title="Your request was declined",
    asked_denied="The agent goes on reading and answering, but changes nothing and runs nothing for you. Please talk "
    "to an admin of this bot if you need it.",
    asked_expired_title="Nobody has decided",
    asked_expired="No admin decided in time. You can ask again when you need it.",
    toast_asked="Your request waits for an admin",
    toast_asked_already="You have asked already; no admin has decided yet.",
    toast_has_right="You may have code changed already. Send your message again.",
    toast_right_cooling="An admin has declined a moment ago. Please ask again later.",
    toast_right_given="{who} may have code changed now.",
)


def gate_texts(language: str) -> GateTexts:
    """The sentences of `language`, as `texts.texts`."""
    return ZH if language.lower().startswith("zh") else EN
