"""Workloads with access on approval: strangers wait, admins decide."""

from tests.crash.stage import Expect, Stage

DAYS = 24 * 3600.0


async def approval(stage: Stage) -> None:
    """One stranger is let in and answered, one is denied, one is never decided about; commands change it all."""
    admin = stage.world.private_chat("Alice")
    await stage.answered(stage.say("hello, I am the admin"))
    let_in = stage.say("may I?", "Bob", expect=Expect.PENDING)
    await stage.decide(admin, "access_allow")
    await stage.answered(let_in)
    denied = stage.say("and me?", "\u5f20\u4e09", expect=Expect.TAKEN_BACK)
    await stage.decide(admin, "access_deny")
    stage.say("please!", "\u5f20\u4e09", expect=Expect.TAKEN_BACK)
    for text in ("/users", "/requests", "/revoke u_bob", "/grant u_bob", "/grant u_bob wiki_read"):
        await stage.answered(stage.say(text, expect=Expect.NOTICE))
    await stage.answered(stage.say("again", "Bob", expect=Expect.NOTICE))
    stage.world.add_person("Carol")
    undecided = stage.say("anybody?", "Carol", expect=Expect.TAKEN_BACK)
    await stage.until(lambda: stage.button_in_chat(admin, "access_allow"))
    await stage.advance(9 * DAYS)
    await stage.quiet()
    assert denied != undecided
