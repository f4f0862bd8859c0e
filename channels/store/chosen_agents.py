"""Table `chosen_agents`: which agent answers a person's new conversations in a chat."""

from channels.ids import ChatId, ConversationKey, UserId
from channels.store.tx import Tx

PUT_CHOICE = """
INSERT INTO chosen_agents (key, agent, chosen_at) VALUES (:key, :agent, :now)
ON CONFLICT (key) DO UPDATE SET agent = excluded.agent, chosen_at = excluded.chosen_at
"""
SELECT_CHOICE = "SELECT agent FROM chosen_agents WHERE key = :key"
SELECT_PRIVATE = (
    "SELECT key FROM chosen_agents WHERE key LIKE 'chat:p2p:%' AND substr(key, -length(:end)) = :end LIMIT 1"
)


def put_choice(tx: Tx, chat_key: ConversationKey, agent: str, now: int) -> None:
    """From here on this person's new conversations in this chat are answered by that agent."""
    tx.execute(PUT_CHOICE, {"key": chat_key, "agent": agent, "now": now})


def find_choice(tx: Tx, chat_key: ConversationKey) -> str:
    """The agent that was chosen, "" where nobody chose; it may not be configured any more."""
    row = tx.row(SELECT_CHOICE, {"key": chat_key})
    return str(row[0]) if row else ""


def private_chat_of(tx: Tx, user_id: UserId) -> ChatId | None:
    """The private chat in which this person has chosen."""
    row = tx.row(SELECT_PRIVATE, {"end": f":{user_id}"})
    return ChatId(row[0].removeprefix("chat:p2p:").removesuffix(f":{user_id}")) if row else None
