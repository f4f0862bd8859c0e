"""Every kind of HTTP answer, for reads and for effects: exactly one meaning each."""

import json
from typing import Any

import pytest

from channels.errors import ApiRefused, CodeKind, OutcomeUnknown, RetryLater
from channels.feishu.answers import BUSY_PAUSE_MS, RATE_PAUSE_MS, HttpAnswer, data_of, read_answer

HTML = b"<html><body>502 Bad Gateway</body></html>"


def answer(status: int, code: Any = 0, headers: dict[str, str] | None = None, **more: Any) -> HttpAnswer:
    return HttpAnswer(status, json.dumps({"code": code, "msg": "m", **more}).encode(), headers or {})


def meaning(found: HttpAnswer, *, effect: bool) -> str:
    """ok, later:<kind>:<ms>, refused:<kind>:<code> or unknown."""
    try:
        read_answer(found, "send_message", effect=effect)
    except RetryLater as error:
        return f"later:{error.kind}:{error.after_ms}"
    except ApiRefused as error:
        return f"refused:{error.kind}:{error.code}"
    except OutcomeUnknown:
        return "unknown"
    return "ok"


@pytest.mark.parametrize(
    ("found", "as_effect", "as_read"),
    [
        (answer(200), "ok", "ok"),
        (answer(200, data=None), "ok", "ok"),
        # business errors come with 400, 200 or anything else
        (answer(400, 230002), "refused:chat_gone:230002", "refused:chat_gone:230002"),
        (answer(200, 230002), "refused:chat_gone:230002", "refused:chat_gone:230002"),
        (answer(200, 424242), "refused:other:424242", "refused:other:424242"),
        (answer(400, 200770), "refused:repeated_uuid:200770", "refused:repeated_uuid:200770"),
        (answer(400, 99991403), "refused:monthly_quota:99991403", "refused:monthly_quota:99991403"),
        # code 0 in an error body is no success
        (answer(400), "refused:other:400", "refused:other:400"),
        (answer(500), "later:server:0", "later:server:0"),
        (answer(429), f"later:rate:{RATE_PAUSE_MS}", f"later:rate:{RATE_PAUSE_MS}"),
        # rates
        (answer(400, 99991400), f"later:rate:{RATE_PAUSE_MS}", f"later:rate:{RATE_PAUSE_MS}"),
        (answer(429, 99991400, {"x-ogw-ratelimit-reset": "52"}), "later:rate:52000", "later:rate:52000"),
        (answer(429, 99991400, {"x-ogw-ratelimit-reset": "90000"}), "later:rate:3600000", "later:rate:3600000"),
        (answer(400, 230020, {"x-ogw-ratelimit-reset": "junk"}), "later:rate:1000", "later:rate:1000"),
        (answer(429, 0, {"retry-after": "3"}), "later:rate:3000", "later:rate:3000"),
        (answer(400, 200810), f"later:card_busy:{BUSY_PAUSE_MS}", f"later:card_busy:{BUSY_PAUSE_MS}"),
        # the same uuid is being handled: it may yet happen
        (answer(400, 230049), "unknown", "unknown"),
        # no readable body
        (HttpAnswer(502, HTML), "later:server:0", "later:server:0"),
        (HttpAnswer(500, b""), "later:server:0", "later:server:0"),
        (HttpAnswer(503, HTML, {"retry-after": "9"}), "later:server:9000", "later:server:9000"),
        (HttpAnswer(200, b""), "unknown", "later:server:0"),
        (HttpAnswer(200, HTML), "unknown", "later:server:0"),
        (HttpAnswer(200, b"[]"), "unknown", "later:server:0"),
        (HttpAnswer(200, b"{}"), "unknown", "later:server:0"),
        (HttpAnswer(200, b'{"code":"0"}'), "unknown", "later:server:0"),
        (HttpAnswer(200, b'{"code":true}'), "unknown", "later:server:0"),
        (HttpAnswer(200, b'{"code":0,"data":{"message_id":"om'), "unknown", "later:server:0"),
        (HttpAnswer(200, b"[" * 100_000), "unknown", "later:server:0"),
        (HttpAnswer(302, HTML), "later:server:0", "later:server:0"),
        (HttpAnswer(404, HTML), "refused:other:404", "refused:other:404"),
        (HttpAnswer(413, HTML), "refused:too_large:413", "refused:too_large:413"),
        (HttpAnswer(429, HTML), "later:rate:1000", "later:rate:1000"),
        (HttpAnswer(401, HTML), "refused:token:401", "refused:token:401"),
    ],
)
def test_what_an_answer_means(found: HttpAnswer, as_effect: str, as_read: str) -> None:
    assert meaning(found, effect=True) == as_effect
    assert meaning(found, effect=False) == as_read


def test_a_refusal_carries_what_people_need() -> None:
    with pytest.raises(ApiRefused) as caught:
        read_answer(answer(400, 230002, {"x-tt-logid": "L1"}), "send_message", effect=True)
    assert (caught.value.kind, caught.value.msg, caught.value.log_id) == (CodeKind.CHAT_GONE, "m", "L1")


def test_data_that_is_no_object_is_empty() -> None:
    assert data_of({"data": {"a": 1}}) == {"a": 1}
    assert data_of({"data": []}) == {} == data_of({})
