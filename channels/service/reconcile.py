"""Asking history whether an unsure message is there, before anything is said again.

The question's own thread is read newest first down to the first attempt, the chat by time. Only a complete reading
allows "it is not there"; whatever stops it short is an error that the caller sees.
"""

from channels.errors import ApiRefused, CodeKind
from channels.feishu.history import seen_from
from channels.ids import CardId, MessageId, ThreadId
from channels.rules.delivery import Attempt
from channels.rules.intents import read_payload
from channels.rules.reconcile import SKEW_MS, Absent, Ambiguous, Found, Seen, Sought, find_lookalikes, find_match
from channels.service.context import Context
from channels.store import outbox, sent_cards
from channels.store.transactions.deliver import Effect

PAGES_AT_MOST = 100
PLAIN = ("send", "send_text")
SHOWING = ("reply", "send", "close")


async def look_into_history(context: Context, attempt: Attempt) -> Effect | Absent | Ambiguous:
    """The message that an earlier attempt made, or Absent. Raises as `feishu.api` does when history cannot be read."""
    intent = attempt.intent
    since_ms = attempt.first_attempt_at - SKEW_MS
    target = None if intent.op in PLAIN or not intent.target else MessageId(intent.target)
    history = await _read_chat(context, attempt, since_ms)
    question = await _read_question(context, target) if target is not None else None
    topic_root: MessageId | None = None
    if question is not None and question.thread_id is not None:
        topic_root = question.root_id or question.message_id
        history += await _read_thread(context, question.thread_id, since_ms)
    recorded = await context.database.read(sent_cards.recorded_messages, intent.chat_id, since_ms - SKEW_MS)
    crowded = topic_root is not None or (target is None and intent.turn_id is not None)
    rivals = await context.database.read(outbox.count_rivals, intent) if crowded else 0
    sought = Sought(target, topic_root, attempt.first_attempt_at, recorded, rivals)
    match = await _tell_apart(context, attempt, history, sought)
    if not isinstance(match, Found):
        return match
    card_id = await _card_of(context, attempt, match.seen.message_id)
    text = str(read_payload(intent).get("text", ""))
    return Effect(match.seen.message_id, thread_id=match.seen.thread_id, card_id=card_id, text=text)


async def _tell_apart(
    context: Context, attempt: Attempt, history: list[Seen], sought: Sought
) -> Found | Absent | Ambiguous:
    """The match; where several answers of one topic look alike, the one that shows this attempt's card."""
    alike = find_lookalikes(history, sought)
    shows_entity = attempt.card_id is not None and attempt.mode == "card" and attempt.intent.op in ("reply", "send")
    if not shows_entity or not alike or len(alike) + sought.rivals < 2:
        return find_match(history, sought)
    unclear: list[Seen] = []
    for one in alike:
        try:
            card_id = await context.feishu.card_of_message(one.message_id)
        except ApiRefused:
            unclear.append(one)
            continue
        if card_id == attempt.card_id:
            return Found(one)
    return find_match(unclear, sought)


async def _card_of(context: Context, attempt: Attempt, message_id: MessageId) -> CardId | None:
    """The card that an adopted message of a turn shows, where the file does not know it (it was restored): later
    updates are for that one."""
    intent = attempt.intent
    if attempt.card_id is not None or attempt.mode != "card" or intent.turn_id is None or intent.op not in SHOWING:
        return None
    try:
        return await context.feishu.card_of_message(message_id)
    except ApiRefused:
        return None  # it shows an inline card, which is updated by its message


async def _read_question(context: Context, target: MessageId) -> Seen | None:
    """The message that was answered; one that was taken back tells nothing."""
    try:
        items = await context.feishu.get_message(target)
    except ApiRefused as error:
        if error.kind is CodeKind.MESSAGE_GONE:
            return None
        raise
    return seen_from(items[0], context.policy.app_id) if items else None


async def _read_chat(context: Context, attempt: Attempt, since_ms: int) -> list[Seen]:
    found: list[Seen] = []
    token: str | None = None
    for _ in range(PAGES_AT_MOST):
        page = await context.feishu.list_messages(
            "chat", attempt.intent.chat_id, start_s=since_ms // 1000, page_token=token
        )
        found += [seen_from(item, context.policy.app_id) for item in page.items]
        if page.page_token is None:
            return found
        token = page.page_token
    raise ApiRefused(CodeKind.OTHER, 0, "the chat's history has too many pages")


async def _read_thread(context: Context, thread_id: ThreadId, since_ms: int) -> list[Seen]:
    """A thread takes no time range: newest first, until it is older than `since_ms`."""
    found: list[Seen] = []
    token: str | None = None
    for _ in range(PAGES_AT_MOST):
        page = await context.feishu.list_messages("thread", thread_id, ascending=False, page_token=token)
        seen = [seen_from(item, context.policy.app_id) for item in page.items]
        found += seen
        if page.page_token is None or any(one.create_time_ms < since_ms for one in seen):
            return found
        token = page.page_token
    raise ApiRefused(CodeKind.OTHER, 0, "the thread's history has too many pages")
