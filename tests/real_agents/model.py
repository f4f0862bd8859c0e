"""The fake model behind real agents: one mind, one server, four dialects."""

import argparse
import asyncio
from dataclasses import dataclass, field

from tests.conformance.agents.fake_openai import FakeOpenAi, Reply, Request
from tests.real_agents.dialects import chat, gemini, messages, responses
from tests.real_agents.mind import Conversation, think


@dataclass(slots=True)
class Model:
    """Answers every request that an agent makes of its model, and keeps what it heard.

    Speak to it through a `FakeOpenAi(answer=Model())`; its root address is that of the server without the /v1.
    """

    heard: list[Conversation] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        path, body = request.path, request.body
        if path.endswith("/chat/completions"):
            return chat.say(think(self._hear(chat.hear(body))), body)
        if path.endswith("/responses"):
            return responses.say(think(self._hear(responses.hear(body))), body)
        if path.endswith("/messages"):
            return messages.say(think(self._hear(messages.hear(body))), body)
        if path.endswith(("generateContent", "GenerateContent")):
            return gemini.say(think(self._hear(gemini.hear(body))), "stream" in path)
        return Reply.error(404, "this model has no such call")

    def _hear(self, heard: Conversation) -> Conversation:
        if heard.tools and heard.orders:
            self.heard.append(heard)
        return heard


async def _serve(port: int) -> None:
    async with FakeOpenAi(port, answer=Model()) as server:
        print(server.base_url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The fake model alone, for trying an agent by hand.")
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(_serve(parser.parse_args().port))
