"""The ledger's parts of one boot: the settlement scheduler, the life cycles that it hears of, and the desks."""

from dataclasses import dataclass

from channels.service.access_desk import AccessDesk
from channels.service.context import Context
from channels.service.life_cycles import LifeCycles
from channels.service.quota_desk import QuotaDesk
from channels.service.session_desk import SessionDesk
from channels.service.settlement_desk import SettlementDesk
from channels.service.settling import Settling


@dataclass(frozen=True, slots=True)
class LedgerParts:
    settling: Settling
    cycles: LifeCycles
    desk: SettlementDesk
    quotas: QuotaDesk


def make_ledger(context: Context, people: AccessDesk, sessions: SessionDesk) -> LedgerParts:
    """Wire them: ends of turns and sessions that are put away are told to the scheduler."""
    settling = Settling(context)
    cycles = LifeCycles(context, settling)
    sessions.tell_over = cycles.put_away
    context.turn_ended = lambda agent, settlement: cycles.of(agent).turn_ended(settlement)
    return LedgerParts(settling, cycles, SettlementDesk(context, settling), QuotaDesk(context, people))
