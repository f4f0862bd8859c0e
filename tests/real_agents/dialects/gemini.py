"""Google's generateContent."""

import json
from collections.abc import Mapping
from typing import Any

from tests.conformance.agents.fake_openai import Data, Pause, Raw, Reply, Step
from tests.real_agents.dialects.chat import arguments_of, text_of
from tests.real_agents.mind import Call, Conversation, Listening, Say, Thought

USAGE = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}


def hear(body: Mapping[str, Any]) -> Conversation:
    listening = Listening()
    for part in [part for each in body["contents"] if each.get("role") == "user" for part in each["parts"]]:
        if "functionResponse" in part:
            response = part["functionResponse"].get("response") or {}
            listening.result(str(response.get("output") or response.get("error")))
        else:
            listening.text(text_of([part]))
    functions = [each for tool in body.get("tools", ()) for each in tool.get("functionDeclarations", ())]
    return listening.heard({each["name"]: arguments_of(each.get("parametersJsonSchema")) for each in functions})


def say(thought: Thought, streams: bool) -> Reply:
    if not streams:
        match thought:
            case Say():
                whole = _candidate({"text": thought.text}, last=True)
            case Call():
                whole = _candidate(_call(thought), last=True)
        return Reply((Raw(json.dumps(whole).encode()),), content_type="application/json")
    steps: list[Step] = []
    match thought:
        case Say(pieces, pause_s):
            for piece in pieces:
                steps += [Pause(pause_s), Data(_candidate({"text": piece}))]
            steps.append(Data(_candidate({"text": ""}, last=True)))
        case Call():
            steps.append(Data(_candidate(_call(thought), last=True)))
    return Reply.of(steps)


def _call(call: Call) -> dict[str, Any]:
    return {"functionCall": {"name": call.tool, "args": dict(call.arguments)}}


def _candidate(part: dict[str, Any], last: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": [part]}}
    if last:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "fake"}
