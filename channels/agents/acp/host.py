"""A process that has been initialised, and the sessions that it holds.

It hears everything that the agent says by itself and hands it to the turn that runs in that session. What belongs to no
running turn (the past that an agent repeats while it loads a session, late words after a cancel) goes nowhere.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from acp import PROTOCOL_VERSION, schema
from pydantic import ValidationError

from channels import __version__
from channels.agents.acp.environment import environment_for
from channels.agents.acp.failures import EndedAtStart, LoginNeeded, NotStarted, OtherProtocol, SlowStart, Trouble
from channels.agents.acp.framing import Oversized
from channels.agents.acp.guardian import Guardian
from channels.agents.acp.peer import (
    AUTH_REQUIRED,
    INVALID_PARAMS,
    Answered,
    Lost,
    Peer,
    Refuse,
    RefusedBy,
    Reply,
    Respond,
)
from channels.agents.acp.process import AgentProcess, Launch
from channels.agents.presets import AcpPreset
from channels.ids import SessionId
from channels.logs import AGENT_EXITED, AGENT_STARTED, AGENT_UNREADABLE, get_logger
from channels.rules.agent_event import UsageReported

LOGGED_CHARACTERS: Final = 2_000
QUIET_S: Final = 0.3
LONGEST_NOISE_S: Final = 10.0

_log = get_logger("agents.acp")


class Desk(Protocol):
    """The running turn, as its session's host sees it."""

    def notified(self, update: Mapping[str, Any]) -> None: ...

    def requested(self, method: str, params: Mapping[str, Any], respond: Respond, refuse: Refuse) -> None: ...


@dataclass(slots=True)
class HeldSession:
    """A session that the agent has open. `prompt` is the last question's answer to come; `allowed` are the kinds of
    tools that somebody has allowed for good; `spent` is the last count of an agent that adds up. `unproven`: the agent
    said that it has loaded it, and nothing else."""

    reference: str
    folder: Path | None = None
    desk: Desk | None = None
    prompt: "asyncio.Future[Reply] | None" = None
    allowed: set[str] = field(default_factory=set)
    model: str = ""
    spent: UsageReported | None = None
    unproven: bool = False

    @property
    def is_busy(self) -> bool:
        return self.prompt is not None and not self.prompt.done()


class Host:
    """Call `start` once. `on_gone` is called once when the process is over, or when there never was one."""

    def __init__(self, preset: AcpPreset) -> None:
        self.preset = preset
        self.peer = Peer(self._write, self)
        self.sessions: dict[SessionId, HeldSession] = {}
        self.offers = schema.AgentCapabilities()
        self.process: AgentProcess | None = None
        self.flooded = self.is_gone = False
        self.doomed: asyncio.Future[None] | None = None  # it is being ended; done when it is gone
        self.on_gone: Callable[[], None] = lambda: None
        self._unread = 0
        self.heard = 0  # updates that belonged to no turn
        self._heard_at = 0.0

    async def start(self, guardian: Guardian, folder: Path | None) -> None:
        """Until it is ready. Raises Trouble; a start that fails or is given up leaves nothing."""
        preset, environment = self.preset, environment_for(self.preset.env)
        home = folder or Path(environment["HOME"])
        launch = Launch(preset.command, environment, home if home.is_dir() else Path("/"))
        try:
            async with asyncio.timeout(preset.limits.start_s):
                self.process = await AgentProcess.start(launch, guardian, self.peer.take, self._gone)
                await self._initialise()
        except TimeoutError:
            self._give_up("too slow")
            raise Trouble(SlowStart(preset.limits.start_s)) from None
        except OSError as error:
            self._give_up(error.strerror or "not started")
            raise Trouble(NotStarted(preset.command[0])) from None
        except BaseException:
            self._give_up("not ready")
            raise
        _log.info(AGENT_STARTED, agent=preset.name, pid=self.pid)

    @property
    def pid(self) -> int:
        return 0 if self.process is None else self.process.pid

    @property
    def is_busy(self) -> bool:
        """Whether any session still works on a question, wanted or not."""
        return any(session.is_busy for session in self.sessions.values())

    def kill(self) -> None:
        self._doom()
        if self.process is not None:
            self.process.kill()

    def end(self) -> None:
        """Ask it to end; killed when it does not."""
        self._doom()
        if self.process is not None:
            self.process.terminate(self.preset.limits.grace_s)

    def _doom(self) -> None:
        if self.doomed is None and not self.is_gone:
            self.doomed = asyncio.get_running_loop().create_future()

    async def ask(self, method: str, params: Mapping[str, Any], limit_s: float) -> Reply:
        """Ask and wait. Raises TimeoutError."""
        async with asyncio.timeout(limit_s):
            return await self.peer.request(method, params)

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        update = params.get("update")
        desk = self._desk(params)
        if method != "session/update" or not isinstance(update, dict):
            return
        if desk is not None:
            desk.notified(update)
        else:
            self.heard += 1
            self._heard_at = asyncio.get_running_loop().time()

    async def until_quiet(self) -> None:
        """Until the agent has said nothing outside of turns for a moment. Some (Gemini CLI) go on repeating a session's
        past after they have said that it is loaded; it would stand in the next answer."""
        loop = asyncio.get_running_loop()
        asked_at = loop.time()
        while (now := loop.time()) < asked_at + LONGEST_NOISE_S:
            left_s = max(asked_at, self._heard_at) + QUIET_S - now
            if left_s <= 0:
                return
            await asyncio.sleep(left_s)

    def requested(self, method: str, params: Mapping[str, Any], respond: Respond, refuse: Refuse) -> None:
        desk = self._desk(params)
        if desk is not None:
            desk.requested(method, params, respond, refuse)
        elif method == "session/request_permission":
            respond({"outcome": {"outcome": "cancelled"}})
        else:
            refuse(INVALID_PARAMS, "no turn is running in this session")

    def damaged(self, line: bytes | Oversized) -> None:
        """A line that is no message. One that was too long to be kept is only an update that is missing, or else
        something that somebody waits for: then the agent cannot be understood any more."""
        self._unread += 1
        if self._unread == 1:
            _log.warning(AGENT_UNREADABLE, agent=self.preset.name, pid=self.pid, bytes=_size(line))
        if isinstance(line, Oversized) and b'"session/update"' not in line.head:
            self.flooded = True
            self.kill()

    def _desk(self, params: Mapping[str, Any]) -> Desk | None:
        reference = params.get("sessionId")
        return next((one.desk for one in self.sessions.values() if one.reference == reference), None)

    async def _initialise(self) -> None:
        preset = self.preset
        capabilities = schema.ClientCapabilities(
            fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=preset.terminal
        )
        request = schema.InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=capabilities,
            client_info=schema.Implementation(name="feishu-channels", title="Feishu Channels", version=__version__),
        )
        answer = _ready(await self.peer.request("initialize", as_params(request)))
        try:
            found = schema.InitializeResponse.model_validate(answer)
        except ValidationError:
            raise Trouble(OtherProtocol()) from None
        if found.protocol_version != PROTOCOL_VERSION:
            raise Trouble(OtherProtocol())
        self.offers = found.agent_capabilities or schema.AgentCapabilities()
        if preset.authenticate:
            reply = await self.peer.request("authenticate", {"methodId": preset.authenticate})
            if isinstance(reply, RefusedBy):
                raise Trouble(LoginNeeded())
            _ready(reply)

    def _give_up(self, why: str) -> None:
        self.log_end(why)
        self.kill()

    def log_end(self, why: str) -> None:
        """Its last words to the log; they are for the owner, never for a card."""
        process = self.process
        words = "" if process is None else process.last_words()[-LOGGED_CHARACTERS:]
        code = None if process is None else process.returncode
        _log.warning(AGENT_EXITED, agent=self.preset.name, pid=self.pid, why=why, code=code, stderr=words)

    def _write(self, data: bytes) -> None:
        if self.process is not None:
            self.process.write(data)

    def _gone(self) -> None:
        if not self.is_gone:
            self.is_gone = True
            self.peer.lose()
            self.on_gone()
            if self.doomed is not None and not self.doomed.done():
                self.doomed.set_result(None)


def as_params(model: schema.BaseModel) -> dict[str, Any]:
    """A value of the protocol as it goes over the wire."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _ready(reply: Reply) -> Mapping[str, Any]:
    match reply:
        case Answered(result):
            return result
        case RefusedBy(code):
            raise Trouble(LoginNeeded() if code == AUTH_REQUIRED else OtherProtocol())
        case Lost():
            raise Trouble(EndedAtStart())


def _size(line: bytes | Oversized) -> int:
    return line.size_bytes if isinstance(line, Oversized) else len(line)
