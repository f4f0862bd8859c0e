"""What an agent is given of a person's message: one Markdown text. Pure.

A question is made of one or more messages; each may quote another, forward several, and bring things (pictures, files,
places). Things stand in brackets where the person put them; what could not be read says why. Other people's words stand
in block quotes, so that nobody takes them for the person's own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

QUOTE_LIMIT_BYTES = 16_384
FORWARD_LIMIT_BYTES = 65_536
DEPTH_AT_MOST = 3
NAMED_AT_MOST = 5

# messages whose text is only a mark for the thing that they are
BARE = frozenset({"image", "file", "audio", "media", "sticker", "location", "share_chat", "share_user", "folder"})


@dataclass(frozen=True, slots=True)
class Thing:
    """Something beside words. `path` is where it lies below the session's folder, `why` the reason it is not read."""

    kind: str  # image, file, audio, video, sticker, location, share_chat, share_user, folder
    name: str = ""
    path: str = ""
    size_bytes: int = 0
    key: str = ""  # Feishu's file_key, as the text has it
    why: str = ""  # a key of Labels.reasons


@dataclass(frozen=True, slots=True)
class Read:
    """One message as far as it could be read; `why` says that it could not. `children` are those of a forward."""

    text: str = ""
    message_type: str = "text"
    author: str = ""
    at: str = ""
    things: tuple[Thing, ...] = ()
    children: tuple["Read", ...] = ()
    left_out: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A message of the person, and what it quotes."""

    said: Read
    quoted: Read | None = None


@dataclass(frozen=True, slots=True)
class Labels:
    """The words of one language."""

    kinds: Mapping[str, str]
    reasons: Mapping[str, str]  # filled with {limit}
    quoted: str
    forwarded: str
    left_out: str  # {count}
    cut: str
    not_read: str  # {reason}
    more: str  # {count}


def compose(questions: Sequence[Question], labels: Labels) -> str:
    """The whole text, messages in their order."""
    parts: list[str] = []
    for question in questions:
        if question.quoted is not None:
            parts.append(_quote(question.quoted, labels))
        parts += _own(question.said, labels)
    return "\n\n".join(part for part in parts if part)


def unread(questions: Sequence[Question], labels: Labels) -> tuple[str, ...]:
    """What could not be read, for the person: at most five lines."""
    found = list(dict.fromkeys(_unread(questions, labels)))
    if len(found) <= NAMED_AT_MOST:
        return tuple(found)
    return (*found[: NAMED_AT_MOST - 1], labels.more.format(count=len(found) - NAMED_AT_MOST + 1))


def things_of(questions: Sequence[Question]) -> Iterator[Thing]:
    """Everything that came with the question, quotes and forwards included."""
    for read in _all(questions):
        yield from read.things


def _all(questions: Sequence[Question]) -> Iterator[Read]:
    for question in questions:
        for top in (question.quoted, question.said):
            stack = [top] if top is not None else []
            while stack:
                read = stack.pop()
                yield read
                stack += reversed(read.children)


def _unread(questions: Sequence[Question], labels: Labels) -> Iterator[str]:
    for read in _all(questions):
        if read.why:
            yield f"{labels.kinds.get(read.message_type, labels.kinds['other'])}: {labels.reasons[read.why]}"
        for thing in read.things:
            if thing.why:
                yield f"{thing.name or _kind(thing, labels)}: {labels.reasons[thing.why]}"


def _own(read: Read, labels: Labels) -> list[str]:
    if read.message_type == "merge_forward":
        return [_forward(read, labels)]
    return [_body(read, labels)]


def _quote(read: Read, labels: Labels) -> str:
    head = _head(labels.quoted, read)
    if read.message_type == "merge_forward":
        return f"**{head}**\n\n{_forward(read, labels)}"
    return f"**{head}**\n\n{_quoted(_shortened(_body(read, labels), QUOTE_LIMIT_BYTES, labels))}"


def _forward(read: Read, labels: Labels) -> str:
    head = f"**{labels.forwarded}**"
    if read.why:
        return f"{head}\n\n{_quoted(_reason(read.why, labels))}"
    lines = _shortened(_children(read, labels), FORWARD_LIMIT_BYTES, labels)
    return f"{head}\n\n{_quoted(lines)}"


def _children(read: Read, labels: Labels) -> str:
    parts: list[str] = []
    for child in read.children:
        body = _body(child, labels)
        if child.message_type == "merge_forward":
            inner = _children(child, labels) if not child.why else _reason(child.why, labels)
            body = f"{labels.forwarded}\n\n{_quoted(inner)}"
        parts.append(f"**{_head('', child)}**\n\n{body}")
    if read.left_out:
        parts.append(labels.left_out.format(count=read.left_out))
    return "\n\n".join(parts)


def _head(label: str, read: Read) -> str:
    author = " · ".join(part for part in (_plain(read.author), read.at) if part)
    if not label:
        return author or "?"
    return f"{label} ({author})" if author else label


def _body(read: Read, labels: Labels) -> str:
    """The words with the things in their places."""
    if read.why:
        return _reason(read.why, labels)
    shown = [(thing, _shown(thing, labels)) for thing in read.things]
    if read.message_type in BARE:
        return "\n\n".join(words for _, words in shown) or f"[{labels.kinds['other']}]"
    text, rest = read.text, []
    for thing, words in shown:
        mark = _mark(thing.key)
        if mark is None or not mark.search(text):
            rest.append(words)
        else:
            text = mark.sub(words.replace("\\", "\\\\"), text)
    return "\n\n".join([part for part in (text, *rest) if part])


def _shown(thing: Thing, labels: Labels) -> str:
    """A thing in brackets: what it is, where it lies or what it is called, and why it is not there."""
    named = f"{_kind(thing, labels)}: {_plain(thing.path or thing.name)}" if thing.path or thing.name else ""
    words = named or _kind(thing, labels)
    if thing.why:
        return f"[{words} ({labels.not_read.format(reason=labels.reasons[thing.why])})]"
    return f"[{words}]"


def _kind(thing: Thing, labels: Labels) -> str:
    return labels.kinds.get(thing.kind, labels.kinds["other"])


def _reason(why: str, labels: Labels) -> str:
    return f"[{labels.not_read.format(reason=labels.reasons[why])}]"


def _mark(key: str) -> re.Pattern[str] | None:
    """What stands for a thing in a normalised text."""
    if not key:
        return None
    found = re.escape(key)
    return re.compile(
        rf'!\[[^\]\n]*\]\({found}\)|\[media:{found}\]|<(?:file|audio|video|sticker) key="{found}"[^>\n]*/>'
    )


def _plain(text: str) -> str:
    """A name on one line that cannot close the brackets it stands in."""
    return " ".join(text.replace("[", "(").replace("]", ")").replace("*", "").split())


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines()) or ">"


def _shortened(text: str, limit_bytes: int, labels: Labels) -> str:
    """`text` within so many bytes, ended at a line where one is near."""
    raw = text.encode()
    if len(raw) <= limit_bytes:
        return text
    kept = raw[:limit_bytes].decode("utf-8", "ignore")
    line = kept.rfind("\n", len(kept) * 9 // 10)
    return f"{kept[:line] if line > 0 else kept}\n\n{labels.cut}"
