"""An attempt that was begun and whose outcome nobody wrote down may have worked."""

from channels.rules.delivery import must_ask_history
from channels.rules.intents import turn_lane
from channels.rules.retry import UUID_WINDOW_MS
from channels.store.transactions.deliver import begin_next, record_success
from tests.store.tables.conftest import Store
from tests.store.tables.drive import admit, begin, effect_of, message


def reply_begun(store: Store) -> str:
    """The lane of a turn whose reply is on its way."""
    lane = turn_lane(admit(store, message(1)))
    create = begin(store, lane)
    following = store.run(record_success, create, effect_of(create), store.now).next
    assert following is not None and following.intent.op == "reply"
    assert not following.unsure
    return lane


def test_after_a_kill_the_reply_may_be_there(store: Store) -> None:
    """Back within the hour its uuid protects it; later history has to be asked before it is said again."""
    lane = reply_begun(store)
    store.reboot()
    again = begin(store, lane)
    assert (again.attempts, again.unsure, again.reconcile) == (2, True, False)
    store.reboot()
    store.now += UUID_WINDOW_MS + 1
    late = begin(store, lane)
    assert must_ask_history(late, store.now)
    assert late.reconcile


def test_what_was_never_begun_is_simply_sent_however_late(store: Store) -> None:
    lane = turn_lane(admit(store, message(1)))
    create = begin(store, lane)
    store.reboot()
    store.now += UUID_WINDOW_MS + 1
    again = begin(store, lane)
    assert again.intent == create.intent
    reply = store.run(record_success, again, effect_of(again), store.now).next
    assert reply is not None and reply.intent.op == "reply"
    assert (reply.attempts, reply.unsure, reply.reconcile) == (1, False, False)


def test_a_result_that_could_not_be_written_counts_as_unknown(store: Store) -> None:
    lane = reply_begun(store)
    again = store.run(begin_next, lane, store.now, unrecorded=True).next
    assert again is not None and again.unsure
