"""What becomes of messages that were found in history instead of arriving live.

Where reading begins (`gap_start`): at the last moment at which somebody was surely listening, less one heartbeat for
clocks that differ. A sweep that was completed earlier than that moment says that what came after it has never been
compared with history, so the earlier of the two counts. No further back than the gate remembers: an older message
might have been handled, and nobody would know.

What is found (`sort_missed`): whoever wrote within the window still waits, so the message goes the ordinary way and
what it deserves is decided there. An older one is only asked about, and only if it would have woken the bot.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from channels.rules.command import parse
from channels.rules.message import Message
from channels.rules.routing import Policy, is_addressed

GATE_MEMORY_MS = 30 * 24 * 3_600_000  # how long `processed` remembers
UNDER_WAY_MS = 30_000  # a younger message may still come live
EMPTY_PAGES_AT_MOST = 20

NOT_OURS_TO_READ = ("own_message", "bot_sender")  # reasons of `drop_at_the_door` that leave no record here


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the domain file says about the place of a message that was found."""

    routed: bool = False  # its topic has a session, or had one that expired
    awaited: bool = False  # its root is being answered right now


@dataclass(frozen=True, slots=True)
class Answer:
    """Into the inbox like a live message."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Onto the chat's pending card."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Recorded as dropped, with the reason."""

    reason: str


Fate = Answer | Ask | Leave


def gap_start(alive_ms: int | None, swept_ms: int | None, heartbeat_ms: int, wall_ms: int) -> int | None:
    """Where to begin reading; None when nobody was ever listening (the very first boot)."""
    if alive_ms is None:
        return None
    return max(
        0, min(alive_ms, swept_ms if swept_ms is not None else alive_ms) - heartbeat_ms, wall_ms - GATE_MEMORY_MS
    )


def sort_missed(message: Message, around: Surroundings, policy: Policy, age_ms: int, window_ms: int) -> Fate:
    """What a message of this age deserves. What is to be dropped at the door has been taken out before."""
    if age_ms <= window_ms:
        return Answer()
    envelope = message.envelope
    addressed = envelope.chat_type == "p2p" or is_addressed(message, policy)
    if not (addressed or around.routed or around.awaited):
        return Leave("not_mentioned")
    if (addressed or envelope.thread_id) and parse(message.text) is not None:
        return Leave("missed_command")  # nobody waits for the /status or the /stop of yesterday
    return Ask()


def shows_deafness(message: Message, policy: Policy, connected_at_ms: int, wall_ms: int) -> bool:
    """Whether a message that only history had should have come over the connection that stands now."""
    envelope = message.envelope
    if envelope.chat_type != "p2p" and not is_addressed(message, policy):
        return False  # without the right to all messages of a group, Feishu pushes only those that name the bot
    return connected_at_ms <= envelope.create_time_ms <= wall_ms - UNDER_WAY_MS


def may_decide(who: Iterable[str], senders: Iterable[str], admins: Iterable[str]) -> bool:
    """Whether somebody may decide about a batch: who wrote one of its messages, or an admin."""
    return not set(who).isdisjoint({*senders, *admins} - {""})


class Pages:
    """Walks over one listing, whatever its page tokens do.

    Ask with `since_ms` and `token` and hand each answer to `take`, until `ended`. Tokens that come again, or page after
    page without anything new, are no way forward: a listing with a time range is asked anew from the newest message
    seen (and from a second later), as long as that brings something; one without a range ends there, and `cut_short`
    says so.
    """

    def __init__(self, since_ms: int, *, ranged: bool) -> None:
        self.since_ms, self.token, self.ended, self.cut_short = since_ms, "", False, False
        self._ranged = ranged
        self._newest_ms, self._known, self._tokens = since_ms, set[str](), set[str]()
        self._empty, self._fruitful, self._skipped = 0, False, False

    @property
    def read_to_ms(self) -> int:
        """The newest moment seen: everything before it has been given out."""
        return self._newest_ms

    def take(self, items: Iterable[tuple[str, int]], next_token: str | None) -> frozenset[str]:
        """One page as (message id, create_time): the ids that no earlier page had."""
        items = tuple(items)
        fresh = frozenset(message_id for message_id, _ in items) - self._known
        self._known |= fresh
        self._newest_ms = max([self._newest_ms, *(at for message_id, at in items if message_id in fresh)])
        self._fruitful = self._fruitful or bool(fresh)
        self._empty = 0 if fresh else self._empty + 1
        if not next_token:
            self.ended = True
        elif next_token in self._tokens or self._empty > EMPTY_PAGES_AT_MOST:
            self._start_anew()
        else:
            self._tokens.add(next_token)
            self.token = next_token
        return fresh

    def _start_anew(self) -> None:
        if not self._ranged or (self._skipped and not self._fruitful):
            self.ended, self.cut_short = True, not self._ranged
            return
        self._skipped = not self._fruitful  # nothing new from the newest moment on: one more try behind it
        self.since_ms = self._newest_ms + (1_000 if self._skipped else 0)
        self.token, self._tokens, self._empty, self._fruitful = "", set(), 0, False
