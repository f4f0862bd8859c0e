"""Who may do what. Pure.

Five switches: chat, wiki_read, wiki_write, code_write, admin. Whom the settings name as admin has all of them. In the
mode `open` everybody may chat and read; in the mode `approval` a person may do what was granted, as long as the grant
lasts. A turn that stands for nobody may do nothing that needs a switch.

People are known by user_id, or by "open:<open_id>" where the app may not see user ids.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from channels.ids import OpenId, UserId

SWITCHES = ("chat", "wiki_read", "wiki_write", "code_write", "admin")
OPEN_TO_ALL = frozenset({"chat", "wiki_read"})
DAY_MS = 24 * 3_600_000
CONSOLE = "console"  # whoever may open the control socket
CLAIMS_PER_PERSON, CLAIMS_ALTOGETHER, CLAIM_WINDOW_MS = 5, 50, 3_600_000

_CODE = re.compile(r"[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}")
_SPAN = re.compile(r"(\d{1,5})(m|h|d|w)")
_SPAN_MS = {"m": 60_000, "h": 3_600_000, "d": DAY_MS, "w": 7 * DAY_MS}


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """The settings that access depends on."""

    mode: str = "open"  # open | approval
    admins: frozenset[UserId] = frozenset()
    request_ms: int = 7 * DAY_MS  # an undecided request expires
    cooldown_ms: int = DAY_MS  # after a denial
    code_ms: int = 15 * 60_000  # a claim code works so long


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something, and by which way (chat, card, cli, page, service)."""

    user_id: UserId
    open_id: OpenId
    via: str

    @property
    def ids(self) -> frozenset[UserId]:
        """Every id under which the file may know this person."""
        return identities(self.user_id, self.open_id)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a person was given: until when (ms) and for how many more messages, None: without end."""

    switches: frozenset[str]
    until_ms: int | None = None
    messages_left: int | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """May do these things now."""

    switches: frozenset[str]


@dataclass(frozen=True, slots=True)
class Outside:
    """May not chat: unknown, revoked, expired (the time is over), used_up (no message left), denied (an admin has
    declined a moment ago)."""

    why: str


Standing = Admitted | Outside


def identities(user_id: str, open_id: str) -> frozenset[UserId]:
    """The ids that may stand for a person in the file."""
    by_open_id = {UserId(f"open:{open_id}")} if open_id else set()
    return frozenset(by_open_id | ({UserId(user_id)} if user_id else set()))


def standing(who: Iterable[UserId], grant: Grant | None, policy: AccessPolicy, now: int) -> Standing:
    """What this person may do now; who may not chat is outside."""
    if not policy.admins.isdisjoint(who):
        return Admitted(frozenset(SWITCHES))
    valid = grant is not None and not is_over(grant, now)
    switches = grant.switches if grant is not None and valid else frozenset()
    if policy.mode == "open":
        return Admitted(switches | OPEN_TO_ALL)
    if "chat" in switches:
        return Admitted(switches)
    if grant is None:
        return Outside("unknown")
    if "chat" not in grant.switches:
        return Outside("revoked")
    return Outside("used_up" if grant.messages_left == 0 else "expired")


def may(user_id: UserId | None, switch: str, found: Standing) -> bool:
    """Whether a turn that stands for this person may use what the switch guards; nobody's turn may nothing."""
    return bool(user_id) and isinstance(found, Admitted) and switch in found.switches


def is_over(grant: Grant, now: int) -> bool:
    """Whether a grant has run out: its time, or its messages."""
    return grant.messages_left == 0 or (grant.until_ms is not None and grant.until_ms <= now)


def is_cooling(denied_at: int | None, policy: AccessPolicy, now: int) -> bool:
    """Whether a denial still keeps this person from asking again."""
    return denied_at is not None and now < denied_at + policy.cooldown_ms


# Claim codes


def claim_code(letters: str) -> str:
    """The code that a person sends, from 16 letters of base32: four groups of four."""
    return "-".join(letters[start : start + 4] for start in range(0, 16, 4))


def read_code(text: str) -> str | None:
    """The claim code that a message consists of, as it was printed; None for any other message."""
    found = text.strip().strip("`").upper()
    return found if _CODE.fullmatch(found) else None


def may_try(own_failures: int, all_failures: int) -> bool:
    """Whether one more claim is looked at: failures of this person and of everybody within `CLAIM_WINDOW_MS`."""
    return own_failures < CLAIMS_PER_PERSON and all_failures < CLAIMS_ALTOGETHER


# What people type


@dataclass(frozen=True, slots=True)
class Terms:
    """A grant as it was typed: whom, which switches (none: chat), for how long (ms), for how many messages."""

    person: str
    switches: frozenset[str]
    for_ms: int | None = None
    messages: int | None = None


@dataclass(frozen=True, slots=True)
class Unclear:
    """What was typed does not say whom, or says a thing that does not exist."""

    word: str


def read_terms(arguments: str) -> Terms | Unclear:
    """`@Bob wiki_read code_write 7d 20x` in any order after the name; a name may have several words."""
    person: list[str] = []
    switches: set[str] = set()
    for_ms: int | None = None
    messages: int | None = None
    for word in arguments.replace(",", " ").replace("，", " ").split():
        plain = word.lower().replace("-", "_")
        if plain in SWITCHES:
            switches.add(plain)
        elif plain == "all":
            switches |= set(SWITCHES) - {"admin"}
        elif span := _SPAN.fullmatch(plain):
            for_ms = int(span[1]) * _SPAN_MS[span[2]]
        elif count := re.fullmatch(r"(\d{1,6})x", plain):
            messages = int(count[1])
        elif switches or for_ms is not None or messages is not None:
            return Unclear(word)
        else:
            person.append(word)
    if not person:
        return Unclear("")
    if for_ms == 0 or messages == 0:
        return Unclear("0")
    return Terms(" ".join(person).removeprefix("@"), frozenset(switches), for_ms, messages)
