"""One check, and how Feishu's refusals are explained."""

from dataclasses import dataclass

from channels.errors import ApiRefused, CodeKind, OutcomeUnknown, RetryLater
from channels.feishu.reconnect import Fatal

CONSOLE = "in the developer console, page 权限管理 (Permissions & Scopes)"
PUBLISH = "then publish a version of the app (版本管理与发布), so that it takes effect"
WRONG_DOMAIN, TOO_MANY, AUTH_FAILED, FORBIDDEN = 1000040351, 1000040350, 514, 403
FATAL_MENDS = {
    WRONG_DOMAIN: 'the app belongs to the other platform: set feishu.domain to "lark" for an international app, to '
    '"feishu" for a Chinese one',
    TOO_MANY: "the app has 50 connections already: stop other programs that use the same app_id",
    AUTH_FAILED: "app_id and app_secret do not belong together: copy both again from the console, page 凭证与基础信息",
    FORBIDDEN: "in the console, page 事件与回调, choose 使用长连接接收事件 (receive events through a long connection)",
}


@dataclass(frozen=True, slots=True)
class Check:
    """`state`: ok, warning (works, with something missing), failed, skipped."""

    name: str
    state: str
    found: str
    mend: str = ""


def ok(name: str, found: str) -> Check:
    return Check(name, "ok", found)


def warning(name: str, found: str, mend: str) -> Check:
    return Check(name, "warning", found, mend)


def failed(name: str, found: str, mend: str) -> Check:
    return Check(name, "failed", found, mend)


def skipped(name: str, why: str) -> Check:
    return Check(name, "skipped", why)


def explain(error: RetryLater | ApiRefused | OutcomeUnknown) -> tuple[str, str]:
    """What Feishu said, and how to mend it."""
    match error:
        case ApiRefused(code=code, msg=msg, kind=CodeKind.SCOPE):
            return (
                f"Feishu refuses with {code}: {msg}",
                f"give the app the permission that this names {CONSOLE}, {PUBLISH}",
            )
        case ApiRefused(code=code, msg=msg):
            return f"Feishu refuses with {code}: {msg}", "look the number up in Feishu's list of server codes"
        case RetryLater(kind=CodeKind.TOKEN, code=10003 | 10014 | 10012, why=why):
            return f"no token: {why}", "copy app_id and app_secret again from the console, page 凭证与基础信息"
        case RetryLater(kind=CodeKind.TOKEN, code=code, why=why):
            return f"no token: {code} {why}", "check app_id, app_secret and feishu.domain"
        case RetryLater(why=why):
            return f"no usable answer: {why}", "check the network, feishu.proxy and feishu.domain; then try again"
        case _:
            return str(error), "try again"


def explain_fatal(fatal: Fatal) -> str:
    """How to mend what makes a long connection impossible."""
    return FATAL_MENDS.get(fatal.code, "look the number up in Feishu's list of server codes")
