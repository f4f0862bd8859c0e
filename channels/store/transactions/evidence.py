"""What the domain file can say about the set-up at Feishu: for `channels doctor`."""

from dataclasses import dataclass

from channels.ids import ChatId
from channels.store import cursors, events, inbox, missed
from channels.store.tx import Tx

SENDERS = 50
HIDDEN = "open:"


@dataclass(frozen=True, slots=True)
class Evidence:
    """`group`: a group whose history can be tried; `hidden_senders` of the newest `senders` showed no user_id."""

    group: ChatId | None
    senders: int
    hidden_senders: int
    clicks: int
    unreadable: tuple[str, ...]


def read_evidence(tx: Tx) -> Evidence:
    """From one moment; needs a file of the newest version."""
    senders = inbox.newest_senders(tx, SENDERS)
    groups = [place.chat_id for place in missed.groups(tx)]
    groups += [
        chat_id for _, _, chat_id, chat_type in cursors.recent_places(tx, "chat", 0, 100) if chat_type == "group"
    ]
    return Evidence(
        group=groups[0] if groups else None,
        senders=len(senders),
        hidden_senders=sum(sender.startswith(HIDDEN) for sender in senders),
        clicks=events.count(tx, "card_clicked"),
        unreadable=tuple(f"{one.container}: {one.error}" for one in missed.troubles(tx, 20)),
    )
