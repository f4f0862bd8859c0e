"""The official channel SDK, unmodified: answers "stream N characters in M ms" with its own streaming helper."""

import asyncio
import sys
from typing import Any

from lark_channel import FeishuChannel

from tests.bench.texts import LAST_WORDS, helper_text, read_question

PIECE_MS = 20  # as our demo agent


async def answer(channel: FeishuChannel, message: Any) -> None:
    characters, duration_ms = read_question(message.content_text)
    text, pieces = helper_text(characters)[: -len(LAST_WORDS)], max(1, duration_ms // PIECE_MS)

    async def produce(stream: Any) -> None:
        for number in range(pieces):
            await asyncio.sleep(duration_ms / pieces / 1000)
            await stream.append(text[len(text) * number // pieces : len(text) * (number + 1) // pieces])
        await stream.append(LAST_WORDS)

    await channel.stream(message.chat_id, {"markdown": produce}, {"reply_to": message.message_id})


def main(url: str) -> None:
    channel = FeishuChannel(app_id="cli_emulator", app_secret="secret", domain=url)

    async def on_message(message: Any) -> None:
        await answer(channel, message)

    channel.on("message", on_message)
    asyncio.run(channel.connect())


if __name__ == "__main__":
    main(sys.argv[1])
