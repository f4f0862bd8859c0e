"""What a campaign must have met at least once: a harness that never sees these proves little."""

from collections import Counter

from tests.crash.children import KILLED
from tests.crash.stage import RECEIVED, Stage, read_copy

SOMETIMES = (
    "a uuid was used again",
    "300317: a sequence was behind",
    "200770: a uuid was known",
    "an event was delivered again",
    "a message was delivered again after a good ack",
    "a takeover found a turn in flight",
    "a takeover found a turn in the queue",
    "history was asked",
    "a turn was continued",
    "a boot died before it was ready",
)


def count_sometimes(stage: Stage) -> Counter[str]:
    """How often each of them happened in this case."""
    calls, found = stage.ledger.calls(), Counter[str]()
    uuids = Counter(call.uuid for call in calls if call.uuid)
    found["a uuid was used again"] = sum(count > 1 for count in uuids.values())
    found["300317: a sequence was behind"] = sum(call.code == 300317 for call in calls)
    found["200770: a uuid was known"] = sum(call.code == 200770 for call in calls)
    for message_id in stage.said:
        acks = [each.ack_code for each in stage.ledger.deliveries(message_id, RECEIVED)]
        found["an event was delivered again"] += len(acks) > 1
        found["a message was delivered again after a good ack"] += 200 in acks[:-1]
    found["history was asked"] = sum(call.kind == "im.message.list" for call in calls)
    rows = read_copy(stage.file, "SELECT cause, start_epoch, entered_at IS NOT NULL, outcome FROM turns")
    for cause, start_epoch, entered, outcome in rows:
        found["a turn was continued"] += cause == "continue"
        if start_epoch > 1:
            kind = "in flight" if entered and outcome == "interrupted" else "in the queue"
            found[f"a takeover found a turn {kind}"] += 1
    found["a boot died before it was ready"] = sum(
        boot.code == KILLED and not boot.ready.is_set() for boot in stage.boots
    )
    return found
