"""`channels restore FILE`: put a copy back. Nothing is deleted, and the next start knows what happened."""

from collections.abc import Mapping
from pathlib import Path

from channels.cli.copy_words import describe
from channels.cli.running import read_settings
from channels.clock import SystemClock
from channels.store.copies import put_back
from channels.store.domain_file import true_path


def restore(config: Path | None, copy: Path, environ: Mapping[str, str]) -> None:
    """Check the copy, keep the file that it replaces, put it in place, say what will happen.

    Raises StartRefused while a service runs (naming it) and for a file that is not ours or newer, Refused for a
    damaged copy; nothing was changed then.
    """
    path = true_path(read_settings(config, environ).store.path)
    done = put_back(copy.absolute(), path, SystemClock().wall_ms())
    print(f"{path} is now the copy {copy}: {describe(done.facts)}")
    if done.kept is not None:
        print(f"The file that was there is kept as {done.kept}")
    print(
        "At the next start nothing is answered before it was compared with Feishu's history: what was answered after "
        "the backup stays so,\nwhat was not is asked about on a card in its chat. `channels status` shows how far that "
        "has come."
    )
