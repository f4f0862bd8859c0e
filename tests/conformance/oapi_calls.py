"""Every call a bot needs, through the official lark-oapi client, unmodified; prints what came back as one JSON line.

Arguments: the emulator's URL, the message to answer, a message with a file and that file's key.
"""

import asyncio
import io
import json
import sys
from typing import Any

import lark_oapi as lark
from lark_oapi.api.cardkit import v1 as cardkit
from lark_oapi.api.im import v1 as im

CARD = {
    "schema": "2.0",
    "config": {"streaming_mode": True, "update_multi": True},
    "body": {"elements": [{"tag": "markdown", "element_id": "answer", "content": "…"}]},
}
PICTURE = b"\x89PNG\r\n\x1a\n" + b"\0" * 64


def inline(text: str) -> str:
    return json.dumps({"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": text}]}})


def reply_request(message_id: str, kind: str, content: str, uuid: str) -> Any:
    body = im.ReplyMessageRequestBody.builder().msg_type(kind).content(content).uuid(uuid).reply_in_thread(True)
    return im.ReplyMessageRequest.builder().message_id(message_id).request_body(body.build()).build()


def checked(response: Any) -> Any:
    if not response.success():
        raise SystemExit(f"{response.code} {response.msg} {response.get_log_id()}")
    return getattr(response, "data", None)


def messages(client: Any, message_id: str) -> dict[str, Any]:
    body = im.CreateMessageRequestBody.builder().receive_id("ou_alice").msg_type("text").uuid("create-1")
    request = im.CreateMessageRequest.builder().receive_id_type("open_id")
    request = request.request_body(body.content(json.dumps({"text": "hello"})).build()).build()
    created = checked(client.im.v1.message.create(request))
    again = checked(client.im.v1.message.create(request))
    first = checked(client.im.v1.message.reply(reply_request(message_id, "interactive", inline("one"), "reply-1")))
    second = checked(client.im.v1.message.reply(reply_request(message_id, "interactive", inline("one"), "reply-1")))
    patch = im.PatchMessageRequestBody.builder().content(inline("two")).build()
    checked(
        client.im.v1.message.patch(
            im.PatchMessageRequest.builder().message_id(first.message_id).request_body(patch).build()
        )
    )
    found = checked(client.im.v1.message.get(im.GetMessageRequest.builder().message_id(message_id).build()))
    listing = im.ListMessageRequest.builder().container_id_type("thread").container_id(first.thread_id).page_size(50)
    listed = checked(client.im.v1.message.list(listing.build()))
    return {
        "created": [created.message_id, again.message_id],
        "replied": [first.message_id, second.message_id],
        "thread_id": first.thread_id,
        "found": [each.message_id for each in found.items],
        "listed": [each.message_id for each in listed.items],
    }


def reactions(client: Any, message_id: str) -> dict[str, Any]:
    emoji = im.Emoji.builder().emoji_type("Typing").build()
    body = im.CreateMessageReactionRequestBody.builder().reaction_type(emoji).build()
    request = im.CreateMessageReactionRequest.builder().message_id(message_id).request_body(body).build()
    added = checked(client.im.v1.message_reaction.create(request))
    listed = checked(
        client.im.v1.message_reaction.list(im.ListMessageReactionRequest.builder().message_id(message_id).build())
    )
    removal = im.DeleteMessageReactionRequest.builder().message_id(message_id).reaction_id(added.reaction_id).build()
    checked(client.im.v1.message_reaction.delete(removal))
    return {"added": added.reaction_id, "listed": [each.operator.operator_type for each in listed.items]}


def media(client: Any, message_id: str, file_key: str) -> dict[str, Any]:
    image = im.CreateImageRequestBody.builder().image_type("message").image(io.BytesIO(PICTURE)).build()
    uploaded = checked(client.im.v1.image.create(im.CreateImageRequest.builder().request_body(image).build()))
    upload = im.CreateFileRequestBody.builder().file_type("stream").file_name("a.txt").file(io.BytesIO(b"data")).build()
    stored = checked(client.im.v1.file.create(im.CreateFileRequest.builder().request_body(upload).build()))
    request = im.GetMessageResourceRequest.builder().message_id(message_id).file_key(file_key).type("file").build()
    response = client.im.v1.message_resource.get(request)
    return {"image": uploaded.image_key, "file": stored.file_key, "downloaded": response.file.read().decode()}


async def cards(client: Any, message_id: str) -> dict[str, Any]:
    """The asynchronous half: entity, reply, streaming, settings, full update."""
    body = cardkit.CreateCardRequestBody.builder().type("card_json").data(json.dumps(CARD)).build()
    created = checked(
        await client.cardkit.v1.card.acreate(cardkit.CreateCardRequest.builder().request_body(body).build())
    )
    content = json.dumps({"type": "card", "data": {"card_id": created.card_id}})
    sent = checked(await client.im.v1.message.areply(reply_request(message_id, "interactive", content, "card-1")))
    for sequence, text in enumerate(("a", "ab", "abc"), 1):
        part = (
            cardkit.ContentCardElementRequestBody.builder()
            .content(text)
            .sequence(sequence)
            .uuid(f"s{sequence}")
            .build()
        )
        request = cardkit.ContentCardElementRequest.builder().card_id(created.card_id).element_id("answer")
        checked(await client.cardkit.v1.card_element.acontent(request.request_body(part).build()))
    off = cardkit.SettingsCardRequestBody.builder().settings(json.dumps({"config": {"streaming_mode": False}}))
    request = cardkit.SettingsCardRequest.builder().card_id(created.card_id)
    checked(await client.cardkit.v1.card.asettings(request.request_body(off.sequence(4).uuid("s4").build()).build()))
    card = cardkit.Card.builder().type("card_json").data(inline("final")).build()
    full = cardkit.UpdateCardRequestBody.builder().card(card).sequence(5).uuid("s5").build()
    request = cardkit.UpdateCardRequest.builder().card_id(created.card_id).request_body(full).build()
    checked(await client.cardkit.v1.card.aupdate(request))
    late = await client.cardkit.v1.card.aupdate(request)
    return {"card_id": created.card_id, "message_id": sent.message_id, "late": late.code}


def main(url: str, message_id: str, file_message_id: str, file_key: str) -> None:
    client = lark.Client.builder().app_id("cli_emulator").app_secret("secret").domain(url).build()
    result = messages(client, message_id)
    result["reactions"] = reactions(client, message_id)
    result["media"] = media(client, file_message_id, file_key)
    result["cards"] = asyncio.run(cards(client, message_id))
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
