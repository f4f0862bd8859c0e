"""A domain file that was put back from a backup remembers less than people have seen. Pure.

Whatever was written before the boot that noticed it may have been answered after the backup. So it is compared with
history before anything is said: a message that carries an answer of ours is done, any other one is asked about.

What shows that a message was answered: a reaction of ours on it (every turn leaves one while it runs and after a good
end), or a message of ours that names it as its parent. In a topic Feishu names the topic's root instead, for every
answer in it; those answers are dealt out by time, each to the latest question before it that has none yet. A command
or a refused message has no reaction, so the dealing also serves them; it errs towards asking once too often.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass

from channels.ids import MessageId
from channels.rules.reconcile import Seen

SKEW_MS = 60_000  # Feishu's clock and ours differ by less than this


@dataclass(frozen=True, slots=True)
class Question:
    """A person's message whose answer is looked for."""

    message_id: MessageId
    create_time_ms: int


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


def find_answered(seen: Iterable[Seen], roots: Set[MessageId], questions: Iterable[Question]) -> frozenset[MessageId]:
    """Which messages a reading of history shows as answered.

    `roots`: the roots of the topics that were read; `questions`: what people wrote there, whether asked for or not.
    """
    ours = sorted((one for one in seen if one.ours), key=lambda one: (one.create_time_ms, one.message_id))
    named = {one.parent_id for one in ours if one.parent_id is not None}
    open_questions = sorted(
        (one for one in questions if one.message_id not in named), key=lambda one: (one.create_time_ms, one.message_id)
    )
    dealt: set[MessageId] = set()
    for answer in ours:
        if answer.parent_id in roots:
            earlier = [
                one.message_id
                for one in open_questions
                if one.create_time_ms <= answer.create_time_ms and one.message_id not in dealt
            ]
            dealt.update(earlier[-1:])
    return frozenset(named | dealt)
