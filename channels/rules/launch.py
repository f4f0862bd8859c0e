"""Turns that nobody's message causes: launches and wake-ups. Pure.

A launch opens a topic on somebody's behalf, a wake-up goes on in one that is there. Whoever asks gives a key: the same
request under one key makes one turn, however often it comes; another request under it is refused.
"""

import json
import re
from hashlib import blake2b

from channels.ids import ChatId, ClaimKey, MessageId, TurnId

LAUNCH, WAKE = "launch", "wake"
TEXT_BYTES = 100_000
_KEY = re.compile(r"[\x21-\x7e]{1,128}")
_PENDING = "launch:"  # the claim of a launch whose card has no message id yet


def is_key(text: str) -> bool:
    """Whether this can name a request: 1 to 128 printable ASCII characters without spaces."""
    return _KEY.fullmatch(text) is not None


def digest_of(*parts: str) -> str:
    """Tells whether two requests ask for the same: 32 hexadecimal digits."""
    return blake2b(json.dumps(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def pending_claim(turn_id: TurnId) -> MessageId:
    """Stands for the message under which a launch's topic will hang, until that has an id."""
    return MessageId(f"{_PENDING}{turn_id}")


def is_pending(message_id: MessageId) -> bool:
    return message_id.startswith(_PENDING)


def launch_claim_key(chat_id: ChatId, turn_id: TurnId) -> ClaimKey:
    """Launches of one chat do not wait for each other, nor for what the person establishes there."""
    return ClaimKey(f"{launch_claims_of(chat_id)}{turn_id}")


def launch_claims_of(chat_id: ChatId) -> str:
    """What the keys of all launches of one chat begin with."""
    return f"{_PENDING}{chat_id}:"
