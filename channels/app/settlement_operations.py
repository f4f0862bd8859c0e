"""Settlement and quotas on the control socket: each operation is one call of a desk, and gives JSON values.

Whoever may open the socket acts as the console. Errors carry the contract's code. Arguments:

  settlement_enqueue  {"reservation", "start_epoch", "executor", "kind"}
  settlement_apply    {"key", "payload_hash", "generation"}
  settlement_stop     {"session_id"}, or {"key", "payload_hash"}; nothing else
  quota_set           {"user"} and any of turns_per_day, turns_per_month, tokens_per_day, tokens_per_month
  quota_clear, quota_show   {"user"}
"""

from collections.abc import Callable
from typing import Any

from channels.app.access_operations import AT_CONSOLE
from channels.ids import ReservationId, StartEpoch
from channels.rules.settlement import EvidenceRef
from channels.service.quota_desk import QuotaDesk, account_json, books_json, limits_json, read_change
from channels.service.settlement_desk import SettlementDesk, fact_json, status_json
from channels.store.transactions.settlement_control import Controlled
from channels.web.control import Operation

Json = dict[str, Any]
LARGEST = 2**63  # what no column holds any more
READING = frozenset({"settlement_status", "quota_list", "quota_show"})  # operations that change nothing


class SettlementOperations:
    """`desk` gives the desk of the running boot, or refuses while there is none."""

    def __init__(self, desk: Callable[[], SettlementDesk]) -> None:
        self._desk = desk

    def table(self) -> dict[str, Operation]:
        """Name → operation."""
        return {
            "settlement_enqueue": self.enqueue,
            "settlement_status": self.status,
            "settlement_apply": self.apply,
            "settlement_stop": self.stop,
            "settlement_pause": self.pause,
            "settlement_resume": self.resume,
        }

    async def enqueue(self, arguments: Json) -> Json:
        ref = EvidenceRef(
            StartEpoch(_number(arguments, "start_epoch")), _text(arguments, "executor"), _text(arguments, "kind")
        )
        done = await self._desk().enqueue(ReservationId(_text(arguments, "reservation")), ref)
        values: Json = {"key": done.key, "payload_hash": done.payload_hash, "deadline": done.deadline}
        values |= {"queued_at": done.queued_at, "generation": done.generation, "duplicate": done.duplicate}
        return values | {"fact": fact_json(done.fact) if done.fact else None}

    async def status(self, _arguments: Json) -> Json:
        return status_json(await self._desk().status())

    async def apply(self, arguments: Json) -> Json:
        generation = _number(arguments, "generation") if arguments.get("generation") is not None else None
        done = await self._desk().apply(_text(arguments, "key"), _text(arguments, "payload_hash"), generation)
        return {"fact": fact_json(done.fact), "duplicate": done.duplicate, "generation": done.generation}

    async def stop(self, arguments: Json) -> Json:
        return _controlled(await self._desk().stop(AT_CONSOLE, arguments))

    async def pause(self, _arguments: Json) -> Json:
        return _controlled(await self._desk().pause(AT_CONSOLE))

    async def resume(self, _arguments: Json) -> Json:
        return _controlled(await self._desk().resume(AT_CONSOLE))


class QuotaOperations:
    """The same for quotas."""

    def __init__(self, desk: Callable[[], QuotaDesk]) -> None:
        self._desk = desk

    def table(self) -> dict[str, Operation]:
        """Name → operation."""
        return {
            "quota_list": self.list_accounts,
            "quota_show": self.show,
            "quota_set": self.set_limits,
            "quota_clear": self.clear,
        }

    async def list_accounts(self, _arguments: Json) -> Json:
        """→ {"default", "people", "usage"}."""
        desk = self._desk()
        people = [account_json(one) for one in await desk.accounts()]
        return {"default": limits_json(desk.default), "people": people, "usage": books_json(await desk.books())}

    async def show(self, arguments: Json) -> Json:
        return account_json(await self._desk().find_account(_text(arguments, "user")))

    async def set_limits(self, arguments: Json) -> Json:
        change = read_change(arguments)
        return account_json(await self._desk().set_limits(AT_CONSOLE, _text(arguments, "user"), change))

    async def clear(self, arguments: Json) -> Json:
        return account_json(await self._desk().clear_limits(AT_CONSOLE, _text(arguments, "user")))


def _controlled(done: Controlled) -> Json:
    values: Json = {"generation": done.generation, "paused": done.user_paused}
    return values | {"changed": done.changed, "retired": done.retired}


def _text(arguments: Json, key: str) -> str:
    value = arguments.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} must be a text")
    return value.strip()


def _number(arguments: Json, key: str) -> int:
    value = arguments.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < LARGEST:
        raise ValueError(f"{key} must be a whole number that the file can hold")
    return value
