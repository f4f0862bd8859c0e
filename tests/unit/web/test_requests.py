"""What a request says about itself, who may knock how often, and the secrets of a session."""

import pytest

from channels.web.admin.attempts import FAILURES_AT_MOST, PLACES_AT_MOST, WINDOW_MS, Attempts
from channels.web.admin.requests import is_from_own_page, is_own_host, language_of
from channels.web.admin.session_secrets import hash_secret, is_token_of, token_of


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost", True),
        ("LOCALHOST:8787", True),
        ("127.0.0.1:80", True),
        ("[::1]", True),
        ("bot.example.com:443", True),
        ("evil.example", False),
        ("bot.example.com.evil.example", False),
        ("bot.example.com@evil.example", False),
        ("evil.example#localhost", False),
        ("", False),
        ("[", False),
        ("[::1", False),
    ],
)
def test_hosts(host: str, own: bool) -> None:
    assert is_own_host(host, {"bot.example.com"}) is own


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({}, True),
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Origin": "http://a:1", "Host": "a:1"}, True),
        ({"Origin": "https://A", "Host": "a"}, True),
        ({"Origin": "http://a:2", "Host": "a:1"}, False),
        ({"Origin": "null", "Host": "a:1"}, False),
        ({"Sec-Fetch-Site": "none"}, False),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://a:1", "Host": "a:1"}, False),
    ],
)
def test_origins(headers: dict[str, str], own: bool) -> None:
    assert is_from_own_page(headers) is own


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-GB", "en"),
        ("fr, EN;q=0.5, zh", "en"),
        ("fr", "zh"),
        ("", "zh"),
        ("*", "zh"),
    ],
)
def test_languages(accepted: str, language: str) -> None:
    assert language_of(accepted, "zh") == language


class TestAttempts:
    def test_a_place_is_heard_again_when_its_failures_are_old(self) -> None:
        attempts = Attempts()
        for now in range(FAILURES_AT_MOST):
            assert attempts.wait_ms("a", now) == 0
            attempts.count_failure("a", now)
        assert attempts.wait_ms("a", 100) == WINDOW_MS - 100
        assert attempts.wait_ms("b", 100) == 0
        assert attempts.wait_ms("a", WINDOW_MS) == 0

    def test_memory_is_bounded(self) -> None:
        attempts = Attempts()
        for number in range(PLACES_AT_MOST + 10):
            attempts.count_failure(str(number), 0)
        assert len(attempts._failures) == PLACES_AT_MOST


class TestSecrets:
    def test_a_token_belongs_to_one_session(self) -> None:
        assert is_token_of("a", token_of("a"))
        assert not is_token_of("a", token_of("b"))
        assert not is_token_of("a", "")
        assert not is_token_of("a", "é")
        assert hash_secret("a") not in (token_of("a"), "a")

    def test_bytes_that_are_no_text_are_hashed_too(self) -> None:
        assert len(hash_secret("\udcff")) == 64
