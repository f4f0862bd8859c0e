"""What no workload of today's product can reach, and why. An entry that is reached after all, or names nothing any
more, fails the campaign: the list shrinks with every capability."""

from tests.crash.points import CALL_POINTS, call_names, statement_names

NOT_REACHED: dict[str, str] = {
    # calls that nothing makes yet
    "batch_update_card": "no card of today changes several elements at once",
    "edit_message": "no text of ours is edited",
    "list_members": "members are not asked for yet",
    "recall_message": "nothing of ours is taken back",
    "upload_image": "the agents of today send no pictures",
    # questions of people beside the running service, which change nothing
    "granted_scopes": "only `channels doctor` asks",
    "events.COUNT_KIND": "only `channels doctor` asks",
    "inbox.SELECT_NEWEST_SENDERS": "only `channels doctor` asks",
    "missed.COUNT_CONTAINERS": "only `channels status` asks",
    "missed_batches.COUNT_OPEN": "only `channels status` asks",
    "access_requests.MOVE_REQUEST": "needs an app that is given the right to user_ids while it runs",
    "settlements.COUNT_ATTEMPT": "needs evidence that is not what was frozen: a file that somebody has changed by hand",
    # statements that no loop runs
    "outbox.NEXT_DUE": "no loop asks for it",
    "outbox.SELECT_OF_TURN": "no loop asks for it",
    "access_requests.REDRAW": "needs a change between a card's commit and its first attempt, a millisecond later",
    "settlements.NOTE_REFUSAL": "needs a session put away between a look and the commit, a millisecond later",
    "outbox.REDRAW_UNSENT": "needs a change between a pending card's commit and its first attempt, a millisecond later",
}


def not_reached() -> frozenset[str]:
    """The points that the table excuses."""
    return frozenset(point for name in NOT_REACHED for point in points_of(name))


def points_of(name: str) -> list[str]:
    """The points of one entry: a statement, the three of a call, or all statements of a module ("web.*")."""
    if name.endswith(".*"):
        return sorted(each for each in statement_names() if each.startswith(name[:-1]))
    if name in call_names():
        return [f"{name} {part}" for part in CALL_POINTS]
    return [name] if name in statement_names() else []
