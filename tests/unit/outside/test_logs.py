"""Logs: one JSON object a line on the given stream, no secret in it, libraries in the same shape."""

import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from channels import logs

TENANT_TOKEN = "t-g1044qeGEDXTB6NDJOGV4JQCYDGHRBARFTGT1234"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """A stream that the whole set-up writes to; afterwards everything is as before."""
    handlers, level = logging.root.handlers[:], logging.root.level
    target = io.StringIO()
    logs.configure("info", "json", stream=target)
    yield target
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_says_what_when_and_which_part(stream: io.StringIO) -> None:
    logs.get_logger("intake").info(logs.MESSAGE_ACCEPTED, message_id="om_1", commit_ms=0.4)
    (line,) = lines(stream)
    assert line["event"] == "message.accepted"
    assert line["part"] == "intake"
    assert line["level"] == "info"
    assert line["commit_ms"] == 0.4
    assert line["timestamp"].endswith("Z")


def test_below_the_level_nothing_is_written(stream: io.StringIO) -> None:
    logs.get_logger("intake").debug(logs.MESSAGE_ACCEPTED)
    assert stream.getvalue() == ""


def test_loggers_made_before_the_set_up_follow_it(stream: io.StringIO) -> None:
    log = logs.get_logger("intake")
    second = io.StringIO()
    logs.configure("debug", "json", stream=second)
    log.debug(logs.MESSAGE_ACCEPTED)
    assert (len(lines(second)), stream.getvalue()) == (1, "")


@pytest.mark.parametrize(
    "fields",
    [
        {"app_secret": "abc"},
        {"Authorization": "whatever"},
        {"headers": {"Authorization": f"Bearer {TENANT_TOKEN}"}},
        {"tenant_access_token": "xyz"},
        {"why": f"401 for Bearer {TENANT_TOKEN}"},
        {"why": f"answer was {TENANT_TOKEN}"},
        {"why": "key sk-abcdefgh12345678 is not valid"},
        {"proxy": "http://me:hunter2@squid:3128"},
        {"items": [["deep", {"api_key": "abc"}]]},
        {"error": ValueError(f"bad token {TENANT_TOKEN}")},
        {"body": b"abc"},
    ],
)
def test_nothing_secret_is_written(stream: io.StringIO, fields: dict[str, Any]) -> None:
    logs.get_logger("feishu").info(logs.TOKEN_FETCHED, **fields)
    text = stream.getvalue()
    assert not re.search(r"abc\b|whatever|g1044|xyz|sk-abc|hunter2", text), text


def test_figures_about_tokens_are_no_secrets(stream: io.StringIO) -> None:
    logs.get_logger("turns").info(logs.TURN_ENDED, input_tokens=7, tokens=3, key="chat:p2p:oc_1:u_1", uuid="t-1")
    (line,) = lines(stream)
    assert (line["input_tokens"], line["tokens"], line["key"], line["uuid"]) == (7, 3, "chat:p2p:oc_1:u_1", "t-1")


def test_a_known_secret_is_hidden_wherever_it_stands(stream: io.StringIO) -> None:
    logs.hide_value("abracadabra-42")
    logs.get_logger("feishu").info(logs.TOKEN_FETCHED, url="http://h/?x=abracadabra-42&y=1")
    assert lines(stream)[0]["url"] == f"http://h/?x={logs.HIDDEN}&y=1"


def test_short_values_do_not_black_out_words(stream: io.StringIO) -> None:
    logs.hide_value("secret")
    assert logs.redact_text("no secret here") == "no secret here"


def test_an_exception_keeps_its_traceback_and_loses_its_secret(stream: io.StringIO) -> None:
    try:
        raise ValueError(f"refused {TENANT_TOKEN}")
    except ValueError:
        logs.get_logger("feishu").exception(logs.LOOP_FAILED)
    (line,) = lines(stream)
    assert "Traceback" in line["exception"]
    assert TENANT_TOKEN not in line["exception"]


def test_library_loggers_come_out_in_the_same_shape_from_warning_on(stream: io.StringIO) -> None:
    logging.getLogger("httpx").info("HTTP Request: POST http://h")
    logging.getLogger("aiohttp.server").warning("Bearer %s failed", TENANT_TOKEN)
    (line,) = lines(stream)
    assert line["event"] == logs.LIBRARY_LOGGED
    assert line["part"] == "aiohttp.server"
    assert line["level"] == "warning"
    assert TENANT_TOKEN not in line["text"]


def test_the_sdk_keeps_no_handler_for_stdout(stream: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    sdk = logging.getLogger("Lark")
    sdk.addHandler(logging.StreamHandler())
    sdk.propagate = False
    logs.configure("info", "json", stream=stream)
    sdk.error("hello")
    assert sdk.handlers == []
    assert [line["text"] for line in lines(stream)] == ["hello"]
    assert capsys.readouterr() == ("", "")


def test_console_lines_are_for_people(stream: io.StringIO) -> None:
    second = io.StringIO()
    logs.configure("info", "console", stream=second)
    logs.get_logger("intake").info(logs.MESSAGE_ACCEPTED, message_id="om_1")
    assert "message.accepted" in second.getvalue()
    assert "message_id=om_1" in second.getvalue()


def test_event_names_are_subject_and_participle_and_unique() -> None:
    names = [value for key, value in vars(logs).items() if key.isupper() and isinstance(value, str) and "." in value]
    assert len(names) > 30
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z]+\.[a-z]+(_[a-z]+)*", name)] == []
