"""Where a turn's conversation is: the route comes with the recorded result of its main message, and closes the claim.

A message's answer brings its topic with it. A launch has no message to answer: its main card goes plainly to the chat,
and where topics are wanted a short text then answers that card, because Feishu makes a topic only of an answer. The
route is written with the result of whichever shows the topic first. Until the card has an id, the claim stands under a
name of its own, and what is written in topics whose beginning nobody has seen waits for it (admit).
"""

from channels.ids import ChatId, ConversationKey, MessageId, SendUuid, ThreadId, TurnId, UserId
from channels.rules import intents
from channels.rules.delivery import Intent
from channels.rules.launch import is_pending
from channels.rules.message import chat_key
from channels.store import outbox, routes, sessions, snapshots
from channels.store.tx import Tx

OPENS = "+topic"


def settle_place(
    tx: Tx,
    turn_id: TurnId,
    thread_id: ThreadId | None,
    message_id: MessageId,
    now: int,
    *,
    chat_id: ChatId | None = None,
) -> bool:
    """The main message is there: write the route that it makes and close the claim, or touch the route it used. Returns
    whether a claim closed."""
    claim, snapshot = routes.claim_of_turn(tx, turn_id), snapshots.find_snapshot(tx, turn_id)
    if snapshot is not None and snapshot.anchor is None:
        _hang(tx, snapshot, message_id, chat_id or snapshot.chat_id, now)
    if claim is None:
        if snapshot is not None and snapshot.route_key is not None:
            is_there = thread_id is not None or snapshot.route_key.startswith(routes.CHAT_KEYS)
            card = message_id if is_there else None  # outside its topic nothing can hang under it
            routes.touch_route(tx, snapshot.route_key, snapshot.session_id, card, now)
        return False
    if is_pending(claim.message_id):
        routes.hang_claim(tx, turn_id, message_id)
    if thread_id is None and snapshot is not None and _opens_topic(snapshot):
        return False
    put_route(tx, turn_id, thread_id, message_id, now)
    claim = routes.claim_of_turn(tx, turn_id)
    return claim is not None and routes.close_claim(tx, claim.message_id)


def _opens_topic(snapshot: snapshots.Snapshot) -> bool:
    """Whether the route comes with something else: with what opens the topic under a launch's card."""
    return snapshot.trigger_message_id is None and snapshot.in_thread


def settle_opening(tx: Tx, turn_id: TurnId, thread_id: ThreadId | None, now: int) -> bool:
    """What opens the topic of a launch is there, or will never be (then the conversation stays in the chat)."""
    claim, snapshot = routes.claim_of_turn(tx, turn_id), snapshots.find_snapshot(tx, turn_id)
    if claim is None or snapshot is None:
        return False
    put_route(tx, turn_id, thread_id, snapshot.anchor, now)
    return routes.close_claim(tx, claim.message_id)


def _hang(tx: Tx, snapshot: snapshots.Snapshot, message_id: MessageId, chat_id: ChatId, now: int) -> None:
    """The main card of a turn without a message is there: everything else of the turn hangs under it."""
    turn_id = snapshot.turn_id
    snapshots.set_anchor(tx, turn_id, message_id, chat_id)
    outbox.hang(tx, turn_id, message_id, chat_id)
    if chat_id != snapshot.chat_id:
        sessions.set_chat(tx, snapshot.session_id, chat_id)
    if snapshot.opening is not None:
        uuid = SendUuid(f"{turn_id}{OPENS}")
        outbox.add_intents(tx, [intents.opening(turn_id, chat_id, message_id, snapshot.opening, uuid)], now)


def put_route(tx: Tx, turn_id: TurnId, thread_id: ThreadId | None, message_id: MessageId | None, now: int) -> bool:
    """Thread route, or chat route where there is no thread. False when nothing is known of the turn any more."""
    snapshot = snapshots.find_snapshot(tx, turn_id)
    session = sessions.find_session(tx, snapshot.session_id) if snapshot else None
    if snapshot is None or session is None:
        return False
    user = snapshot.sender_user_id or UserId("")
    key = ConversationKey(thread_id) if thread_id else chat_key(snapshot.chat_type, snapshot.chat_id, user)
    if routes.is_tombstoned(tx, key):
        return False
    folder = sessions.find_folder(tx, session)
    route = routes.Route(
        key=key,
        session_id=session.session_id,
        chat_id=snapshot.chat_id,
        chat_type=snapshot.chat_type,
        sender_user_id=user,
        workspace_path=session.cwd,
        card_message_id=message_id,
        last_activity_at=now,
        session_dir=folder.path,
        worktree_branch=folder.branch,
    )
    routes.put_route(tx, route, now)
    if message_id is not None:  # until then the reply may be sent again, and must be sent to the same place
        snapshots.set_place(tx, turn_id, key, thread_id is not None)
    return True


def lose_place(tx: Tx, intent: Intent, state: str, now: int) -> bool:
    """The main message will not come. Known: the claim has failed, a waiter goes next. Unknown: chat route. What should
    have opened a topic will not come: chat route, unless the chat itself is gone. Returns whether a claim closed."""
    if intent.turn_id is None:
        return False
    if intents.is_opening(intent) and state != "gone":
        return settle_opening(tx, intent.turn_id, None, now)
    is_main = intent.segment == 0 and intent.op in ("reply", "send", "create")
    claim = routes.claim_of_turn(tx, intent.turn_id) if is_main or intents.is_opening(intent) else None
    if claim is None:
        return False
    if state == "unknown" and put_route(tx, intent.turn_id, None, None, now):
        return routes.set_unsure(tx, claim.message_id)
    return routes.close_claim(tx, claim.message_id)


def close_overdue_claims(tx: Tx, now: int) -> int:
    """Claims whose reply is still unknown after their time become chat routes; waiters may go on. A launch gets its
    route when its topic is there: until then the person's chat stays as it is."""
    overdue = routes.overdue_claims(tx, now)
    for claim in overdue:
        snapshot = snapshots.find_snapshot(tx, claim.turn_id)
        if (snapshot is not None and _opens_topic(snapshot)) or put_route(tx, claim.turn_id, None, None, now):
            routes.set_unsure(tx, claim.message_id)
        else:
            routes.close_claim(tx, claim.message_id)
    return len(overdue)
