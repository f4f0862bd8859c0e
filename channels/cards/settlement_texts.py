"""Sentences about settlements and quotas, per language: what admins see and are told in a chat."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SettlementTexts:
    """All of them in one language; as `wording.Texts`. `codes`: why something was not done, by the contract's code."""

    title: str
    running: str  # {generation}
    paused: str  # {generation}
    pending: str  # {count}
    nothing_pending: str
    line: str  # {key} {state} {attempts} {deadline}
    more: str  # {count}
    history: str  # {counts}
    stops: str  # {count}
    owed: str  # {count}
    hint: str
    how: str
    ambiguous: str  # {key}
    paused_now: str
    paused_before: str
    resumed_now: str
    resumed_before: str
    settled: str  # {key} {state}
    settled_before: str  # {key} {state}
    stopped: str  # {session} {count}
    stopped_before: str  # {session}
    quota: str
    quota_line: str  # {turns} {tokens} {until}
    quota_of: str  # {used} {limit}
    quota_endless: str  # {used}
    quota_held: str  # {held}
    today: str
    month: str
    turns: str  # {text}
    tokens: str  # {text}
    states: Mapping[str, str]
    codes: Mapping[str, str]


_EN = SettlementTexts(
    title="Settlement",
    running="Answers that have ended are booked as they end. Control generation: {generation}.",
    paused="Paused by an admin: nothing is booked until /resume-settlement. Everything is kept, deadlines run on. "
    "Control generation: {generation}.",
    pending="Waiting: {count}",
    nothing_pending="Nothing is waiting.",
    line="{key} · {state} · attempts: {attempts} · until {deadline}",
    more="… and {count} more",
    history="The last ones: {counts}",
    stops="Sessions that are stopped: {count}",
    owed="Stops that are not confirmed: {count}. Only their own sessions wait for them.",
    hint="/settlement apply KEY, /settlement stop KEY or a session id, /pause, /resume-settlement",
    how="Please write: /settlement, /settlement apply KEY, /settlement stop KEY, or /settlement stop and a "
    "session's id. "
    "The first letters of a key are enough.",
    ambiguous="More than one settlement that waits, or none, begins with {key}. /settlement lists them.",
    paused_now="Settlement is paused, also across restarts, until /resume-settlement. What waits is kept.",
    paused_before="Settlement was paused already.",
    resumed_now="Settlement goes on.",
    resumed_before="Settlement was not paused.",
    settled="{key}: {state}.",
    settled_before="{key} had ended before: {state}.",
    stopped="Stopped for ever: {session}. Settlements that waited and have ended with it: {count}. What its answers "
    "used is booked late.",
    stopped_before="{session} was stopped already.",
    quota="Quota",
    quota_line="{turns}; {tokens}; new from {until}",
    quota_of="{used} of {limit}",
    quota_endless="{used}, no limit",
    quota_held=" ({held} held)",
    today="Today",
    month="This month",
    turns="questions {text}",
    tokens="tokens {text}",
    states={
        "ready": "ready",
        "waiting": "waits for its next attempt",
        "paused": "paused",
        "overdue": "past its deadline",
        "unconfirmed": "unconfirmed, waits for the next real moment",
        "held_back": "held back by a stop that is not confirmed",
        "settled": "settled",
        "expired": "expired",
        "failed": "failed",
        "stopped": "stopped",
        "conflict": "in conflict with what was acknowledged",
    },
    codes={
        "duplicate": "This was done before; nothing was changed.",
        "settlement_conflict": "Something else was acknowledged under this key. That stays; nothing was changed.",
        "settlement_generation_required": "The control generation is missing. Ask for the status and give its "
        "generation.",
        "settlement_stale_control": "Control has changed meanwhile; nothing was tried. Ask for the status and try "
        "again.",
        "settlement_paused": "Settlement is paused; nothing was tried and everything is kept. Resume it first.",
        "settlement_stopped": "This session is stopped. What its answers used is booked late, from the stored "
        "evidence.",
        "settlement_guard_refused": "The session of this settlement is not there or was put away; nothing was "
        "tried, and "
        "it is kept.",
        "settlement_expired": "Its deadline has passed. What was used is booked late, from the stored evidence.",
        "settlement_failed": "The attempt came to nothing; it is kept, with its count of attempts. After four it "
        "ends, and "
        "what was used is booked late.",
        "settlement_receipt_changed": "What is reserved is not what was acknowledged; nothing was booked. The sweep "
        "closes "
        "it from the stored evidence.",
        "settlement_no_receipt": "Nothing is reserved for this turn, so there is nothing to settle.",
        "settlement_receipt_expired": "The reservation has expired. What was used is booked late, from the stored "
        "evidence.",
        "settlement_outbox_full": "As many settlements wait as may. The evidence is kept, and it is queued when "
        "there is "
        "room.",
        "settlement_item_too_large": "This settlement is larger than may be stored; nothing was queued.",
        "settlement_stop_capacity": "There are 64 stops, and each still binds something. Nothing was changed; try "
        "again when "
        "their settlements have ended.",
        "settlement_unknown_key": "No settlement is known under this key.",
        "lock_busy": "The file is busy; nothing was tried. Try again in a moment.",
        "event_conflict": "This turn was booked with other facts. Those stay; nothing was changed.",
        "invalid_evidence": "There is no such evidence about this reservation, this start and this executor.",
        "invalid_input": "Give a key and its payload hash, both whole, as `channels settlement status` shows them; "
        "to stop, a session's id can stand in their place. Nothing was changed.",
        "invalid_settlement_outbox": "The stored settlements cannot be read by this version. They are left as they "
        "are; use "
        "the version that wrote them, or restore a backup.",
    },
)
_ZH = SettlementTexts(
    title="结算",
    running="回答结束即入账。控制代次：{generation}。",
    paused="管理员已暂停：发送 /resume-settlement 之前不入账。数据都保留，期限照常计算。控制代次：{generation}。",
    pending="等待入账：{count} 项",
    nothing_pending="没有等待入账的结算。",
    line="{key} · {state} · 已试 {attempts} 次 · 期限 {deadline}",
    more="…… 另有 {count} 项",
    history="最近的结果：{counts}",
    stops="已停止结算的会话：{count} 个",
    owed="尚未确认的停止：{count} 个，只影响各自的会话。",
    hint="/settlement apply 键、/settlement stop 键或会话编号、/pause、/resume-settlement",
    how="请这样写：/settlement、/settlement apply 键、/settlement stop 键，或 /settlement stop 加会话编号。"
    "键写开头几位就行。",
    ambiguous="以 {key} 开头的待结算项不止一个，或者没有。/settlement 会列出它们。",
    paused_now="结算已暂停，重启后仍然暂停，直到发送 /resume-settlement。等待中的都保留。",
    paused_before="结算早已暂停。",
    resumed_now="结算已恢复。",
    resumed_before="结算没有暂停。",
    settled="{key}：{state}。",
    settled_before="{key} 之前就已结束：{state}。",
    stopped="已永久停止：{session}。随之结束的待结算项：{count} 个。它的用量会补记。",
    stopped_before="{session} 早已停止。",
    quota="额度",
    quota_line="{turns}；{tokens}；{until} 起更新",
    quota_of="{used} / {limit}",
    quota_endless="{used}，不限",
    quota_held="（占用 {held}）",
    today="今天",
    month="本月",
    turns="提问 {text}",
    tokens="token {text}",
    states={
        "ready": "可以入账",
        "waiting": "等待下次尝试",
        "paused": "已暂停",
        "overdue": "已过期限",
        "unconfirmed": "未确认，等下一个真实时机",
        "held_back": "等一个尚未确认的停止",
        "settled": "已入账",
        "expired": "已过期",
        "failed": "失败",
        "stopped": "已停止",
        "conflict": "与已确认的事实冲突",
    },
    codes={
        "duplicate": "这件事之前已经做过，没有改动。",
        "settlement_conflict": "这个键下确认的是别的内容，保持原样，没有改动。",
        "settlement_generation_required": "缺少控制代次。请先查看状态，再带上其中的代次。",
        "settlement_stale_control": "控制状态已经改变，没有尝试。请重新查看状态再试。",
        "settlement_paused": "结算已暂停，没有尝试，数据都保留。请先恢复。",
        "settlement_stopped": "这个会话已停止结算，用量会按保存的证据补记。",
        "settlement_guard_refused": "这项结算的会话不存在或已收起，没有尝试，保持原样。",
        "settlement_expired": "期限已过，用量会按保存的证据补记。",
        "settlement_failed": "这次尝试没有成功，连同尝试次数一起保留。满四次后结束，用量会补记。",
        "settlement_receipt_changed": "现在占用的额度和确认时不同，没有入账。清理时会按保存的证据关闭。",
        "settlement_no_receipt": "这个轮次没有占用额度，没有可结算的内容。",
        "settlement_receipt_expired": "占用的额度已过期，用量会按保存的证据补记。",
        "settlement_outbox_full": "等待结算的已满。证据已保存，有空位就会排队。",
        "settlement_item_too_large": "这项结算超过可保存的大小，没有排队。",
        "settlement_stop_capacity": "已有 64 个停止，且每个都还有约束。没有改动，请等它们的结算结束后再试。",
        "settlement_unknown_key": "没有这个键对应的结算。",
        "lock_busy": "文件正忙，没有尝试。请稍后再试。",
        "event_conflict": "这个轮次已按别的事实入账，保持原样，没有改动。",
        "invalid_evidence": "没有关于这份占用、这次启动和这个执行者的证据。",
        "invalid_input": "请给出完整的键和载荷哈希（`channels settlement status` 会列出）；"
        "停止时也可以只给会话编号。没有任何改动。",
        "invalid_settlement_outbox": "这个版本读不了保存的结算数据，保持原样。请用写入它的版本，或恢复备份。",
    },
)


def settlement_texts(language: str) -> SettlementTexts:
    """The sentences of zh or en."""
    return _ZH if language == "zh" else _EN
