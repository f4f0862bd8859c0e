"""Who exists in the emulated tenant: people, the bot, chats, and the ids by which Feishu names them."""

from dataclasses import dataclass, field
from enum import Enum

from channels.emulator.errors import ApiError

GROUP, TOPICS, PLAIN = "oc_group", "oc_topics", "oc_plain"  # ordinary group, topic group, group without threads


@dataclass(slots=True)
class Person:
    open_id: str
    user_id: str
    union_id: str
    name: str
    email: str = ""
    available: bool = True  # inside the bot's availability range; else 230013
    app_id: str = ""  # set for another bot, which then is no person

    def ids(self, *, with_user_id: bool) -> dict[str, str | None]:
        """The three ids as events carry them."""
        return {
            "union_id": self.union_id,
            "user_id": self.user_id if with_user_id else None,
            "open_id": self.open_id,
        }


@dataclass(slots=True)
class Bot:
    app_id: str
    open_id: str
    name: str


class Kind(Enum):
    P2P = "p2p"
    GROUP = "group"
    TOPIC = "topic"


@dataclass(slots=True)
class Chat:
    """`topic` groups give every root message its own thread; `threads_allowed=False` refuses reply_in_thread."""

    chat_id: str
    kind: Kind
    name: str
    members: list[str] = field(default_factory=list)  # open_ids of people
    threads_allowed: bool = True
    bot_in_chat: bool = True
    disbanded: bool = False
    muted: bool = False  # nobody but the owner may speak: 230018 for the bot

    @property
    def chat_type(self) -> str:
        return "p2p" if self.kind is Kind.P2P else "group"


class Directory:
    """Finds people by any id and chats by id; the ids of the default cast are stable across restarts."""

    def __init__(self) -> None:
        self.people: dict[str, Person] = {}
        self.chats: dict[str, Chat] = {}

    def add_person(self, name: str, slug: str) -> Person:
        """A person with a private chat with the bot; `slug` makes the ids: ou_<slug>, u_<slug>, oc_p2p_<slug>."""
        person = Person(f"ou_{slug}", f"u_{slug}", f"on_{slug}", name, f"{slug}@example.com")
        self.people[person.open_id] = person
        self.add_chat(f"oc_p2p_{slug}", Kind.P2P, name, [person.open_id])
        return person

    def add_chat(self, chat_id: str, kind: Kind, name: str, members: list[str]) -> Chat:
        chat = self.chats[chat_id] = Chat(chat_id, kind, name, members)
        return chat

    def person(self, who: Person | str) -> Person:
        """By open_id, user_id, union_id, e-mail or name; KeyError when unknown."""
        if isinstance(who, Person):
            return who
        found = self.people.get(who) or self.find_person(who)
        if found is None:
            raise KeyError(who)
        return found

    def find_person(self, who: str) -> Person | None:
        for person in self.people.values():
            if who in (person.open_id, person.user_id, person.union_id, person.email, person.name):
                return person
        return None

    def private_chat(self, who: Person | str) -> Chat:
        person = self.person(who)
        for chat in self.chats.values():
            if chat.kind is Kind.P2P and person.open_id in chat.members:
                return chat
        raise KeyError(person.open_id)

    def receiver(self, id_type: str, receive_id: str) -> Chat:
        """The chat a bot's message goes to, or Feishu's refusal."""
        if id_type == "chat_id":
            chat = self.chats.get(receive_id)
            if chat is None:
                raise ApiError(230001, "invalid receive_id")
            return chat
        if id_type not in ("open_id", "user_id", "union_id", "email"):
            raise ApiError(99992402, "receive_id_type is invalid")
        for person in self.people.values():
            if getattr(person, id_type) == receive_id:
                return self.private_chat(person)
        if id_type == "open_id" and receive_id.startswith("ou_"):
            raise ApiError(99992361)
        raise ApiError(230034)


def default_cast(directory: Directory) -> None:
    """Three people with a private chat each, and three groups in which all of them and the bot sit."""
    people = [
        directory.add_person("张三", "zhang_san"),
        directory.add_person("Alice", "alice"),
        directory.add_person("Bob", "bob"),
    ]
    members = [person.open_id for person in people]
    directory.add_chat(GROUP, Kind.GROUP, "产品讨论 Product", list(members))
    directory.add_chat(TOPICS, Kind.TOPIC, "话题群 Topics", list(members))
    plain = directory.add_chat(PLAIN, Kind.GROUP, "公告群 Announcements", list(members))
    plain.threads_allowed = False
