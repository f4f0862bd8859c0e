"""Why a run failed, as values, and the sentence that a person reads about each, in Chinese and English.

A sentence says what happened and what to do now: first what the person in the chat can do, then, where only the owner
of the bot can mend it, what the owner should look at. It never holds a key, an address with a password or a trace.
"""

from dataclasses import dataclass
from typing import assert_never


@dataclass(frozen=True, slots=True)
class AgentClosed:
    """The service is shutting down, or the agent was replaced."""


@dataclass(frozen=True, slots=True)
class AgentFault:
    """Our own code failed; the log has the trace."""


@dataclass(frozen=True, slots=True)
class DemoError:
    """The demo agent was asked for an error."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No connection: name not found, refused, TLS, proxy."""

    host: str


@dataclass(frozen=True, slots=True)
class TooSlow:
    """A time limit passed. `phase` is connect, first, between or whole; `limit_s` is the limit."""

    phase: str
    limit_s: float


@dataclass(frozen=True, slots=True)
class KeyRefused:
    """401 or 403."""

    status: int


@dataclass(frozen=True, slots=True)
class NoSuchModel:
    """404: the model, or the address."""

    model: str


@dataclass(frozen=True, slots=True)
class CreditUsedUp:
    """402, or 429 that says that the quota is used up: waiting does not help."""


@dataclass(frozen=True, slots=True)
class RateLimited:
    """429 after all tries; `wait_s` is what the server asks for, 0 when it says nothing."""

    wait_s: int = 0


@dataclass(frozen=True, slots=True)
class ContextTooLong:
    """The conversation does not fit the model."""


@dataclass(frozen=True, slots=True)
class RequestRefused:
    """Another 4xx; `said` is the server's own short text, cleaned of secrets."""

    status: int
    said: str = ""


@dataclass(frozen=True, slots=True)
class ServerDown:
    """5xx after all tries."""

    status: int


@dataclass(frozen=True, slots=True)
class NotAnApi:
    """A web page or something else that is no completion came back; the address is probably wrong."""


@dataclass(frozen=True, slots=True)
class BrokenStream:
    """The connection was lost or the data were damaged. `begun`: something of the answer had arrived."""

    begun: bool


@dataclass(frozen=True, slots=True)
class ServerSaid:
    """The stream itself carried an error; `said` is its short text, cleaned of secrets."""

    said: str = ""


@dataclass(frozen=True, slots=True)
class EmptyAnswer:
    """The model ended without a word."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """The model's content filter cut the answer."""


Failure = (
    AgentClosed
    | AgentFault
    | DemoError
    | Unreachable
    | TooSlow
    | KeyRefused
    | NoSuchModel
    | CreditUsedUp
    | RateLimited
    | ContextTooLong
    | RequestRefused
    | ServerDown
    | NotAnApi
    | BrokenStream
    | ServerSaid
    | EmptyAnswer
    | Filtered
)


def is_chinese(language: str) -> bool:
    """Whether texts in `language` ("zh", "zh-CN", "en" …) are the Chinese ones; everything else reads English."""
    return language.lower().startswith("zh")


def sentence(failure: Failure, language: str) -> str:
    """What the person reads about `failure`."""
    english, chinese = _pair(failure)
    return chinese if is_chinese(language) else english


def _pair(failure: Failure) -> tuple[str, str]:
    match failure:
        case AgentClosed():
            return (
                "The agent was shut down before it had finished. Please send the message again in a minute.",
                "助手在回答完之前被关闭了。请过一会儿重新发送这条消息。",
            )
        case AgentFault():
            return (
                "Something went wrong inside the bot. Please try again; if it happens again, tell the bot's owner "
                "to look at the log.",
                "机器人内部出错了。请再试一次；如果仍然这样，请让机器人的管理员查看日志。",
            )
        case DemoError():
            return (
                "This is the error that you asked for. Nothing is wrong: send another message to go on.",
                "这就是你要看的出错示例。一切正常：再发一条消息即可继续。",
            )
        case KeyRefused() | NoSuchModel() | CreditUsedUp() | RateLimited() | ContextTooLong() | RequestRefused():
            return _refused_pair(failure)
        case _:
            return _trouble_pair(failure)


def _refused_pair(
    failure: KeyRefused | NoSuchModel | CreditUsedUp | RateLimited | ContextTooLong | RequestRefused,
) -> tuple[str, str]:
    match failure:
        case KeyRefused(status):
            return (
                f"The model's service does not accept the bot's key (HTTP {status}). "
                "The bot's owner has to check `api_key` of this agent.",
                f"模型服务不接受机器人的密钥（HTTP {status}）。请机器人的管理员检查该助手的 `api_key`。",
            )
        case NoSuchModel(model):
            return (
                f"The model `{model}` was not found at the configured address (HTTP 404). "
                "The bot's owner has to check `model` and `base_url` of this agent.",
                f"在所配置的地址找不到模型 `{model}`（HTTP 404）。请机器人的管理员检查该助手的 `model` 和 `base_url`。",
            )
        case CreditUsedUp():
            return (
                "The credit at the model's service is used up. The bot's owner has to top it up or raise its limit.",
                "模型服务的额度已用完。请机器人的管理员充值或调高额度。",
            )
        case RateLimited(wait_s):
            return (
                f"The model's service is getting too many requests. Please try again {_wait_en(wait_s)}.",
                f"模型服务的请求过于频繁。请{_wait_zh(wait_s)}再试。",
            )
        case ContextTooLong():
            return (
                "This conversation has become too long for the model. Send /new to start a fresh one, "
                "or send a shorter message.",
                "这段对话对模型来说太长了。请发送 /new 开始新的对话，或者把消息缩短。",
            )
        case RequestRefused(status, said):
            return (
                f"The model's service refused the request (HTTP {status}{_said(said, ': ')}). "
                "Please word it differently; if that does not help, tell the bot's owner.",
                f"模型服务拒绝了这次请求（HTTP {status}{_said(said, '：')}）。"
                "请换个说法再试；仍不行请告知机器人的管理员。",
            )
        case _:
            assert_never(failure)


def _trouble_pair(
    failure: Unreachable | TooSlow | ServerDown | NotAnApi | BrokenStream | ServerSaid | EmptyAnswer | Filtered,
) -> tuple[str, str]:
    match failure:
        case Unreachable(host):
            return (
                f"The model's service at {host} cannot be reached. Please try again in a minute; if it lasts, "
                "the bot's owner has to check `base_url`, `proxy` and the network.",
                f"连不上模型服务 {host}。请过一会儿再试；"
                "如果一直这样，请机器人的管理员检查 `base_url`、`proxy` 和网络。",
            )
        case TooSlow(phase, limit_s):
            return _slow_pair(phase, limit_s)
        case ServerDown(status):
            return (
                f"The model's service is out of order (HTTP {status}). Please try again in a few minutes.",
                f"模型服务暂时出现故障（HTTP {status}）。请过几分钟再试。",
            )
        case NotAnApi():
            return (
                "The configured address did not answer like a model. The bot's owner has to check `base_url` of this "
                "agent: it usually ends in /v1.",
                "所配置的地址返回的不是模型的回答。请机器人的管理员检查该助手的 `base_url`：它通常以 /v1 结尾。",
            )
        case BrokenStream(begun):
            return _broken_pair(begun)
        case ServerSaid(said):
            return (
                f"The model's service reported an error{_said(said, ': ')}. Please try again.",
                f"模型服务报告了错误{_said(said, '：')}。请再试一次。",
            )
        case EmptyAnswer():
            return (
                "The model gave an empty answer. Please try again or word the message differently.",
                "模型没有给出任何内容。请再试一次，或者换个说法。",
            )
        case Filtered():
            return (
                "The model's content filter stopped this answer. Please word the message differently.",
                "模型的内容审核中止了这次回答。请换个说法再试。",
            )
        case _:
            assert_never(failure)


def _slow_pair(phase: str, limit_s: float) -> tuple[str, str]:
    match phase:
        case "between":
            return (
                f"The model stopped in the middle: nothing came for {limit_s:g} seconds. What had arrived is kept. "
                "Please ask it to go on.",
                f"模型中途停住了：{limit_s:g} 秒内没有新内容。已收到的内容已保留，请让它继续。",
            )
        case "whole":
            return (
                f"The answer took longer than {limit_s:g} seconds and was ended. What had arrived is kept.",
                f"回答超过了 {limit_s:g} 秒的时限，已结束。已收到的内容已保留。",
            )
        case _:
            return (
                f"The model did not begin to answer within {limit_s:g} seconds. Please try again.",
                f"模型在 {limit_s:g} 秒内没有开始回答。请再试一次。",
            )


def _broken_pair(begun: bool) -> tuple[str, str]:
    if begun:
        return (
            "The connection to the model was lost in the middle of the answer. What had arrived is kept. "
            "Please ask it to go on.",
            "与模型的连接在回答中途断开了。已收到的内容已保留，请让它继续。",
        )
    return (
        "The connection to the model was lost before the answer began. Please try again.",
        "在开始回答之前，与模型的连接断开了。请再试一次。",
    )


def _said(said: str, before: str) -> str:
    return f"{before}{said}" if said else ""


def _wait_en(wait_s: int) -> str:
    return f"in {wait_s} seconds" if wait_s else "in a minute"


def _wait_zh(wait_s: int) -> str:
    return f" {wait_s} 秒后" if wait_s else "过一会儿"
