"""/agent: which agents there are, who answers where, and what becomes of the session before."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from channels.agents.demo import DemoAgent
from channels.agents.protocol import ProcessFigure, TurnRequest
from channels.emulator.accounts import GROUP
from channels.ids import SessionId
from channels.rules.agent_event import AgentEvent
from channels.rules.turn import Phase
from tests.integration import cards_seen
from tests.integration.cards_seen import WORDS
from tests.integration.children import Child
from tests.integration.conftest import OpenHouse
from tests.integration.conversations.conftest import DAY_S, read, say
from tests.integration.house import House, settings_of

IN_CHAT = {"private": "chat", "group": "chat"}
TWO = {"coder": {"kind": "demo", "pace": 0.0}}
AGENT_OF = """
SELECT agent FROM sessions JOIN turns ON turns.session_id = sessions.session_id WHERE cause_id = :message_id
"""
SESSION_OF = "SELECT session_id FROM turns WHERE cause_id = :message_id"


class Keeping(DemoAgent):
    """A demo agent that would keep processes; it remembers which sessions it was told to leave and to resume."""

    model = "model-9"

    def __init__(self, name: str, *, pace: float = 0.0, fails_to_resume: bool = False) -> None:
        super().__init__(name, pace=pace)
        self.left: list[str] = []
        self.resumed: list[str] = []
        self.ran: list[TurnRequest] = []
        self._fails_to_resume = fails_to_resume

    def run(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        self.ran.append(turn)
        return super().run(turn)

    async def resume(self, session_id: SessionId) -> None:
        self.resumed.append(session_id)
        if self._fails_to_resume:
            raise RuntimeError("there is no such session")

    async def leave(self, session_id: SessionId) -> None:
        self.left.append(session_id)

    def processes(self) -> tuple[ProcessFigure, ...]:
        return (ProcessFigure(self.name, "session_1", 77, 50_000_000, 4_200), ProcessFigure(self.name, "", 78, 1, 0))

    def waiting(self) -> int:
        return 3


async def agent_of(house: House, message_id: str) -> str:
    return str(await house.one(AGENT_OF, message_id=message_id))


async def session_of(house: House, message_id: str) -> str:
    return str(await house.one(SESSION_OF, message_id=message_id))


async def keeping_house(open_house: OpenHouse, *agents: Keeping, **sections: dict[str, Any]) -> House:
    house = await open_house(
        start=False,
        agents={each.name: {"kind": "demo"} for each in agents},
        turns={"agent": agents[0].name},
        **sections,
    )
    house.agents = {each.name: each for each in agents}
    await house.start()
    return house


async def test_the_list_says_kind_and_model_and_who_answers_here(open_house: OpenHouse) -> None:
    house = await keeping_house(open_house, Keeping("coder"), Keeping("writer"))
    listed = await say(house, "/agent")
    lines = [line for line in listed.splitlines() if line.startswith("- ")]
    assert lines == [f"- **coder** · demo · model-9 · {WORDS.agents_here}", "- **writer** · demo · model-9"]
    assert WORDS.agents_hint in listed


async def test_defaults_for_private_chats_and_groups(open_house: OpenHouse) -> None:
    house = await open_house(agents=TWO, turns={"agent": "demo", "agent_group": "coder"})
    private, _ = await house.ask("hello")
    group, _ = await house.ask("hello", chat_id=GROUP, mention_bot=True)
    assert (await agent_of(house, private), await agent_of(house, group)) == ("demo", "coder")
    assert f"**coder** · demo · {WORDS.agents_here}" in await say(house, "/agent", chat_id=GROUP, mention_bot=True)
    assert "coder" in await say(house, "/status", chat_id=GROUP, mention_bot=True)


async def test_a_switch_in_a_topic_is_a_boundary_and_the_old_session_stays(open_house: OpenHouse) -> None:
    coder, writer = Keeping("coder"), Keeping("writer")
    house = await keeping_house(open_house, coder, writer)
    first, reply = await house.ask("apples are red")
    thread = reply.thread_id
    said = await say(house, "/agent writer", thread_id=thread)
    assert WORDS.agent_done.format(agent="**writer**") in said
    second, answer = await house.ask("what did I say before", thread_id=thread)
    assert answer.thread_id == thread
    assert await agent_of(house, second) == "writer"
    assert writer.ran[-1].history == ()
    assert "apples" not in str(house.card(answer.message_id))
    old = await session_of(house, first)
    await house.passed(lambda: coder.left == [old])
    assert writer.left == []
    other, _ = await house.ask("elsewhere")
    assert await agent_of(house, other) == "coder", "a switch in a topic is for that topic"
    await house.ask("/resume 1", thread_id=thread)
    third, _ = await house.ask("what did I say before", thread_id=thread)
    assert await session_of(house, third) == old and await agent_of(house, third) == "coder"
    await house.passed(lambda: len(writer.left) == 1)


async def test_a_switch_outside_topics_is_for_new_conversations(open_house: OpenHouse) -> None:
    house = await open_house(agents=TWO)
    old, reply = await house.ask("hello")
    assert WORDS.agent_chosen.format(agent="**coder**") in await say(house, "/agent coder")
    assert WORDS.agent_here_already.format(agent="**coder**") in await say(house, "/agent CODER")
    new, _ = await house.ask("hello again")
    still, _ = await house.ask("more", thread_id=reply.thread_id)
    bobs, _ = await house.ask("hello", "Bob")
    assert [await agent_of(house, each) for each in (old, new, still, bobs)] == ["demo", "coder", "demo", "demo"]
    await house.restart()
    later, _ = await house.ask("and later")
    assert await agent_of(house, later) == "coder"


async def test_a_switch_in_a_chat_without_topics(open_house: OpenHouse) -> None:
    house = await open_house(agents=TWO, topics=IN_CHAT)
    first, _ = await house.ask("apples are red")
    await house.ask("/agent coder")
    second, _ = await house.ask("hello")
    await house.ask("/new")
    third, _ = await house.ask("hello")
    assert [await agent_of(house, each) for each in (first, second, third)] == ["demo", "coder", "coder"]
    assert len({await session_of(house, each) for each in (first, second, third)}) == 3


async def test_new_in_a_topic_keeps_its_agent(open_house: OpenHouse) -> None:
    house = await open_house(agents=TWO)
    _, reply = await house.ask("hello")
    await house.ask("/agent coder", thread_id=reply.thread_id)
    await house.ask("hello", thread_id=reply.thread_id)
    await house.ask("/new", thread_id=reply.thread_id)
    last, _ = await house.ask("hello", thread_id=reply.thread_id)
    assert await agent_of(house, last) == "coder"


async def test_a_wrong_name_gets_the_nearest_one(open_house: OpenHouse) -> None:
    house = await open_house(agents=TWO)
    assert "/agent coder" in await say(house, "/agent codex")
    assert "Did you mean" not in await say(house, "/agent *zzzzzz*")
    assert await house.one("SELECT count(*) FROM chosen_agents") == 0


async def test_in_an_expired_topic_nothing_is_switched(open_house: OpenHouse) -> None:
    house = await open_house(agents=TWO)
    _, reply = await house.ask("hello")
    house.advance(40 * DAY_S)
    await house.restart()
    await house.held("SELECT count(*) FROM expired_routes", 1)
    for text in ("/agent", "/agent coder"):
        assert WORDS.expired_body in await say(house, text, thread_id=reply.thread_id)
    assert await house.one("SELECT count(*) FROM routes") == 0


async def test_a_session_is_left_only_when_nothing_of_it_runs(open_house: OpenHouse) -> None:
    coder = Keeping("coder", pace=1.0)
    house = await keeping_house(open_house, coder, Keeping("writer"), topics=IN_CHAT)
    running = house.say("work 1 second")
    await house.held("SELECT state FROM turns WHERE cause_id = :message_id", "entered", message_id=running)
    await house.shown(house.say("/new"))
    assert coder.left == []
    await house.answered(running)
    await house.passed(lambda: coder.left == [coder.ran[0].session_id])


async def test_an_archived_session_is_left(open_house: OpenHouse) -> None:
    coder = Keeping("coder")
    house = await keeping_house(open_house, coder)
    first, _ = await house.ask("hello")
    session = await session_of(house, first)
    house.advance(40 * DAY_S)
    await house.restart()
    await house.held("SELECT count(*) FROM expired_routes", 1)
    await house.passed(lambda: coder.left == [session])


async def test_an_agent_that_is_no_longer_configured_has_a_stand_in_that_says_so(open_house: OpenHouse) -> None:
    house = await open_house(agents=TWO, turns={"agent": "coder"})
    _, reply = await house.ask("apples are red")
    await house.stop()
    house.sections = {}
    await house.start()
    second = await say(house, "what did I say before", thread_id=reply.thread_id)
    assert WORDS.agent_gone_note.format(agent="coder", other="demo") in second and "apples are red" in second
    assert WORDS.agents_gone.format(agent="coder", other="demo") in await say(
        house, "/agent", thread_id=reply.thread_id
    )
    await house.ask("/new", thread_id=reply.thread_id)
    last, _ = await house.ask("hello", thread_id=reply.thread_id)
    assert await agent_of(house, last) == "demo"
    assert WORDS.agent_gone_note.format(agent="coder", other="demo") not in read(house, last)


@pytest.mark.parametrize("fails", [False, True])
async def test_continue_is_offered_where_the_agent_can_resume(open_house: OpenHouse, fails: bool) -> None:
    coder = Keeping("coder", fails_to_resume=fails)
    house = await open_house(start=False, agents={"coder": {"kind": "demo", "pace": 1.0}}, turns={"agent": "coder"})
    child = await Child.start(house.folder, settings_of(house.emulator.url, house.folder, **house.sections))
    running = house.say("slow long answer")
    reply = await house.shown(running)
    await house.seen(lambda: len(cards_seen.answer(house.card(reply.message_id))) > 10)
    await child.kill()
    house.agents = {"coder": coder}
    await house.start()
    await house.answered(running)
    card = house.card(reply.message_id)
    assert coder.resumed == [await session_of(house, running)]
    assert (WORDS.button_continue in str(card)) is not fails
    assert cards_seen.phase(card) is Phase.INTERRUPTED


async def test_status_and_metrics_show_processes(open_house: OpenHouse) -> None:
    house = await keeping_house(open_house, Keeping("coder"))
    assert house.service is not None
    shown = (await house.service.figures.status())["agents"]["coder"]
    assert (shown["memory_bytes"], shown["waiting"], len(shown["processes"])) == (50_000_001, 3, 2)
    assert shown["processes"][0] == {"pid": 77, "session_id": "session_1", "memory_bytes": 50_000_000, "idle_s": 4}
    numbers = {each.name: each for each in house.service.figures.numbers() if each.name.startswith("agent_")}
    assert {name: each.value for name, each in numbers.items()} == {
        "agent_processes": 2,
        "agent_memory_bytes": 50_000_001,
        "agent_waiting": 3,
    }
    assert dict(numbers["agent_waiting"].labels) == {"agent": "coder"}
