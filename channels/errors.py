"""Errors, named by what the caller must do about them.

A Feishu failure is exactly one of three things: it certainly did not happen and may be tried again (`RetryLater`), it
certainly did not happen and trying again the same way is useless (`ApiRefused`), or nobody knows (`OutcomeUnknown`).
Code that switches to another way of saying the same thing may do so after `ApiRefused` only.
"""

from enum import StrEnum


class CodeKind(StrEnum):
    """What a Feishu error code asks of the caller (feishu.codes holds the table)."""

    MESSAGE_GONE = "message_gone"  # recalled, deleted, not found: answer as a new message to the chat
    CHAT_GONE = "chat_gone"  # bot not in chat, dissolved, no right to speak: terminal for the chat
    RATE = "rate"  # wait as long as the header says, then the same request with the same uuid
    MONTHLY_QUOTA = "monthly_quota"  # stop streaming frames, tell the admins
    TOO_LARGE = "too_large"  # page
    CARD_CONTENT = "card_content"  # neutral card, then text
    STREAMING_CLOSED = "streaming_closed"  # reopen, or finish with a full update
    SEQUENCE = "sequence"  # jump ahead, never loop
    REPEATED_UUID = "repeated_uuid"  # already done
    EXPIRED = "expired"  # 14 days over: a new message
    AUDIT = "audit"  # mask e-mail addresses once, then a short explanation
    NO_THREAD = "no_thread"  # reply outside a thread (chat route)
    IN_FLIGHT = "in_flight"  # the same uuid is being handled: wait, then read back
    TOKEN = "token"  # drop the token, fetch once, retry once
    SCOPE = "scope"  # terminal; doctor explains
    PARAMETER = "parameter"  # terminal
    CALLBACK = "callback"  # the app's callback settings; doctor explains
    CARD_BUSY = "card_busy"  # somebody is pressing a button: wait, then again
    SERVER = "server"  # 5xx, HTML, empty body: retry, same uuid
    OTHER = "other"  # a code the table does not know: terminal, logged with its number


class ChannelsError(Exception):
    """Everything this service raises on purpose."""


class RetryLater(ChannelsError):
    """It did not happen. The same request with the same uuid may be sent after `after_ms` (0: own back-off)."""

    def __init__(self, after_ms: int, kind: CodeKind, code: int = 0, why: str = "") -> None:
        super().__init__(f"{kind}: {why or code}" + (f", again in {after_ms} ms" if after_ms else ""))
        self.after_ms, self.kind, self.code, self.why = after_ms, kind, code, why


class ApiRefused(ChannelsError):
    """Feishu said no, for certain. `kind` says what to do instead; `code`, `msg`, `log_id` are for people."""

    def __init__(self, kind: CodeKind, code: int, msg: str = "", log_id: str = "") -> None:
        super().__init__(f"Feishu refused with {code} ({kind}): {msg} [log id {log_id or '-'}]")
        self.kind, self.code, self.msg, self.log_id = kind, code, msg, log_id


class OutcomeUnknown(ChannelsError):
    """The request left and no usable answer came back. It may have happened: same uuid again, never another way."""


class Refused(ChannelsError):
    """A person asked for something that is not allowed or not possible; `user_text` is fit for a chat."""

    def __init__(self, code: str, user_text: str) -> None:
        super().__init__(f"{code}: {user_text}")
        self.code, self.user_text = code, user_text


class LeaseLost(ChannelsError):
    """A newer owner or a newer start has this row. Stop silently."""


class QuotaExceeded(ChannelsError):
    """The person's quota for the window is used up."""


class ConfigError(ChannelsError):
    """A setting is wrong. `key` is its full name, `why` says what was found and what would be right."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"{key}: {why}")
        self.key, self.why = key, why


class StartRefused(ChannelsError):
    """This process must not run (second instance, newer file, foreign file): exit code 3, nothing was changed."""


class Broken(ChannelsError):
    """An invariant does not hold. Nothing sensible can be done here; the loop's head logs it and goes on."""
