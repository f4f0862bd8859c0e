"""Who writes, and where: twenty people, five groups, and forty topics that they have opened."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.integration.house import House

CAST = ("Alice", "Bob", "张三")  # those that the emulator has anyway


@dataclass(frozen=True, slots=True)
class Place:
    """A topic (`thread_id`) or a chat, and who may write there."""

    chat_id: str
    people: tuple[str, ...]
    thread_id: str | None = None

    @property
    def is_private(self) -> bool:
        return len(self.people) == 1


@dataclass(slots=True)
class Town:
    people: tuple[str, ...]
    private: tuple[Place, ...]  # in the order of `people`
    groups: tuple[Place, ...]
    topics: list[Place] = field(default_factory=list)  # filled by `open_topics`


def build_town(house: House, chance: random.Random, people: int = 20, groups: int = 5, seats: int = 12) -> Town:
    """People with their private chats, and groups of some of them."""
    names = (*CAST, *(f"Person {number}" for number in range(len(CAST) + 1, people + 1)))[:people]
    for name in names[len(CAST) :]:
        house.world.add_person(name)
    chats = []
    for number in range(groups):
        members = tuple(chance.sample(names, min(seats, people)))
        chats.append(Place(house.world.add_chat(f"Group {number}", members).chat_id, members))
    return Town(names, tuple(Place(house.world.private_chat(name), (name,)) for name in names), tuple(chats))


async def open_topics(house: House, town: Town, topics: int = 40) -> Sequence[str]:
    """One topic in every private chat, the others in the groups; all are opened at once. The first messages' ids."""
    openings = [(place, place.people[0]) for place in town.private]
    for number in range(topics - len(openings)):
        group = town.groups[number % len(town.groups)]
        openings.append((group, group.people[number // len(town.groups)]))
    said = [
        house.say(f"<opening {number}>", user, place.chat_id, mention_bot=not place.is_private)
        for number, (place, user) in enumerate(openings)
    ]
    for message_id, (place, _) in zip(said, openings, strict=True):
        reply = await house.shown(message_id)
        town.topics.append(Place(place.chat_id, place.people, reply.thread_id))
    await house.quiet(120)
    return said
