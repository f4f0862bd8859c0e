"""`session/update` notifications as events. Pure, and forgiving: what cannot be read is left, the turn goes on."""

from collections.abc import Mapping
from typing import Any, Final

from acp import schema
from pydantic import ValidationError

from channels.agents.acp.tool_book import ToolBook
from channels.agents.acp.tool_texts import block_text
from channels.rules.agent_event import AgentEvent, PlanUpdated, ReasoningDelta, TextDelta, UsageReported

PLAN_ENTRIES: Final = 100
ENTRY_CHARACTERS: Final = 500


def read_update(update: Mapping[str, Any], book: ToolBook, now: float) -> list[AgentEvent]:
    """The events of one update. Raises ValueError for one that says something else than its kind must say."""
    try:
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                text = _chunk(update)
                return [TextDelta(text)] if text else []
            case "agent_thought_chunk":
                text = _chunk(update)
                return [ReasoningDelta(text)] if text else []
            case "tool_call" | "tool_call_update":
                return book.take(schema.ToolCallUpdate.model_validate(update), now)
            case "plan":
                return [_plan(schema.Plan.model_validate(update).entries)]
            case "plan_update":
                plan = schema.PlanUpdate.model_validate(update).plan
                return [_plan(plan.entries)] if isinstance(plan, schema.PlanUpdateItems) else []
            case "plan_removed":
                return [PlanUpdated(())]
            case _:
                return []
    except ValidationError as error:
        raise ValueError(str(update.get("sessionUpdate"))) from error


def read_usage(result: Mapping[str, Any]) -> UsageReported | None:
    """What a finished prompt says it has used.

    Agents count in two ways: with what came from the cache inside of `inputTokens`, or beside it. The total tells
    which; ours always has it inside.
    """
    try:
        usage = schema.Usage.model_validate(result.get("usage"))
    except ValidationError:
        return _read_quota(result)
    cached, written = usage.cached_read_tokens or 0, usage.cached_write_tokens or 0
    beside = usage.total_tokens >= usage.input_tokens + usage.output_tokens + cached + written
    whole = usage.input_tokens + (cached + written if beside else 0)
    return UsageReported(max(whole, cached), usage.output_tokens, cached)


def _read_quota(result: Mapping[str, Any]) -> UsageReported | None:
    """The way of Gemini CLI, which says it beside the protocol."""
    match result.get("_meta"):
        case {"quota": {"token_count": {"input_tokens": int(read), "output_tokens": int(written)}}}:
            return UsageReported(max(read, 0), max(written, 0))
        case _:
            return None


def since(usage: UsageReported, before: UsageReported | None) -> UsageReported:
    """What was used after `before`, for counts that add up. One that is smaller has begun anew."""
    if before is None or usage.input_tokens < before.input_tokens or usage.output_tokens < before.output_tokens:
        return usage
    return UsageReported(
        usage.input_tokens - before.input_tokens,
        usage.output_tokens - before.output_tokens,
        max(usage.cached_tokens - before.cached_tokens, 0),
    )


def read_context(update: Mapping[str, Any]) -> UsageReported | None:
    """What `usage_update` says: the tokens in the session's context. Of a turn that reports nothing better, it is what
    at least the last request has read."""
    used = update.get("used")
    return UsageReported(used) if isinstance(used, int) and used > 0 else None


def _chunk(update: Mapping[str, Any]) -> str:
    """The words of a chunk. Plain text, of which there may be thousands in a second, takes the short way."""
    content = update.get("content")
    if isinstance(content, dict) and content.get("type") == "text" and isinstance(content.get("text"), str):
        return str(content["text"])
    return block_text(schema.ContentChunk.model_validate(update).content)


def _plan(entries: list[schema.PlanEntry]) -> PlanUpdated:
    return PlanUpdated(tuple((one.content[:ENTRY_CHARACTERS], one.status) for one in entries[:PLAN_ENTRIES]))
