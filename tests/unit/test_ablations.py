"""The patches that take protections out of a tree keep up with the code: told here, long before the campaign."""

from pathlib import Path

from tests.crash.ablation import ABLATIONS, PATCHES, copy_tree, does_apply


def test_every_patch_still_applies(tmp_path: Path) -> None:
    tree = copy_tree(tmp_path / "tree", None)
    assert [name for name, ablation in ABLATIONS.items() if not does_apply(tree, ablation)] == []
    assert {path.stem for path in PATCHES.glob("*.patch")} == set(ABLATIONS)


def test_one_that_does_not_is_seen(tmp_path: Path) -> None:
    tree = copy_tree(tmp_path / "tree", None)
    (tree / "channels/service/sending.py").write_text("")
    assert not does_apply(tree, ABLATIONS["uuid-per-attempt"])
