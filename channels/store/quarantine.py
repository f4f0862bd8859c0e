"""Table `quarantine`: whether this file was put back from a backup, and since when."""

from dataclasses import dataclass

from channels.store.tx import Tx

ENTER = """
INSERT INTO quarantine (one, why, since_ms, entered_at) VALUES (1, :why, :since_ms, :now)
ON CONFLICT (one) DO UPDATE SET why = excluded.why, since_ms = excluded.since_ms, entered_at = excluded.entered_at,
                                left_at = NULL
"""
SELECT_ONE = "SELECT why, since_ms, entered_at, left_at FROM quarantine WHERE one = 1"
LEAVE = "UPDATE quarantine SET left_at = :now WHERE one = 1 AND left_at IS NULL"


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The last one. What people wrote before `since_ms` (wall time) is compared with history, also after `left_at`:
    Feishu may send it again hours later."""

    why: str
    since_ms: int
    entered_at: int
    left_at: int | None

    @property
    def is_open(self) -> bool:
        return self.left_at is None


def enter(tx: Tx, why: str, since_ms: int, now: int) -> None:
    """From now on, until everything is compared. A later one takes the place of an earlier one."""
    tx.execute(ENTER, {"why": why, "since_ms": since_ms, "now": now})


def find(tx: Tx) -> Quarantine | None:
    """None: this file was never put back."""
    row = tx.row(SELECT_ONE)
    return Quarantine(*row) if row else None


def leave(tx: Tx, now: int) -> bool:
    """Everything is compared. False when it was left before."""
    return tx.execute(LEAVE, {"now": now}) == 1
