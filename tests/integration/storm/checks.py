"""What must hold after a storm, for every message and for every conversation."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from channels.store.invariants import look
from tests.integration import cards_seen
from tests.integration.house import House
from tests.integration.storm.agent import GatedAgent

ROWS = "SELECT message_id, state, verdict FROM inbox"
# every message that got a turn, as its conversation knows it, in the order in which the turns were admitted
ADMITTED = """
SELECT inbox.conversation, inbox.create_time, inbox.message_id, inbox.received_at, turns.queued_at
FROM turns JOIN inbox ON inbox.message_id = turns.cause_id ORDER BY turns.seq
"""
SPANS = """
SELECT turns.session_id, said.rowid, turns.seq, turns.entered_at, turns.ended_at
FROM turns JOIN session_events AS said ON said.turn_id = turns.turn_id AND said.kind = 'user/message'
ORDER BY turns.session_id, turns.seq
"""
SESSIONS_OF_THREADS = """
SELECT inbox.conversation, count(DISTINCT turns.session_id) FROM turns JOIN inbox ON inbox.message_id = turns.cause_id
WHERE inbox.conversation NOT LIKE 'chat:%' GROUP BY inbox.conversation HAVING count(DISTINCT turns.session_id) > 1
"""


@dataclass(frozen=True, slots=True)
class Said:
    """`expects`: answer, notice (of a command) or silence (the bot was not asked)."""

    message_id: str
    token: str
    expects: str


class Checks:
    def __init__(self, house: House, agent: GatedAgent, said: Mapping[str, Said]) -> None:
        self._house, self._agent, self._said = house, agent, said

    async def check(self) -> list[str]:
        """Every violation, in words; at best none."""
        found = [*self._answers(), *self._runs(), *await self._drops(), *await self._order(), *await self._sessions()]
        database = self._house.service.parts.context.database if self._house.service else None
        if database is not None:
            seen = await database.read(look, self._house.clock.wall_ms())
            found += [f"{each.name}: {each.subject} {each.text}" for each in seen.violations]
        return found

    def _answers(self) -> list[str]:
        """Each message has exactly the one visible answer that it wants, with its own words in it."""
        found, reactions = [], self._reactions()
        for one in self._said.values():
            replies = self._house.replies(one.message_id)
            wanted = 0 if one.expects == "silence" else 1
            if len(replies) != wanted:
                found.append(f"{one} has {len(replies)} answers")
            elif wanted:
                card = self._house.card(replies[0].message_id)
                if cards_seen.is_running(card):
                    found.append(f"{one} has a card that runs for ever")
                if one.expects == "answer" and cards_seen.answer(card) != f"You said: {one.token}":
                    found.append(f"{one} has the answer {cards_seen.answer(card)!r}")
            if one.expects == "answer" and reactions[one.message_id] != Counter(DONE=1):
                found.append(f"{one} has the reactions {dict(reactions[one.message_id])}")
        return found

    def _reactions(self) -> dict[str, Counter[str]]:
        """What is on each message now, counted once for all."""
        now: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for change in self._house.ledger.reaction_changes:
            now[change.message_id][change.emoji_type] += 1 if change.added else -1
        return defaultdict(Counter, {message_id: +counts for message_id, counts in now.items()})

    def _runs(self) -> list[str]:
        """The agent was asked each question once."""
        wanted = {one.token for one in self._said.values() if one.expects == "answer"}
        found = [f"{text} was asked {count} times" for text, count in self._agent.asked.items() if count > 1]
        return found + [f"{text} was never asked" for text in wanted - set(self._agent.asked)]

    async def _drops(self) -> list[str]:
        """Every message is in the file, with a last state that goes with what it wants."""
        good = {"answer": {("done", "start"), ("done", "continue")}, "silence": {("dropped", "not_mentioned")}}
        rows = {message_id: (state, verdict) for message_id, state, verdict in await self._house.rows(ROWS)}
        found = [f"{one} never came in" for one in self._said.values() if one.message_id not in rows]
        for one in self._said.values():
            state = rows.get(one.message_id)
            if state is not None and state not in good.get(one.expects, {("done", "command:status")}):
                found.append(f"{one} ended as {state}")
        return found

    async def _order(self) -> list[str]:
        """Turns of one conversation are admitted in (create_time, message_id) order among the messages known by then;
        turns of one session are entered in the order of their admission, one after another."""
        conversations: defaultdict[str, list[tuple[int, str, int, int]]] = defaultdict(list)
        for conversation, *values in await self._house.rows(ADMITTED):
            conversations[conversation].append(tuple(values))
        found = []
        for conversation, admitted in conversations.items():
            for place, (create_time, message_id, _, queued_at) in enumerate(admitted):
                for late in admitted[place + 1 :]:
                    if late[:2] < (create_time, message_id) and late[2] < queued_at:
                        found.append(f"{conversation}: {message_id} went before {late[1]}, which was there")
        spans = await self._house.rows(SPANS)
        for (session, row, seq, _, ended), (then_session, then_row, then_seq, entered, _) in pairwise(spans):
            if session == then_session and (row > then_row or ended > entered):
                found.append(f"{session}: turn {then_seq} began before turn {seq} had ended")
        return found

    async def _sessions(self) -> list[str]:
        """A topic has one session."""
        return [f"{thread} has {count} sessions" for thread, count in await self._house.rows(SESSIONS_OF_THREADS)]
