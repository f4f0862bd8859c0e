"""What no workload of today's product can reach, and why. An entry that is reached after all, or names nothing any
more, fails the campaign: the list shrinks with every capability."""

from tests.crash.points import CALL_POINTS, call_names

NOT_REACHED: dict[str, str] = {
    "batch_update_card": "no card of today changes several elements at once",
    "download": "files and pictures come with a later issue",
    "edit_message": "no text of ours is edited",
    "get_chat": "the kind of a chat is not asked for yet",
    "get_messages": "quotes come with a later issue",
    "get_users": "names are not asked for yet",
    "list_members": "members are not asked for yet",
    "recall_message": "nothing of ours is taken back",
    "upload_file": "files and pictures come with a later issue",
    "upload_image": "files and pictures come with a later issue",
    "outbox.NEXT_DUE": "no loop asks for it",
    "outbox.SELECT_OF_TURN": "no loop asks for it",
    "outbox.SELECT_SENT": "quotes come with a later issue",
    "snapshots.TURN_OF_CARD": "no loop asks for it",
}


def not_reached() -> frozenset[str]:
    """The points that the table excuses."""
    calls = call_names()
    return frozenset(
        point
        for name in NOT_REACHED
        for point in ([f"{name} {part}" for part in CALL_POINTS] if name in calls else [name])
    )
