"""Folders on a real disk, worktrees in real repositories; and nothing that leads out of a workspace."""

import subprocess
from pathlib import Path

import pytest

from channels.service.folders import OutsideWorkspace, find_folder, make_folder


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    done = subprocess.run(["git", *identity, "-C", str(folder), *arguments], capture_output=True, check=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "p2p" / "u_alice"


@pytest.fixture
def repository(workspace: Path) -> Path:
    workspace.mkdir(parents=True)
    git(workspace, "init", "--quiet", "--initial-branch=main")
    (workspace / "README").write_text("hello")
    git(workspace, "add", "README")
    git(workspace, "commit", "--quiet", "--message=first")
    return workspace


def topic(workspace: Path, name: str = "om_1") -> str:
    return f"{workspace}/topics/{name}"


@pytest.mark.parametrize("worktrees", [False, True])
def test_a_plain_folder_is_made_once(workspace: Path, worktrees: bool) -> None:
    for _ in range(2):
        made = make_folder(str(workspace), topic(workspace), worktrees=worktrees)
        assert (made.path, made.branch) == (workspace / "topics" / "om_1", None)
        assert made.path.is_dir()
        (made.path / "kept").write_text("")


def test_a_topic_is_a_worktree_on_its_own_branch(repository: Path) -> None:
    one = make_folder(str(repository), topic(repository, "om_1"), worktrees=True)
    two = make_folder(str(repository), topic(repository, "om_2"), worktrees=True)
    assert (one.branch, two.branch) == ("channels/om_1", "channels/om_2")
    assert git(one.path, "branch", "--show-current") == "channels/om_1"
    assert (one.path / "README").read_text() == "hello"
    (one.path / "README").write_text("changed")
    assert (two.path / "README").read_text() == (repository / "README").read_text() == "hello"
    assert make_folder(str(repository), topic(repository, "om_1"), worktrees=True) == one
    assert (one.path / "README").read_text() == "changed"


def test_the_repository_does_not_show_worktrees_as_new_files(repository: Path) -> None:
    for name in ("om_1", "om_2"):
        make_folder(str(repository), topic(repository, name), worktrees=True)
    assert git(repository, "status", "--porcelain") == ""
    assert (repository / ".git/info/exclude").read_text().count("/topics/") == 1


def test_a_branch_that_somebody_has_switched_to_counts(repository: Path) -> None:
    made = make_folder(str(repository), topic(repository), worktrees=True)
    git(made.path, "switch", "--quiet", "--create", "feature")
    assert make_folder(str(repository), topic(repository), worktrees=True).branch == "feature"


def test_a_worktree_whose_folder_was_deleted_comes_back_on_its_branch(repository: Path) -> None:
    """Also what a process leaves that was killed between the branch and the folder."""
    made = make_folder(str(repository), topic(repository), worktrees=True)
    (made.path / "new").write_text("work")
    git(made.path, "add", "new")
    git(made.path, "commit", "--quiet", "--message=work")
    subprocess.run(["rm", "-rf", str(made.path)], check=True)
    again = make_folder(str(repository), topic(repository), worktrees=True)
    assert again.branch == "channels/om_1"
    assert (again.path / "new").read_text() == "work"


@pytest.mark.parametrize("why", ["off", "no commit yet", "somebody works there", "another folder"])
def test_where_a_worktree_is_not_possible_it_is_a_plain_folder(tmp_path: Path, workspace: Path, why: str) -> None:
    workspace.mkdir(parents=True)
    git(workspace, "init", "--quiet")
    folder = topic(workspace)
    if why != "no commit yet":
        git(workspace, "commit", "--quiet", "--allow-empty", "--message=first")
    if why == "somebody works there":
        Path(folder).mkdir(parents=True)
        (Path(folder) / "note").write_text("mine")
    if why == "another folder":
        folder = f"{workspace}/src"
    made = make_folder(str(workspace), folder, worktrees=why != "off")
    assert made.branch is None and made.path.is_dir()
    assert not (made.path / ".git").exists()


def test_no_hook_of_the_repository_runs(repository: Path, tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    hook = repository / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {witness}\n")
    hook.chmod(0o755)
    assert make_folder(str(repository), topic(repository), worktrees=True).branch
    assert not witness.exists()


@pytest.mark.parametrize("part", ["topics", "topics/om_1"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, workspace: Path, part: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace / part).parent.mkdir(parents=True)
    (workspace / part).symlink_to(outside)
    with pytest.raises(OutsideWorkspace):
        make_folder(str(workspace), topic(workspace), worktrees=False)
    assert list(outside.iterdir()) == []


@pytest.fixture
def house(workspace: Path, tmp_path: Path) -> Path:
    """A workspace with folders, files and links of every kind; one person's beside another's."""
    for name in ("topics/om_1/src", "topics/om_2", "a folder"):
        (workspace / name).mkdir(parents=True)
    (workspace / "file").write_text("")
    (workspace.parent / "u_bob").mkdir()
    (workspace / "inside").symlink_to("topics/om_2")
    (workspace / "bob").symlink_to("../u_bob")
    (workspace / "root").symlink_to("/")
    (workspace / "circle").symlink_to("circle")
    return workspace


INSIDE = [
    ("src", "topics/om_1/src"),
    ("./src/", "topics/om_1/src"),
    ("..", "topics"),
    ("../om_2", "topics/om_2"),
    ("../..", ""),
    ("src/../..", "topics"),
    ("~", ""),
    ("~/topics/om_2", "topics/om_2"),
    ("~/a folder", "a folder"),
    ("~/inside", "topics/om_2"),
    ("{workspace}/topics", "topics"),
    (".", "topics/om_1"),
]
REFUSED = [
    ("../../..", OutsideWorkspace, "above the workspace"),
    ("../../../u_bob", OutsideWorkspace, "somebody else's workspace"),
    ("/", OutsideWorkspace, "an absolute path"),
    ("/etc", OutsideWorkspace, "another one"),
    ("~/..", OutsideWorkspace, "above, from the workspace on"),
    ("~/bob", OutsideWorkspace, "a link to somebody else's workspace"),
    ("~/root/etc", OutsideWorkspace, "a link to everything"),
    ("~/circle", OutsideWorkspace, "a link to itself"),
    ("{workspace}x", OutsideWorkspace, "a name that only begins alike"),
    ("nothing", NotADirectoryError, "not there"),
    ("~/file", NotADirectoryError, "a file"),
    ("~root", NotADirectoryError, "somebody's home means nothing here"),
    ("a\0b", NotADirectoryError, "the end of a C string"),
    ("x" * 300, OSError, "longer than a name can be"),
]


@pytest.mark.parametrize(("typed", "meant"), INSIDE)
def test_where_cd_leads(house: Path, typed: str, meant: str) -> None:
    found = find_folder(str(house), topic(house), typed.format(workspace=house))
    assert found == (house / meant if meant else house)


@pytest.mark.parametrize(("typed", "error", "why"), REFUSED, ids=[row[2] for row in REFUSED])
def test_where_cd_does_not_lead(house: Path, typed: str, error: type[Exception], why: str) -> None:
    with pytest.raises(error):
        find_folder(str(house), topic(house), typed.format(workspace=house))
