"""The openai agent against a real server over loopback that misbehaves in every way that servers are known to."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from channels.agents.openai_chat import OpenAiAgent
from channels.agents.presets import OpenAiPreset, TimeLimits
from channels.agents.protocol import Said, TurnRequest
from channels.errors import ConfigError
from channels.ids import SessionId, TurnId
from channels.rules.agent_event import AgentEvent, Ended, Outcome, ReasoningDelta, TextDelta, UsageReported
from tests.conformance.agents.fake_openai import (
    Cut,
    Data,
    FakeOpenAi,
    Flood,
    Gate,
    Hang,
    Raw,
    Reply,
    Step,
    chunk,
    finish,
    thoughts,
    usage,
    words,
)

KEY = "sk-very-secret-key-123"
QUICK = TimeLimits(connect_s=5, first_s=0.2, between_s=0.2, whole_s=30)
GOOD = Reply.of(words("fine"), finish())


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAi]:
    async with FakeOpenAi() as made:
        yield made


def preset(server: FakeOpenAi, **more: object) -> OpenAiPreset:
    values: dict[str, object] = {"name": "model", "base_url": server.base_url, "model": "fake", "api_key": KEY, **more}
    return OpenAiPreset(**values)  # type: ignore[arg-type]


async def run(
    chosen: OpenAiPreset, *, text: str = "Hi", language: str = "en", history: tuple[Said, ...] = (), turns: int = 1
) -> list[AgentEvent]:
    """The events of the last of `turns` equal turns."""
    agent = OpenAiAgent(chosen, retry_pause_s=0.001)
    events: list[AgentEvent] = []
    try:
        for number in range(turns):
            request = TurnRequest(TurnId(f"t{number}"), SessionId("s"), text, None, history, language=language)
            async with asyncio.timeout(20):
                events = [event async for event in agent.run(request)]
    finally:
        await agent.close()
    return events


def answer(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def end(events: list[AgentEvent]) -> Ended:
    assert isinstance(events[-1], Ended)
    return events[-1]


def assert_failed(events: list[AgentEvent], *says: str) -> None:
    assert end(events).outcome is Outcome.FAILED
    for part in says:
        assert part in end(events).error
    assert KEY not in end(events).error


class TestRequest:
    async def test_carries_prompt_history_and_question(self, server: FakeOpenAi) -> None:
        said = (Said("user", "one"), Said("assistant", "two"))
        await run(preset(server, system_prompt="Be brief.", temperature=0.5, max_tokens=99), text="three", history=said)
        body = server.requests[0].body
        assert [(m["role"], m["content"]) for m in body["messages"]] == [
            ("system", "Be brief."),
            ("user", "one"),
            ("assistant", "two"),
            ("user", "three"),
        ]
        assert (body["model"], body["stream"], body["temperature"], body["max_tokens"]) == ("fake", True, 0.5, 99)
        assert body["stream_options"] == {"include_usage": True}
        assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"

    async def test_without_settings_sends_none(self, server: FakeOpenAi) -> None:
        await run(preset(server, api_key=""))
        assert set(server.requests[0].body) == {"model", "messages", "stream", "stream_options"}
        assert "Authorization" not in server.requests[0].headers

    async def test_takes_nothing_from_the_environment(
        self, server: FakeOpenAi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
            monkeypatch.setenv(name, "of-somebody-else")
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        assert end(await run(preset(server, api_key=""))).outcome is Outcome.COMPLETED
        assert "of-somebody-else" not in json.dumps(server.requests[0].headers)

    async def test_goes_through_the_configured_proxy(self, server: FakeOpenAi) -> None:
        proxied = preset(server, base_url="http://model.invalid/v1", proxy=server.base_url.removesuffix("/v1"))
        assert end(await run(proxied)).outcome is Outcome.COMPLETED
        assert server.requests[0].headers["Host"] == "model.invalid"

    async def test_history_is_cut_to_the_budget(self, server: FakeOpenAi) -> None:
        said = tuple(
            Said(role, f"{role} {number} " + "x" * 400) for number in range(50) for role in ("user", "assistant")
        )
        await run(preset(server, max_history_tokens=1000), history=said)
        sent = server.requests[0].body["messages"]
        assert sent[0]["content"].startswith("user 46")
        assert len(sent) == 9


class TestAnswer:
    async def test_deltas_arrive_one_by_one_and_unchanged(self, server: FakeOpenAi) -> None:
        pieces = ("ha", "ha", " ", "1000", "000", "世", "界🙂")
        server.script(Reply.of(words(*pieces), finish()))
        events = await run(preset(server))
        assert [event.text for event in events if isinstance(event, TextDelta)] == list(pieces)

    async def test_stream_cut_at_any_byte_is_put_together(self, server: FakeOpenAi) -> None:
        event = 'data: {"choices":[{"delta":{"content":"世界"}}]}\r\n\r\n'.encode()
        whole = b": ping\n\n" + event + b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        server.script(Reply.of([Raw(bytes([byte])) for byte in whole]))
        events = await run(preset(server))
        assert (answer(events), end(events).outcome) == ("世界", Outcome.COMPLETED)

    @pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
    async def test_reasoning_under_either_name(self, server: FakeOpenAi, key: str) -> None:
        server.script(Reply.of(thoughts("hm", "hm", key=key), words("yes"), finish()))
        events = await run(preset(server))
        assert events[:3] == [ReasoningDelta("hm"), ReasoningDelta("hm"), TextDelta("yes")]

    async def test_reasoning_in_think_tags(self, server: FakeOpenAi) -> None:
        server.script(Reply.of(words("<th", "ink>\nso", " so</thi", "nk>\n\n", "yes <think>"), finish()))
        events = await run(preset(server))
        assert answer(events) == "yes <think>"
        assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "\nso so"

    async def test_usage_with_cached_tokens(self, server: FakeOpenAi) -> None:
        server.script(Reply.of(words("Hi"), chunk({}, "stop"), usage(90, 7, 40), Data("[DONE]")))
        assert UsageReported(90, 7, 40) in await run(preset(server))

    async def test_usage_on_every_chunk_is_reported_when_it_changes(self, server: FakeOpenAi) -> None:
        totals = [{"prompt_tokens": 5, "completion_tokens": done, "prompt_cache_hit_tokens": 3} for done in (1, 1, 2)]
        server.script(Reply.of([chunk({"content": "a"}, usage=total) for total in totals], finish()))
        events = await run(preset(server))
        assert [e for e in events if isinstance(e, UsageReported)] == [UsageReported(5, 1, 3), UsageReported(5, 2, 3)]

    async def test_server_that_refuses_stream_options_is_remembered(self, server: FakeOpenAi) -> None:
        server.script(Reply.error(400, "Unknown field: stream_options"), GOOD, GOOD)
        assert answer(await run(preset(server), turns=2)) == "fine"
        assert ["stream_options" in request.body for request in server.requests] == [True, False, False]

    async def test_refusal_that_has_another_reason_changes_nothing(self, server: FakeOpenAi) -> None:
        server.script(Reply.error(400, "no"), Reply.error(400, "no"), GOOD, GOOD)
        await run(preset(server), turns=3)
        assert ["stream_options" in request.body for request in server.requests] == [True, False, True, True]

    async def test_server_that_took_stream_options_once_is_not_doubted_again(self, server: FakeOpenAi) -> None:
        server.script(GOOD, Reply.error(400, "bad thing"), GOOD)
        assert_failed(await run(preset(server), turns=2), "bad thing")
        assert len(server.requests) == 2

    async def test_server_that_does_not_stream(self, server: FakeOpenAi) -> None:
        message = {"content": "whole", "reasoning_content": "hm"}
        body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}}
        server.script(Reply((Raw(json.dumps(body).encode()),), content_type="application/json"))
        events = await run(preset(server))
        assert events == [ReasoningDelta("hm"), TextDelta("whole"), UsageReported(3), Ended(Outcome.COMPLETED)]

    @pytest.mark.parametrize("last", [[chunk({}, "stop")], [Data("[DONE]")], [chunk({}, "end_turn"), Hang()]])
    async def test_careless_but_complete_endings(self, server: FakeOpenAi, last: list[Step]) -> None:
        """No end mark, no finish_reason, or a connection left open after it: the answer is there, so it is complete."""
        server.script(Reply.of(words("all"), last))
        events = await run(preset(server, limits=TimeLimits(tail_s=0.05)))
        assert (answer(events), end(events).outcome) == ("all", Outcome.COMPLETED)

    async def test_answer_without_end_is_bounded_and_let_go(self, server: FakeOpenAi) -> None:
        server.script(Reply.of(Flood("0123456789")))
        events = await run(preset(server, max_answer_characters=1005))
        assert (len(answer(events)), end(events).outcome) == (1005, Outcome.MAX_TOKENS)
        await server.gone.wait()


class TestFailures:
    @pytest.mark.parametrize(
        ("reply", "english", "chinese", "requests"),
        [
            (Reply.error(401, f"Incorrect key {KEY}"), "api_key", "密钥", 1),
            (Reply.error(403, "forbidden"), "api_key", "密钥", 1),
            (Reply.error(404, "no such model"), "`fake`", "`fake`", 1),
            (Reply.html(404), "base_url", "base_url", 1),
            (Reply.error(402, "Insufficient Balance"), "credit", "额度", 1),
            (Reply.error(429, "quota", "insufficient_quota"), "credit", "额度", 1),
            (Reply.error(429, "slow down"), "too many requests", "频繁", 3),
            (Reply.error(429, "slow", headers={"retry-after": "77"}), "in 77 seconds", "77 秒后", 1),
            (Reply.error(413, "maximum context length is 8192 tokens"), "/new", "/new", 1),
            (Reply.error(418, f"teapot {KEY}"), "teapot ***", "teapot ***", 1),
            (Reply.error(400, "bad thing"), "bad thing", "bad thing", 2),
            (Reply.error(400, "content management policy"), "content filter", "内容审核", 2),
            (Reply.error(500, "boom"), "HTTP 500", "HTTP 500", 3),
            (Reply.html(502), "HTTP 502", "HTTP 502", 3),
            (Reply(status=503), "HTTP 503", "HTTP 503", 3),
            (Reply(status=301, headers={"location": "/elsewhere"}), "base_url", "base_url", 1),
            (Reply.html(200), "base_url", "base_url", 1),
            (Reply((Raw(b'{"hello": 1}'),), content_type="application/json"), "base_url", "base_url", 1),
            (Reply((Raw(b"{"),), content_type="application/json"), "base_url", "base_url", 1),
            (Reply.of(finish()), "empty", "没有给出", 1),
            (Reply.of(words("  \n"), finish()), "empty", "没有给出", 1),
            (Reply.of(words("bad"), finish("content_filter")), "content filter", "内容审核", 1),
            (Reply.of(Data({"error": {"message": "overloaded"}})), "overloaded", "overloaded", 3),
            (Reply.of(words("a"), Data({"error": "lost"})), "lost", "lost", 1),
            (Reply.of(), "before the answer began", "开始回答之前", 3),
            (Reply.of(Cut()), "before the answer began", "开始回答之前", 3),
            (Reply(before=(Cut(),)), "before the answer began", "开始回答之前", 3),
            (Reply.of(Data("{damaged")), "before the answer began", "开始回答之前", 3),
            (Reply.of(Data("[1]")), "before the answer began", "开始回答之前", 3),
            (Reply.of(Raw(b"x" * (2 << 20))), "before the answer began", "开始回答之前", 3),
            (Reply.of(words("half an"), Cut()), "go on", "继续", 1),
            (Reply.of(words("half an")), "go on", "继续", 1),
            (Reply.of(words("half an"), Data("{damaged")), "go on", "继续", 1),
            (Reply.of(words("half an"), finish("error")), "go on", "继续", 1),
            (Reply.of(thoughts("half a thought"), Cut()), "go on", "继续", 1),
        ],
    )
    async def test_sentence_and_number_of_tries(
        self, server: FakeOpenAi, reply: Reply, english: str, chinese: str, requests: int
    ) -> None:
        server.script(*[reply] * requests)
        assert_failed(await run(preset(server)), english)
        assert len(server.requests) == requests
        server.script(*[reply] * requests)
        assert_failed(await run(preset(server), language="zh-CN"), chinese)

    @pytest.mark.parametrize(
        "fault", [Reply.error(500), Reply.html(502), Reply.error(429), Reply.of(Cut()), Reply.of(words("<thi"), Cut())]
    )
    async def test_retry_before_the_first_word_answers_once(self, server: FakeOpenAi, fault: Reply) -> None:
        server.script(fault, fault, GOOD)
        events = await run(preset(server))
        assert (answer(events), end(events).outcome) == ("fine", Outcome.COMPLETED)
        assert len(server.requests) == 3

    async def test_key_does_not_follow_a_redirect(self, server: FakeOpenAi) -> None:
        async with FakeOpenAi() as elsewhere:
            target = f"{elsewhere.base_url}/chat/completions"
            server.script(Reply(status=307, headers={"location": target}))
            assert_failed(await run(preset(server)), "base_url")
            assert elsewhere.requests == []

    async def test_key_of_any_shape_is_cleaned_from_the_server_s_words(self, server: FakeOpenAi) -> None:
        server.script(Reply.error(418, "not with k3y"))
        assert "not with ***" in end(await run(preset(server, api_key="k3y"))).error

    async def test_nothing_is_sent_again_after_the_first_word(self, server: FakeOpenAi) -> None:
        server.script(Reply.of(words("half"), Cut()), GOOD)
        events = await run(preset(server))
        assert answer(events) == "half"
        assert len(server.requests) == 1

    async def test_unreachable_address_is_named_without_secrets(self, server: FakeOpenAi) -> None:
        nowhere = preset(server, base_url="http://user:pass@127.0.0.1:9/v1", retries=0)
        events = await run(nowhere)
        assert_failed(events, "127.0.0.1:9")
        assert "pass" not in end(events).error

    @pytest.mark.parametrize(
        ("reply", "says"),
        [
            (Reply(before=(Hang(),)), "did not begin"),
            (Reply.of(Hang()), "did not begin"),
            (Reply.of(chunk({"role": "assistant"}), Raw(b": ping\n\n"), Hang()), "did not begin"),
            (Reply.of(words("a"), Hang()), "in the middle"),
        ],
    )
    async def test_silence_ends_by_its_own_limit(self, server: FakeOpenAi, reply: Reply, says: str) -> None:
        server.script(reply)
        assert_failed(await run(preset(server, limits=QUICK)), says, "0.2 seconds")
        assert len(server.requests) == 1
        async with asyncio.timeout(10):
            await server.gone.wait()

    async def test_whole_turn_is_limited(self, server: FakeOpenAi) -> None:
        server.script(Reply.of(Flood("on ")))
        limits = TimeLimits(whole_s=0.2)
        assert_failed(await run(preset(server, limits=limits, max_answer_characters=10**9)), "longer than 0.2 seconds")
        async with asyncio.timeout(10):
            await server.gone.wait()

    @pytest.mark.parametrize(
        "wrong",
        [{"base_url": "model.example/v1"}, {"base_url": "ftp://x/v1"}, {"api_key": "钥匙"}, {"api_key": "a\nb"}],
    )
    async def test_settings_that_can_never_work_are_refused(self, server: FakeOpenAi, wrong: dict[str, str]) -> None:
        with pytest.raises(ConfigError) as error:
            OpenAiAgent(preset(server, **wrong))
        assert error.value.key == f"agents.model.{next(iter(wrong))}"

    def test_key_is_not_in_the_preset_s_repr(self) -> None:
        shown = repr(OpenAiPreset("a", "http://x/v1", "m", KEY, proxy="http://user:pass@127.0.0.1"))
        assert KEY not in shown
        assert "pass" not in shown


class TestConcurrency:
    async def test_many_turns_stream_at_once(self, server: FakeOpenAi) -> None:
        gate = asyncio.Event()
        agent = OpenAiAgent(preset(server))
        held = Reply.of(Raw(b": hold\n\n"), words("a"), finish())
        server.script(*[Reply(held.steps, before=(Gate(gate),))] * 150)

        async def one(number: int) -> str:
            request = TurnRequest(TurnId(f"t{number}"), SessionId("s"), "Hi", None)
            return answer([event async for event in agent.run(request)])

        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(number)) for number in range(150)]
            await server.at_once(150)
            gate.set()
        assert {task.result() for task in tasks} == {"a"}
        await agent.close()
