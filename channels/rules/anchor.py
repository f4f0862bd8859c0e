"""How far a domain file has come, and what it means when the numbers beside it say something else. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Anchor:
    """How far a file had come. Epoch 0: made for a file that has not had its first commit yet."""

    db_uuid: str
    epoch: int
    commits: int


@dataclass(frozen=True, slots=True)
class Beside:
    """What lies beside the domain file; None where there is no such thing, or nothing that can be read."""

    anchor: Anchor | None = None
    mark: Anchor | None = None


def suspicion(file: Anchor | None, beside: Beside) -> str | None:
    """Why this file is not the one that ran here last, in words; None when it is. `file` None: a new, empty file.

    A file ahead of its anchor is ordinary: the process was killed before it wrote the anchor again. A higher epoch is
    ahead whatever the commits say: a restored file leaps over all epochs with far fewer commits.
    """
    anchor, mark = beside.anchor, beside.mark
    if file is None:
        return "the file that ran here is gone" if anchor is not None and anchor.epoch > 0 else None
    if mark == file:
        return "a backup was put back with `channels restore`"
    if anchor is None:
        return "the file has no anchor beside it, so it was copied here"
    if anchor.db_uuid != file.db_uuid:
        return "another file ran here before"
    if (file.epoch, file.commits) < (anchor.epoch, anchor.commits):
        return "the file is older than the one that ran here last"
    return None
