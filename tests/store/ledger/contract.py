"""Seed 000, sentence by sentence, in our own words: which test shows each, or why it does not apply here.

`test_contract.py` fails for a row whose test is not there, for a test of these modules that no row names, and for a row
that somebody still owes.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shown:
    """By these tests: names of functions, or classes for all in them; `path/of/module.py::name` for one elsewhere."""

    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotApplicable:
    because: str


@dataclass(frozen=True, slots=True)
class Owed:
    """Somebody writes it."""

    by: str


Proof = Shown | NotApplicable | Owed


def shown(*by: str) -> Shown:
    return Shown(by)


SCHEDULER, SERVED = "tests/integration/settling/test_scheduler.py::", "tests/integration/settling/test_served.py::"


def scheduled(*by: str) -> Shown:
    """By tests of the scheduler."""
    return Shown(tuple(SCHEDULER + one for one in by))


SENTENCES: dict[str, tuple[str, Proof]] = {
    # §2, where they are kept
    "2.1": (
        "kept as an additive part of the file that holds the rest; no file and no version of its own",
        shown("test_settlements_stand_in_the_one_domain_file"),
    ),
    "2.2": (
        "bounds: 64 wait, 32 ends, 4096 bytes each, 256 KiB together",
        shown("TestBounds", "test_the_file_itself_keeps_the_bounds", "test_the_numbers_are_these"),
    ),
    "2.3": ("control: a generation that only rises, the user's pause, 64 exact stops", shown("TestControl")),
    "2.4": (
        "one lock, one transaction: completing and retiring are atomic, with no state in between",
        shown("test_booking_and_retiring_are_one_commit"),
    ),
    "2.4b": (
        "the learning library's lock of its own",
        NotApplicable("the domain file has one connection; its transactions are the lock"),
    ),
    "2.5": (
        "what completes takes no lock, so that both ways share it",
        shown("test_completing_is_one_function_for_every_way"),
    ),
    "2.6": ("frozen coordinates only, no words", shown("test_an_item_holds_coordinates_and_no_words")),
    "2.7": (
        "the list of fields",
        shown(
            "test_every_coordinate_is_there",
            "test_an_end_keeps_whitelisted_fields_only",
            "test_two_stores_never_share_a_key",
        ),
    ),
    # §3, the operations
    "3.1": (
        "an enqueue is durable with its commit",
        shown(
            "test_it_is_durable_with_its_commit_and_not_before",
            "test_bad_evidence_is_refused_at_once",
            "test_without_a_receipt_there_is_nothing_to_settle",
            "test_it_is_refused_to_whom_it_does_not_belong",
        ),
    ),
    "3.2": ("what the acknowledgement returns", shown("test_the_acknowledgement_is_the_whole_handle")),
    "3.3": ("same key, same payload: duplicate", shown("test_the_same_again_is_a_duplicate")),
    "3.4": (
        "same key, other payload: conflict, and nothing acknowledged is overwritten",
        shown("test_another_payload_is_a_conflict", "test_another_payload_after_the_end_is_an_event_conflict"),
    ),
    "3.5": (
        "status is read-only and writes nothing",
        shown("test_it_writes_nothing", "test_what_is_stored_is_bounded_and_known_also_when_it_is_read"),
    ),
    "3.6": ("what status shows", shown("test_it_shows_everything_that_may_be_known")),
    "3.7": ("an older document gets no such field by it", shown("test_an_older_file_is_read_and_not_touched")),
    "3.8": ("apply needs the generation", shown("test_the_generation_is_the_permit")),
    "3.9": (
        "an end is read back first",
        shown(
            "test_an_end_is_read_back_before_all_else",
            "test_an_end_is_read_back_when_history_has_dropped_it",
            "test_the_payload_must_be_the_acknowledged_one",
        ),
    ),
    "3.10": (
        "then generation, pause, stop, owner, deadline, attempts, guard, in this order",
        shown(
            "test_the_order_of_the_checks",
            "test_a_pending_row_under_a_stop_retires_as_stopped",
            "test_the_guard_is_asked_last_and_its_refusal_is_no_attempt",
        ),
    ),
    "3.11": (
        "then a trial on a copy; a failure commits its count and code only",
        shown(
            "test_a_failed_trial_leaves_its_count_and_its_code_only",
            "test_a_contradiction_ends_it_and_changes_no_fact",
            "test_a_turn_that_is_booked_already_is_an_event_conflict",
            "test_a_receipt_that_is_gone_is_a_contradiction_too",
            "test_what_the_schema_refuses_is_a_failed_trial",
            "test_what_was_released_otherwise_is_a_contradiction",
        ),
    ),
    "3.12": ("success books and retires in one transaction", shown("test_success_books_and_retires_together")),
    "3.13": (
        "a stop is a raw session id or the owner's own key and payload hash; all else invalid, with no write",
        shown(
            "test_either_form_alone",
            "test_anything_else_is_invalid_input",
            "test_the_key_must_be_the_callers_own",
            "test_a_long_reason_is_cut_and_stops_all_the_same",
        ),
    ),
    "3.14": ("by key, the session is derived inside", shown("test_the_session_is_found_inside")),
    "3.15": (
        "a pause stops scheduling and keeps every deadline",
        shown("test_nothing_settles_and_no_deadline_moves", "test_nothing_new_is_queued_meanwhile"),
    ),
    "3.16": (
        "deadlines and attempts are inherited as they are",
        shown(
            "test_a_deadline_is_five_minutes_or_the_receipts_end",
            "test_neither_restart_nor_anything_else_moves_it",
            "test_past_it_it_expires_without_credit",
        ),
    ),
    "3.17": ("four attempts", shown("test_the_fourth_attempt_is_the_last")),
    "3.18": ("a busy lock is no attempt", shown("test_a_locked_file_is_no_attempt")),
    # §4, who ends what
    "4.1": (
        "a user's pause survives restarts and is ended by an explicit resume only",
        shown(
            "test_it_survives_every_restart",
            "test_a_pause_beyond_the_deadline_ends_in_expiry",
            "test_only_the_process_that_owns_the_file_pauses_and_resumes",
        ),
    ),
    "4.2": (
        "an exact stop: tombstone, retired rows, and nothing of that session afterwards",
        shown(
            "test_it_retires_its_rows_and_stays",
            "test_the_tombstone_outlives_receipts_and_rows",
            "test_it_is_said_before_all_that_could_pass",
            "test_what_is_held_is_closed_late",
            "test_the_file_itself_refuses_what_a_stop_forbids",
        ),
    ),
    "4.3": ("unloading stops this process only", shown("test_leaving_ends_this_process_and_no_row")),
    "4.4": ("so does a clean exit", shown("test_leaving_ends_this_process_and_no_row")),
    "4.5": ("an interruption cuts the attempt off", shown("test_an_attempt_cut_off_by_a_kill_never_was")),
    "4.6": ("there is no mark of a clean exit", shown("test_there_is_no_mark_of_a_clean_exit")),
    "4.7": (
        "each moment of a life cycle reads the truth anew",
        shown("test_each_process_finds_the_truth_anew", "test_an_expired_or_failed_one_is_not_held_for_ever"),
    ),
    "4.8": ("a read-only status never recovers or fills in", shown("test_reading_recovers_nothing")),
    "4.9": (
        "a stop is pruned only when it can bind nothing",
        shown(
            "test_only_what_binds_nothing_gives_way",
            "test_a_row_that_waits_binds_its_stop",
            "test_a_row_that_waits_binds_also_when_its_receipt_has_run_out",
        ),
    ),
    "4.10": (
        "where that cannot be shown, the control write is refused",
        shown("test_a_stop_that_cannot_be_dropped_is_not"),
    ),
    "4.11": ("a receipt of nobody binds conservatively", shown("test_a_receipt_of_nobody_binds_them_all")),
    # §5, the client's schedule
    "5.0": ("only the settlement is replayed", shown("test_nothing_is_replayed_but_the_settlement")),
    "5.1": ("no local end after the acknowledgement", shown("test_only_the_core_ends_what_was_acknowledged")),
    "5.1s": ("… and the scheduler only passes on what the core has recorded", scheduled("TestNoEndOfItsOwn")),
    "5.2": ("the last automatic attempt sits on the deadline", shown("test_the_last_attempt_sits_on_the_deadline")),
    "5.2s": ("… and the scheduler's timer does", scheduled("TestTheLastTry")),
    "5.3": (
        "past it and unconfirmable: visible as unconfirmed, no timer, until the next real moment",
        scheduled("TestUnconfirmed"),
    ),
    "5.4": ("validity and write are one serial step", shown("test_permission_is_asked_inside_the_write")),
    "5.4s": (
        "background waits within bounds, foreground never loses its turn to background",
        Shown(
            (
                f"{SCHEDULER}TestPermission",
                f"{SCHEDULER}TestBounded",
                f"{SERVED}test_a_burst_of_settlements_does_not_delay_an_ack",
            )
        ),
    ),
    "5.5": (
        "a stop is exact and per session, by one hashing rule; the user's pause alone is for all",
        shown(
            "test_a_stop_touches_its_own_session_only",
            "test_a_session_is_hashed_by_one_rule",
            "test_the_row_shows_the_hash_that_a_stop_would_have",
        ),
    ),
    "5.5s": ("an unconfirmed stop holds back only the session that it names", scheduled("TestStops")),
    "5.6": (
        "a dead lock holder keeps writers out for five minutes",
        NotApplicable("the kernel frees our lock with the process that held it (test_opening has that)"),
    ),
    # §6, recovery end to end
    "6.1": (
        "in-process agents: the service being ready drives recovery",
        scheduled("test_what_waits_in_the_file_settles_when_the_service_is_ready", "TestAnotherProcess"),
    ),
    "6.2": (
        "unknown, truncated or missing truth refuses",
        shown("test_what_the_host_does_not_know_is_refused", "test_a_guard_that_fails_settles_nothing"),
    ),
    "6.2s": ("… and archive truth is read whole, or counts as unknown", scheduled("TestArchiveTruth")),
    "6.3": ("archive and delete stop by key", shown("test_an_archived_or_deleted_session_is_stopped_by_key")),
    "6.4": (
        "a confirmed stop converges by itself after a busy lock, within bounds, else visibly unconfirmed",
        scheduled("test_it_converges_without_anybodys_turn", "TestStops"),
    ),
    "6.5": ("disposing keeps the durable rows", shown("test_leaving_keeps_the_durable_rows")),
    "6.6": (
        "external agents: only a session boundary stops, and exactly the old id",
        shown("test_a_session_boundary_stops_the_old_id_exactly"),
    ),
    "6.6s": (
        "… driven by /new and by a change of agent",
        Shown(
            (
                f"{SERVED}test_new_stops_exactly_the_old_session_of_an_outside_agent",
                f"{SERVED}test_new_stops_nothing_of_an_inside_agent",
                f"{SCHEDULER}test_the_boundary_of_a_session_stops_exactly_the_old_id",
            )
        ),
    ),
    "6.7": (
        "shutdown and unload stop this process only",
        Shown((f"{SCHEDULER}TestAnotherProcess", f"{SERVED}test_a_clean_stop_leaves_what_waits_to_the_next_boot")),
    ),
    "6.8": (
        "a failed recovery is retried within limits; exact stops at most 3 times in 30 s",
        scheduled("test_a_recovery_that_fails_is_tried_again", "test_three_submissions_in_thirty_seconds_then_visible"),
    ),
    "6.9": (
        "the platform's own plug-in hooks",
        NotApplicable("there is no plug-in host here; the life cycles are those of the service and its agents"),
    ),
}
