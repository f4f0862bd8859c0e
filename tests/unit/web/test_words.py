"""Words, figures and templates of the admin page."""

import re
from pathlib import Path
from typing import Any

import pytest

from channels.web.admin.figures import as_json, health_groups
from channels.web.admin.words import moment, plain_moment, span, span_of_ms, words_of

WEB = Path(__file__).resolve().parents[3] / "channels" / "web"
EN, ZH = words_of("en"), words_of("zh")
STATUS: dict[str, Any] = {
    "state": "ready",
    "reasons": [],
    "version": "1",
    "uptime_s": 7300,
    "owner_epoch": 4,
    "bot": {"name": "Bot"},
    "connection": {
        "state": "connected",
        "last_heard_s_ago": 3.2,
        "connections": 2,
        "frames": 10,
        "fatal": None,
        "last_loss": None,
    },
    "inbox": {},
    "outbox": {},
    "turns": {"running": 1},
    "sessions": 5,
    "snapshots": 0,
    "missed": {"gaps": [], "unreadable": [], "undecided": []},
    "restored": None,
}


def figures(language: str = "en", **changes: Any) -> dict[str, tuple[str, str]]:
    groups = health_groups(STATUS | changes, words_of(language))
    return {one.key: (one.value, one.tone) for group in groups for one in group.figures}


def test_agents_that_keep_processes_have_a_figure() -> None:
    kept = {"kind": "acp", "processes": [{}, {}], "memory_bytes": 120_400_000, "waiting": 3}
    shown = figures(agents={"demo": {"kind": "demo"}, "coder": kept})
    assert shown["agent_coder"] == ("2 processes, 120 MB, 3 turns waiting", "warn")
    assert "agent_demo" not in shown
    assert figures("zh", agents={"coder": kept | {"waiting": 0}})["agent_coder"] == (
        "2 个进程，120 MB，0 轮在等待",
        "plain",
    )


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, ("running, 0 waiting", "good")),
        ({"pending": 3}, ("running, 3 waiting", "good")),
        ({"paused": True}, ("paused by an admin, 0 waiting", "warn")),
        ({"unconfirmed": 1}, ("running, 0 waiting", "warn")),
        ({"unconfirmed_stops": 1}, ("running, 0 waiting", "warn")),
        ({"readable": False, "why": "invalid_settlement_outbox"}, ("invalid_settlement_outbox", "bad")),
    ],
)
def test_settlement_has_a_figure(changes: dict[str, Any], shown: tuple[str, str]) -> None:
    calm = {"readable": True, "paused": False, "pending": 0, "unconfirmed": 0, "unconfirmed_stops": 0}
    assert figures(settlement=calm | changes)["settlement"] == shown


def test_both_languages_have_the_same_words_and_places() -> None:
    assert set(EN) == set(ZH)
    assert {key for key in EN if EN[key].count("{}") != ZH[key].count("{}")} == set()
    assert [key for key, text in ZH.items() if text == EN[key] and key != "title"] == []


def test_every_word_that_a_page_asks_for_is_there_and_none_is_left_over() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (WEB / "templates").glob("*.html"))
    asked = set(re.findall(r"\bw\.(\w+)", text)) - {"format"}
    assert asked - set(EN) == set()
    code = "".join(
        path.read_text(encoding="utf-8") for path in (WEB / "admin").glob("*.py") if not path.stem.startswith("words")
    )
    used = asked | set(re.findall(r'"(\w+)"', code)) | {"seconds", "minutes", "hours", "days"}
    dynamic = re.compile(r"fault_\d+|limit_\w+|booked_\w+|may_\w+|cause_\w+|link_\w+|state_\w+|in_force")
    data = {"entered", "ended", "completed", "max_tokens", "stopped", "interrupted", "failed", "p2p", "group", "queued"}
    assert {key for key in EN if key not in used | data and not dynamic.fullmatch(key)} == set()


def test_all_is_well() -> None:
    found = figures()
    assert found["state"] == ("ready", "good")
    assert found["connection"] == ("connected", "good")
    assert found["heard"] == ("3 s ago", "plain")
    assert found["uptime"] == ("2 h", "plain")
    assert found["inbox"] == found["outbox"] == ("0", "good")
    assert found["unknown"] == ("0", "good")
    assert found["quarantine"] == ("no", "good")
    assert {tone for _value, tone in found.values()} == {"good", "plain"}


def test_what_is_wrong_stands_out() -> None:
    found = figures(
        state="degraded",
        connection=STATUS["connection"] | {"state": "waiting", "last_heard_s_ago": 400.0, "last_loss": "closed"},
        inbox={
            "accepted": {"count": 2, "oldest_s": 90},
            "kept": {"count": 1, "oldest_s": 4000},
            "queued": {"count": 5, "oldest_s": 9000},
        },
        outbox={"pending": {"count": 1, "oldest_s": 5}, "unknown": {"count": 3, "oldest_s": 9}},
        missed={"gaps": [{}], "unreadable": [{}, {}], "undecided": [{"messages": 4}, {"messages": 1}]},
        restored={"in_quarantine": True, "left_to_compare": {"messages": 2, "turns": 1}},
    )
    assert found["state"] == ("not ready", "bad")
    assert found["connection"] == ("waiting before the next try", "bad")
    assert found["heard"] == ("6 min ago", "warn")
    assert found["loss"] == ("closed", "plain")
    assert found["inbox"] == ("3 (oldest 1 h)", "warn")
    assert found["outbox"] == ("1 (oldest 5 s)", "plain")
    assert found["unknown"] == ("3", "bad")
    assert (found["gaps"], found["unreadable"], found["undecided"]) == (("1", "warn"), ("2", "warn"), ("5", "warn"))
    assert found["quarantine"] == ("yes, 3 left to compare", "warn")


def test_starting_is_said() -> None:
    groups = health_groups({"state": "starting"}, ZH)
    assert as_json(groups, ["x"]) == {"figures": {"state": {"value": "正在启动", "tone": "warn"}}, "reasons": ["x"]}


@pytest.mark.parametrize(
    ("seconds", "en", "zh"),
    [
        (0, "0 s", "0 秒"),
        (59, "59 s", "59 秒"),
        (60, "1 min", "1 分钟"),
        (7300, "2 h", "2 小时"),
        (90_000, "1 d", "1 天"),
    ],
)
def test_spans(seconds: int, en: str, zh: str) -> None:
    assert (span(seconds, EN), span(seconds, ZH)) == (en, zh)


def test_short_spans_have_tenths() -> None:
    assert [span_of_ms(each, EN) for each in (-5, 0, 1234, 9999, 10_000)] == [
        "0.0 s",
        "0.0 s",
        "1.2 s",
        "10.0 s",
        "10 s",
    ]


def test_moments_are_utc() -> None:
    assert (moment(1_700_000_000_999), plain_moment(0)) == ("2023-11-14T22:13:20Z", "1970-01-01 00:00:00 UTC")
