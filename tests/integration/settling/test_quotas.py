"""Quotas as people meet them: a card that says when, nothing half taken, and what the books cost the answer."""

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from channels.cards.quota import quota_card, window_end
from channels.cards.texts import texts
from channels.emulator.accounts import GROUP
from channels.rules.quota import Short
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House

WORDS = texts("en")
TURNS = "SELECT count(*) FROM turns"
HELD = "SELECT count(*) FROM reservations WHERE state = 'held'"
DAY_S = 24 * 3600


def refusal(house: House, message_id: str) -> str:
    """The words of the card that refuses this message."""
    (reply,) = house.replies(message_id)
    card = house.card(reply.message_id)
    assert cards_seen.title(card) == WORDS.quota_title
    return cards_seen.words(card)


async def test_one_question_too_many_says_until_when(open_house: OpenHouse) -> None:
    house = await open_house(quota={"turns_per_day": 1})
    await house.ask("hello")
    message_id, _ = await house.ask("one more")
    words = refusal(house, message_id)
    tomorrow = datetime.fromtimestamp(house.clock.wall_ms() / 1000 + DAY_S, UTC)
    assert (
        "Questions a day: your limit is 1, and 1 of it is used" in words and f"{tomorrow:%Y-%m-%d} 00:00 (UTC)" in words
    )
    assert await house.one(TURNS) == 1, "no half-admitted turn"
    await house.ask("and me?", "Bob")
    assert await house.one(TURNS) == 2, "a quota is a person's own"


async def test_the_next_message_after_the_window_works(open_house: OpenHouse) -> None:
    house = await open_house(quota={"turns_per_day": 1})
    first, _ = await house.ask("hello")
    refused, _ = await house.ask("one more")
    refusal(house, refused)
    house.advance(DAY_S)
    after, _ = await house.ask("the day after")
    house.assert_answered_once(first)
    house.assert_answered_once(after)


async def test_in_a_group_only_who_asked_the_bot_is_refused(open_house: OpenHouse) -> None:
    house = await open_house(quota={"tokens_per_day": 8_000})
    await house.ask("hello")
    await house.held(HELD, 0)
    silent = house.say("just talk", chat_id=GROUP)
    asked, _ = await house.ask("and here", chat_id=GROUP, mention_bot=True)
    assert "Tokens a day: your limit is 8,000" in refusal(house, asked)
    assert house.replies(silent) == []


async def test_continue_is_refused_with_a_toast_and_works_later(open_house: OpenHouse) -> None:
    house = await open_house(quota={"turns_per_day": 1}, agents={"demo": {"kind": "demo", "pace": 1.0}})
    message_id = house.say("slow long answer")
    await house.held("SELECT count(*) FROM turns WHERE state = 'entered'", 1)
    await house.restart()
    reply = await house.answered(message_id)
    (value,) = continue_values(house.card(reply.message_id))
    answer = await house.world.click("Alice", reply.message_id, value)
    assert WORDS.toast_quota.partition("{")[0] in str(answer)
    assert await house.one(TURNS) == 1
    house.advance(DAY_S)
    await house.world.click("Alice", reply.message_id, value)
    await house.held(TURNS, 2)


def continue_values(card: dict[str, object]) -> Iterator[dict[str, object]]:
    """What the *Continue* buttons of a card carry."""
    for part in cards_seen.parts(card):
        for behaviour in part.get("behaviors", ()):
            if behaviour.get("value", {}).get("do") == "continue":
                yield behaviour["value"]


async def test_the_books_cost_no_commit_of_their_own(house: House) -> None:
    """The reservation is in the admit commit, evidence and settlement in the finish commit, and the release shares its
    COMMIT with the delivery of the closing card."""
    await house.ask("warm up")
    await house.held(HELD, 0)
    commits: list[list[str]] = [[]]

    def listen(name: str) -> None:
        if name == "COMMITTED":
            commits.append([])
        elif name.startswith(("INSERT INTO", "UPDATE")):
            commits[-1].append(" ".join(name.split()[:3]) if name.startswith("INSERT") else " ".join(name.split()[:2]))

    house.tap.listeners.append(listen)
    await house.ask("hello")
    await house.held(HELD, 0)
    house.tap.listeners.remove(listen)

    def with_(word: str) -> list[str]:
        (found,) = [each for each in commits if word in each]
        return found

    assert "INSERT INTO turns" in with_("INSERT INTO reservations")
    assert "INSERT INTO settlement_pending" in with_("INSERT INTO evidence")
    assert "UPDATE turns" in with_("INSERT INTO settlement_pending")
    assert "UPDATE outbox" in with_("INSERT INTO releases"), "the first attempt of the closing card"
    assert "INSERT INTO usage" in with_("INSERT INTO releases")


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("unit", ["turns", "tokens"])
@pytest.mark.parametrize("period", ["day", "month"])
def test_the_card_says_what_how_much_and_until_when(language: str, unit: str, period: str) -> None:
    ends_at = int(datetime(2026, 12, 1, tzinfo=ZoneInfo("Asia/Shanghai")).timestamp() * 1000)
    short = Short(unit, period, 12_000, 9_000, 3_000, ends_at)  # type: ignore[arg-type]
    card = quota_card(language, short, ZoneInfo("Asia/Shanghai"))
    for words in ("12,000", "9,000", "3,000", "2026-12-01 00:00 (Asia/Shanghai)"):
        assert words in card.json and words in card.text
    assert "{" not in card.text
    assert window_end(short, UTC) == "2026-11-30 16:00 (UTC)"


def test_what_nobody_holds_is_not_spoken_of() -> None:
    card = quota_card("en", Short("turns", "day", 3, 3, 0, 86_400_000), UTC)
    assert "held" not in card.text
