"""A domain file that was put back from a backup remembers less than people have seen. Pure.

Whatever was written before the boot that noticed it may have been answered after the backup. So it is compared with
history before anything is said: a message that carries an answer of ours is done, any other one is asked about.

What shows that a message was answered: a reaction of ours on it (every turn leaves one while it runs and after a good
end; the caller looks for it), or a message of ours that names it as its parent. In a topic Feishu names the root as the
parent of every answer there, so an answer speaks for the root only where nobody had asked anything else before it.
Whoever cannot be sure asks: a question too many is a nuisance, a message that nobody answers is a loss.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from channels.ids import MessageId, ThreadId
from channels.rules.reconcile import Seen

SKEW_MS = 60_000  # Feishu's clock and ours differ by less than this


@dataclass(frozen=True, slots=True)
class Question:
    """A person's message whose answer is looked for. `is_root`: it opened its topic."""

    message_id: MessageId
    create_time_ms: int
    thread_id: ThreadId | None = None
    is_root: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """It was answered before: nothing is said."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Nobody answered it while we know: a person decides."""


@dataclass(frozen=True, slots=True)
class Answer:
    """It came after the boot and has no answer: it goes the ordinary way."""


Fate = Done | Ask | Answer


def is_from_before(create_time_ms: int, since_ms: int) -> bool:
    """Whether a message may have been handled by somebody whom this file knows nothing of."""
    return create_time_ms < since_ms + SKEW_MS


def sort_held(question: Question, answered: Set[MessageId], since_ms: int) -> Fate:
    """What becomes of a message once history has been read. `since_ms`: the boot that entered quarantine."""
    if question.message_id in answered:
        return Done()
    return Answer() if question.create_time_ms >= since_ms else Ask()


def find_answered(seen: Iterable[Seen], questions: Iterable[Question]) -> frozenset[MessageId]:
    """Which messages a reading of history shows as answered, reactions left aside.

    `questions`: what people wrote in the topics that were read, whether asked for or not.
    """
    first_after: dict[ThreadId, int] = {}  # when the first question came that is not the topic's root
    for one in questions:
        if one.thread_id is not None and not one.is_root:
            first_after[one.thread_id] = min(one.create_time_ms, first_after.get(one.thread_id, one.create_time_ms))
    return frozenset(
        answer.parent_id
        for answer in seen
        if answer.ours and answer.parent_id is not None and not _speaks_for_many(answer, first_after)
    )


def _speaks_for_many(answer: Seen, first_after: Mapping[ThreadId, int]) -> bool:
    """Whether this answer names its topic's root and may be for another question in it."""
    if answer.thread_id is None or answer.parent_id != answer.root_id:
        return False
    first = first_after.get(answer.thread_id)
    return first is not None and first <= answer.create_time_ms
