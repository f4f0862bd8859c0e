"""The settings of each kind of agent, as plain values; `registry` makes agents of them. Importing this is cheap."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DemoPreset:
    """The built-in agent. `pace` scales all its pauses: 1 is natural, 0 is at once."""

    name: str = "demo"
    pace: float = 1.0


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Seconds. `first_s` runs from the request to the first word, `between_s` from one piece to the next, `tail_s` from
    the model's last word to the report of what it used."""

    connect_s: float = 10.0
    first_s: float = 120.0
    between_s: float = 60.0
    whole_s: float = 1800.0
    tail_s: float = 3.0


@dataclass(frozen=True, slots=True)
class OpenAiPreset:
    """An OpenAI-compatible endpoint.

    `base_url` usually ends in /v1. `proxy` is the only proxy that is used: the environment is not asked. `retries` are
    further tries before the first word; after it nothing is ever sent again. An answer of more than
    `max_answer_characters` is ended there, as one that met the model's length limit. `ca_file` replaces the built-in
    certificate authorities. `temperature` and `max_tokens` are sent only when given. `vision`: the model takes
    pictures.
    """

    name: str
    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    system_prompt: str = ""
    limits: TimeLimits = TimeLimits()
    retries: int = 2
    max_history_tokens: int = 24_000
    max_answer_characters: int = 400_000
    temperature: float | None = None
    max_tokens: int | None = None
    proxy: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    vision: bool = False


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Seconds. `start_s` runs from the start of a process to its readiness, `load_s` to an old session being there
    again, `first_s` from the question to the first sign of work, `between_s` from one to the next while no tool runs
    and nobody is asked, `cancel_s` from a cancel to the end of the work, `grace_s` from SIGTERM to SIGKILL; a process
    that has been idle for `idle_s` is ended (0: never)."""

    start_s: float = 60.0
    load_s: float = 60.0
    first_s: float = 300.0
    between_s: float = 600.0
    cancel_s: float = 10.0
    grace_s: float = 2.0
    idle_s: float = 900.0


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server of the Model Context Protocol that the agent is told of: a command, or an address."""

    name: str
    command: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    url: str = ""
    transport: str = "http"  # or sse
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class AcpPreset:
    """An agent that speaks the Agent Client Protocol as a subprocess.

    `env` is added to the little that a child inherits. `shared`: one process for all sessions, else one for each, of
    which at most `max_processes` live at once. `authenticate` names the method of the agent's to log in with, `model`
    and `mode` what to choose of its offers. `terminal`: it may ask for commands to be run. `adds_up`: the tokens it
    names at the end of a turn are those of the whole session so far.
    """

    name: str
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    shared: bool = False
    max_processes: int = 10
    limits: ProcessLimits = ProcessLimits()
    authenticate: str = ""
    model: str = ""
    mode: str = ""
    terminal: bool = False
    adds_up: bool = False
    mcp_servers: tuple[McpServer, ...] = ()
    max_history_tokens: int = 24_000
    max_answer_characters: int = 400_000


AgentPreset = DemoPreset | OpenAiPreset | AcpPreset
