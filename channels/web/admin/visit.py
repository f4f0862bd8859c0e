"""One request that has come in: who asks, in which language, and how a page is drawn for them."""

from collections.abc import Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from functools import cache
from typing import Any

import jinja2
from aiohttp import web
from markupsafe import Markup

from channels.ids import UserId
from channels.web.admin.desk import Desk
from channels.web.admin.prose import as_html
from channels.web.admin.session_secrets import token_of
from channels.web.admin.words import Words, moment, plain_moment, span_of_ms

STRANGER = UserId("")
_current: ContextVar["Visit"] = ContextVar("visit")  # set and reset around each request

PAGES = (
    ("health", "/admin/"),
    ("sessions", "/admin/sessions"),
    ("turns", "/admin/turns"),
    ("outbox_page", "/admin/outbox"),
    ("people", "/admin/people"),
    ("quotas", "/admin/quotas"),
    ("settlement", "/admin/settlement"),
    ("settings", "/admin/settings"),
)


@dataclass(slots=True)
class Visit:
    """`session` is the cookie's secret and `user_id` whose it is; both empty for a stranger."""

    desk: Desk
    words: Words
    user_id: UserId = STRANGER
    session: str = ""
    form: Mapping[str, str] | None = None

    def draw(self, template: str, status: int = 200, **values: Any) -> web.Response:
        """A whole page."""
        shared = {
            "w": self.words,
            "pages": PAGES if self.user_id else (),
            "user_id": self.user_id,
            "token": token_of(self.session) if self.session else "",
            "time": _time,
            "prose": as_html,
            "span": lambda ms: span_of_ms(ms, self.words),
        }
        text = _templates().get_template(template).render(shared | values)
        return web.Response(text=text, status=status, content_type="text/html")

    def draw_fault(self, status: int) -> web.Response:
        """What went wrong, in words."""
        key = f"fault_{status}" if f"fault_{status}" in self.words else "fault_400"
        return self.draw("fault.html", status, fault=self.words[key])


def begin(visit: Visit) -> Token[Visit]:
    """From now on `current_visit` gives it to whoever answers this request; to be ended with `end`."""
    return _current.set(visit)


def end(token: Token[Visit]) -> None:
    """This request is answered: a connection's next one runs in the same task."""
    _current.reset(token)


def current_visit() -> Visit:
    """Who sent the request that is being answered."""
    return _current.get()


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("channels.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _time(at_ms: int | None) -> Markup:
    """A moment as an element that the page's script puts into the reader's own time; "–" for None."""
    if at_ms is None:
        return Markup("–")
    return Markup('<time datetime="{}">{}</time>').format(moment(at_ms), plain_moment(at_ms))
