"""Creating an app by scanning a code: the device flow of the official client, told what our bot needs.

Only this part of the official client is imported, and only when somebody scans.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from channels.errors import ChannelsError
from channels.feishu.empty_packages import empty_packages

# What the bot is given when its app is made; `channels doctor` checks the same, and the README lists it.
SCOPES = (
    "im:message",
    "im:message:send_as_bot",
    "im:message.p2p_msg:readonly",
    "im:message.group_at_msg:readonly",
    "im:message.group_msg",
    "im:resource",
    "im:message.reactions:write_only",
    "cardkit:card:write",
    "contact:user.employee_id:readonly",
)
EVENTS = (
    "im.message.receive_v1",
    "im.message.recalled_v1",
    "im.chat.member.bot.added_v1",
    "im.chat.member.bot.deleted_v1",
    "im.chat.disbanded_v1",
    "im.chat.access_event.bot_p2p_chat_entered_v1",
)
CALLBACKS = ("card.action.trigger",)

ACCOUNTS = {"feishu": "https://accounts.feishu.cn", "lark": "https://accounts.larksuite.com"}
SOURCE = "feishu-channels"


@dataclass(frozen=True, slots=True)
class Registered:
    """A new app. `domain`: the platform of the person who scanned ("feishu", "lark"), or the address that was given."""

    app_id: str
    app_secret: str = field(repr=False)
    domain: str = "feishu"


class RegistrationFailed(ChannelsError):
    """No app came out of it. The text says why, for people."""


async def register_app(domain: str, on_link: Callable[[str, int], None]) -> Registered:
    """Make an app; `on_link(address, lifetime in seconds)` is called with the link to scan or open, then it waits.

    `domain` is where to begin: "feishu" or "lark" (the flow moves to Lark by itself when a Lark user scans), or the
    address of something that speaks the same API. Raises RegistrationFailed when the person refuses, when time runs
    out, or when there is no usable answer. Cancelling leaves nothing behind here.
    """
    try:
        import httpx

        with empty_packages("lark_oapi", "lark_oapi.scene"):  # the whole of it takes four seconds to import
            from lark_oapi.scene.registration import aregister_app
            from lark_oapi.scene.registration.errors import RegisterAppError
    except ImportError:
        raise RegistrationFailed(
            "scanning needs the package lark-oapi, which is not installed here (pip install 'lark-oapi')"
        ) from None
    try:
        answer = await aregister_app(
            on_qr_code=lambda info: on_link(str(info["url"]), int(info["expire_in"])),
            source=SOURCE,
            domain=ACCOUNTS.get(domain, domain),
            lark_domain=ACCOUNTS["lark"] if domain in ACCOUNTS else domain,
            addons=needs(),
        )
        app_id, app_secret = str(answer["client_id"]), str(answer["client_secret"])
        brand = (answer.get("user_info") or {}).get("tenant_brand")
    except RegisterAppError as error:
        raise RegistrationFailed(_words(error.code, error.description)) from None
    except httpx.HTTPError as error:
        raise RegistrationFailed(
            f"the network failed ({type(error).__name__}); had you allowed it already, the app is in the developer "
            "console: use its id and secret"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RegistrationFailed("Feishu gave an answer that cannot be understood") from None
    return Registered(app_id, app_secret, platform_of(domain, brand))


def platform_of(begun_at: str, brand: object) -> str:
    """Where the app is: the platform of who scanned, whatever the flow began at; an address stays what it is."""
    return str(brand) if begun_at in ACCOUNTS and brand in ACCOUNTS else begun_at


def needs() -> dict[str, object]:
    """Permissions, events and callbacks, in the form in which the official client asks for them."""
    return {
        "scopes": {"tenant": list(SCOPES)},
        "events": {"items": {"tenant": list(EVENTS)}},
        "callbacks": {"items": list(CALLBACKS)},
    }


def _words(code: str, description: str) -> str:
    match code:
        case "access_denied":
            return "it was refused in Feishu"
        case "expired_token":
            return "the code has expired before anybody allowed it"
        case _:
            return f"Feishu refuses it with {code}: {description}"[:300]
