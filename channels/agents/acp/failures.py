"""Why a turn of a process agent failed, as values, and the sentence that a person reads about each.

As in `agents.failures`: what happened, what was kept, what to do. Nothing of the agent's standard error is shown; it
goes to the log.
"""

from dataclasses import dataclass
from typing import assert_never

from channels.agents.failures import is_chinese


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The program could not be run: not installed, no right to run it."""

    program: str


@dataclass(frozen=True, slots=True)
class EndedAtStart:
    """It ended, or closed its output, before it was ready."""


@dataclass(frozen=True, slots=True)
class SlowStart:
    limit_s: float


@dataclass(frozen=True, slots=True)
class OtherProtocol:
    """It speaks another major version of the protocol, or something else altogether."""


@dataclass(frozen=True, slots=True)
class LoginNeeded:
    """It wants somebody to log in."""


@dataclass(frozen=True, slots=True)
class NotLoaded:
    """It could not load the old session: it refused, was too slow (`limit_s`), or ended meanwhile."""

    limit_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process ended in the middle of the turn."""


@dataclass(frozen=True, slots=True)
class Flooded:
    """It wrote a message of a size that nobody can read."""


@dataclass(frozen=True, slots=True)
class Unhearing:
    """It took none of what it had asked for."""


@dataclass(frozen=True, slots=True)
class Silent:
    """Nothing came for so long. `phase`: first (no word at all) or between."""

    phase: str
    limit_s: float


@dataclass(frozen=True, slots=True)
class AgentSaid:
    """It answered with an error; `said` is its short text, cleaned of secrets."""

    said: str = ""


@dataclass(frozen=True, slots=True)
class Declined:
    """Stop reason refusal."""


@dataclass(frozen=True, slots=True)
class StepsUsedUp:
    """Stop reason max_turn_requests."""


@dataclass(frozen=True, slots=True)
class GaveUp:
    """Stop reason cancelled, although nobody stopped it."""


ProcessFailure = (
    NotStarted
    | EndedAtStart
    | SlowStart
    | OtherProtocol
    | LoginNeeded
    | NotLoaded
    | Crashed
    | Flooded
    | Unhearing
    | Silent
    | AgentSaid
    | Declined
    | StepsUsedUp
    | GaveUp
)


class Trouble(Exception):
    """Raised on the way of a turn; ends it with the sentence of `failure`."""

    def __init__(self, failure: ProcessFailure) -> None:
        super().__init__(type(failure).__name__)
        self.failure = failure


def sentence(failure: ProcessFailure, agent: str, language: str) -> str:
    """What the person reads about `failure` of the agent with this name."""
    english, chinese = _pair(failure, agent)
    return chinese if is_chinese(language) else english


def reopened(agent: str, language: str) -> str:
    """Said before the first answer of an agent that cannot go on with its own session (it cannot load any, or not in
    another folder): what it knows and what it does not."""
    if is_chinese(language):
        return (
            f"> 助手 {agent} 无法接着使用它原来的会话。已把之前的对话文字交给它，"
            "但它当时读过的文件和工具结果需要重新查看。\n\n"
        )
    return (
        f"> The agent {agent} cannot go on with its own earlier session. It was given the words of the conversation "
        "so far, but has to look again at files and tool results.\n\n"
    )


def _pair(failure: ProcessFailure, agent: str) -> tuple[str, str]:
    match failure:
        case NotStarted() | EndedAtStart() | SlowStart() | OtherProtocol() | LoginNeeded() | NotLoaded():
            return _start_pair(failure, agent)
        case _:
            return _turn_pair(failure, agent)


def _start_pair(
    failure: NotStarted | EndedAtStart | SlowStart | OtherProtocol | LoginNeeded | NotLoaded, agent: str
) -> tuple[str, str]:
    match failure:
        case NotStarted(program):
            return (
                f"The agent {agent} could not be started: `{program}` cannot be run on the bot's machine. "
                "The bot's owner has to install it or correct `command` of this agent.",
                f"无法启动助手 {agent}：机器人所在的机器上无法运行 `{program}`。"
                "请机器人的管理员安装它，或修正该助手的 `command`。",
            )
        case EndedAtStart():
            return (
                f"The agent {agent} ended before it was ready. Please try again; if it happens again, the bot's owner "
                "has to look at the log, where its last words are.",
                f"助手 {agent} 还没准备好就退出了。请再试一次；如果仍然这样，请机器人的管理员查看日志中它最后的输出。",
            )
        case SlowStart(limit_s):
            return (
                f"The agent {agent} was not ready within {limit_s:g} seconds and was ended. Please try again; if it "
                "happens again, the bot's owner has to look at the log or raise `start_timeout_s`.",
                f"助手 {agent} 在 {limit_s:g} 秒内没有准备好，已结束。请再试一次；"
                "如果仍然这样，请机器人的管理员查看日志或调大 `start_timeout_s`。",
            )
        case OtherProtocol():
            return (
                f"The agent {agent} does not speak a version of the Agent Client Protocol that this bot knows. "
                "The bot's owner has to update the agent or the bot, or correct `command`.",
                f"助手 {agent} 使用的 Agent Client Protocol 版本不受支持。"
                "请机器人的管理员更新助手或机器人，或修正 `command`。",
            )
        case LoginNeeded():
            return (
                f"The agent {agent} asks for a login. The bot's owner has to log it in on the bot's machine, or to set "
                "`authenticate` or a key in `env` of this agent.",
                f"助手 {agent} 需要登录。请机器人的管理员在机器人所在的机器上登录它，"
                "或在该助手的设置中填写 `authenticate` 或 `env` 里的密钥。",
            )
        case NotLoaded(limit_s):
            why_en = f" within {limit_s:g} seconds" if limit_s else ""
            why_zh = f"在 {limit_s:g} 秒内" if limit_s else ""
            return (
                f"The agent {agent} could not load this session again{why_en}. Nothing was deleted, and its number is "
                "kept: send the message again to try once more, or start a fresh session, which does not know what "
                "was said so far.",
                f"助手 {agent} 未能{why_zh}重新载入本次会话。没有删除任何内容，原会话编号仍然保留："
                "可以重新发送消息再试一次，或开始一个全新的会话（它不了解之前的对话）。",
            )
        case _:
            assert_never(failure)


def _turn_pair(
    failure: Crashed | Flooded | Unhearing | Silent | AgentSaid | Declined | StepsUsedUp | GaveUp, agent: str
) -> tuple[str, str]:
    match failure:
        case Crashed():
            return (
                f"The agent {agent} ended unexpectedly in the middle of its work. What had arrived is kept; what it "
                "was doing last may be half done. Send a message to go on: it is started again.",
                f"助手 {agent} 在工作中途意外退出。已收到的内容已保留；它最后的操作可能只完成了一半。"
                "再发一条消息即可继续，它会重新启动。",
            )
        case Flooded():
            return (
                f"The agent {agent} sent a message that is too large to be read and was ended. What had arrived before "
                "is kept. Send a message to go on, and ask for less at once.",
                f"助手 {agent} 发来的消息过大，无法读取，已结束。之前收到的内容已保留。"
                "再发一条消息即可继续，请一次少要一些内容。",
            )
        case Unhearing():
            return (
                f"The agent {agent} asked for more and more and took none of it, and was ended. What had arrived is "
                "kept. Send a message to go on: it is started again.",
                f"助手 {agent} 不断请求数据却不接收，已结束。已收到的内容已保留。再发一条消息即可继续，它会重新启动。",
            )
        case Silent("first", limit_s):
            return (
                f"The agent {agent} said nothing for {limit_s:g} seconds and was stopped. Please try again.",
                f"助手 {agent} 在 {limit_s:g} 秒内没有任何回应，已停止。请再试一次。",
            )
        case Silent(_, limit_s):
            return (
                f"The agent {agent} stopped in the middle: nothing came for {limit_s:g} seconds. What had arrived is "
                "kept. Please ask it to go on.",
                f"助手 {agent} 中途停住了：{limit_s:g} 秒内没有新内容。已收到的内容已保留，请让它继续。",
            )
        case AgentSaid(said):
            return (
                f"The agent {agent} reported an error{f': {said}' if said else ''}. Please try again.",
                f"助手 {agent} 报告了错误{f'：{said}' if said else ''}。请再试一次。",
            )
        case Declined():
            return (
                f"The agent {agent} declines to go on with this request. Please word it differently.",
                f"助手 {agent} 拒绝继续处理这个请求。请换个说法再试。",
            )
        case StepsUsedUp():
            return (
                f"The agent {agent} has used up the steps it may take for one message. What it has done is kept. "
                "Please ask it to go on.",
                f"助手 {agent} 已用完处理一条消息所允许的步数。已完成的内容已保留，请让它继续。",
            )
        case GaveUp():
            return (
                f"The agent {agent} broke off its work by itself. What had arrived is kept. Please ask it to go on.",
                f"助手 {agent} 自行中断了工作。已收到的内容已保留，请让它继续。",
            )
        case _:
            assert_never(failure)
