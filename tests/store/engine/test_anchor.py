"""The anchor beside the domain file: which file it calls an old one, and that it is whole whenever it is read."""

from pathlib import Path

import pytest

from channels.errors import StartRefused
from channels.rules.anchor import Anchor, Beside, suspicion
from channels.store.anchor import (
    anchor_path,
    mark_path,
    read_beside,
    refuse_half_restored,
    remove_mark,
    write_anchor,
    write_mark,
)

HERE = Anchor("mine", 5, 100)


def at(epoch: int, commits: int, db_uuid: str = "mine") -> Anchor:
    return Anchor(db_uuid, epoch, commits)


@pytest.mark.parametrize(
    ("file", "beside", "words"),
    [
        # the file that ran here last
        (at(5, 100), Beside(HERE), None),
        (at(5, 101), Beside(HERE), None),  # killed before the anchor was written again
        (at(6, 101), Beside(HERE), None),  # killed between the boot commit and its anchor
        (at(2000, 40), Beside(HERE), None),  # a restored file after its leap, its own anchor not yet written
        # a new one
        (None, Beside(), None),
        (None, Beside(at(0, 0)), None),  # killed between the anchor of a new file and its first commit
        (at(1, 1), Beside(at(0, 0)), None),  # killed after that commit
        # an old one
        (at(5, 99), Beside(HERE), "older than the one that ran here last"),
        (at(4, 99), Beside(HERE), "older than the one that ran here last"),
        (at(4, 100), Beside(HERE), "older than the one that ran here last"),
        (at(5, 100), Beside(), "no anchor"),
        (at(9, 900, "theirs"), Beside(HERE), "another file"),
        (None, Beside(HERE), "gone"),
        # put back with `channels restore`
        (at(4, 80), Beside(HERE, at(4, 80)), "channels restore"),
        (at(4, 80), Beside(None, at(4, 80)), "channels restore"),
        (at(5, 100), Beside(HERE, at(5, 100)), "channels restore"),  # nothing happened after the backup
        (at(5, 120), Beside(HERE, at(4, 80)), None),  # the restore was killed before the copy was in place
        (at(2000, 81), Beside(HERE, at(4, 80)), None),  # killed before the mark was taken away
    ],
)
def test_which_file_is_not_the_one_that_ran_here_last(file: Anchor | None, beside: Beside, words: str | None) -> None:
    found = suspicion(file, beside)
    assert (found is None) if words is None else (found is not None and words in found), found


class TestFiles:
    def test_what_is_written_is_read(self, tmp_path: Path) -> None:
        file = tmp_path / "channels.db"
        assert read_beside(file) == Beside()
        write_anchor(file, HERE)
        write_mark(file, at(4, 80))
        assert read_beside(file) == Beside(HERE, at(4, 80))
        write_anchor(file, at(6, 200))
        remove_mark(file)
        remove_mark(file)
        assert read_beside(file) == Beside(at(6, 200))
        assert [each.name for each in tmp_path.iterdir()] == ["channels.db.anchor"]
        assert anchor_path(file).stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[]", b"{}", b'{"db_uuid": "x", "epoch": null, "commits": 1}', b"\xff"]
    )
    def test_a_damaged_one_counts_as_none(self, tmp_path: Path, content: bytes) -> None:
        file = tmp_path / "channels.db"
        anchor_path(file).write_bytes(content)
        assert read_beside(file) == Beside()

    def test_a_write_that_fails_leaves_the_old_one(self, tmp_path: Path) -> None:
        file = tmp_path / "channels.db"
        write_anchor(file, HERE)
        anchor_path(file).with_name("channels.db.anchor.part").mkdir()
        with pytest.raises(OSError, match="directory"):
            write_anchor(file, at(6, 200))
        assert read_beside(file).anchor == HERE

    def test_a_restore_that_was_cut_off_without_a_file_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "channels.db"
        refuse_half_restored(file)
        write_mark(file, HERE)
        with pytest.raises(StartRefused, match="run `channels restore` again"):
            refuse_half_restored(file)
        file.touch()
        refuse_half_restored(file)
        assert mark_path(file).exists()
