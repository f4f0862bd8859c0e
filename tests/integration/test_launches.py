"""Topics opened on somebody's behalf, and sessions woken in their topics: turns that no message asked for."""

import asyncio
from typing import Any

import pytest

from channels.agents.demo import DemoAgent
from channels.agents.protocol import TurnRequest
from channels.app.operations import ControlOperations
from channels.emulator.accounts import GROUP, PLAIN, TOPICS
from channels.emulator.messages import Message
from channels.errors import Refused
from channels.rules.turn import Phase
from tests.integration import cards_seen
from tests.integration.cards_seen import WORDS
from tests.integration.conftest import OpenHouse
from tests.integration.house import House

IN_CHAT = {"private": "chat", "group": "chat"}
SLOW = {"demo": {"kind": "demo", "pace": 1.0}}
APPROVAL = {"mode": "approval", "admins": ["u_bob"]}
DAY_S = 24 * 3600.0
Json = dict[str, Any]


class Listening(DemoAgent):
    """Remembers what it was asked, and for whom."""

    def __init__(self) -> None:
        super().__init__("demo", pace=0.0)
        self.asked: list[TurnRequest] = []

    def run(self, turn: TurnRequest) -> Any:
        self.asked.append(turn)
        return super().run(turn)


async def ask(house: House, operation: str, **arguments: Any) -> Json:
    """The operation as the control socket serves it."""
    assert house.service is not None
    return await ControlOperations(house.service.figures).table()[operation](arguments)


async def start(house: House, text: str = "hello", user: str = "u_alice", **more: Any) -> Json:
    return await ask(house, "topic_start", user=user, text=text, **more)


async def wake(house: House, text: str = "go on", **more: Any) -> Json:
    return await ask(house, "topic_wake", text=text, **more)


async def refused(house: House, operation: str, **arguments: Any) -> str:
    """The code of the refusal; nothing was written."""
    before = await house.one("SELECT count(*) FROM turns")
    with pytest.raises(Refused) as refusal:
        await ask(house, operation, **arguments)
    assert await house.one("SELECT count(*) FROM turns") == before
    assert len(refusal.value.user_text) > 20
    return refusal.value.code


def ours(house: House, chat_id: str = GROUP) -> list[Message]:
    """What the bot has said in this chat, oldest first."""
    return [each for each in house.world.timeline.in_chat(chat_id) if each.by_bot]


def private(house: House, user: str = "Alice") -> str:
    return house.world.private_chat(user)


async def ended(house: House, turn: Json, outcome: str = "completed") -> None:
    await house.held("SELECT outcome FROM turns WHERE turn_id = :turn", outcome, turn=turn["turn"])
    await house.quiet()


async def again(house: House, turn: Json, **arguments: Any) -> Json:
    """The same request once more: where it stands."""
    seen = await start(house, key=turn["key"], **arguments)
    assert seen["again"] and seen["turn"] == turn["turn"]
    return seen


def finished(house: House, message: Message) -> Json:
    card = house.card(message.message_id)
    assert not cards_seen.is_running(card)
    return card


class TestLaunch:
    async def test_a_topic_in_a_group(self, open_house: OpenHouse) -> None:
        house = await open_house(start=False)
        agent = Listening()
        house.agents = {"demo": agent}
        await house.start()
        turn = await start(house, "apples are red", chat=GROUP)
        assert not turn["again"] and turn["chat"] == GROUP
        await ended(house, turn)
        card, opening = ours(house)
        assert (card.reply_to, card.thread_id) == ("", opening.thread_id) and opening.thread_id
        assert opening.reply_to == card.message_id
        assert "apples are red" in opening.content and 'user_id=\\"u_alice\\"' in opening.content
        assert cards_seen.phase(finished(house, card)) is Phase.DONE
        assert "apples are red" in cards_seen.answer(house.card(card.message_id))
        (asked,) = agent.asked
        assert (asked.text, asked.sender_user_id, asked.history) == ("apples are red", "u_alice", ())
        assert house.ledger.reactions(card.message_id) == []
        assert (await again(house, turn, text="apples are red", chat=GROUP))["thread"] == card.thread_id
        message_id, reply = await house.ask("what did I say before", chat_id=GROUP, thread_id=card.thread_id)
        assert reply.thread_id == card.thread_id and len(agent.asked[-1].history) == 2
        assert agent.asked[-1].session_id == turn["session"]
        house.assert_answered_once(message_id)

    async def test_a_private_chat_that_is_known(self, house: House) -> None:
        await house.ask("hello")
        before = len(ours(house, private(house)))
        turn = await start(house)
        await ended(house, turn)
        card, opening = ours(house, private(house))[before:]
        assert turn["chat"] == private(house) == card.chat_id
        assert "user_id" not in opening.content, "nobody else is there who could be meant"
        assert card.thread_id == opening.thread_id != ""

    @pytest.mark.parametrize("user", ["u_alice", "ou_alice"])
    async def test_a_private_chat_that_nobody_has_seen(self, house: House, user: str) -> None:
        turn = await start(house, user=user)
        await ended(house, turn)
        card, _opening = ours(house, private(house))
        seen = await again(house, turn, user=user)
        assert (seen["chat"], seen["thread"], seen["message"]) == (private(house), card.thread_id, card.message_id)
        later = await house.rows("SELECT DISTINCT chat_id FROM outbox WHERE op IN ('close', 'text')")
        assert later == [(private(house),)]
        message_id, reply = await house.ask("what did I say before", thread_id=card.thread_id)
        assert reply.thread_id == card.thread_id
        assert await house.one("SELECT session_id FROM turns WHERE cause_id = :m", m=message_id) == turn["session"]

    async def test_without_topics_it_becomes_the_chats_conversation(self, open_house: OpenHouse) -> None:
        house = await open_house(topics=IN_CHAT)
        await house.ask("pears are green")
        turn = await start(house, "apples are red")
        await ended(house, turn)
        card = ours(house, private(house))[-1]
        assert (card.reply_to, card.thread_id) == ("", "")
        message_id, _ = await house.ask("what did I say before")
        assert await house.one("SELECT session_id FROM turns WHERE cause_id = :m", m=message_id) == turn["session"]

    async def test_a_group_whose_messages_are_topics(self, house: House) -> None:
        turn = await start(house, chat=TOPICS)
        await ended(house, turn)
        card, opening = ours(house, TOPICS)
        assert card.thread_id == opening.thread_id != ""
        assert (await again(house, turn, chat=TOPICS))["thread"] == card.thread_id

    async def test_a_group_in_which_topics_are_impossible(self, house: House) -> None:
        turn = await start(house, chat=PLAIN)
        await ended(house, turn)
        card, opening = ours(house, PLAIN)
        assert (card.thread_id, opening.thread_id, opening.reply_to) == ("", "", card.message_id)
        message_id, _ = await house.ask("hello", chat_id=PLAIN, mention_bot=True)
        assert await house.one("SELECT session_id FROM turns WHERE cause_id = :m", m=message_id) == turn["session"]

    async def test_a_long_answer_stays_in_its_topic(self, house: House) -> None:
        turn = await start(house, "long answer", chat=GROUP)
        await ended(house, turn)
        card, *others = ours(house)
        assert len(others) > 2
        assert {each.thread_id for each in others} == {card.thread_id} and card.thread_id
        for each in others:
            if house.states(each.message_id):
                finished(house, each)

    async def test_the_same_key_is_one_topic(self, house: House) -> None:
        turn = await start(house, chat=GROUP, key="daily-1")
        assert (await start(house, chat=GROUP, key="daily-1"))["again"]
        await ended(house, turn)
        await house.restart()
        assert (await start(house, chat=GROUP, key="daily-1"))["outcome"] == "completed"
        assert (
            await refused(house, "topic_start", user="u_alice", text="other", chat=GROUP, key="daily-1")
            == "key_conflict"
        )
        await house.quiet()
        assert await house.one("SELECT count(*) FROM turns") == 1
        assert len(ours(house)) == 2

    async def test_two_at_once_with_one_key(self, house: House) -> None:
        answers = await asyncio.gather(*(start(house, chat=GROUP, key="twice") for _ in range(4)))
        assert len({each["turn"] for each in answers}) == 1
        assert sorted(each["again"] for each in answers) == [False, True, True, True]
        await ended(house, answers[0])
        assert len(ours(house)) == 2

    async def test_two_for_one_person_at_once_are_two_topics(self, house: House) -> None:
        turns = [await start(house, f"number {number}", chat=GROUP) for number in range(3)]
        for turn in turns:
            await ended(house, turn)
        assert len({each.thread_id for each in ours(house)}) == 3
        assert len({turn["session"] for turn in turns}) == 3

    async def test_who_answers(self, open_house: OpenHouse) -> None:
        house = await open_house(agents={"coder": {"kind": "demo", "pace": 0.0}})
        await house.ask("/agent coder")
        chosen = await start(house)
        named = await start(house, agent="demo")
        sql = "SELECT agent FROM sessions WHERE session_id = :session"
        assert await house.one(sql, session=chosen["session"]) == "coder"
        assert await house.one(sql, session=named["session"]) == "demo"
        assert await refused(house, "topic_start", user="u_alice", text="x", agent="nobody") == "unknown_agent"

    async def test_what_people_may_press(self, open_house: OpenHouse) -> None:
        house = await open_house(agents=SLOW)
        turn = await start(house, "work 20 seconds", chat=GROUP)
        await house.held("SELECT state FROM turns WHERE turn_id = :turn", "entered", turn=turn["turn"])
        await house.seen(lambda: len(ours(house)) == 2)
        card = ours(house)[0]
        value = cards_seen.stop_value(house.card(card.message_id))
        assert value is not None
        shown = await house.world.click("Bob", card.message_id, value)
        assert shown["toast"]["content"] == WORDS.toast_not_yours
        await house.world.click("Alice", card.message_id, value)
        await ended(house, turn, "stopped")
        assert cards_seen.phase(finished(house, card)) is Phase.STOPPED


class TestNotLaunched:
    async def test_chats_that_are_none(self, house: House) -> None:
        assert await refused(house, "topic_start", user="u_alice", text="x", chat="oc_nowhere") == "unknown_chat"
        house.world.remove_bot(GROUP)
        assert await refused(house, "topic_start", user="u_alice", text="x", chat=GROUP) == "bot_not_in_chat"
        house.world.disband(TOPICS)
        assert await refused(house, "topic_start", user="u_alice", text="x", chat=TOPICS) == "chat_dissolved"
        await house.ask("hello")
        assert (
            await refused(house, "topic_start", user="u_alice", text="x", chat=private(house, "Bob"))
            == "not_their_chat"
        )

    async def test_an_app_that_may_not_look_at_chats(self, house: House) -> None:
        house.fault("im.chat.get", "error", code=99991672, times=None)
        assert await refused(house, "topic_start", user="u_alice", text="x", chat=GROUP) == "chat_unverified"
        await house.ask("hello", "Bob", GROUP, mention_bot=True)
        turn = await start(house, chat=GROUP)
        await ended(house, turn)

    async def test_somebody_who_may_not_chat(self, open_house: OpenHouse) -> None:
        house = await open_house(access=APPROVAL)
        assert await refused(house, "topic_start", user="u_alice", text="x", chat=GROUP) == "user_may_not_chat"
        await ask(house, "access_grant", user="id:u_alice", switches=["chat"])
        turn = await start(house, chat=GROUP)
        await ended(house, turn)
        await ask(house, "access_revoke", user="u_alice", switches=["chat"])
        thread = ours(house)[0].thread_id
        assert await refused(house, "topic_wake", text="x", thread=thread) == "user_may_not_chat"
        await ended(house, await wake(house, thread=thread, nobody=True))

    async def test_private_chats_that_are_off(self, open_house: OpenHouse) -> None:
        house = await open_house(chat={"dm": "users", "dm_users": ["u_bob"]})
        assert await refused(house, "topic_start", user="u_alice", text="x") == "private_chats_off"
        await ended(house, await start(house, user="u_bob"))

    async def test_a_quota_that_is_used_up(self, open_house: OpenHouse) -> None:
        house = await open_house(quota={"turns_per_day": 2})
        turn = await start(house, chat=GROUP)
        await ended(house, turn)
        await ended(house, await wake(house, session=turn["session"]))
        assert await refused(house, "topic_start", user="u_alice", text="x", chat=GROUP) == "quota"
        assert await refused(house, "topic_wake", text="x", session=turn["session"]) == "quota"
        await ended(house, await wake(house, session=turn["session"], nobody=True))
        await ended(house, await start(house, user="u_bob", chat=GROUP))

    async def test_what_makes_no_sense(self, house: House) -> None:
        for wrong in (
            {"user": "u_alice", "text": " "},
            {"text": "x"},
            {"user": "u_alice", "text": "x" * 100_001},
            {"user": "u_alice", "text": "x", "key": "two words"},
            {"user": 7, "text": "x"},
        ):
            with pytest.raises(ValueError, match="must"):
                await ask(house, "topic_start", **wrong)
        with pytest.raises(ValueError, match="either"):
            await wake(house, thread="omt_1", session="session_1")
        assert await refused(house, "topic_start", user="nobody of this name", text="x") == "unknown_person"

    async def test_a_chat_that_is_gone_in_between_stops_the_turn(self, open_house: OpenHouse) -> None:
        house = await open_house(agents=SLOW)
        house.fault("cardkit.card.create", "delay", seconds=0.3)
        turn = await start(house, "work 20 seconds", chat=GROUP)
        house.world.disband(GROUP)
        await ended(house, turn, "stopped")
        assert ours(house) == []
        assert (await again(house, turn, text="work 20 seconds", chat=GROUP))["card"] == "gone"

    @pytest.mark.parametrize("user", ["u_mistyped", "ou_mistyped"])
    async def test_somebody_who_is_not_there_gets_nothing_done(self, open_house: OpenHouse, user: str) -> None:
        """A slip in a script: what an agent does for them would be seen by nobody."""
        house = await open_house(agents=SLOW)
        turn = await start(house, "work 20 seconds", user=user)
        await ended(house, turn, "stopped")
        assert (await again(house, turn, text="work 20 seconds", user=user))["card"] == "gone"
        assert await house.one("SELECT count(*) FROM inflight") == 0


class TestWakeUp:
    async def test_in_a_topic(self, open_house: OpenHouse) -> None:
        house = await open_house(start=False)
        agent = Listening()
        house.agents = {"demo": agent}
        await house.start()
        _, reply = await house.ask("apples are red", chat_id=GROUP, mention_bot=True)
        turn = await wake(house, "what did I say before", thread=reply.thread_id)
        await ended(house, turn)
        first, second = ours(house)
        assert (second.thread_id, second.reply_to) == (first.thread_id, first.message_id)
        assert "apples are red" in cards_seen.answer(finished(house, second))
        assert agent.asked[-1].sender_user_id == "u_alice"
        assert house.ledger.reactions(first.message_id) == house.ledger.reactions(second.message_id) == []
        by_session = await wake(house, "and now", session=turn["session"], nobody=True)
        await ended(house, by_session)
        third = ours(house)[-1]
        assert (third.thread_id, third.reply_to) == (first.thread_id, second.message_id)
        assert agent.asked[-1].sender_user_id is None
        await house.ask("hello again", chat_id=GROUP, thread_id=reply.thread_id)

    async def test_a_launched_topic(self, house: House) -> None:
        launched = await start(house, chat=GROUP)
        await ended(house, launched)
        await ended(house, await wake(house, session=launched["session"]))
        assert len({each.thread_id for each in ours(house)}) == 1

    async def test_a_chat_without_topics(self, open_house: OpenHouse) -> None:
        house = await open_house(topics=IN_CHAT)
        message_id, _ = await house.ask("hello")
        session = await house.one("SELECT session_id FROM turns WHERE cause_id = :m", m=message_id)
        turn = await wake(house, "long answer", session=session)
        await ended(house, turn)
        cards = ours(house, private(house))[1:]
        assert len(cards) > 2 and cards[0].reply_to == ""
        assert {each.reply_to for each in cards[1:]} == {cards[0].message_id}

    async def test_while_another_turn_runs_it_waits_in_order(self, open_house: OpenHouse) -> None:
        house = await open_house(agents=SLOW)
        _, reply = await house.ask("hello")
        thread = reply.thread_id
        running = house.say("work 1 second", thread_id=thread)
        await house.held("SELECT state FROM turns WHERE cause_id = :m", "entered", m=running)
        turn = await wake(house, thread=thread)
        later = house.say("after that", thread_id=thread)
        await house.seen(lambda: len(ours(house, private(house))) >= 3)
        woken = ours(house, private(house))[2]
        assert cards_seen.phase(house.card(woken.message_id)) is Phase.WAITING
        await house.answered(later)
        await ended(house, turn)
        order = await house.rows("SELECT cause FROM turns WHERE entered_at IS NOT NULL ORDER BY entered_at, seq")
        assert [row[0] for row in order] == ["message", "message", "wake", "message"]
        finished(house, woken)

    async def test_the_same_key_wakes_once(self, house: House) -> None:
        _, reply = await house.ask("hello")
        turn = await wake(house, thread=reply.thread_id, key="k")
        assert (await wake(house, thread=reply.thread_id, key="k"))["turn"] == turn["turn"]
        await ended(house, turn)
        other = await refused(house, "topic_wake", text="other", thread=reply.thread_id, key="k")
        assert other == "key_conflict"
        assert await house.one("SELECT count(*) FROM turns WHERE cause = 'wake'") == 1
        await ended(house, await start(house, key="k"))

    async def test_the_card_above_was_taken_back(self, house: House) -> None:
        _, first = await house.ask("hello")
        asked, reply = await house.ask("and more", thread_id=first.thread_id)
        house.world.mark_recalled(house.world.message(reply.message_id))
        turn = await wake(house, thread=reply.thread_id)
        await ended(house, turn)
        card = ours(house, private(house))[-1]
        assert (card.thread_id, card.reply_to) == (reply.thread_id, asked)

    async def test_refused(self, open_house: OpenHouse) -> None:
        house = await open_house(turns={"queue_limit": 1}, agents=SLOW)
        assert await refused(house, "topic_wake", text="x", thread="omt_nowhere") == "unknown_topic"
        assert await refused(house, "topic_wake", text="x", session="session_none") == "unknown_session"
        first, reply = await house.ask("hello")
        thread = reply.thread_id
        session = await house.one("SELECT session_id FROM turns WHERE cause_id = :m", m=first)
        running = house.say("work 20 seconds", thread_id=thread)
        await house.held("SELECT state FROM turns WHERE cause_id = :m", "entered", m=running)
        await wake(house, thread=thread)
        assert await refused(house, "topic_wake", text="x", thread=thread) == "queue_full"
        await house.ask("/stop", thread_id=thread)
        await house.answered(running)
        await house.ask("/new", thread_id=thread)
        assert await refused(house, "topic_wake", text="x", session=session) == "session_archived"
        house.advance(40 * DAY_S)
        await house.restart()
        await house.held("SELECT count(*) FROM expired_routes", 1)
        assert await refused(house, "topic_wake", text="x", thread=thread) == "topic_expired"

    async def test_a_topic_that_is_just_being_opened(self, house: House) -> None:
        house.fault("im.message.create", "delay", seconds=0.5)
        launched = await start(house, chat=GROUP)
        assert await refused(house, "topic_wake", text="x", session=launched["session"]) == "still_opening"
        await ended(house, launched)


class TestTrouble:
    async def test_a_restart_between_the_commit_and_the_card(self, house: House) -> None:
        house.fault("cardkit.card.create", "status", status=503, times=None)
        turn = await start(house, "apples are red", chat=GROUP, key="k")
        await house.stop()
        house.emulator.faults.clear()
        await house.start()
        await ended(house, turn)
        card, opening = ours(house)
        assert card.thread_id == opening.thread_id != ""
        finished(house, card)

    async def test_what_is_written_under_the_card_before_its_topic_is_known(self, house: House) -> None:
        """Without a mention, by somebody else, while nobody has heard of the card that they see."""
        house.fault("im.message.create", "drop_after")
        house.fault("im.message.create", "status", status=503, times=2)
        turn = await start(house, chat=GROUP)
        await house.seen(lambda: ours(house))
        (card,) = ours(house)
        house.world.timeline.open_thread(card, "omt_by_bob")
        quick = house.say("what is this?", "Bob", GROUP, thread_id="omt_by_bob")
        elsewhere = house.say("hello all", "Bob", GROUP)
        in_other_topic = house.say("hello", "Bob", GROUP, mention_bot=True)
        house.advance(5)
        await house.answered(quick)
        await house.answered(in_other_topic)
        await ended(house, turn)
        session = "SELECT session_id FROM turns WHERE cause_id = :m"
        assert await house.one(session, m=quick) == turn["session"] != await house.one(session, m=in_other_topic)
        assert await house.one("SELECT verdict FROM inbox WHERE message_id = :m", m=elsewhere) == "not_mentioned"
        assert [each for each in ours(house) if not each.reply_to] == [card]

    async def test_stopped_by_a_restart_and_continued(self, open_house: OpenHouse) -> None:
        house = await open_house(agents=SLOW, cards={"frame_gaps_ms": [0, 100]})
        turn = await start(house, "slow long answer", chat=GROUP)
        await house.seen(lambda: len(ours(house)) == 2)
        card = ours(house)[0]
        await house.seen(lambda: len(cards_seen.answer(house.card(card.message_id))) > 10)
        await house.stop()
        house.sections = {}
        await house.start()
        await ended(house, turn, "interrupted")
        value = _offer(house, card)
        assert (await house.world.click("Bob", card.message_id, value))["toast"]["content"] == WORDS.toast_not_yours
        await house.world.click("Alice", card.message_id, value)
        await house.held("SELECT outcome FROM turns WHERE cause = 'continue'", "completed")
        await house.quiet()
        assert cards_seen.phase(finished(house, card)) is Phase.DONE
        assert len([each for each in ours(house) if not each.reply_to]) == 1
        assert house.ledger.reactions(card.message_id) == []

    async def test_a_wake_up_for_nobody_is_stopped_by_the_sessions_person(self, open_house: OpenHouse) -> None:
        house = await open_house(agents=SLOW)
        _, reply = await house.ask("hello", chat_id=GROUP, mention_bot=True)
        turn = await wake(house, "work 20 seconds", thread=reply.thread_id, nobody=True)
        await house.held("SELECT state FROM turns WHERE turn_id = :turn", "entered", turn=turn["turn"])
        await house.seen(lambda: len(ours(house)) == 2)
        card = ours(house)[1]
        value = cards_seen.stop_value(house.card(card.message_id))
        assert (await house.world.click("Bob", card.message_id, value))["toast"]["content"] == WORDS.toast_not_yours
        await house.world.click("Alice", card.message_id, value)
        await ended(house, turn, "stopped")

    async def test_a_woken_card_that_nobody_heard_of_is_found_in_history(self, house: House) -> None:
        _, reply = await house.ask("hello")
        house.fault("im.message.reply", "drop_after")
        house.fault("im.message.reply", "status", status=503, times=None)
        calls = len(house.calls("im.message.reply"))
        turn = await wake(house, thread=reply.thread_id)
        await house.seen(lambda: len(house.calls("im.message.reply")) >= calls + 2)
        house.advance(57 * 60)
        house.emulator.faults.clear()
        await ended(house, turn)
        assert len(ours(house, private(house))) == 2
        finished(house, ours(house, private(house))[1])

    @pytest.mark.parametrize("first", ["drop", "drop_after"])
    async def test_two_cards_that_nobody_heard_of_are_told_apart(self, house: House, first: str) -> None:
        """Whether both are there, or only the second."""
        house.fault("im.message.create", first)
        house.fault("im.message.create", "drop_after")
        house.fault("im.message.create", "status", status=503, times=None)
        turns = [await start(house, "number 0", chat=GROUP)]
        await house.seen(lambda: house.calls("im.message.create"))
        turns.append(await start(house, "number 1", chat=GROUP))
        await house.seen(lambda: len(house.calls("im.message.create")) >= 4)
        house.advance(57 * 60)
        house.emulator.faults.clear()
        for turn in turns:
            await ended(house, turn)
        cards = [each for each in ours(house) if not each.reply_to]
        assert len(cards) == 2
        answers = [cards_seen.answer(finished(house, each)) for each in cards]
        assert sorted(number for text in answers for number in (0, 1) if f"number {number}" in text) == [0, 1]
        assert len({each.thread_id for each in cards}) == 2

    @pytest.mark.parametrize("code", [230099, 99991672])
    async def test_cards_that_are_refused(self, house: House, code: int) -> None:
        """As a text where the card is refused, patched where only its entity is; the topic opens all the same."""
        refused_call = "im.message.create" if code == 230099 else "cardkit.card.create"
        house.fault(refused_call, "error", code=code, times=None if code != 230099 else 1)
        turn = await start(house, "apples are red", chat=GROUP)
        await ended(house, turn)
        first, *others = ours(house)
        assert first.reply_to == "" and first.thread_id == others[0].thread_id != ""
        shown = first.content if code == 230099 else str(house.card(first.message_id))
        assert "apples are red" in shown

    async def test_the_text_that_opens_the_topic_may_come_late(self, house: House) -> None:
        house.fault("im.message.reply", "status", status=503, times=3)
        turn = await start(house, chat=GROUP)
        await house.held("SELECT outcome FROM turns WHERE turn_id = :turn", "completed", turn=turn["turn"])
        house.advance(10)
        await ended(house, turn)
        assert (await again(house, turn, chat=GROUP))["thread"]
        assert await house.one("SELECT count(*) FROM inflight") == 0


def _offer(house: House, message: Message) -> Json:
    """The value of the *Continue* button."""
    for part in cards_seen.parts(house.card(message.message_id)):
        for behaviour in part.get("behaviors", ()):
            if behaviour.get("value", {}).get("do") == "continue":
                return dict(behaviour["value"])
    raise KeyError("continue")
