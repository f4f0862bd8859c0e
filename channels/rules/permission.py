"""What an agent asks before it does something, and what it is answered. The values of the seam `agents.protocol.Gate`,
kept in the file and drawn on cards."""

from dataclasses import dataclass

ALLOW_ONCE, ALLOW_ALWAYS, REJECT_ONCE, REJECT_ALWAYS = "allow_once", "allow_always", "reject_once", "reject_always"


@dataclass(frozen=True, slots=True)
class PermissionOption:
    """One answer that the agent offers. `kind` is ACP's: allow_once, allow_always, reject_once, reject_always."""

    option_id: str
    name: str
    kind: str

    @property
    def allows(self) -> bool:
        return self.kind in (ALLOW_ONCE, ALLOW_ALWAYS)


@dataclass(frozen=True, slots=True)
class PermissionQuestion:
    """What an agent wants to do and may not do unasked. `kind` is that of the tool (see `ToolCalled`), `arguments` the
    command or the arguments as text, `diff` the change in unified form, `paths` the files it touches. `options` may be
    empty: then only yes and no can be said."""

    tool_id: str
    title: str
    kind: str
    arguments: str = ""
    diff: str = ""
    paths: tuple[str, ...] = ()
    options: tuple[PermissionOption, ...] = ()


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """What was decided. `option_id` is the chosen one of the agent's own options, "" where it offered none. `why`:
    allowed (by a person), policy (of the settings, either way), denied (by a person), no_code_write, timeout, ended
    (the turn has ended or the service is going down)."""

    allowed: bool
    option_id: str = ""
    why: str = "allowed"
