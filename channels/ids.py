"""What each identifier means. Types only: nothing here runs.

Feishu's own ids keep Feishu's names. Ours are opaque strings made by the injected `Ids` port, except the two
epochs, which are integers that only rise.
"""

from typing import NewType

# Feishu's
MessageId = NewType("MessageId", str)  # om_…, unique in the tenant; the key of the message gate
ChatId = NewType("ChatId", str)  # oc_…
ThreadId = NewType("ThreadId", str)  # omt_…; the only thing that means "topic"
OpenId = NewType("OpenId", str)  # ou_…, per app
UserId = NewType("UserId", str)  # tenant's id of a person, or "open:<open_id>" where the app may not see it
CardId = NewType("CardId", str)  # a CardKit entity, lives 14 days
ReactionId = NewType("ReactionId", str)
EventId = NewType("EventId", str)  # differs between redeliveries of one message: never the gate's key

# Ours
SendUuid = NewType("SendUuid", str)  # the `uuid` of an intent: made once, sent with every retry, ≤ 50 characters
IntentId = NewType("IntentId", str)  # one row of the outbox: one visible effect
TurnId = NewType("TurnId", str)
SessionId = NewType("SessionId", str)
ConversationKey = NewType("ConversationKey", str)  # a thread_id, or "chat:p2p|group:<chat_id>:<user_id>"
ClaimKey = NewType("ClaimKey", str)  # "<chat_id>:<user_id>": at most one session is being established per key
OwnerEpoch = NewType("OwnerEpoch", int)  # number of this boot; fences everything an earlier boot still tries
StartEpoch = NewType("StartEpoch", int)  # number of this start of a turn; fences an earlier start of the same turn
ReservationId = NewType("ReservationId", str)  # what is held for one turn; the only thing that a release goes by
