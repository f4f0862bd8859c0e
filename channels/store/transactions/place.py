"""Where a session works: read before a turn, changed by /cd and when a worktree was made."""

from dataclasses import dataclass

from channels.ids import SessionId
from channels.store import routes, sessions
from channels.store.sessions import Folder
from channels.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Place:
    """A session's workspace, and the folder in which it works."""

    workspace: str
    folder: Folder


def read_place(tx: Tx, session_id: SessionId) -> Place | None:
    """None: there is no such session, or it was begun without a workspace."""
    session = sessions.find_session(tx, session_id)
    if session is None or not session.cwd:
        return None
    return Place(session.cwd, sessions.find_folder(tx, session))


def put_place(tx: Tx, session_id: SessionId, path: str, branch: str | None, now: int) -> bool:
    """The session works there from here on: in its log, and in every route to it. False when it does already."""
    session = sessions.find_session(tx, session_id)
    folder = Folder(path, branch)
    if session is None or sessions.find_folder(tx, session) == folder:
        return False
    sessions.set_folder(tx, session_id, folder, now)
    routes.set_folder(tx, session_id, path, branch)
    return True
