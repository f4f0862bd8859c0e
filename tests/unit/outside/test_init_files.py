"""The files of `channels init`, killed before every single step, and refused by the system."""

import os
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from channels.cli.init_files import Writing, secret_name, sweep, write

OLD, NEW = 'app_secret = "file:c.toml.cli_old.secret"\n', 'app_secret = "file:c.toml.cli_new.secret"\n'
STEPS = {"open", "os.rename", "os.remove", "os.chmod"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "c.toml"


@pytest.fixture
def old(config: Path) -> Path:
    write(Writing(config, OLD, config.with_name("c.toml.cli_old.secret"), "old-secret"))
    return config


def new(config: Path) -> Writing:
    return Writing(config, NEW, config.with_name(secret_name(config, "cli_new")), "new-secret")


def contents(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in sorted(folder.iterdir())}


def killed_at(step: int, config: Path) -> bool:
    """Write in a process of its own, which dies before its `step`-th step in the folder; False: it reached its end."""
    child = os.fork()
    if child == 0:  # pragma: no cover
        left = [step]

        def watch(event: str, arguments: tuple[Any, ...]) -> None:
            if event in STEPS and str(config.parent) in str(arguments[0]):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        write(new(config))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def steps(config: Path, prepare: Any) -> Iterator[int]:
    for step in range(100):
        for each in config.parent.iterdir():
            each.unlink()
        prepare()
        if not killed_at(step, config):
            assert step > 6, "the kills come too late"
            return
        yield step


class TestKilled:
    def test_a_first_run_leaves_no_settings_or_whole_ones(self, config: Path) -> None:
        seen = set()
        for _ in steps(config, lambda: None):
            found = contents(config.parent)
            seen.add("c.toml" in found)
            if "c.toml" in found:
                assert found["c.toml"] == NEW
                assert found["c.toml.cli_new.secret"] == "new-secret\n"
            self.check_again(config)
        assert seen == {True, False}

    def test_another_app_keeps_the_old_pair_or_has_the_new_one(self, config: Path) -> None:
        seen = set()
        prepared = Writing(config, OLD, config.with_name("c.toml.cli_old.secret"), "old-secret")
        for _ in steps(config, lambda: write(prepared)):
            found = contents(config.parent)
            named = found["c.toml"].partition("file:")[2].rstrip('"\n')
            seen.add(named)
            assert found[named] == f"{'new' if 'new' in named else 'old'}-secret\n"
            self.check_again(config)
        assert seen == {"c.toml.cli_old.secret", "c.toml.cli_new.secret"}

    def check_again(self, config: Path) -> None:
        """A kill leaves secrets for their owner alone, and the next run leaves nothing of it."""
        for each in config.parent.glob("*.secret*"):
            assert stat.S_IMODE(each.stat().st_mode) == 0o600
        write(new(config))
        assert contents(config.parent) == {"c.toml": NEW, "c.toml.cli_new.secret": "new-secret\n"}


class TestWrite:
    def test_the_former_secret_goes_and_everything_else_stays(self, old: Path) -> None:
        for name in ("d.toml.cli_x.secret", "c.toml.bak", "c.toml.cli_x.secret.mine", "notes.part"):
            old.with_name(name).write_text("mine")
        assert write(new(old)) == [old.with_name("c.toml.cli_old.secret")]
        assert set(contents(old.parent)) == {
            "c.toml",
            "c.toml.cli_new.secret",
            "d.toml.cli_x.secret",
            "c.toml.bak",
            "c.toml.cli_x.secret.mine",
            "notes.part",
        }

    def test_modes(self, config: Path) -> None:
        umask = os.umask(0)
        try:
            write(new(config))
        finally:
            os.umask(umask)
        assert stat.S_IMODE(config.with_name("c.toml.cli_new.secret").stat().st_mode) == 0o600
        assert stat.S_IMODE(config.stat().st_mode) == 0o644
        config.chmod(0o640)
        write(new(config))
        assert stat.S_IMODE(config.stat().st_mode) == 0o640

    def test_a_link_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        target, link = tmp_path / "real" / "c.toml", tmp_path / "link.toml"
        link.symlink_to(target)
        write(Writing(link, NEW))
        assert (link.is_symlink(), target.read_text()) == (True, NEW)

    @pytest.mark.parametrize("blocked", ["c.toml.part", "c.toml.cli_new.secret.part", "c.toml.cli_new.secret"])
    def test_a_system_that_says_no_leaves_everything_as_it_was(self, old: Path, blocked: str) -> None:
        old.with_name(blocked).mkdir()
        before = sorted(each.name for each in old.parent.iterdir())
        with pytest.raises(OSError):
            write(new(old))
        assert sorted(each.name for each in old.parent.iterdir()) == before
        assert old.read_text() == OLD

    def test_settings_that_cannot_take_their_place_take_the_secret_with_them(self, old: Path) -> None:
        child = os.fork()
        if child == 0:  # pragma: no cover

            def refuse(event: str, arguments: tuple[Any, ...]) -> None:
                if event == "os.rename" and str(arguments[1]) == str(old):
                    raise OSError(28, "no room")

            sys.addaudithook(refuse)
            try:
                write(new(old))
            except OSError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert contents(old.parent) == {"c.toml": OLD, "c.toml.cli_old.secret": "old-secret\n"}

    def test_ctrl_c_in_the_middle_waits_for_the_end(self, old: Path) -> None:
        """The signal comes with the first step, and is felt after the last."""
        child = os.fork()
        if child == 0:  # pragma: no cover
            sys.addaudithook(
                lambda event, arguments: os.kill(os.getpid(), signal.SIGINT) if event == "os.rename" else None
            )
            try:
                write(new(old))
            except KeyboardInterrupt:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert contents(old.parent) == {"c.toml": NEW, "c.toml.cli_new.secret": "new-secret\n"}

    def test_sweeping_alone(self, old: Path) -> None:
        old.with_name("c.toml.part").write_text("half")
        assert sweep(old, OLD) == []
        assert set(contents(old.parent)) == {"c.toml", "c.toml.cli_old.secret"}
