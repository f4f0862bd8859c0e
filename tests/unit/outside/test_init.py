"""What `channels init` decides without asking anybody, what it asks of Feishu for the bot, and the code it draws."""

import hashlib
import json
from pathlib import Path

import pytest

from channels.cli.commands import app, has_group
from channels.cli.doctor_feishu import NEEDS
from channels.cli.init import say_next
from channels.cli.init_choices import KeepApp, Present, Scan, UseApp, Wishes, choose, read_present
from channels.cli.init_qr import draw, encode
from channels.errors import ConfigError
from channels.feishu.events import UnknownEvent, parse
from channels.feishu.registration import CALLBACKS, EVENTS, SCOPES, platform_of

ROOT = Path(__file__).resolve().parents[3]
CONFIG = Path("c.toml")
ENVIRON = {"S": "one-secret"}
HERE = Present("text", "cli_here", "lark", "file:x")


class TestChoices:
    @pytest.mark.parametrize(
        ("wishes", "present", "choice"),
        [
            (Wishes(CONFIG, scan=True), Present(), Scan("feishu")),
            (Wishes(CONFIG, scan=True), HERE, Scan("lark")),
            (Wishes(CONFIG, scan=True, domain="feishu"), HERE, Scan("feishu")),
            (Wishes(CONFIG, domain="feishu"), HERE, KeepApp("feishu")),
            (Wishes(CONFIG), HERE, KeepApp(None)),
            (Wishes(CONFIG, app_id="cli_here"), HERE, KeepApp(None)),
        ],
    )
    def test_options_are_enough(self, wishes: Wishes, present: Present, choice: object) -> None:
        assert choose(wishes, present, ENVIRON) == choice

    @pytest.mark.parametrize(
        ("app_id", "domain", "present", "wanted"),
        [
            ("cli_new", None, Present(), ("cli_new", "feishu")),
            ("cli_new", None, HERE, ("cli_new", "feishu")),  # another app may be on the other platform
            ("cli_new", "lark", Present(), ("cli_new", "lark")),
            (None, None, HERE, ("cli_here", "lark")),
        ],
    )
    def test_a_secret_belongs_to_an_app(
        self, app_id: str | None, domain: str | None, present: Present, wanted: tuple[str, str]
    ) -> None:
        choice = choose(Wishes(CONFIG, app_id=app_id, secret_from="env:S", domain=domain), present, ENVIRON)
        assert isinstance(choice, UseApp)
        assert (choice.app_id, choice.domain) == wanted
        assert choice.secret.reveal() == "one-secret"
        assert "one-secret" not in repr(choice)

    @pytest.mark.parametrize(
        ("wishes", "key"),
        [
            (Wishes(CONFIG), "init"),
            (Wishes(CONFIG, domain="lark"), "init"),
            (Wishes(CONFIG, scan=True, app_id="cli_x"), "--scan"),
            (Wishes(CONFIG, app_id="nonsense", secret_from="env:S"), "--app-id"),
            (Wishes(CONFIG, app_id="cli_../x", secret_from="env:S"), "--app-id"),
            (Wishes(CONFIG, secret_from="env:S"), "--app-id"),
            (Wishes(CONFIG, app_id="cli_x"), "--app-secret-from"),
            (Wishes(CONFIG, app_id="cli_x", secret_from="one-secret"), "--app-secret-from"),
            (Wishes(CONFIG, app_id="cli_x", secret_from="env:NOBODY"), "--app-secret-from"),
            (Wishes(CONFIG, app_id="cli_x", secret_from="env:TWO"), "--app-secret-from"),
        ],
    )
    def test_what_is_missing_or_wrong_is_named(self, wishes: Wishes, key: str) -> None:
        with pytest.raises(ConfigError) as caught:
            choose(wishes, Present(), ENVIRON | {"TWO": "two\nlines"})
        assert caught.value.key == key
        assert "one-secret" not in str(caught.value)

    def test_the_placeholder_is_no_app(self, tmp_path: Path) -> None:
        file = tmp_path / "c.toml"
        file.write_bytes((ROOT / "config" / "example.toml").read_bytes())
        present = read_present(file)
        assert (present.app_id, present.app_secret) == ("", "")
        file.write_text("[feishu\n")
        with pytest.raises(ConfigError, match="not valid TOML"):
            read_present(file)


class TestNeeds:
    def test_doctor_is_content_with_what_is_asked_for(self) -> None:
        assert {names[0] for _, names, _ in NEEDS} <= set(SCOPES)

    def test_every_event_is_one_that_we_read(self) -> None:
        for event_type in (*EVENTS, *CALLBACKS):
            payload = {"header": {"event_type": event_type, "event_id": "e"}, "event": {}}
            assert not isinstance(parse(json.dumps(payload).encode()), UnknownEvent)

    @pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
    def test_the_readme_names_the_same(self, readme: str) -> None:
        text = (ROOT / readme).read_text(encoding="utf-8")
        assert [name for name in (*SCOPES, *EVENTS, *CALLBACKS) if f"`{name}`" not in text] == []


class TestWhatIsSaid:
    @pytest.mark.parametrize(
        ("begun_at", "brand", "domain"),
        [
            ("feishu", "feishu", "feishu"),
            ("feishu", "lark", "lark"),
            ("lark", "feishu", "feishu"),
            ("feishu", None, "feishu"),
            ("feishu", "elsewhere", "feishu"),
            ("http://127.0.0.1:1", "lark", "http://127.0.0.1:1"),
        ],
    )
    def test_the_platform_is_the_one_of_who_scanned(self, begun_at: str, brand: str | None, domain: str) -> None:
        assert platform_of(begun_at, brand) == domain

    def test_a_claim_code_is_offered_where_there_is_such_a_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        say_next(Wishes(CONFIG, claim_code=True))
        assert "channels access claim-code --config c.toml" in capsys.readouterr().out
        say_next(Wishes(CONFIG))
        assert "claim-code" not in capsys.readouterr().out
        assert all(has_group(str(group.name)) for group in app.registered_groups)
        assert not has_group("nonsense")


class TestCode:
    # What an independent reader (ZXing) has read back, as it did some 110 lengths up to 1 460 bytes.
    @pytest.mark.parametrize(
        ("length", "size", "digest"),
        [
            (1, 21, "8cfaf9716907"),
            (100, 37, "e20d2ac598d2"),
            (230, 53, "8ee652d56571"),
            (440, 73, "8861125665f3"),
            (1200, 117, "e61a73511e58"),
        ],
    )
    def test_codes_are_those_that_were_read_back(self, length: int, size: int, digest: str) -> None:
        matrix = encode(text_of(length))
        assert len(matrix) == size
        bits = "".join("01"[module] for row in matrix for module in row)
        assert hashlib.sha256(bits.encode()).hexdigest()[:12] == digest

    def test_a_drawing_fits_or_there_is_none(self) -> None:
        wide, narrow = draw("x" * 440, 80), draw("x" * 440, 75)
        assert {strip(line) for line in wide} == {77}
        assert {strip(line) for line in narrow} == {75}
        assert draw("x" * 440, 74) == []
        assert draw("x" * 1500, 1000) == []


def text_of(length: int) -> bytes:
    return bytes(33 + number * 7 % 90 for number in range(length))


def strip(line: str) -> int:
    return len(line.removeprefix("\x1b[30;107m").removesuffix("\x1b[0m"))
