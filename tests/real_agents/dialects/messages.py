"""Anthropic's messages."""

import json
from collections.abc import Mapping
from typing import Any

from tests.conformance.agents.fake_openai import Pause, Raw, Reply, Step
from tests.real_agents.dialects.chat import arguments_of, text_of
from tests.real_agents.mind import Call, Conversation, Listening, Say, Thought

USAGE = {"input_tokens": 100, "output_tokens": 10}


def hear(body: Mapping[str, Any]) -> Conversation:
    listening = Listening()
    for part in [part for message in body["messages"] if message["role"] == "user" for part in _parts(message)]:
        if part.get("type") == "tool_result":
            listening.result(text_of(part.get("content")))
        else:
            listening.text(text_of([part]))
    return listening.heard({tool["name"]: arguments_of(tool.get("input_schema")) for tool in body.get("tools", ())})


def say(thought: Thought, body: Mapping[str, Any]) -> Reply:
    # Claude Code takes answers with one id for pieces of one message, so every id must be new.
    number = sum(len(_parts(message)) for message in body["messages"])
    block = _block(thought, number)
    reason = "end_turn" if isinstance(thought, Say) else "tool_use"
    head = {"id": f"msg_{number:04}", "type": "message", "role": "assistant", "model": body["model"], "usage": USAGE}
    if not body.get("stream"):
        whole = {**head, "content": [block], "stop_reason": reason, "stop_sequence": None}
        return Reply((Raw(json.dumps(whole).encode()),), content_type="application/json")
    start = {**head, "content": [], "stop_reason": None, "stop_sequence": None}
    steps: list[Step] = [_event("message_start", message=start)]
    match thought:
        case Say(pieces, pause_s):
            steps.append(_event("content_block_start", index=0, content_block={**block, "text": ""}))
            for piece in pieces:
                steps += [Pause(pause_s), _delta(type="text_delta", text=piece)]
        case Call(_, arguments):
            steps.append(_event("content_block_start", index=0, content_block={**block, "input": {}}))
            steps.append(_delta(type="input_json_delta", partial_json=json.dumps(dict(arguments))))
    ending = {"stop_reason": reason, "stop_sequence": None}
    steps += [_event("content_block_stop", index=0), _event("message_delta", delta=ending, usage=USAGE)]
    return Reply.of(steps, _event("message_stop"))


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _block(thought: Thought, number: int) -> dict[str, Any]:
    match thought:
        case Say():
            return {"type": "text", "text": thought.text}
        case Call(tool, arguments):
            return {"type": "tool_use", "id": f"toolu_{number:04}", "name": tool, "input": dict(arguments)}


def _delta(**delta: str) -> Raw:
    return _event("content_block_delta", index=0, delta=delta)


def _event(kind: str, **more: Any) -> Raw:
    return Raw(f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode())
