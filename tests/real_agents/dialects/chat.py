"""OpenAI's chat completions."""

import json
from collections.abc import Mapping
from typing import Any

from tests.conformance.agents.fake_openai import Data, Pause, Raw, Reply, Step, chunk
from tests.real_agents.mind import Call, Conversation, Listening, Say, Thought

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def hear(body: Mapping[str, Any]) -> Conversation:
    listening = Listening()
    for message in body["messages"]:
        if message["role"] == "user":
            listening.text(text_of(message["content"]))
        elif message["role"] == "tool":
            listening.result(text_of(message["content"]))
    functions = [tool["function"] for tool in body.get("tools", ())]
    return listening.heard({each["name"]: arguments_of(each.get("parameters")) for each in functions})


def say(thought: Thought, body: Mapping[str, Any]) -> Reply:
    if not body.get("stream"):
        return Reply((Raw(json.dumps(_whole(thought)).encode()),), content_type="application/json")
    steps: list[Step] = [chunk({"role": "assistant", "content": ""})]
    match thought:
        case Say(pieces, pause_s):
            for piece in pieces:
                steps += [Pause(pause_s), chunk({"content": piece})]
            steps.append(chunk({}, "stop"))
        case Call():
            steps += [chunk({"tool_calls": [{"index": 0, **_call(thought, body)}]}), chunk({}, "tool_calls")]
    return Reply.of(steps, Data({"choices": [], "usage": USAGE}), Data("[DONE]"))


def _whole(thought: Thought) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    match thought:
        case Say():
            message["content"] = thought.text
        case Call():
            message["tool_calls"] = [_call(thought, {})]
    reason = "stop" if isinstance(thought, Say) else "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {"id": "fake-1", "object": "chat.completion", "model": "fake", "choices": [choice], "usage": USAGE}


def _call(call: Call, body: Mapping[str, Any]) -> dict[str, Any]:
    """Its id is new in each request of a conversation, as a conversation only grows."""
    function = {"name": call.tool, "arguments": json.dumps(dict(call.arguments))}
    return {"id": f"call_{len(body.get('messages', ()))}", "type": "function", "function": function}


def text_of(content: Any) -> str:
    """The text of a message whose content is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text") or "") for part in parts if isinstance(part, dict))


def arguments_of(schema: Any) -> frozenset[str]:
    """The names of a tool's arguments."""
    return frozenset((schema or {}).get("properties", {}))
