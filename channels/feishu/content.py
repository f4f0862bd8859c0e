"""A whole message event → `rules.message.Message`. Pure: lark_channel's normaliser, without deps, ends in one step.

Before it runs, the bot's own mention is taken out of the raw content: the normaliser's own way of doing that squeezes
every run of blanks (an indented code block loses its shape) and misses the placeholder that posts carry. Tags that it
does not know become text, so that no paragraph is lost.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from channels.feishu.envelopes import envelope_of, mapping, person, text
from channels.feishu.normaliser import PIPELINE
from channels.rules.message import Message, Resource

_KNOWN_TAGS = frozenset({"text", "a", "at", "emotion", "img", "media", "code_block", "hr", "md"})
_PLACEHOLDER = re.compile(r"@_user_\d+")
_AT_ALL = re.compile(r"@_all(?![A-Za-z0-9_])")
_UNSUPPORTED = "[unsupported message]"  # what the normaliser makes of a type that it does not know
_FAULTS = (TypeError, AttributeError, ValueError, LookupError, RecursionError)


def normalise(raw: str, bot_open_id: str) -> Message:
    """The message in a receive event's payload. `text` is Markdown without the bot's own mention.

    `raw` is what `MessageReceived.raw` held. Content that the normaliser cannot take comes out as the texts found in
    it, never as an error. Raises ValueError only for a payload that `events.parse` does not call MessageReceived.
    """
    event = mapping(json.loads(raw), "event")
    envelope = envelope_of(event)
    message = mapping(event, "message")
    mentions = [mention for mention in _items(message.get("mentions")) if isinstance(mention, dict)]
    bot_keys = _bot_keys(mentions, bot_open_id)
    content = _loaded(text(message, "content"))
    prepared, seen_bot = _prepared(envelope.message_type, content, bot_keys)
    words, resources = _normalised(message, mentions, prepared)
    if words == _UNSUPPORTED and envelope.message_type != "text":
        words, resources = "", (Resource("other", "", envelope.message_type),)
    return Message(
        envelope,
        _whole(words).strip(),
        mentioned_bot=seen_bot or bool(bot_keys - {bot_open_id}),
        mentioned_all=_mentions_all(mentions, content),
        resources=resources + _named_only(envelope.message_type, content),
        mentioned=tuple(
            replace(person(mapping(one, "id")), name=text(one, "name"))
            for one in mentions
            if text(one, "key") not in bot_keys and text(mapping(one, "id"), "open_id")
        ),
    )


def _named_only(message_type: str, content: dict[str, Any]) -> tuple[Resource, ...]:
    """The place, person, group or folder that a message of such a type shows."""
    match message_type:
        case "location":
            name = text(content, "name")
            at = [str(content[key]) for key in ("latitude", "longitude") if isinstance(content.get(key), str | float)]
            return (Resource("location", "", f"{name} ({', '.join(at)})".strip() if len(at) == 2 else name),)
        case "share_chat":
            return (Resource("share_chat", "", text(content, "chat_id")),)
        case "share_user":
            return (Resource("share_user", "", text(content, "user_id")),)
        case "folder":
            return (Resource("folder", text(content, "file_key"), text(content, "file_name")),)
        case _:
            return ()


def _normalised(
    message: Mapping[str, object], mentions: list[dict[str, Any]], content: dict[str, Any]
) -> tuple[str, tuple[Resource, ...]]:
    event = {**message, "content": json.dumps(content), "mentions": mentions}
    try:
        result = _finish(PIPELINE.normalize(message_event=event, sender={}))
    except _FAULTS:
        return "\n".join(_texts_in(content)), ()
    if result is None:
        return "", ()
    if result.content_text == "[interactive]":  # a card in the listing's own form, which the normaliser does not read
        return "\n".join(_texts_in(content)) or "[interactive]", ()
    resources = (Resource(item.type, item.file_key, item.file_name or "") for item in result.resources)
    return str(result.content_text), tuple(resources)


def _finish(coroutine: Any) -> Any:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise ValueError("the normaliser wanted to wait, though it has nothing to wait for")


def _bot_keys(mentions: Iterable[Mapping[str, Any]], bot_open_id: str) -> frozenset[str]:
    """What stands for the bot in the content: its open_id, and its placeholders (@_user_1 …)."""
    if not bot_open_id:
        return frozenset()
    keys = (text(mention, "key") for mention in mentions if text(mapping(mention, "id"), "open_id") == bot_open_id)
    return frozenset({bot_open_id, *keys})


def _prepared(message_type: str, content: dict[str, Any], bot_keys: frozenset[str]) -> tuple[dict[str, Any], bool]:
    """The content without the bot's mention and with unknown tags as text; whether that mention was there."""
    if message_type == "text":
        return {**content, "text": _without_keys(text(content, "text"), bot_keys)}, False
    if message_type != "post":
        return content, False
    seen: list[str] = []
    prepared = {key: _prepared_document(value, bot_keys, seen) for key, value in _documents(content).items()}
    return prepared, bool(seen)


def _documents(post: dict[str, Any]) -> dict[str, Any]:
    """A post with its language on top: received posts have title and content there, sent ones a language first.

    Attached files stand beside the languages, and stay there.
    """
    if "content" not in post and "content_v2" not in post:
        return post
    files = {"files": post["files"]} if "files" in post else {}
    return {**files, "zh_cn": {key: value for key, value in post.items() if key != "files"}}


def _prepared_document(document: Any, bot_keys: frozenset[str], seen: list[str]) -> Any:
    if not isinstance(document, dict):
        return document
    prepared = dict(document)
    for part in ("content", "content_v2"):
        if part in document:
            lines = (_prepared_line(line, bot_keys, seen) for line in _items(document[part]))
            prepared[part] = [line for line in lines if line]
    return prepared


def _prepared_line(line: Any, bot_keys: frozenset[str], seen: list[str]) -> list[dict[str, Any]]:
    prepared: list[dict[str, Any]] = []
    for element in _items(line):
        if not isinstance(element, dict):
            continue
        tag = text(element, "tag")
        if tag == "at" and text(element, "user_id") in bot_keys:
            seen.append("at")
        elif tag in _KNOWN_TAGS:
            prepared.append(_struck(_without_bot(element, bot_keys)))
        elif words := " ".join(_texts_in(element)):
            prepared.append({"tag": "text", "text": words})
    return prepared


def _without_bot(element: dict[str, Any], bot_keys: frozenset[str]) -> dict[str, Any]:
    if element.get("tag") not in ("text", "md") or "text" not in element:
        return element
    return {**element, "text": _without_keys(text(element, "text"), bot_keys)}


def _struck(element: dict[str, Any]) -> dict[str, Any]:
    """Feishu calls it lineThrough, the normaliser strikethrough."""
    style = _items(element.get("style"))
    return {**element, "style": [*style, "strikethrough"]} if "lineThrough" in style else element


def _without_keys(words: str, keys: frozenset[str]) -> str:
    """`words` without these placeholders and without the blank behind (at the end: before) each."""
    for found in sorted({key for key in _PLACEHOLDER.findall(words) if key in keys}, key=len, reverse=True):
        words = re.sub(rf"{found}(?!\d)[^\S\n]?", "", words)
    return words


def _mentions_all(mentions: Iterable[Mapping[str, Any]], content: dict[str, Any]) -> bool:
    """@all stands in the mentions, as a placeholder in a text, or as an "at" element of a post."""
    if any(text(mention, "key") == "@_all" or text(mapping(mention, "id"), "user_id") == "all" for mention in mentions):
        return True
    if _AT_ALL.search(text(content, "text")):
        return True
    return any(element.get("tag") == "at" and element.get("user_id") in ("all", "@_all") for element in _walk(content))


def _walk(content: Any) -> Iterable[dict[str, Any]]:
    stack = [content]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack.extend(reversed(list(node.values())))
        elif isinstance(node, list):
            stack.extend(reversed(node))


def _texts_in(content: Any) -> list[str]:
    """Every text that a person could have written, in order."""
    found = (text(node, key) for node in _walk(content) for key in ("title", "text", "content", "name"))
    return [words for words in found if words]


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _loaded(content: str) -> dict[str, Any]:
    try:
        document = json.loads(content) if content else {}
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _whole(words: str) -> str:
    """Without halves of surrogate pairs, which no UTF-8 file can hold."""
    return words.encode("utf-8", "replace").decode()
