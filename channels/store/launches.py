"""Table `launches`: turns that nobody's message caused, by the key under which they were asked for."""

from dataclasses import dataclass

from channels.ids import TurnId
from channels.store.tx import Tx

INSERT_LAUNCH = """
INSERT INTO launches (cause, cause_id, turn_id, digest) VALUES (:cause, :cause_id, :turn_id, :digest)
"""
SELECT_LAUNCH = "SELECT turn_id, digest FROM launches WHERE cause = :cause AND cause_id = :cause_id"


@dataclass(frozen=True, slots=True)
class Launch:
    """The turn that was made, and the digest of what was asked for."""

    turn_id: TurnId
    digest: str


def insert_launch(tx: Tx, cause: str, key: str, launch: Launch) -> None:
    """Raises sqlite3.IntegrityError for a key that has its turn already. `cause`: launch or wake."""
    values = {"cause": cause, "cause_id": key, "turn_id": launch.turn_id, "digest": launch.digest}
    tx.execute(INSERT_LAUNCH, values)


def find_launch(tx: Tx, cause: str, key: str) -> Launch | None:
    row = tx.row(SELECT_LAUNCH, {"cause": cause, "cause_id": key})
    return Launch(TurnId(row[0]), row[1]) if row else None
