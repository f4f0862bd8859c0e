"""Where a conversation's files lie. Pure: names in, paths out; nothing here looks at a disk.

  <base_dir>/p2p/<user_id>                   a person's workspace in private
  <base_dir>/groups/<chat_id>/<user_id>      … and in a group
  <workspace>/topics/<topic>                 where a topic works; as a Git worktree it has the branch channels/<topic>

A topic is named by the message that opened it: that name is known before the topic is. Ids are used as they are where
they are harmless; any other text becomes a slug and a hash of the whole, so that two names never share a folder.
"""

import re
from hashlib import blake2b

from channels.ids import ChatId, UserId
from channels.rules.message import Envelope

TOPICS = "topics"
BRANCHES = "channels"
LONGEST = 64

_HARMLESS = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{LONGEST - 1}}}")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_SLUG_CHARACTERS = 32


def safe_name(name: str) -> str:
    """One component of a path, or of a branch's name, for any text: harmless, at most 64 characters, never shared."""
    if _HARMLESS.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    slug = re.sub(r"[^A-Za-z0-9]+", "-", name[: 4 * _SLUG_CHARACTERS])[:_SLUG_CHARACTERS].strip("-")
    return f"{slug or 'x'}.{digest}"  # a harmless name has no dot, so this is never another's


def workspace_path(base_dir: str, chat_type: str, chat_id: ChatId, user_id: UserId) -> str:
    """The workspace of a person in a chat."""
    if chat_type == "p2p":
        return f"{base_dir}/p2p/{safe_name(user_id)}"
    return f"{base_dir}/groups/{safe_name(chat_id)}/{safe_name(user_id)}"


def topic_of(envelope: Envelope) -> str:
    """The message that opened, or will open, the topic of this message. A quote outside a topic is no topic."""
    return str((envelope.root_id if envelope.thread_id else None) or envelope.message_id)


def topic_folder(workspace: str, topic: str) -> str:
    return f"{workspace}/{TOPICS}/{safe_name(topic)}"


def branch_of(folder: str, workspace: str) -> str | None:
    """The branch of a topic's folder; None for any other folder."""
    parent, _, name = folder.rpartition("/")
    return f"{BRANCHES}/{name}" if parent == f"{workspace}/{TOPICS}" and name else None
