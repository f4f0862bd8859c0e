"""The one checker: world (what people saw), authority (the domain file), provider (which turns reached the agent).

S1 … S13 and L1 … L3 are those of proof.md §2. Everything here reads; nothing is decided by what the product thinks.
"""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from channels.emulator.ledger import Call, CardState
from channels.emulator.messages import Message
from channels.rules import invariants
from channels.store.invariants import look
from channels.store.tx import SqliteTx
from tests.crash.stage import RECEIVED, Expect, Said, Stage, Violation, read_provider
from tests.integration import cards_seen

ATTEMPTS_AT_MOST = 90  # one a minute for as long as a uuid is remembered, and some
CALLS_AT_MOST = 90  # with one uuid
KEPT_MS = 13 * 24 * 3_600_000  # ended intents are forgotten a day later
BY_NOBODY = ("launch", "wake")  # causes that are no message
REPLY_KINDS = ("im.message.reply", "im.message.create")


class Evidence:
    """Everything that is left of a case after the service has stopped."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.world, self.ledger = stage, stage.world, stage.ledger
        self.provider = read_provider(stage.folder)
        self._connection = sqlite3.connect(stage.file)
        self.turns = {row["turn_id"]: row for row in self.rows("SELECT * FROM turns ORDER BY seq")}
        self.inbox = {row["message_id"]: row for row in self.rows("SELECT * FROM inbox")}
        self.outbox = list(self.rows("SELECT * FROM outbox ORDER BY seq"))

    def rows(self, sql: str) -> Iterator[dict[str, Any]]:
        cursor = self._connection.execute(sql)
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))

    def look(self) -> tuple[invariants.Violation, ...]:
        self._connection.execute("BEGIN")
        return look(SqliteTx(self._connection), self.stage.now_ms()).violations

    def close(self) -> None:
        self._connection.close()

    def ours(self) -> list[Message]:
        """The bot's messages that people see."""
        return [each for each in self.world.timeline if each.by_bot and not each.recalled]

    def states(self, message: Message) -> list[CardState]:
        return self.ledger.card_states(message.message_id)


def check(stage: Stage) -> list[Violation]:
    """All violations of a finished case, those that the stage has noticed among them."""
    if not Path(stage.file).exists():
        return [*stage.violations, Violation("L1", "there is no domain file")]
    evidence = Evidence(stage)
    try:
        found = [*stage.violations]
        for rule in (lost, unheard, doubled, unfinished, deposed, unkept, renamed, disordered, stuck, stormed, broken):
            found += rule(evidence)
        return list(dict.fromkeys(found))
    finally:
        evidence.close()


def lost(evidence: Evidence) -> Iterator[Violation]:
    """S1: every message is answered, refused or visibly pending; what wants no answer gets none."""
    for said in evidence.stage.said.values():
        replies = evidence.ledger.visible_replies(said.message_id)
        answers = replies or _said_in_chat(evidence, said)
        match said.expect:
            case Expect.ANSWER | Expect.NOTICE:
                if not answers and not _answered_together(evidence, said):
                    yield Violation("S1", f"{said.text!r} was never answered ({_way(evidence, said)})")
            case Expect.NOTHING:
                if replies:
                    yield Violation("S1", f"{said.text!r} wanted no answer and got {len(replies)}")
            case Expect.PENDING:
                if not answers and (evidence.inbox.get(said.message_id) or {}).get("state") != "asked":
                    yield Violation("S1", f"{said.text!r} is neither answered nor pending ({_way(evidence, said)})")
            case Expect.IGNORED:
                if replies:
                    yield Violation("S1", f"{said.text!r} was ignored by a person and answered all the same")
            case Expect.TAKEN_BACK | Expect.UNNOTICED:
                pass
        if evidence.stage.restored or said.expect is Expect.UNNOTICED:
            continue
        taken_back = said.expect is Expect.TAKEN_BACK and not evidence.ledger.deliveries(said.message_id, RECEIVED)
        if said.message_id not in evidence.inbox and not taken_back:  # that history shows no more was never ours
            yield Violation("S1", f"{said.text!r} is not in the file ({_way(evidence, said)})")


def doubled(evidence: Evidence) -> Iterator[Violation]:
    """S2: one turn for each cause reaches the agent; one visible message for each (turn, segment)."""
    entered: defaultdict[str, int] = defaultdict(int)
    causes: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for line in evidence.provider:
        entered[line["turn_id"]] += 1
        turn = evidence.turns.get(line["turn_id"])
        if turn is None and evidence.stage.restored:
            continue
        if turn is None:
            yield Violation("S2", f"{line['turn_id']} reached the agent and is not in the file")
        else:
            causes[turn["cause"], turn["cause_id"]].add(line["turn_id"])
    for turn_id, count in entered.items():
        if count > 1:
            yield Violation("S2", f"{turn_id} reached the agent {count} times")
    for cause, turn_ids in causes.items():
        if len(turn_ids) > 1:
            yield Violation("S2", f"{cause} made {len(turn_ids)} turns that reached the agent")
    yield from _asked_twice(evidence)
    yield from _said_twice(evidence)


def _asked_twice(evidence: Evidence) -> Iterator[Violation]:
    """By the provider's record alone: the same words of one message."""
    texts = [said.text for said in evidence.stage.said.values()]
    for text in dict.fromkeys(texts):
        # a person may have the same asked again in a fresh session of the agent
        sessions = Counter(line["reference"] for line in evidence.provider if line["text"].strip() == text)
        count = max(sessions.values(), default=0)
        if count > texts.count(text):
            yield Violation("S2", f"{text!r} reached the agent {count} times")


def _said_twice(evidence: Evidence) -> Iterator[Violation]:
    known: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    recorded = set()
    for row in evidence.rows("SELECT message_id, turn_id, segment FROM sent_cards"):
        recorded.add(row["message_id"])
        if row["turn_id"]:
            known[row["turn_id"], row["segment"]].append(row["message_id"])
    in_doubt = Counter(row["target"] for row in evidence.outbox if row["state"] == "unknown")
    for message in evidence.ours():
        if message.message_id not in recorded and in_doubt[message.reply_to] > 0:
            in_doubt[message.reply_to] -= 1  # the file says that it does not know, and shows it
        elif message.message_id not in recorded and not evidence.stage.restored:
            yield Violation(
                "S2", f"people see {message.message_id} (answer to {message.reply_to}), the file knows it not"
            )
    by_nobody = {turn_id for turn_id, turn in evidence.turns.items() if turn["cause"] in BY_NOBODY}
    unasked = {each for (turn_id, _), message_ids in known.items() if turn_id in by_nobody for each in message_ids}
    heads: defaultdict[str, int] = defaultdict(int)
    for message in evidence.ours():
        states = evidence.states(message)
        if states and cards_seen.phase(states[-1].card) is not None and message.message_id not in unasked:
            heads[message.reply_to] += 1
    for target, count in heads.items():
        if target and count > 1:
            yield Violation("S2", f"{target} is answered by {count} turns")
    visible = {message.message_id for message in evidence.ours()}
    for (turn_id, segment), message_ids in known.items():
        shown = [each for each in message_ids if each in visible]
        if len(shown) > 1 and turn_id in by_nobody:
            yield Violation("S2", f"{turn_id} shows its segment {segment} in {len(shown)} messages")


def unheard(evidence: Evidence) -> Iterator[Violation]:
    """S1: what was begun without a message has a card that people see, or saw until it was taken away."""
    said = {message.message_id for message in evidence.world.timeline if message.by_bot}
    rows = evidence.rows("SELECT message_id, turn_id FROM sent_cards WHERE segment = 0")
    shown = {row["turn_id"] for row in rows if row["message_id"] in said}
    for turn_id, turn in evidence.turns.items():
        if turn["cause"] in BY_NOBODY and turn_id not in shown:
            yield Violation("S1", f"{turn_id} ({turn['cause']}) was never shown to anybody")


def unfinished(evidence: Evidence) -> Iterator[Violation]:
    """S3: nothing runs any more, nothing is typing, and what had ended stayed ended except by *Continue*."""
    for message in evidence.ours():
        states = evidence.states(message)
        if states and cards_seen.is_running(states[-1].card) and _reachable(evidence, message.chat_id):
            yield Violation("S3", f"the card {message.message_id} still runs: {cards_seen.title(states[-1].card)!r}")
        asks = [part for part in cards_seen.parts(states[-1].card) if _permits(part)] if states else []
        if asks and _reachable(evidence, message.chat_id):
            yield Violation("S3", f"the card {message.message_id} still asks for a decision")
        pressed = [click.at_ms for click in evidence.stage.clicks if click.message_id == message.message_id]
        ended_ms: int | None = None
        for state in states:
            if not cards_seen.is_running(state.card):
                ended_ms = state.at_ms
            elif ended_ms is not None and not any(at_ms <= state.at_ms for at_ms in pressed):
                yield Violation("S3", f"the card {message.message_id} had ended and went back to running")
                break
    for message_id in evidence.stage.said:
        chat_id, recalled = evidence.world.message(message_id).chat_id, evidence.world.message(message_id).recalled
        if not recalled and "Typing" in evidence.ledger.reactions(message_id) and _reachable(evidence, chat_id):
            yield Violation("S3", f"{message_id} still shows Typing")


def deposed(evidence: Evidence) -> Iterator[Violation]:
    """S10: on the CardKit lane nothing of an earlier boot takes effect after a later boot's; no turn ended under an
    epoch that was not the boot's."""
    calls = {
        (call.result_id, call.sequence): call
        for call in evidence.ledger.calls("cardkit.")
        if call.effect and call.sequence
    }
    for message in evidence.ours():
        latest, highest = 0, 0
        for state in evidence.states(message):
            call = calls.get((message.card_id, state.sequence))
            if call is None or not message.card_id or not state.call.startswith("cardkit."):
                continue
            owner = sum(boot.started_ms <= call.at_ms for boot in evidence.stage.boots)
            if owner < latest:
                yield Violation("S10", f"the card {message.message_id} took an update of a deposed boot")
            if state.sequence <= highest:
                yield Violation("S10", f"the card {message.message_id} took sequence {state.sequence} after {highest}")
            latest, highest = max(latest, owner), max(highest, state.sequence)
    epochs = {row["epoch"] for row in evidence.rows("SELECT epoch FROM owners")}
    for turn in evidence.turns.values():
        if turn["owner_epoch"] not in epochs:
            yield Violation("S10", f"{turn['turn_id']} belongs to epoch {turn['owner_epoch']}, which nobody had")


def unkept(evidence: Evidence) -> Iterator[Violation]:
    """S11: what was acked is in the file."""
    for message_id in evidence.stage.said:
        acked = any(each.ack_code == 200 for each in evidence.ledger.deliveries(message_id, RECEIVED))
        if acked and message_id not in evidence.inbox and not evidence.stage.restored:
            yield Violation("S11", f"{message_id} was acked and is not in the file")


def renamed(evidence: Evidence) -> Iterator[Violation]:
    """S12: one intent, one uuid; one uuid, one content."""
    contents: defaultdict[str, set[str]] = defaultdict(set)
    for call in evidence.ledger.calls():
        if call.uuid:
            contents[call.uuid].add(_content(call))
    for uuid, seen in contents.items():
        if len(seen) > 1:
            yield Violation("S12", f"the uuid {uuid} carried {len(seen)} different contents")
    intents = {row["uuid"] for row in evidence.outbox}
    if evidence.stage.restored:
        return  # the file does not know what it sent after the backup
    kept_ms = evidence.stage.now_ms() - KEPT_MS
    for call in evidence.ledger.calls():
        if call.at_ms > kept_ms and call.kind in REPLY_KINDS and call.uuid and call.uuid not in intents:
            yield Violation("S12", f"a message was sent under {call.uuid}, which no intent has")


def disordered(evidence: Evidence) -> Iterator[Violation]:
    """S13: in one conversation turns reach the agent in the order of (create_time, message_id), as far as known."""
    started: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in evidence.provider:
        turn = evidence.turns.get(line["turn_id"])
        if turn is not None and turn["cause"] == "message" and turn["cause_id"] in evidence.inbox:
            row = evidence.inbox[turn["cause_id"]]
            started[row["conversation"]].append(row | {"queued_at": turn["queued_at"]})
    for conversation, rows in started.items():
        for place, later in enumerate(rows):
            for earlier in rows[:place]:
                before = (later["create_time"], later["message_id"]) < (earlier["create_time"], earlier["message_id"])
                if before and later["received_at"] < earlier["queued_at"]:
                    yield Violation("S13", f"{later['message_id']} in {conversation} was overtaken")


def stuck(evidence: Evidence) -> Iterator[Violation]:
    """L1: nothing is left that waits for no person."""
    for message_id, row in evidence.inbox.items():
        if row["terminal_at"] is None and row["state"] not in ("asked", "kept"):
            yield Violation("L1", f"{message_id} is still {row['state']}")
    for turn_id, row in evidence.turns.items():
        if row["state"] != "ended":
            yield Violation("L1", f"{turn_id} is still {row['state']}")
    for row in evidence.outbox:
        if row["state"] == "pending":
            yield Violation("L1", f"{row['intent_id']} is still pending: {row['last_error']}")
    for table in ("inflight", "establishing"):
        state = "" if table == "inflight" else " WHERE state = 'open'"
        for row in evidence.rows(f"SELECT turn_id FROM {table}{state}"):
            yield Violation("L1", f"{row['turn_id']} is still in {table}")
    for line in evidence.provider:
        turn = evidence.turns.get(line["turn_id"])
        if turn is not None and turn["entered_at"] is None and not evidence.stage.restored:
            yield Violation("S2", f"{line['turn_id']} reached the agent before it was entered")


def stormed(evidence: Evidence) -> Iterator[Violation]:
    """L3: requests for one intent are bounded."""
    for row in evidence.outbox:
        if row["attempts"] > ATTEMPTS_AT_MOST:
            yield Violation("L3", f"{row['intent_id']} was tried {row['attempts']} times")
    counts: defaultdict[str, int] = defaultdict(int)
    for call in evidence.ledger.calls():
        counts[call.uuid] += 1
    for uuid, count in counts.items():
        if uuid and count > CALLS_AT_MOST:
            yield Violation("L3", f"{count} requests went out under {uuid}")


def broken(evidence: Evidence) -> Iterator[Violation]:
    """What the file shows by itself: the same questions that `channels doctor --invariants` asks."""
    for found in evidence.look():
        yield Violation(found.name.partition("_")[0], f"{found.name}: {found.subject} {found.text}")


def _permits(part: dict[str, Any]) -> bool:
    """Whether this is a button that decides about a tool."""
    return any(each.get("value", {}).get("do") == "permit" for each in part.get("behaviors", ()))


def _content(call: Call) -> str:
    """What a call says, without what may differ between two attempts of one intent."""
    body = {key: value for key, value in call.body.items() if key not in ("sequence", "reply_in_thread")}
    return json.dumps([call.kind, call.path, body], sort_keys=True, ensure_ascii=False)


def _said_in_chat(evidence: Evidence, said: Said) -> list[Message]:
    """What the bot wrote into this message's chat outside every answer: the question may be gone."""
    chat_id = evidence.world.message(said.message_id).chat_id
    return [each for each in evidence.world.timeline.in_chat(chat_id) if each.by_bot and not each.reply_to]


def _answered_together(evidence: Evidence, said: Said) -> bool:
    """Whether it was part of a question of several messages that the agent was given and another of them carries the
    answer to: a forward that has waited for company takes its comment along."""
    turn = evidence.turns.get((evidence.inbox.get(said.message_id) or {}).get("turn") or "")
    if turn is None or turn["cause"] != "message" or turn["cause_id"] == said.message_id:
        return False
    given = any(line["turn_id"] == turn["turn_id"] and said.text in line["text"] for line in evidence.provider)
    interrupted = turn["outcome"] in ("interrupted", "stopped")
    return (given or interrupted) and bool(evidence.ledger.visible_replies(turn["cause_id"]))


def _reachable(evidence: Evidence, chat_id: str) -> bool:
    chat = evidence.world.chat(chat_id)
    return chat.bot_in_chat and not chat.disbanded


def _way(evidence: Evidence, said: Said) -> str:
    """How far a message has come, for the report."""
    row = evidence.inbox.get(said.message_id)
    acks = [each.ack_code for each in evidence.ledger.deliveries(said.message_id, RECEIVED)]
    return f"acks {acks}, row {row['state']}/{row['verdict']}" if row else f"acks {acks}, no row"
