"""What the running service, or the file of a stopped one, tells `channels doctor`."""

from collections.abc import Mapping, Sequence
from typing import Any

from channels.cli.doctor_feishu import USER_ID_SCOPE
from channels.cli.doctor_words import CONSOLE, PUBLISH, Check, failed, ok, skipped, warning

CALLBACK = (
    "in the console, page 事件与回调 (Events & Callbacks), tab 回调配置, choose the long connection and add "
    "card.action.trigger; people who press a button see 200340 while it is missing"
)


def check_service(answer: Mapping[str, Any] | None, running: str) -> list[Check]:
    """Connection, readiness and quarantine as the running service sees them."""
    status = (answer or {}).get("status")
    if not isinstance(status, Mapping):
        words = running or "no service runs"
        return [skipped("service", words)]
    return [_check_ready(status), *_check_restored(status)]


def _check_ready(status: Mapping[str, Any]) -> Check:
    connection = status.get("connection", {})
    words = f"version {status.get('version')}, up {status.get('uptime_s')} s, {connection.get('state', 'starting')}"
    if not (reasons := status.get("reasons", ())):
        return ok("service", f"{words}, last heard of Feishu {connection.get('last_heard_s_ago')} s ago")
    mend = "it goes on trying by itself; its log says more"
    return failed("service", f"{words}: {'; '.join(map(str, reasons))}", mend)


def _check_restored(status: Mapping[str, Any]) -> list[Check]:
    restored = status.get("restored")
    if not isinstance(restored, Mapping) or not restored.get("in_quarantine"):
        return []
    left = ", ".join(
        f"{count} {what}".replace("_", " ") for what, count in restored["left_to_compare"].items() if count
    )
    mend = "nothing: it is left by itself when everything is compared"
    return [warning("restored file", f"{restored['why']}; still to compare: {left or 'nothing'}", mend)]


def check_evidence(evidence: Mapping[str, Any] | None) -> list[Check]:
    """What messages and clicks of the past show about the set-up."""
    if evidence is None:
        return [skipped("what the past shows", "there is nothing to look into")]
    return [_check_user_ids(evidence), _check_callback(evidence), *_check_unreadable(evidence)]


def _check_user_ids(evidence: Mapping[str, Any]) -> Check:
    senders, hidden = int(evidence["senders"]), int(evidence["hidden_senders"])
    if not senders:
        return skipped("user ids", "nobody has written yet")
    if hidden:
        mend = f"add {USER_ID_SCOPE} {CONSOLE}, {PUBLISH}"
        return warning("user ids", f"{hidden} of the last {senders} messages came without one", mend)
    return ok("user ids", f"the last {senders} messages came with one")


def _check_callback(evidence: Mapping[str, Any]) -> Check:
    if clicks := int(evidence["clicks"]):
        return ok("card buttons", f"{clicks} presses have arrived")
    return Check("card buttons", "skipped", "nobody has pressed one yet, so nobody knows", CALLBACK)


def _check_unreadable(evidence: Mapping[str, Any]) -> list[Check]:
    places: Sequence[str] = evidence.get("unreadable", ())
    if not places:
        return []
    return [warning("places that cannot be read", "; ".join(places), "see the permission for the history of groups")]


def check_findings(findings: Mapping[str, Any] | None) -> list[Check]:
    """The domain file's invariants."""
    if findings is None:
        return [skipped("invariants", "there is no file of this version to ask")]
    checks = [
        failed(
            f"invariant {one['name']}", f"{one['subject']} {one['text']}", "keep a backup of this file and report it"
        )
        for one in findings["violations"]
    ]
    checks += [
        warning(f"waiting {one['name']}", f"{one['subject']} {one['text']}", "the log says what holds it up")
        for one in findings["delays"]
    ]
    return checks or [ok("invariants", "everything that must hold of the file holds")]
