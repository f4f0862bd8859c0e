"""A harness that does not see a missing protection is no harness: each one is switched off in a copied tree."""

from pathlib import Path

import pytest

from tests.crash.ablation import ABLATIONS, PATCHES, apply_patch, copy_tree, find_violations


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", ABLATIONS)
async def test_the_missing_protection_is_seen(name: str, tmp_path: Path) -> None:
    ablation = ABLATIONS[name]
    tree, folder = copy_tree(tmp_path / "tree", ablation), tmp_path / "case"
    folder.mkdir()
    found = await find_violations(ablation, tree, folder)
    assert {each.rule for each in found} & ablation.rules, found


def test_every_patch_is_an_ablation() -> None:
    assert {path.stem for path in PATCHES.glob("*.patch")} == set(ABLATIONS)


def test_a_patch_that_does_not_apply_is_told(tmp_path: Path) -> None:
    tree = copy_tree(tmp_path / "tree", None)
    ablation = ABLATIONS["uuid-per-attempt"]
    (tree / "channels/service/sending.py").write_text("")
    with pytest.raises(AssertionError, match="does not apply"):
        apply_patch(tree, ablation)
