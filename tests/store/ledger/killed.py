"""A process that is killed in the middle of settling: `python -m tests.store.ledger.killed FILE`."""

import os
import signal
import sys
from pathlib import Path

from channels.store.batch import Batch
from channels.store.transactions.settlement import apply
from channels.store.tx import Tx
from tests.store.ledger.conftest import Ledger
from tests.store.tables.conftest import Store


def main() -> None:
    ledger = Ledger(Store(Path(sys.argv[1])))
    ack, generation = ledger.end(), ledger.generation()

    def hook(sql: str) -> None:
        if "INTO usage" in sql:  # the release and both moves are made, nothing is committed
            os.kill(os.getpid(), signal.SIGKILL)

    def work(tx: Tx) -> object:
        return apply(tx, ack.key, ack.payload_hash, generation, ledger.host, None, ledger.store.now)

    Batch(ledger.store.connection, hook).run([work])


main()
