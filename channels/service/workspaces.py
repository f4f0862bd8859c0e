"""The folder in which a session works: made before its agent needs it, changed by /cd."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

from channels.ids import SessionId
from channels.logs import FOLDER_PLACED, get_logger
from channels.service.context import Context
from channels.service.folders import Made, OutsideWorkspace, find_folder, make_folder
from channels.store.transactions.place import Place, put_place, read_place

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """A folder that is there. `shown`: as people see it, from their workspace on."""

    path: str
    branch: str | None
    shown: str


@dataclass(frozen=True, slots=True)
class NotFound:
    """Why not: nowhere (no session with a workspace), here (nothing was asked for), outside, missing."""

    why: str
    shown: str = ""


class Workspaces:
    """All blocking work on folders happens off the loop; Git is asked for one thing at a time in each workspace."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._git: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by workspace

    async def session_folder(self, session_id: SessionId) -> Path | None:
        """The session's folder, which is there when this returns; None for a session without one.

        Raises OSError where the disk does not take it, OutsideWorkspace where a link leads out of the workspace.
        """
        place = await self._context.database.read(read_place, session_id)
        if place is None:
            return None
        made = await self._make(place)
        if made.branch != place.folder.branch:
            await self._put(session_id, str(made.path), made.branch)
        return made.path

    async def find(self, session_id: SessionId, typed: str) -> Found | NotFound:
        """The folder of the same workspace that `typed` means, seen from where the session works."""
        place = await self._context.database.read(read_place, session_id)
        if place is None:
            return NotFound("nowhere")
        if not typed:
            return NotFound("here", shown_path(place.workspace, place.folder.path))
        try:
            await self._make(place)
            path = str(await asyncio.to_thread(find_folder, place.workspace, place.folder.path, typed))
        except OutsideWorkspace:
            return NotFound("outside", typed)
        except (OSError, ValueError):
            return NotFound("missing", typed)
        # a folder keeps its branch; in any other one the next turn will see what is checked out
        return Found(
            path, place.folder.branch if path == place.folder.path else None, shown_path(place.workspace, path)
        )

    async def _make(self, place: Place) -> Made:
        worktrees = self._context.preferences.worktrees
        if not worktrees:
            made = await asyncio.to_thread(make_folder, place.workspace, place.folder.path, worktrees=False)
            return Made(made.path, place.folder.branch)
        lock = self._git.setdefault(place.workspace, asyncio.Lock())
        async with lock:
            return await asyncio.to_thread(make_folder, place.workspace, place.folder.path, worktrees=True)

    async def _put(self, session_id: SessionId, path: str, branch: str | None) -> None:
        if await self._context.database.run(put_place, session_id, path, branch, self._context.now()):
            log.info(FOLDER_PLACED, session_id=session_id, folder=path, branch=branch)


def shown_path(workspace: str, path: str) -> str:
    """A folder as people see it: ~ is their workspace."""
    return "~" if path == workspace else f"~/{path.removeprefix(workspace).lstrip('/')}"
