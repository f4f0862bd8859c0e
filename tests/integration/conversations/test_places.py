"""Where a conversation works: the folder exists before the agent needs it, and stands in the log and in the route."""

import json
import shutil
from pathlib import Path

from channels.emulator.accounts import GROUP
from tests.integration import cards_seen
from tests.integration.cards_seen import WORDS
from tests.integration.conftest import OpenHouse
from tests.integration.conversations.conftest import make_repository, names_in, read, say, workspace
from tests.integration.house import House

IN_CHAT = {"private": "chat", "group": "chat"}
ROUTE = "SELECT workspace_path, session_dir, worktree_branch FROM routes WHERE key = :key"
FOLDERS = "SELECT body FROM session_events WHERE kind = 'working-directory/change' ORDER BY at, number"


async def folders(house: House) -> list[tuple[str, str | None]]:
    """Every entry of the logs about folders."""
    bodies = [json.loads(row[0]) for row in await house.rows(FOLDERS)]
    return [(body["folder"], body["branch"]) for body in bodies]


async def test_a_topic_works_in_its_own_folder(house: House) -> None:
    message_id, reply = await house.ask("hello")
    home = workspace(house)
    topic = home / "topics" / message_id
    assert topic.is_dir()
    assert await house.rows(ROUTE, key=reply.thread_id) == [(str(home), str(topic), None)]
    assert await folders(house) == [(str(topic), None)]
    assert await house.one("SELECT cwd FROM sessions") == str(home)
    await house.ask("more", thread_id=reply.thread_id)
    other, _ = await house.ask("another question")
    assert names_in(home / "topics") == sorted([message_id, other])


async def test_a_group_has_a_workspace_for_each_of_its_people(house: House) -> None:
    asked = {user: (await house.ask("hello", user, GROUP, mention_bot=True))[0] for user in ("Alice", "Bob")}
    for user, message_id in asked.items():
        assert (workspace(house, f"groups/{GROUP}/u_{user.lower()}") / "topics" / message_id).is_dir()
    assert not workspace(house).exists()


async def test_outside_topics_the_workspace_itself_is_the_folder(open_house: OpenHouse) -> None:
    house = await open_house(topics=IN_CHAT)
    await house.ask("hello")
    home = workspace(house)
    assert await house.rows(ROUTE, key="chat:p2p:oc_p2p_alice:u_alice") == [(str(home), str(home), None)]
    assert names_in(home) == []


async def test_a_topic_in_a_repository_gets_a_worktree(open_house: OpenHouse) -> None:
    house = await open_house(start=False, workspace={"worktrees": True})
    home = workspace(house)
    make_repository(home)
    await house.start()
    message_id, reply = await house.ask("hello")
    topic, branch = str(home / "topics" / message_id), f"channels/{message_id}"
    assert names_in(home / "topics" / message_id) == [".git"]
    assert await house.rows(ROUTE, key=reply.thread_id) == [(str(home), topic, branch)]
    assert (await folders(house))[-1] == (topic, branch)
    await house.ask("more", thread_id=reply.thread_id)
    assert len(await folders(house)) == 2, "nothing changes with the second question"


async def test_a_folder_that_was_deleted_is_made_again(house: House) -> None:
    message_id, reply = await house.ask("hello")
    shutil.rmtree(workspace(house))
    await house.ask("more", thread_id=reply.thread_id)
    assert (workspace(house) / "topics" / message_id).is_dir()


async def test_a_folder_that_cannot_be_made_is_said(house: House) -> None:
    """The card says so; the next question is tried again."""
    _, reply = await house.ask("hello")
    shutil.rmtree(workspace(house))
    workspace(house).write_text("a file where a folder should be")
    refused = await say(house, "more", thread_id=reply.thread_id)
    assert WORDS.error_folder in refused
    assert await house.one("SELECT outcome FROM turns ORDER BY seq DESC LIMIT 1") == "failed"
    workspace(house).unlink()
    again, _ = await house.ask("once more", thread_id=reply.thread_id)
    house.assert_answered_once(again)


async def test_a_link_that_leads_out_is_not_followed(house: House, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace(house).mkdir(parents=True)
    (workspace(house) / "topics").symlink_to(outside)
    assert WORDS.error_folder in await say(house, "hello")
    assert names_in(outside) == []


class TestCd:
    """/cd moves a conversation inside its workspace, from the next question on."""

    async def test_there_and_back(self, house: House) -> None:
        message_id, reply = await house.ask("hello")
        home, thread = workspace(house), reply.thread_id
        (home / "topics" / message_id / "src").mkdir()
        assert f"~/topics/{message_id}" in await say(house, "/cd", thread_id=thread)
        assert f"~/topics/{message_id}/src" in await say(house, "/cd src", thread_id=thread)
        assert (await house.rows(ROUTE, key=thread))[0][1] == str(home / "topics" / message_id / "src")
        status = await say(house, "/status", thread_id=thread)
        assert f"topics/{message_id}/src" in status
        assert "~" in await say(house, "/cd ~", thread_id=thread)
        assert (await folders(house))[-1] == (str(home), None)

    async def test_it_does_not_leave_the_workspace(self, house: House) -> None:
        _, reply = await house.ask("hello")
        before = await folders(house)
        for typed in ("../../..", "/", "/etc", "~/.."):
            said = await say(house, f"/cd {typed}", thread_id=reply.thread_id)
            assert said.endswith(WORDS.cd_outside.format(folder=f"`{typed}`"))
        assert WORDS.cd_missing.format(folder="`nowhere`") in await say(house, "/cd nowhere", thread_id=reply.thread_id)
        assert await folders(house) == before

    async def test_where_there_is_no_conversation_there_is_no_folder(self, house: House) -> None:
        await house.ask("hello")
        assert WORDS.cd_nowhere in await say(house, "/cd src")

    async def test_a_new_conversation_in_the_topic_stays_there(self, house: House) -> None:
        message_id, reply = await house.ask("hello")
        (workspace(house) / "topics" / message_id / "src").mkdir()
        await house.ask("/cd src", thread_id=reply.thread_id)
        await house.ask("/new", thread_id=reply.thread_id)
        await house.ask("go on", thread_id=reply.thread_id)
        assert (await folders(house))[-1][0].endswith(f"{message_id}/src")
        assert await house.one("SELECT count(*) FROM sessions") == 2


async def test_people_see_the_failure_on_a_finished_card(house: House) -> None:
    workspace(house).parent.mkdir(parents=True)
    workspace(house).write_text("")
    message_id, reply = await house.ask("hello")
    assert not cards_seen.is_running(house.card(reply.message_id))
    assert WORDS.phase_failed in read(house, message_id)
