"""An agent on any OpenAI-compatible streaming endpoint. The only module (with openai_failures) that imports openai.

One turn is one completion: system prompt, as much history as fits, the question. A request that fails is sent again
only while nothing of its answer has been seen. The package makes the request (address, key, errors by status); the
stream is read by `chat_stream`, because servers that call themselves compatible differ there, and a read that is ours
can be bounded in time and size and ended at any byte: leaving it closes the connection, which ends the server's work.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Final

import openai
from openai.types.chat import ChatCompletionContentPartParam, ChatCompletionMessageParam

from channels.agents.chat_answer import Answer
from channels.agents.chat_limits import Deadlines
from channels.agents.chat_stream import Chunk, DamagedStream, SseReader, read_chunk
from channels.agents.enclosures import Enclosed, enclose, has_files
from channels.agents.failures import BrokenStream, NotAnApi, ServerSaid, is_chinese, sentence
from channels.agents.history import fit_history
from channels.agents.openai_client import build_client
from channels.agents.openai_failures import WIRE_ERRORS, Trouble, clean_said, read_trouble
from channels.agents.presets import OpenAiPreset
from channels.agents.protocol import TurnRequest
from channels.agents.running import RunningTurns
from channels.clock import Rng, SystemRng
from channels.ids import SessionId, TurnId
from channels.logs import AGENT_REFUSED, AGENT_RETRIED, get_logger
from channels.rules.agent_event import AgentEvent, Ended, Outcome

LONGEST_WAIT_S: Final = 30.0  # if a server asks for more, the person is told instead of kept waiting
_LONGEST_BODY_BYTES: Final = 8 << 20

_log = get_logger("agents.openai")
_Response = openai.AsyncAPIResponse[Any]


class _NotACompletion(Exception):
    """The address answers, but not like a model."""


class OpenAiAgent:
    """Runs turns on the endpoint of `preset`. `retry_pause_s` is the first pause between tries; it doubles."""

    def __init__(self, preset: OpenAiPreset, *, rng: Rng | None = None, retry_pause_s: float = 0.5) -> None:
        self.name = preset.name
        self.kind = "openai"
        self.model = preset.model
        self._preset = preset
        self._rng = rng or SystemRng()
        self._retry_pause_s = retry_pause_s
        self._turns = RunningTurns()
        self._client = build_client(preset)
        self._usage_asked: bool | None = None  # whether this server takes stream_options; None: not known yet

    def run(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        """Ask the model and pass on what it says."""
        return self._turns.lead(turn, self._talk(turn))

    async def stop(self, turn_id: TurnId) -> None:
        self._turns.stop(turn_id)

    async def resume(self, session_id: SessionId) -> None:
        """Nothing to do: what was said comes with every turn."""

    def help_text(self, language: str) -> str:
        model = self._preset.model
        if is_chinese(language):
            return f"直接提问即可，我用模型 `{model}` 回答，并记得本次会话的内容。发送 /new 开始新的会话。"
        return f"Just ask: I answer with the model `{model}` and remember this session. Send /new to start a fresh one."

    async def close(self) -> None:
        self._turns.close()
        await self._client.close()

    async def _talk(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        enclosed = Enclosed(turn.text)
        if has_files(turn):
            enclosed = await asyncio.to_thread(enclose, turn, vision=self._preset.vision)
        messages = self._messages(turn, enclosed)
        whole_at = _now() + self._preset.limits.whole_s
        for number in range(self._preset.retries + 1):
            trouble: Trouble | None = None
            async with aclosing(self._attempt(messages, whole_at)) as attempt:
                async for event in attempt:
                    if isinstance(event, Trouble):
                        trouble = event
                    else:
                        yield event
            if trouble is None:
                return
            pause_s = self._pause_s(number, trouble)
            if not self._may_retry(number, trouble, pause_s, whole_at):
                yield self._failed(turn, trouble)
                return
            _log.info(AGENT_RETRIED, agent=self.name, failure=type(trouble.failure).__name__, status=trouble.status)
            await asyncio.sleep(pause_s)

    async def _attempt(
        self, messages: list[ChatCompletionMessageParam], whole_at: float
    ) -> AsyncGenerator[AgentEvent | Trouble, None]:
        """One request. Its last item is an `Ended` or a Trouble, of which only one before the first word may retry."""
        answer = Answer(self._preset.max_answer_characters)
        deadlines = Deadlines(self._preset.limits, _now(), whole_at)
        trouble: Trouble | None = None
        try:
            async with aclosing(self._chunks(messages)) as chunks:
                while not answer.over:
                    async with asyncio.timeout_at(deadlines.until(answer, _now())):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        break
                    for event in answer.take(chunk):
                        yield event
        except TimeoutError:
            trouble = None if (slow := deadlines.passed) is None else Trouble(slow)
        except _NotACompletion:
            trouble = Trouble(NotAnApi())
        except WIRE_ERRORS as error:
            trouble = None if answer.begun or answer.finished else read_trouble(error, self._preset)
        if trouble is None or not trouble.retry:
            for event in answer.flush():
                yield event
        yield trouble or self._ending(answer)

    def _ending(self, answer: Answer) -> Ended | Trouble:
        match answer.result():
            case Outcome() as outcome:
                return Ended(outcome)
            case ServerSaid(said):
                return Trouble(ServerSaid(clean_said(said, self._preset)), retry=not answer.begun)
            case failure:
                return Trouble(failure, retry=failure == BrokenStream(begun=False))

    async def _chunks(self, messages: list[ChatCompletionMessageParam]) -> AsyncGenerator[Chunk, None]:
        """The chunks of one request's answer. Leaving it at any point closes the connection."""
        async with self._response(messages) as response:
            media_type = response.headers.get("content-type", "")
            if "html" in media_type:
                raise _NotACompletion
            if "json" in media_type:
                yield _whole_completion(await _read_body(response))
                yield Chunk(done=True)
                return
            reader = SseReader()
            async with aclosing(response.http_response.aiter_bytes()) as pieces:
                async for piece in pieces:
                    for data in reader.feed(piece):
                        yield read_chunk(data)
            for data in reader.finish():
                yield read_chunk(data)

    @asynccontextmanager
    async def _response(self, messages: list[ChatCompletionMessageParam]) -> AsyncIterator[_Response]:
        """The open response. A server that refuses to be asked for usage is asked once more without, and remembered."""
        if self._usage_asked is None:
            try:
                async with self._request(messages, usage=True) as response:
                    self._usage_asked = True
                    yield response
                    return
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                pass
            async with self._request(messages, usage=False) as response:
                self._usage_asked = False
                yield response
            return
        async with self._request(messages, usage=self._usage_asked) as response:
            yield response

    def _request(
        self, messages: list[ChatCompletionMessageParam], *, usage: bool
    ) -> AbstractAsyncContextManager[_Response]:
        preset = self._preset
        return self._client.chat.completions.with_streaming_response.create(
            model=preset.model,
            messages=messages,
            stream=True,
            stream_options={"include_usage": True} if usage else openai.omit,
            temperature=openai.omit if preset.temperature is None else preset.temperature,
            max_tokens=openai.omit if preset.max_tokens is None else preset.max_tokens,
            extra_headers={} if preset.api_key else {"Authorization": openai.omit},
        )

    def _messages(self, turn: TurnRequest, enclosed: Enclosed) -> list[ChatCompletionMessageParam]:
        messages: list[ChatCompletionMessageParam] = []
        if self._preset.system_prompt:
            messages.append({"role": "system", "content": self._preset.system_prompt})
        for said in fit_history(turn.history, self._preset.max_history_tokens):
            if said.role == "assistant":
                messages.append({"role": "assistant", "content": said.text})
            else:
                messages.append({"role": "user", "content": said.text})
        messages.append({"role": "user", "content": _content(enclosed)})
        return messages

    def _pause_s(self, number: int, trouble: Trouble) -> float:
        return max(self._retry_pause_s * 2.0**number * (0.5 + self._rng.random()), trouble.wait_s)

    def _may_retry(self, number: int, trouble: Trouble, pause_s: float, whole_at: float) -> bool:
        more = trouble.retry and number < self._preset.retries
        return more and pause_s <= LONGEST_WAIT_S and _now() + pause_s < whole_at

    def _failed(self, turn: TurnRequest, trouble: Trouble) -> Ended:
        _log.warning(AGENT_REFUSED, agent=self.name, failure=type(trouble.failure).__name__, status=trouble.status)
        return Ended(Outcome.FAILED, sentence(trouble.failure, turn.language))


def _content(enclosed: Enclosed) -> str | list[ChatCompletionContentPartParam]:
    """Plain text where it is all there is: not every server takes the other form."""
    if not enclosed.pictures:
        return enclosed.text
    parts: list[ChatCompletionContentPartParam] = [{"type": "text", "text": enclosed.text}] if enclosed.text else []
    parts += [{"type": "image_url", "image_url": {"url": url}} for url in enclosed.pictures]
    return parts


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _read_body(response: _Response) -> bytes:
    body = bytearray()
    async with aclosing(response.http_response.aiter_bytes()) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) > _LONGEST_BODY_BYTES:
                raise DamagedStream("a body without an end")
    return bytes(body)


def _whole_completion(body: bytes) -> Chunk:
    """The answer of a server that does not stream."""
    try:
        chunk = read_chunk(body.decode("utf-8", "replace"))
    except DamagedStream:
        raise _NotACompletion from None
    if chunk == Chunk():
        raise _NotACompletion
    return chunk
