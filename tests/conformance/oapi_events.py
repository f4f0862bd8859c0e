"""The official lark-oapi long-connection client, unmodified, in its own thread: prints every event, answers clicks.

A message is answered from inside the handler, by a reply with the synchronous client.
"""

import json
import sys
import threading
from typing import Any

import lark_oapi as lark
from lark_oapi.api.im.v1 import ReplyMessageRequest, ReplyMessageRequestBody
from lark_oapi.event.callback.model.p2_card_action_trigger import P2CardActionTriggerResponse

CARD = {"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": "press"}]}}


def say(**line: Any) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main(url: str) -> None:
    client = lark.Client.builder().app_id("cli_emulator").app_secret("secret").domain(url).build()

    def on_message(data: Any) -> None:
        message, sender = data.event.message, data.event.sender.sender_id
        text = json.loads(message.content).get("text", "")
        kind, content = ("interactive", CARD) if "card" in text else ("text", {"text": f"echo {text[:20]}"})
        body = ReplyMessageRequestBody.builder().msg_type(kind).content(json.dumps(content))
        request = ReplyMessageRequest.builder().message_id(message.message_id).request_body(body.build()).build()
        reply = client.im.v1.message.reply(request)
        mentions = [mention.id.open_id for mention in message.mentions or []]
        say(
            event="message",
            message_id=message.message_id,
            length=len(text),
            chat_type=message.chat_type,
            thread_id=message.thread_id,
            open_id=sender.open_id,
            user_id=sender.user_id,
            mentions=mentions,
            reply=reply.data.message_id if reply.success() else None,
        )

    def on_card(data: Any) -> Any:
        action = data.event.action
        say(event="card", value=action.value, form=action.form_value, message_id=data.event.context.open_message_id)
        done = {"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": "done"}]}}
        return P2CardActionTriggerResponse(
            {"toast": {"type": "success", "content": "saved"}, "card": {"type": "raw", "data": done}}
        )

    builder = lark.EventDispatcherHandler.builder("", "")
    builder.register_p2_im_message_receive_v1(on_message)
    builder.register_p2_im_message_recalled_v1(lambda data: say(event="recall", message_id=data.event.message_id))
    builder.register_p2_card_action_trigger(on_card)
    socket = lark.ws.Client("cli_emulator", "secret", event_handler=builder.build(), domain=url)
    threading.Thread(target=socket.start, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
