"""Settings: every wrong value is refused by its full name, with what was found and what would be right."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from channels.config import PLACEHOLDER, Reference, Secret, build_settings, load_settings
from channels.config.keys import environment_name, known_keys, nearest
from channels.errors import ConfigError

FOLDER = Path("/etc/channels")
LEAST: dict[str, Any] = {"feishu": {"app_id": "cli_x", "app_secret": "env:SECRET"}}


def with_values(**sections: Any) -> dict[str, Any]:
    merged: dict[str, Any] = {key: dict(value) for key, value in LEAST.items()}
    for section, value in sections.items():
        merged[section] = {**merged.get(section, {}), **value} if isinstance(value, dict) else value
    return merged


def fault(data: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        build_settings(data, FOLDER, environ)
    return caught.value


def test_two_keys_are_enough() -> None:
    settings = build_settings(LEAST, FOLDER)
    assert settings.feishu.app_secret == Reference("env", "SECRET")
    assert settings.agent_name == "demo"
    assert settings.store.path == FOLDER / "channels.db"
    assert settings.control_socket == FOLDER / "channels.db.sock"


def test_settings_never_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        build_settings(LEAST, FOLDER).web.port = 1


@pytest.mark.parametrize(
    ("sections", "key", "words"),
    [
        ({"fieshu": {}}, "fieshu", 'did you mean "feishu"'),
        ({"feishu": {"app_idd": "x"}}, "feishu.app_idd", 'did you mean "feishu.app_id"'),
        ({"turns": {"port": 1}}, "turns.port", 'did you mean "web.port"'),
        ({"turns": {"zzzzzz": 1}}, "turns.zzzzzz", "is not a known setting"),
        ({"turns": {"max_running": "4"}}, "turns.max_running", 'is "4" (text), but must be a whole number'),
        ({"turns": {"max_running": 4.5}}, "turns.max_running", "must be a whole number"),
        ({"turns": {"max_running": True}}, "turns.max_running", "is true (true or false), but must be a whole number"),
        ({"turns": {"max_running": 0}}, "turns.max_running", "is 0 (a number), but must be at least 1"),
        ({"turns": {"time_limit_s": -1}}, "turns.time_limit_s", "must be more than 0"),
        ({"turns": {"agent": "gpt"}}, "turns.agent", "the agents are: demo"),
        ({"turns": 4}, "turns", "must be a section"),
        ({"web": {"port": 70000}}, "web.port", "must be at most 65535"),
        ({"web": {"enabled": "yes"}}, "web.enabled", "must be true or false"),
        ({"ui": {"language": "de"}}, "ui.language", 'must be "zh" or "en"'),
        ({"access": {"request_days": 14.0}}, "access.request_days", "13"),
        ({"access": {"mode": "shut"}}, "access.mode", 'must be "open"'),
        ({"access": {"admins": "u_1"}}, "access.admins", "must be a list in square brackets"),
        ({"access": {"admins": [1]}}, "access.admins", "must be text in quotes"),
        ({"chat": {"dm": "users"}}, "chat.dm_users", "is empty"),
        ({"cards": {"frame_gaps_ms": []}}, "cards.frame_gaps_ms", "at least one entry"),
        ({"cards": {"frame_gaps_ms": [0, -1]}}, "cards.frame_gaps_ms", "is -1 (a number)"),
        ({"connection": {"ack_limit_s": 3}}, "connection.ack_limit_s", "must be less than 3"),
        ({"feishu": {"app_id": ""}}, "feishu.app_id", "not empty"),
        ({"feishu": {"app_id": PLACEHOLDER}}, "feishu.app_id", "still the example's"),
        ({"feishu": {"domain": "feishuu"}}, "feishu.domain", '"feishu", "lark" or an address'),
        ({"feishu": {"proxy": "squid:3128"}}, "feishu.proxy", "must be an address"),
        ({"store": {"path": 3}}, "store.path", "must be a path"),
        ({"store": {"path": "/tmp/" + "x" * 120}}, "control.socket", "too long for a socket"),
        ({"agents": {}}, "agents", "at least one agent"),
        ({"agents": 3}, "agents", "sections, one for each agent"),
        ({"agents": {"My Bot": {"kind": "demo"}}}, "agents.My Bot", "lower-case letters"),
        ({"agents": {"gpt": {}}}, "agents.gpt.kind", "must be one of: demo, openai"),
        ({"agents": {"gpt": {"kind": "opnai"}}}, "agents.gpt.kind", 'is "opnai"'),
        ({"agents": {"gpt": {"kind": "demo", "pase": 1}}}, "agents.gpt.pase", 'did you mean "agents.gpt.pace"'),
        ({"agents": {"gpt": {"kind": "openai", "model": "m"}}}, "agents.gpt.base_url", "is missing"),
    ],
)
def test_what_is_wrong_is_named(sections: dict[str, Any], key: str, words: str) -> None:
    error = fault(with_values(**sections))
    assert error.key == key
    assert words in error.why


def test_a_misspelt_key_is_named_before_the_one_it_leaves_missing() -> None:
    error = fault({"feishu": {"app_idd": "cli_x", "app_secret": "env:SECRET"}})
    assert error.key == "feishu.app_idd"
    assert "also wrong: feishu.app_id" in error.why


@pytest.mark.parametrize("key", ["feishu.app_secret", "agents.gpt.api_key", "feishu.proxy", "agents.gpt.base_url"])
def test_no_error_shows_a_secret(key: str) -> None:
    literal = "http://me:hunter2-hunter2@host:1" if key.endswith(("proxy", "base_url")) else "hunter2-hunter2"
    agent = {"kind": "openai", "base_url": "http://h/v1", "model": "m"}
    section, _, name = key.rpartition(".")
    data = with_values(agents={"gpt": agent})
    (data["agents"]["gpt"] if section == "agents.gpt" else data[section])[name] = literal
    error = fault(data)
    assert error.key == key
    assert 'write "env:NAME"' in error.why
    assert "hunter2" not in str(error)


def test_a_secret_under_a_wrong_name_is_not_shown_either() -> None:
    assert "hunter2" not in str(fault(with_values(feishu={"app_secert": "hunter2-hunter2"})))
    assert "hunter2" not in str(fault(with_values(feishu={"app_secret": ["hunter2-hunter2"]})))


def test_relative_paths_belong_to_the_folder_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "channels.toml"
    file.write_text('[feishu]\napp_id = "a"\napp_secret = "file:secret"\n[store]\npath = "data/channels.db"\n')
    settings = load_settings(file, {})
    assert settings.store.path == tmp_path / "data" / "channels.db"
    assert settings.feishu.app_secret == Reference("file", str(tmp_path / "secret"))
    (tmp_path / "config").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "config")
    below = tmp_path / "link" / "channels.toml"
    below.write_text(file.read_text().replace("data/channels.db", "../data/../channels.db"))
    place = str(load_settings(below, {}).store.path)
    assert place == str(tmp_path.resolve() / "data" / ".." / "channels.db"), "only what leads out of the folder goes"


@pytest.mark.parametrize(
    ("content", "words"), [(b"[feishu", "not valid TOML"), (b"\xff\xfe", "not UTF-8"), (None, "no such file")]
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, words: str) -> None:
    file = tmp_path / "channels.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=words) as caught:
        load_settings(file, {})
    assert caught.value.key == str(file)


class TestEnvironment:
    def test_it_wins_over_the_file(self) -> None:
        environ = {
            "CHANNELS_TURNS__MAX_RUNNING": "5",
            "CHANNELS_ACCESS__ADMINS": "u_1, u_2",
            "CHANNELS_CARDS__FRAME_GAPS_MS": "[0, 500]",
            "CHANNELS_CARDS__STREAMING": "false",
            "CHANNELS_TURNS__DRAIN_S": "1.5",
            "CHANNELS_AGENTS__GPT__KIND": "openai",
            "CHANNELS_AGENTS__GPT__MODEL": "4",
            "CHANNELS_AGENTS__GPT__BASE_URL": "http://h/v1",
        }
        settings = build_settings(with_values(turns={"max_running": 2, "agent": "gpt"}), FOLDER, environ)
        assert settings.turns.max_running == 5
        assert settings.access.admins == ("u_1", "u_2")
        assert settings.cards.frame_gaps_ms == (0, 500)
        assert settings.cards.streaming is False
        assert settings.turns.drain_s == 1.5
        assert getattr(settings.agents["gpt"], "model", None) == "4"

    def test_the_given_values_stay_as_they_were(self) -> None:
        data = with_values(turns={"max_running": 2})
        build_settings(data, FOLDER, {"CHANNELS_TURNS__MAX_RUNNING": "5"})
        assert data["turns"] == {"max_running": 2}

    def test_alone_it_is_enough(self) -> None:
        environ = {"CHANNELS_FEISHU__APP_ID": "12345", "CHANNELS_FEISHU__APP_SECRET": "env:X"}
        assert load_settings(None, environ).feishu.app_id == "12345"

    def test_a_wrong_value_names_its_variable(self) -> None:
        error = fault(LEAST, {"CHANNELS_TURNS__MAX_RUNNING": "many"})
        assert error.key == "turns.max_running"
        assert "CHANNELS_TURNS__MAX_RUNNING" in error.why

    @pytest.mark.parametrize(
        ("variable", "words"),
        [
            ("CHANNELS_FEISHU_APP_ID", "CHANNELS_FEISHU__APP_ID"),
            ("CHANNELS_TURNS__MAX_RUNING", "CHANNELS_TURNS__MAX_RUNNING"),
            ("CHANNELS_ZZZ", "is not a known setting"),
        ],
    )
    def test_an_unknown_variable_is_an_error(self, variable: str, words: str) -> None:
        error = fault(LEAST, {variable: "x"})
        assert error.key == variable
        assert words in error.why

    def test_a_variable_that_holds_a_referred_secret_is_no_setting(self) -> None:
        data = with_values(feishu={"app_secret": "env:CHANNELS_APP_SECRET"})
        assert build_settings(data, FOLDER, {"CHANNELS_APP_SECRET": "x"}).feishu.app_id == "cli_x"
        environ = {"CHANNELS_FEISHU__APP_SECRET": "env:CHANNELS_OTHER", "CHANNELS_OTHER": "x"}
        assert build_settings(LEAST, FOLDER, environ).feishu.app_secret == Reference("env", "CHANNELS_OTHER")

    def test_what_kubernetes_adds_for_a_service_of_our_name_is_no_setting(self) -> None:
        links = ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_WEB", "PORT", "PORT_8787_TCP", "PORT_8787_TCP_ADDR"]
        environ = {f"CHANNELS_{link}": "tcp://10.0.0.1:8787" for link in links}
        assert build_settings(LEAST, FOLDER, environ).web.port == 8787

    def test_a_section_written_as_a_value_is_named(self) -> None:
        assert fault(with_values(turns=4), {"CHANNELS_TURNS__MAX_RUNNING": "4"}).key == "turns"

    def test_every_key_has_a_variable(self) -> None:
        names = [environment_name(key) for key in known_keys()]
        assert len(set(names)) == len(names)
        assert environment_name("feishu.app_id") == "CHANNELS_FEISHU__APP_ID"


def test_secrets_may_be_given_as_values_by_code() -> None:
    settings = build_settings(with_values(feishu={"app_secret": Secret("hunter2-hunter2")}), FOLDER)
    assert settings.feishu.app_secret == Secret("hunter2-hunter2")
    assert "hunter2" not in repr(settings)


def test_the_first_agent_answers_where_none_is_named() -> None:
    agents = tomllib.loads('[a]\nkind = "demo"\n[b]\nkind = "demo"\n')
    assert build_settings(with_values(agents=agents), FOLDER).agent_name == "a"
    assert build_settings(with_values(agents=agents, turns={"agent": "b"}), FOLDER).agent_name == "b"


def test_nothing_near_gives_no_hint() -> None:
    assert nearest("qqqqqqqq.wwwwwww") is None
