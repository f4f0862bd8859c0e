"""Workloads of other kinds of message: files, forwards, quotes, edits, places that the bot comes to."""

from channels.emulator.accounts import GROUP
from tests.crash.stage import Expect, Stage

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(64)


async def files(stage: Stage) -> None:
    """A picture and a file, which the agent is given."""
    chat = stage.world.private_chat("Alice")
    await stage.answered(stage.note(stage.world.send_file("Alice", chat, "a.png", PNG, "image"), "a picture"))
    await stage.answered(stage.note(stage.world.send_file("Alice", chat, "a.txt", b"some words"), "a file"))


async def forwards(stage: Stage) -> None:
    """A forward with its comment is one question; one without is a question after its window."""
    inside = [stage.world.say(name, GROUP, f"line of {name}", push=False) for name in ("Alice", "Bob")]
    for message_id in inside:
        stage.note(message_id, "between people", Expect.UNNOTICED)
    chat = stage.world.private_chat("Alice")
    forward = stage.note(stage.world.forward("Alice", chat, inside), "a forward", Expect.TAKEN_BACK)
    comment = stage.say("who is right?")
    await stage.until(lambda: stage.has_ended(comment) or stage.has_ended(forward))
    alone = stage.note(stage.world.forward("Bob", stage.world.private_chat("Bob"), inside), "a lonely forward")
    await stage.answered(alone)


async def forward_behind(stage: Stage) -> None:
    """A forward and its comment come while the conversation is still being established. Whichever of them is decided
    first takes the other along."""
    inside = [stage.world.say("Bob", GROUP, "a line", push=False)]
    stage.note(inside[0], "between people", Expect.UNNOTICED)
    stage.fault("cardkit.card.create", "delay", seconds=0.3)
    first = stage.say("hello")
    chat = stage.world.private_chat("Alice")
    forward = stage.note(stage.world.forward("Alice", chat, inside), "a forward", Expect.TAKEN_BACK)
    comment = stage.say("what about this?")
    await stage.answered(first)
    await stage.until(lambda: stage.has_ended(comment) or stage.has_ended(forward))


async def quotes(stage: Stage) -> None:
    """Somebody's message and the bot's own card are quoted; a question is edited while it waits."""
    said = stage.say("the meeting is at nine", "Bob", GROUP, push=False, expect=Expect.UNNOTICED)
    asked = stage.say("when?", chat_id=GROUP, mention_bot=True, parent_id=said)
    await stage.answered(asked)
    card = stage.replies(asked)[0].message_id
    await stage.answered(stage.say("say that again", chat_id=GROUP, mention_bot=True, parent_id=card))
    stage.world.edit("Alice", asked, "when exactly?")


async def new_places(stage: Stage) -> None:
    """The bot is added to a group, somebody opens the private chat, the group is dissolved."""
    stage.world.enter_private_chat("Bob")
    stage.world.remove_bot(GROUP)
    stage.world.add_bot(GROUP)
    await stage.answered(stage.say("welcome", chat_id=GROUP, mention_bot=True))
    await stage.quiet()
    stage.world.disband(GROUP)
    await stage.answered(stage.say("hello", "Bob"))


async def sessions(stage: Stage) -> None:
    """Several sessions of one person: listed, resumed, counted."""
    await stage.answered(stage.say("first session"))
    await stage.answered(stage.say("/new", expect=Expect.NOTICE))
    await stage.answered(stage.say("second session"))
    for text in ("/sessions", "/resume", "/resume 2", "/usage", "/cd", "/cd somewhere", "/status"):
        await stage.answered(stage.say(text, expect=Expect.NOTICE))
    await stage.answered(stage.say("in the first again"))


async def agents(stage: Stage) -> None:
    """Another agent is chosen for what comes, and then in a topic."""
    await stage.answered(stage.say("/agent", expect=Expect.NOTICE))
    await stage.answered(stage.say("/agent coder", expect=Expect.NOTICE))
    first = stage.say("hello")
    await stage.answered(first)
    topic = stage.world.message(first).thread_id
    await stage.answered(stage.say("/agent demo", thread_id=topic, expect=Expect.NOTICE))
    await stage.answered(stage.say("in the topic", thread_id=topic))


async def put_away(stage: Stage) -> None:
    """Conversations are archived, taken out again, resumed, and deleted by a button that is pressed twice."""
    first = stage.say("first session")
    await stage.answered(first)
    for text in ("/archive", "/archive", "/resume 1", "/unarchive 1", "/resume 1"):
        await stage.answered(stage.say(text, expect=Expect.NOTICE))
    await stage.answered(stage.say("in the first again"))
    await stage.answered(stage.say("in a topic", "Bob", GROUP, mention_bot=True))
    await stage.answered(stage.say("/archive 1", "Bob", GROUP, mention_bot=True, expect=Expect.NOTICE))
    await stage.quiet()
    asked = stage.say("/delete 1", expect=Expect.NOTICE)
    await stage.answered(asked)
    for _ in range(2):
        if stage.button(asked, "session_delete"):
            await stage.press(asked, "session_delete")
    await stage.answered(stage.say("a fresh one"))


async def other_bots(stage: Stage) -> None:
    """Another app's bot asks, in a group where bots are answered."""
    stage.world.add_other_bot("Robot", "robot", [GROUP])
    await stage.answered(stage.say("beep", "Robot", GROUP, mention_bot=True))


async def workspaces(stage: Stage) -> None:
    """Folders for people and topics; a topic begins anew in the same folder, and moves to another."""
    first = stage.say("hello")
    await stage.answered(first)
    topic = stage.world.message(first).thread_id
    for text in ("/new", "/cd other", "/usage", "/cd .."):
        await stage.answered(stage.say(text, thread_id=topic, expect=Expect.NOTICE))
    await stage.answered(stage.say("where are we", thread_id=topic))
