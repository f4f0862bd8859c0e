"""/settlement /pause /resume-settlement: admins look after settlement from any chat with the bot. And what /usage says
of somebody's quota."""

from datetime import datetime, tzinfo

from channels.cards.card import Card
from channels.cards.markdown import literal
from channels.cards.notice import notice_card
from channels.cards.settlement_texts import SettlementTexts, settlement_texts
from channels.cards.texts import texts
from channels.errors import Refused
from channels.rules.access import Actor
from channels.rules.message import Message
from channels.rules.quota import Balance
from channels.service.access_desk import AccessDesk
from channels.service.context import Context
from channels.service.settlement_desk import SettlementDesk, Shown
from channels.store.quotas import WindowBalance
from channels.store.settlements import Fact
from channels.store.transactions.reserve import Standing

LISTED = 20
KEY_LETTERS = 12
COMMANDS = frozenset({"settlement", "pause", "resume-settlement"})


class SettlementCommands:
    """Carries out what admins type; what is changed is committed before it is answered."""

    def __init__(self, context: Context, desk: SettlementDesk, access: AccessDesk) -> None:
        self._context, self._desk, self._access = context, desk, access

    async def card(self, name: str, arguments: str, message: Message) -> Card:
        """The answer."""
        sender = message.envelope.sender
        if "admin" not in await self._access.switches_of(sender.user_id, sender.open_id):
            return self._notice(texts(self._language).admins_only)
        actor, words = Actor(sender.user_id, sender.open_id, "chat"), self._words
        try:
            match name:
                case "pause":
                    done = await self._desk.pause(actor)
                    return self._notice(words.paused_now if done.changed else words.paused_before)
                case "resume-settlement":
                    done = await self._desk.resume(actor)
                    return self._notice(words.resumed_now if done.changed else words.resumed_before)
                case _:
                    return await self._settlement(arguments.split(), actor)
        except Refused as refusal:
            return self._notice(f"{literal(refusal.user_text)}\n\n`{refusal.code}`")

    async def _settlement(self, asked: list[str], actor: Actor) -> Card:
        match asked:
            case []:
                return self._notice(self._status(await self._desk.status()))
            case ["apply", key]:
                return self._notice(await self._apply(key))
            case ["stop", what]:
                return self._notice(await self._stop(what, actor))
            case _:
                return self._notice(literal(self._words.how))

    async def _apply(self, beginning: str) -> str:
        """Under the control that is in force now: who types this has no older one in mind."""
        pending, shown = await self._desk.find_pending(beginning), await self._desk.status()
        done = await self._desk.apply(pending.key, pending.payload_hash, shown.status.generation)
        words = self._words
        said = words.settled_before if done.duplicate else words.settled
        return said.format(key=pending.key[:KEY_LETTERS], state=words.states[done.fact.state])

    async def _stop(self, what: str, actor: Actor) -> str:
        words = self._words
        if all(letter in "0123456789abcdef" for letter in what.lower()):
            pending = await self._desk.find_pending(what)
            request: dict[str, object] = {"key": pending.key, "payload_hash": pending.payload_hash}
            named = pending.key[:KEY_LETTERS]
        else:
            request, named = {"session_id": what}, what
        done = await self._desk.stop(actor, request)
        said = words.stopped if done.changed else words.stopped_before
        return said.format(session=literal(named), count=done.retired)

    def _status(self, shown: Shown) -> str:
        words, found = self._words, shown.status
        lines = [(words.paused if found.user_paused else words.running).format(generation=found.generation)]
        lines.append(words.pending.format(count=len(found.pending)) if found.pending else words.nothing_pending)
        lines += [
            "- "
            + words.line.format(
                key=f"`{one.key[:KEY_LETTERS]}`",
                state=words.states[shown.state_of(one)],
                attempts=one.attempts,
                deadline=_moment(one.deadline, self._zone),
            )
            for one in found.pending[:LISTED]
        ]
        if len(found.pending) > LISTED:
            lines.append(words.more.format(count=len(found.pending) - LISTED))
        if found.history:
            lines.append(words.history.format(counts=_counts(found.history, words)))
        if found.stops:
            lines.append(words.stops.format(count=len(found.stops)))
        if shown.owed:
            lines.append(words.owed.format(count=len(shown.owed)))
        return "\n".join(lines) + f"\n\n{literal(words.hint)}"

    def _notice(self, body: str) -> Card:
        return notice_card(self._words.title, body, language=self._language)

    @property
    def _zone(self) -> tzinfo:
        return self._context.policy.quota.zone

    @property
    def _words(self) -> SettlementTexts:
        return settlement_texts(self._language)

    @property
    def _language(self) -> str:
        return self._context.preferences.language


def quota_lines(language: str, standing: Standing, zone: tzinfo) -> dict[str, str]:
    """What a person may still use, as names and values; nothing where no limit holds."""
    words = settlement_texts(language)
    return {
        f"{words.quota} · {words.today if one.window.period == 'day' else words.month}": _window(words, one, zone)
        for one in standing.windows
        if one.turns.limit is not None or one.tokens.limit is not None
    }


def _window(words: SettlementTexts, one: WindowBalance, zone: tzinfo) -> str:
    parts = [words.turns.format(text=_balance(words, one.turns)), words.tokens.format(text=_balance(words, one.tokens))]
    return words.quota_line.format(turns=parts[0], tokens=parts[1], until=_moment(one.window.ends_at, zone))


def _balance(words: SettlementTexts, balance: Balance) -> str:
    if balance.limit is None:
        said = words.quota_endless.format(used=f"{balance.used:,}")
    else:
        said = words.quota_of.format(used=f"{balance.used:,}", limit=f"{balance.limit:,}")
    return said + (words.quota_held.format(held=f"{balance.held:,}") if balance.held else "")


def _counts(history: tuple[Fact, ...], words: SettlementTexts) -> str:
    states = [str(fact.state) for fact in history]
    return ", ".join(f"{words.states[state]} {states.count(state)}" for state in dict.fromkeys(states))


def _moment(at_ms: int, zone: tzinfo) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, zone):%Y-%m-%d %H:%M:%S} ({zone})"
