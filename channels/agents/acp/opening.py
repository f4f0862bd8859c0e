"""A session in a host: a new one, or the old one loaded again; then the configured model and mode.

An agent that can load (or resume) sessions is asked to, and when it cannot, the turn ends aloud and the old reference
stays. An agent that cannot do so at all gets a new session and the words of the conversation so far, and says so.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from channels.agents.acp.choices import read_choice
from channels.agents.acp.failures import (
    AgentSaid,
    Crashed,
    EndedAtStart,
    Flooded,
    LoginNeeded,
    NotLoaded,
    ProcessFailure,
    SlowStart,
    Trouble,
    Unhearing,
)
from channels.agents.acp.host import HeldSession, Host
from channels.agents.acp.peer import AUTH_REQUIRED, Answered, Lost, RefusedBy, Reply
from channels.agents.presets import AcpPreset, McpServer
from channels.logs import AGENT_REFUSED, AGENT_UNSETTABLE, get_logger, redact_text

SAID_CHARACTERS = 160

_log = get_logger("agents.acp")


@dataclass(frozen=True, slots=True)
class Opened:
    """`without_past`: the agent knows nothing of what was said before, although something was."""

    session: HeldSession
    without_past: bool = False


class Opener:
    """Opens sessions for one agent; remembers which of its settings it has complained about."""

    def __init__(self, preset: AcpPreset) -> None:
        self._preset = preset
        self._warned: set[str] = set()

    async def open(self, host: Host, folder: Path | None, reference: str) -> Opened:
        """The session of `reference` loaded, or a new one. Raises Trouble."""
        way = _way_back(host) if reference else None
        params = {
            "cwd": str(folder or tempfile.gettempdir()),
            "mcpServers": [_server(one) for one in self._servers(host)],
        }
        if way is None:
            result = await self._new(host, params)
            held = HeldSession(str(result["sessionId"]), folder)
        else:
            heard = host.heard
            result = await self._load(host, way, {**params, "sessionId": reference})
            await host.until_quiet()
            said = any(value for key, value in result.items() if key != "_meta")
            held = HeldSession(reference, folder, unproven=not said and host.heard == heard)
        await self._choose(host, held, result)
        return Opened(held, without_past=way is None and bool(reference))

    async def _new(self, host: Host, params: Mapping[str, Any]) -> Mapping[str, Any]:
        limit_s = self._preset.limits.start_s
        try:
            reply = await host.ask("session/new", params, limit_s)
        except TimeoutError:
            raise Trouble(SlowStart(limit_s)) from None
        match reply:
            case Answered(result) if isinstance(result.get("sessionId"), str):
                return result
            case Lost():
                host.log_end("no session")
                raise Trouble(EndedAtStart())
            case _:
                raise Trouble(refusal_of(reply, self._preset))

    async def _load(self, host: Host, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        limit_s = self._preset.limits.load_s
        try:
            reply = await host.ask(method, params, limit_s)
        except TimeoutError:
            _log.warning(AGENT_REFUSED, agent=self._preset.name, method=method, why="too slow")
            raise Trouble(NotLoaded(limit_s)) from None
        match reply:
            case Answered(result):
                return result
            case RefusedBy(code, said) if code != AUTH_REQUIRED:
                _log.warning(AGENT_REFUSED, agent=self._preset.name, method=method, code=code, said=clean_said(said))
                raise Trouble(NotLoaded())
            case RefusedBy():
                raise Trouble(LoginNeeded())
            case Lost():
                host.log_end("session not loaded")
                raise Trouble(NotLoaded())

    async def _choose(self, host: Host, held: HeldSession, result: Mapping[str, Any]) -> None:
        for what, wanted in (("model", self._preset.model), ("mode", self._preset.mode)):
            choice = read_choice(result, what)
            if wanted and (choice is None or choice.current != choice.find(wanted)):
                result = {**result, **await self._set(host, held, result, what, wanted)}
                choice = read_choice(result, what)
            if what == "model" and choice is not None:
                held.model = choice.current_name

    async def _set(
        self, host: Host, held: HeldSession, result: Mapping[str, Any], what: str, wanted: str
    ) -> Mapping[str, Any]:
        """Choose; what the offers are afterwards. A choice that is not there is complained of once, and let be."""
        choice = read_choice(result, what)
        value = None if choice is None else choice.find(wanted)
        if choice is None or value is None:
            self._complain(what, wanted, () if choice is None else tuple(choice.names))
            return {}
        try:
            reply = await host.ask(choice.method, choice.request(held.reference, value), self._preset.limits.start_s)
        except TimeoutError:
            reply = Lost()
        if not isinstance(reply, Answered):
            self._complain(what, wanted, tuple(choice.names))
            return {}
        if reply.result.get("configOptions"):
            return reply.result
        state = {**(result.get(f"{what}s") or {}), f"current{what.title()}Id": value}
        return {f"{what}s": state, "configOptions": _chosen(result, what, value)}

    def _complain(self, what: str, wanted: str, offered: tuple[str, ...]) -> None:
        if what not in self._warned:
            self._warned.add(what)
            key = f"agents.{self._preset.name}.{what}"
            _log.warning(AGENT_UNSETTABLE, key=key, wanted=wanted, offered=offered[:20])

    def _servers(self, host: Host) -> list[McpServer]:
        """Those that the agent can reach: over HTTP and SSE only where it says so."""
        able = host.offers.mcp_capabilities
        can = {"http": bool(able and able.http), "sse": bool(able and able.sse)}
        return [one for one in self._preset.mcp_servers if one.command or can[one.transport]]


def refusal_of(reply: Reply, preset: AcpPreset) -> ProcessFailure:
    """Why a request was not answered as it should have been."""
    match reply:
        case RefusedBy(code):
            return LoginNeeded() if code == AUTH_REQUIRED else AgentSaid(clean_said(reply.said, preset.env))
        case _:
            return AgentSaid()


def lost_failure(host: Host) -> ProcessFailure:
    if host.process is not None and host.process.unhearing:
        return Unhearing()
    return Flooded() if host.flooded else Crashed()


def clean_said(said: str, secrets: tuple[tuple[str, str], ...] = ()) -> str:
    """An agent's own words, fit to be shown: one short line without anything secret."""
    for _, value in secrets:
        if len(value) >= 8:
            said = said.replace(value, "***")
    line = " ".join(redact_text(said).split())
    return line if len(line) <= SAID_CHARACTERS else line[:SAID_CHARACTERS] + " …"


def _way_back(host: Host) -> str | None:
    if host.offers.load_session:
        return "session/load"
    able = host.offers.session_capabilities
    return "session/resume" if able is not None and able.resume is not None else None


def _chosen(result: Mapping[str, Any], what: str, value: str) -> list[Any]:
    options = result.get("configOptions") or []
    return [
        {**one, "currentValue": value}
        if isinstance(one, dict) and what in (one.get("category"), one.get("id"))
        else one
        for one in options
    ]


def _server(one: McpServer) -> dict[str, Any]:
    pairs = [{"name": name, "value": value} for name, value in (one.env if one.command else one.headers)]
    if one.command:
        return {"name": one.name, "command": one.command[0], "args": list(one.command[1:]), "env": pairs}
    return {"type": one.transport, "name": one.name, "url": one.url, "headers": pairs}
