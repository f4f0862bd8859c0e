"""A process of its own: `hold` opens the domain file, commits a note, says so and waits; `try` opens it and leaves.

`python -m tests.store.engine.child hold|try DOMAIN_FILE MIGRATIONS`. Exit code 3: refused, the reason on stderr.
"""

import sys
from pathlib import Path

from channels.errors import StartRefused
from channels.store.batch import Batch
from channels.store.domain_file import open_domain_file
from tests.store.engine.notes import put

SINCE_MS = 1_900_000_000_000  # 2030-03-17 17:46:40 UTC


def main(what: str, domain_file: str, migrations: str) -> int:
    try:
        opened = open_domain_file(Path(domain_file), now_ms=SINCE_MS, migrations=Path(migrations))
    except StartRefused as refusal:
        print(refusal, file=sys.stderr)
        return 3
    if what == "hold":
        Batch(opened.connection).run([lambda tx: put(tx, 1)])
        print("held", flush=True)
        sys.stdin.read()
    opened.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
