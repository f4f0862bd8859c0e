"""Folders on the disk: made when needed, as a Git worktree where that is wanted, and never outside a workspace.

Everything here blocks; `service.workspaces` calls it off the loop. Names come from `rules.workspace` and are harmless;
what is checked here is what lies on the disk: a link that leads out of the workspace is refused.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from channels.logs import WORKTREE_REFUSED, get_logger
from channels.rules.workspace import TOPICS, branch_of

GIT_LIMIT_S = 30.0
# Neither the repository's hooks nor its programs run, and nobody is asked for a password
GIT = ("git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}

log = get_logger(__name__)


class OutsideWorkspace(Exception):
    """The path leads out of the workspace."""


@dataclass(frozen=True, slots=True)
class Made:
    """A folder that is there; `branch` where it is a worktree of its own."""

    path: Path
    branch: str | None = None


def make_folder(workspace: str, folder: str, *, worktrees: bool) -> Made:
    """Make the workspace and this folder in it; may be called again. Raises OSError and OutsideWorkspace."""
    root, path = Path(workspace), Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    check_inside(root, path)
    branch = branch_of(folder, workspace) if worktrees else None
    if branch is not None and (root / ".git").exists():
        made = _make_worktree(root, path, branch)
        if made is not None:
            return Made(path, made)
    path.mkdir(parents=True, exist_ok=True)
    return Made(path)


def find_folder(workspace: str, current: str, typed: str) -> Path:
    """The folder that `typed` means, seen from `current`: relative, absolute, or ~ for the workspace itself.

    Raises OutsideWorkspace where it leads out (links followed), NotADirectoryError where there is none.
    """
    root = Path(workspace)
    if "\0" in typed:
        raise NotADirectoryError(typed)
    from_root = typed == "~" or typed.startswith("~/")
    aim = root / typed[2:] if from_root else Path(current) / typed  # an absolute one stands for itself
    check_inside(root, aim)
    real = aim.resolve()
    if not real.is_dir():
        raise NotADirectoryError(typed)
    inside = real.relative_to(root.resolve())
    return root / inside  # as the workspace is named, whatever links lead to it


def check_inside(root: Path, path: Path) -> None:
    """Raises OutsideWorkspace unless `path`, with every link followed, is the workspace or lies in it."""
    try:
        real, home = path.resolve(), root.resolve()
    except (OSError, RuntimeError) as error:  # a circle of links
        raise OutsideWorkspace(str(path)) from error
    if real != home and home not in real.parents:
        raise OutsideWorkspace(str(path))


def _make_worktree(root: Path, path: Path, branch: str) -> str | None:
    """The branch that is checked out at `path`; None where it can only be a plain folder."""
    if (path / ".git").exists():
        return _git(path, "branch", "--show-current") or branch
    if path.exists() and any(path.iterdir()):
        return None  # somebody works there already
    _git(root, "worktree", "prune")
    _keep_out_of_status(root)
    known = _git(root, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}") is not None
    wanted = (str(path), branch) if known else ("-b", branch, str(path))
    if _git(root, "worktree", "add", *wanted) is None:
        log.warning(WORKTREE_REFUSED, folder=str(path), branch=branch)
        return None
    return branch


def _keep_out_of_status(root: Path) -> None:
    """The worktrees lie inside the repository: it should not show them as new files."""
    named = _git(root, "rev-parse", "--git-path", "info/exclude")
    if not named:
        return
    exclude, line = root / named, f"/{TOPICS}/"
    written = exclude.read_text(encoding="utf-8", errors="replace") if exclude.exists() else ""
    if line not in written.splitlines():
        exclude.parent.mkdir(parents=True, exist_ok=True)
        with exclude.open("a", encoding="utf-8") as file:
            file.write(f"{'' if written.endswith(chr(10)) or not written else chr(10)}{line}\n")


def _git(folder: Path, *arguments: str) -> str | None:
    """What Git answers; None when it refuses, takes too long or is not installed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | QUIET
    try:
        done = subprocess.run(
            [*GIT, "-C", str(folder), *arguments],
            capture_output=True,
            timeout=GIT_LIMIT_S,
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
