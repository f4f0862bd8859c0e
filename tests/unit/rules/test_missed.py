"""What becomes of messages found in history, where reading begins, and listings whose tokens lead nowhere."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from channels.ids import ChatId, MessageId, OpenId, ThreadId, UserId
from channels.rules.message import Envelope, Message, Sender
from channels.rules.missed import (
    EMPTY_PAGES_AT_MOST,
    GATE_MEMORY_MS,
    UNDER_WAY_MS,
    Answer,
    Ask,
    Fate,
    Leave,
    Pages,
    Surroundings,
    gap_start,
    may_decide,
    shows_deafness,
    sort_missed,
)
from channels.rules.routing import Policy

NOW, BEAT, WINDOW = 40 * 24 * 3_600_000, 5_000, 900_000
POLICY = Policy(bot_open_id="ou_bot")
ENVELOPE = Envelope(MessageId("om_1"), ChatId("oc_1"), "group", NOW, Sender(UserId("u"), OpenId("ou")))
GROUP, PRIVATE = Message(ENVELOPE, "words"), Message(replace(ENVELOPE, chat_type="p2p"), "words")
TOPIC = Message(replace(ENVELOPE, thread_id=ThreadId("omt_1")), "words")


@pytest.mark.parametrize(
    ("alive_ms", "swept_ms", "start_ms"),
    [
        (None, None, None),
        (None, NOW - 10, None),  # a sweep needs a connection, which makes somebody alive
        (NOW - 1_000, None, NOW - 1_000 - BEAT),
        (NOW - 1_000, NOW - 60_000, NOW - 60_000 - BEAT),
        (NOW - 60_000, NOW - 1_000, NOW - 60_000 - BEAT),
        (5, None, NOW - GATE_MEMORY_MS),
        (NOW - 1_000, 5, NOW - GATE_MEMORY_MS),
    ],
)
def test_where_reading_begins(alive_ms: int | None, swept_ms: int | None, start_ms: int | None) -> None:
    assert gap_start(alive_ms, swept_ms, BEAT, NOW) == start_ms


def test_a_clock_that_was_set_back_begins_where_somebody_was_alive() -> None:
    """Booted in 1970: the moment alive lies far ahead, and nothing before it is read."""
    assert gap_start(NOW, None, BEAT, 1_000) == NOW - BEAT


OLD, YOUNG = WINDOW + 1, WINDOW


@pytest.mark.parametrize(
    ("message", "around", "age_ms", "fate"),
    [
        (GROUP, Surroundings(), YOUNG, Answer()),  # what it deserves is decided in the ordinary way
        (replace(PRIVATE, text="/stop"), Surroundings(), YOUNG, Answer()),
        (PRIVATE, Surroundings(), -60_000, Answer()),  # Feishu's clock is ahead of ours
        (PRIVATE, Surroundings(), OLD, Ask()),
        (GROUP, Surroundings(), OLD, Leave("not_mentioned")),
        (replace(GROUP, mentioned_bot=True), Surroundings(), OLD, Ask()),
        (replace(GROUP, mentioned_all=True), Surroundings(), OLD, Leave("not_mentioned")),
        (TOPIC, Surroundings(), OLD, Leave("not_mentioned")),
        (TOPIC, Surroundings(routed=True), OLD, Ask()),
        (TOPIC, Surroundings(awaited=True), OLD, Ask()),
        (replace(PRIVATE, text="/status"), Surroundings(), OLD, Leave("missed_command")),
        (replace(PRIVATE, text="/nwe"), Surroundings(), OLD, Leave("missed_command")),
        (replace(GROUP, text="/stop", mentioned_bot=True), Surroundings(), OLD, Leave("missed_command")),
        (replace(TOPIC, text="/stop"), Surroundings(routed=True), OLD, Leave("missed_command")),
        (replace(PRIVATE, text="/etc/hosts is empty"), Surroundings(), OLD, Ask()),
    ],
)
def test_what_a_found_message_deserves(message: Message, around: Surroundings, age_ms: int, fate: Fate) -> None:
    assert sort_missed(message, around, POLICY, age_ms, WINDOW) == fate


def test_everybody_means_the_bot_where_it_is_told_so() -> None:
    message = replace(GROUP, mentioned_all=True)
    policy = replace(POLICY, respond_to_all=True)
    assert sort_missed(message, Surroundings(), policy, OLD, WINDOW) == Ask()


@pytest.mark.parametrize(
    ("message", "age_ms", "deaf"),
    [
        (PRIVATE, UNDER_WAY_MS, True),
        (PRIVATE, UNDER_WAY_MS - 1, False),  # may still come
        (PRIVATE, 600_000, True),
        (PRIVATE, 600_001, False),  # written before this connection stood
        (GROUP, 60_000, False),  # not pushed without the right to all messages
        (replace(GROUP, mentioned_bot=True), 60_000, True),
    ],
)
def test_what_shows_that_a_connection_is_deaf(message: Message, age_ms: int, deaf: bool) -> None:
    found = replace(message, envelope=replace(message.envelope, create_time_ms=NOW - age_ms))
    assert shows_deafness(found, POLICY, NOW - 600_000, NOW) is deaf


def test_who_may_decide() -> None:
    senders, admins = ["u_alice", "open:ou_bob"], ["u_admin"]
    assert may_decide({"u_alice", "open:ou_alice"}, senders, admins)
    assert may_decide({"u_bob", "open:ou_bob"}, senders, admins)
    assert may_decide({"u_admin", "open:ou_admin"}, senders, admins)
    assert not may_decide({"u_carol", "open:ou_carol"}, senders, admins)
    assert not may_decide({"", "open:"}, [""], [])


class Listing:
    """A listing of `count` messages, `size` a page, whose tokens are made by `token_of(page number)`."""

    def __init__(self, count: int, size: int = 3) -> None:
        self.items = [(f"om_{number:03}", 1_000 * number) for number in range(count)]
        self.size = size
        self.asked = 0

    def page(self, since_ms: int, start: int) -> list[tuple[str, int]]:
        self.asked += 1
        return [item for item in self.items if item[1] >= since_ms][start : start + self.size]


def walk(pages: Pages, answer: Callable[[int, str], tuple[list[tuple[str, int]], str | None]]) -> list[str]:
    """Ask until the end; everything that was given out, in order."""
    found: list[str] = []
    for _ in range(10_000):
        if pages.ended:
            return found
        items, token = answer(pages.since_ms, pages.token)
        fresh = pages.take(items, token)
        found += [message_id for message_id, _ in items if message_id in fresh]
    raise AssertionError("it never ends")


class TestPages:
    def test_a_decent_listing(self) -> None:
        listing = Listing(10)

        def answer(since_ms: int, token: str) -> tuple[list[tuple[str, int]], str | None]:
            start = int(token or 0)
            return listing.page(since_ms, start), str(start + 3) if start + 3 < 10 else None

        pages = Pages(0, ranged=True)
        assert walk(pages, answer) == [name for name, _ in listing.items]
        assert (listing.asked, pages.read_to_ms, pages.cut_short) == (4, 9_000, False)

    @pytest.mark.parametrize("ranged", [True, False])
    def test_one_token_for_ever(self, ranged: bool) -> None:
        """A listing by time goes on from the newest message seen; the other one cannot, and says so."""
        listing = Listing(8)
        pages = Pages(0, ranged=ranged)
        found = walk(pages, lambda since_ms, token: (listing.page(since_ms, 0), "again"))
        assert found == [name for name, _ in (listing.items if ranged else listing.items[:3])]
        assert pages.cut_short is not ranged
        assert listing.asked <= 12

    def test_two_tokens_in_turn(self) -> None:
        listing = Listing(12)

        def answer(since_ms: int, token: str) -> tuple[list[tuple[str, int]], str | None]:
            return listing.page(since_ms, 3 if token == "one" else 0), "two" if token == "one" else "one"

        assert walk(Pages(0, ranged=True), answer) == [name for name, _ in listing.items]

    def test_fresh_tokens_without_anything_behind_them(self) -> None:
        listing, count = Listing(3), iter(range(10_000))
        pages = Pages(0, ranged=True)
        found = walk(pages, lambda since_ms, token: (listing.page(since_ms, 0), f"token {next(count)}"))
        assert found == [name for name, _ in listing.items]
        assert listing.asked <= 3 * (EMPTY_PAGES_AT_MOST + 2)

    def test_a_page_with_nothing_on_it_is_not_the_end(self) -> None:
        listing = Listing(4)

        def answer(since_ms: int, token: str) -> tuple[list[tuple[str, int]], str | None]:
            match token:
                case "":
                    return listing.page(since_ms, 0), "blank"
                case "blank":
                    return [], "rest"
                case _:
                    return listing.page(since_ms, 3), None

        assert walk(Pages(0, ranged=True), answer) == [name for name, _ in listing.items]

    def test_more_messages_in_one_moment_than_a_loop_can_tell_apart(self) -> None:
        """All in the same second, one page for ever: it ends, with what could be seen."""
        items = [(f"om_{number}", 5_000) for number in range(3)]
        pages = Pages(5_000, ranged=True)
        assert walk(pages, lambda since_ms, token: (items, "again")) == ["om_0", "om_1", "om_2"]
        assert not pages.cut_short

    @pytest.mark.parametrize("seed", range(200))
    def test_whatever_the_tokens_do_nothing_comes_twice_and_it_ends(self, seed: int) -> None:
        """Duplicates, overlaps, loops and blanks by chance; a listing by time still gives everything in the end."""
        chance = random.Random(seed)
        listing = Listing(chance.randrange(1, 30), chance.randrange(1, 6))

        def answer(since_ms: int, token: str) -> tuple[list[tuple[str, int]], str | None]:
            start = max(0, int(token.partition(".")[0] or 0) - chance.randrange(3))
            page = [] if chance.random() < 0.1 and token else listing.page(since_ms, start)
            rest = [item for item in listing.items if item[1] >= since_ms][start + len(page) :]
            if not rest:
                return page, None
            mark = f"{start + len(page)}" if chance.random() < 0.7 else f"{start + len(page)}.{chance.randrange(3)}"
            return page, mark

        found = walk(Pages(0, ranged=True), answer)
        assert found == [name for name, _ in listing.items]
