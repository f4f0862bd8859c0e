"""OpenAI's responses, as far as Codex speaks them."""

import json
from collections.abc import Mapping
from typing import Any

from tests.conformance.agents.fake_openai import Pause, Raw, Reply, Step
from tests.real_agents.dialects.chat import arguments_of, text_of
from tests.real_agents.mind import Call, Conversation, Listening, Say, Thought

USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 110,
}


def hear(body: Mapping[str, Any]) -> Conversation:
    listening = Listening()
    for item in body["input"]:
        if item.get("role") == "user":
            listening.text(text_of(item["content"]))
        elif item.get("type") == "function_call_output":
            listening.result(text_of(item["output"]))
    named = [tool for tool in body.get("tools", ()) if "name" in tool]
    return listening.heard({tool["name"]: arguments_of(tool.get("parameters")) for tool in named})


def say(thought: Thought, body: Mapping[str, Any]) -> Reply:
    number = len(body["input"])
    steps: list[Step] = [_event("response.created", response={"id": f"resp_{number}"})]
    match thought:
        case Say(pieces, pause_s):
            item = _message(number, "")
            steps.append(_event("response.output_item.added", output_index=0, item=item))
            for piece in pieces:
                steps.append(Pause(pause_s))
                steps.append(_event("response.output_text.delta", item_id=item["id"], output_index=0, delta=piece))
            item = _message(number, thought.text)
        case Call(tool, arguments):
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": tool}
            item["arguments"] = json.dumps(dict(arguments))
    steps.append(_event("response.output_item.done", output_index=0, item=item))
    done = {"id": f"resp_{number}", "status": "completed", "output": [item], "usage": USAGE}
    return Reply.of(steps, _event("response.completed", response=done))


def _message(number: int, text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}


def _event(kind: str, **more: Any) -> Raw:
    return Raw(f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode())
