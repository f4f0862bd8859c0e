"""The echo bot of lark-channel-sdk, unmodified but for the domain: answers every message with its text as Markdown."""

import asyncio
import sys
import threading
from typing import Any

from lark_channel import FeishuChannel

URL = sys.argv[1]
channel = FeishuChannel(app_id="cli_emulator", app_secret="secret", domain=URL)


async def on_message(message: Any) -> None:
    await channel.send(
        message.chat_id, {"markdown": f"received: {message.content_text}"}, {"reply_to": message.message_id}
    )


def end_with_standard_input() -> None:
    sys.stdin.read()
    channel.stop()


if __name__ == "__main__":
    channel.on("message", on_message)
    threading.Thread(target=end_with_standard_input, daemon=True).start()
    asyncio.run(channel.connect())
