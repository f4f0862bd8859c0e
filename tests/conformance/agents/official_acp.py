"""An agent written with the official package's own agent side: the witness that we speak what it speaks.

python -m tests.conformance.agents.official_acp
"""

import asyncio
from typing import Any, cast

import acp
from acp import schema


class Witness:
    """Does all it can in one turn, and says what it got."""

    def __init__(self) -> None:
        self._client: acp.Client | None = None
        self._cancelled = asyncio.Event()

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: schema.ClientCapabilities | None = None,
        client_info: schema.Implementation | None = None,
        **kwargs: Any,
    ) -> acp.InitializeResponse:
        assert client_capabilities is not None
        assert client_capabilities.fs is not None
        assert client_info is not None
        return acp.InitializeResponse(
            protocol_version=protocol_version,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True, prompt_capabilities=schema.PromptCapabilities(image=True, embedded_context=True)
            ),
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        option = schema.SessionConfigOptionSelect(
            id="model",
            name="Model",
            category="model",
            type="select",
            current_value="m-1",
            options=[
                schema.SessionConfigSelectOption(value="m-1", name="Model One"),
                schema.SessionConfigSelectOption(value="m-2", name="Model Two"),
            ],
        )
        self._options = [option]
        return acp.NewSessionResponse(session_id=f"official:{cwd}", config_options=[option])

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> acp.LoadSessionResponse | None:
        await self._say(session_id, "REPLAYED")
        return acp.LoadSessionResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **kwargs: Any
    ) -> schema.SetSessionConfigOptionResponse:
        option = self._options[0].model_copy(update={"current_value": value})
        return schema.SetSessionConfigOptionResponse(config_options=[option])

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self._cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> acp.PromptResponse:
        text = "".join(block.text for block in prompt if isinstance(block, schema.TextContentBlock))
        if text == "wait":
            await self._say(session_id, "waiting")
            await self._cancelled.wait()
            return acp.PromptResponse(stop_reason="cancelled")
        client = self._client
        assert client is not None
        await client.session_update(session_id, acp.update_agent_thought_text("hm"))
        await client.session_update(session_id, acp.update_plan([acp.plan_entry("look", status="completed")]))
        diff = acp.tool_diff_content("made.txt", "two\n", "one\n")
        start = acp.start_tool_call("t1", "Edit made.txt", kind="edit", status="pending", content=[diff])
        await client.session_update(session_id, start)
        options = [
            schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
            schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        call = schema.ToolCallUpdate(tool_call_id="t1", title="Edit made.txt", kind="edit", content=[diff])
        decided = await client.request_permission(options=options, session_id=session_id, tool_call=call)
        folder = session_id.removeprefix("official:")
        await client.write_text_file(content="two\n", path=f"{folder}/made.txt", session_id=session_id)
        read = await client.read_text_file(path=f"{folder}/made.txt", session_id=session_id)
        await client.session_update(session_id, acp.update_tool_call("t1", status="completed"))
        option = decided.outcome.option_id if isinstance(decided.outcome, schema.AllowedOutcome) else "none"
        await self._say(session_id, f"{text}|{option}|{read.content}|{len(prompt)}")
        usage = schema.Usage(total_tokens=12, input_tokens=10, output_tokens=2)
        return acp.PromptResponse(stop_reason="end_turn", usage=usage)

    async def _say(self, session_id: str, text: str) -> None:
        assert self._client is not None
        await self._client.session_update(session_id, acp.update_agent_message_text(text))


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast(acp.Agent, Witness())))
