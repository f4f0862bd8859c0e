"""Which messages of one person make one question.

People send three pictures, or a file and then what to do with it, or a forward and then their comment. Feishu brings
each as a message of its own. So a message without words of its own waits for company, and what belongs together becomes
one turn:

  pictures, files, videos   wait `together_ms` after the last of them
  a forward                 waits `forward_ms`, for its comment
  anything else             waits for nobody; what waited goes along with it

The waiting counts from the moment of arrival, so that a restart in between loses and repeats nothing, and never lasts
longer than `longest_ms`. What belongs together is told by Feishu's own times: neighbours within the widest window.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from channels.ids import MessageId

ALONE = frozenset({"image", "file", "media"})
FORWARD = "merge_forward"


@dataclass(frozen=True, slots=True)
class Windows:
    """How long company is waited for. `most`: so many messages fill a question."""

    together_ms: int = 2_000
    forward_ms: int = 3_000
    longest_ms: int = 15_000
    most: int = 20

    @property
    def widest_ms(self) -> int:
        return max(self.together_ms, self.forward_ms)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message of the same person in the same conversation that waits for company, or did."""

    message_id: MessageId
    create_time_ms: int
    received_at_ms: int


def hold_until(
    message_type: str, received_at_ms: int, now_ms: int, company: Sequence[Waiting], windows: Windows
) -> int | None:
    """Until when this message, which has not waited yet, waits for company; None: it does not wait.

    `company`: what waits already. It waits along with this message. A message that is looked at late (after a restart)
    waits for nothing but the others that lie there: until `now_ms`.
    """
    window_ms = window_of(message_type, windows)
    if window_ms == 0 or len(company) + 1 >= windows.most:
        return None
    first_ms = min([received_at_ms, *(one.received_at_ms for one in company)])
    return max(now_ms, min(received_at_ms + window_ms, first_ms + windows.longest_ms))


def window_of(message_type: str, windows: Windows) -> int:
    """How long a message of this type waits; 0: not at all."""
    if message_type == FORWARD:
        return windows.forward_ms
    return windows.together_ms if message_type in ALONE else 0


def together(one: Waiting, waiting: Sequence[Waiting], windows: Windows, *, closes: bool) -> tuple[MessageId, ...]:
    """What goes into one turn with `one`, oldest first, itself left out.

    `closes`: it has not waited itself, so it is the last of its question and takes only what came before it.
    """
    others = [each for each in waiting if each.message_id != one.message_id]
    order = sorted([one, *others], key=lambda each: (each.create_time_ms, each.message_id))
    place = order.index(one)
    first = last = place
    while first > 0 and _near(order[first - 1], order[first], windows):
        first -= 1
    while not closes and last + 1 < len(order) and _near(order[last], order[last + 1], windows):
        last += 1
    return tuple(each.message_id for each in order[first : last + 1] if each is not one)[: windows.most]


def _near(earlier: Waiting, later: Waiting, windows: Windows) -> bool:
    return later.create_time_ms - earlier.create_time_ms <= windows.widest_ms
