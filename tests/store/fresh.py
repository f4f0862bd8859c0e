"""A domain file that nobody has owned yet. Its migrations run once in a process; every test gets a copy."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from channels.store.domain_file import open_domain_file


def fresh_file(target: Path) -> Path:
    """Write it to `target`, as a service leaves it that was closed before its first boot."""
    target.write_bytes(_content())
    return target


@cache
def _content() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "channels.db"
        open_domain_file(path, now_ms=0).close()
        return path.read_bytes()
