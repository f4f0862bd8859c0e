"""Every card that is not a reply: notices, help, status, and what stands in for a card that was refused."""

import json
import re
from collections.abc import Mapping, Sequence

from channels.cards.card import Button, Card, Element, button_row, finish, header, markdown
from channels.cards.excerpt import clip, tidy
from channels.cards.footer import duration
from channels.cards.markdown import clean_units, literal, plain_units
from channels.cards.paging import pages
from channels.cards.texts import texts
from channels.cards.wording import Texts
from channels.rules.command import ADMIN_COMMANDS, COMMANDS

__all__ = ["Button", "help_card", "neutral_card", "notice_card", "status_card", "text_message"]

BODY_BYTES = 20_000
TITLE_BYTES = 300
SUMMARY_CHARACTERS = 80


def notice_card(
    title: str, body: str, *, template: str = "blue", buttons: Sequence[Button] = (), language: str = "en"
) -> Card:
    """A title, a body in Markdown (the first page of it), and buttons whose values carry ids only."""
    words = texts(language)
    title = clip(title, TITLE_BYTES)
    parts = pages(tidy(body), BODY_BYTES)
    shown, dots = (parts[0].units, "\n\n…" if len(parts) > 1 else "") if parts else ((), "")
    elements: list[Element] = [markdown(clean_units(shown, words.image) + dots, "body")] if shown else []
    if buttons:
        elements.append(button_row(buttons))
    text = "\n\n".join(part for part in (title, plain_units(shown, words.image) + dots) if part)
    return finish(elements, text=text, summary=_summary(text), header=header(title, template))


def help_card(language: str, agent_help: str, is_admin: bool, *, agent: str = "") -> Card:
    """How to use the bot; `agent_help` is the agent's own Markdown about what can be asked."""
    words = texts(language)
    lines = [_command(words, name) for name in COMMANDS]
    parts = [words.help_intro, f"**{words.help_commands}**\n\n" + "\n".join(lines)]
    if agent_help:
        parts.append(f"**{words.help_agent.format(agent=literal(agent or words.status_agent))}**\n\n{agent_help}")
    if is_admin:
        lines = [_command(words, name) for name in ADMIN_COMMANDS]
        parts.append(f"{words.help_admin}\n\n" + "\n".join(lines))
    return notice_card(words.help_title, "\n\n".join(parts), language=language)


def _command(words: Texts, name: str) -> str:
    return f"- **/{name}** {getattr(words, 'command_' + name.replace('-', '_'))}"


def status_card(
    language: str,
    *,
    agent: str,
    session: str = "",
    running: str = "",
    queued: int = 0,
    turns: int = 0,
    input_tokens: int = 0,
    output_tokens: int = 0,
    cached_tokens: int = 0,
    folder: str = "",
    connected: bool | None = None,
    uptime_ms: int = 0,
    version: str = "",
) -> Card:
    """What is running in this conversation and what it has used. Values that are empty are left out."""
    words = texts(language)
    tokens = words.footer_tokens.format(input=f"{input_tokens:,}", output=f"{output_tokens:,}")
    if cached_tokens:
        tokens += " · " + words.footer_cached.format(cached=f"{cached_tokens:,}")
    rows = {
        words.status_agent: agent,
        words.status_session: session or words.status_no_session,
        words.status_running: running or words.status_nothing_running,
        words.status_queued: str(queued),
        words.status_turns: str(turns),
        words.status_tokens: tokens if input_tokens or output_tokens else "",
        words.status_folder: folder,
        words.status_connection: {True: words.status_connected, False: words.status_not_connected, None: ""}[connected],
        words.status_uptime: duration(uptime_ms, words) if uptime_ms else "",
        words.status_version: version,
    }
    return notice_card(words.status_title, facts(rows), language=language)


def facts(rows: Mapping[str, str]) -> str:
    """Names and values as Markdown lines; values are shown as they are, empty ones left out."""
    return "\n".join(f"- **{name}**  {literal(value)}" for name, value in rows.items() if value)


def neutral_card(language: str) -> Card:
    """Stands in for a card whose content was refused; the answer follows as text."""
    words = texts(language)
    return notice_card(words.neutral_title, words.neutral_body, template="grey", language=language)


def text_message(card: Card, *, mention: str = "") -> tuple[str, str]:
    """The card as a plain text message: (msg_type, content). Cards are pages, so this is well below 150 KB.
    `mention`: the open_id or user_id of somebody who is named in front of it."""
    # In a text message Feishu reads <at …> as a mention
    text = tidy(card.text).replace("<at", "<\u200bat").replace("</at", "<\u200b/at")
    if re.fullmatch(r"[\w.@-]+", mention):
        text = f'<at user_id="{mention}"></at> {text}'
    return "text", json.dumps({"text": text}, ensure_ascii=False)


def _summary(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SUMMARY_CHARACTERS else line[: SUMMARY_CHARACTERS - 1] + "…"
