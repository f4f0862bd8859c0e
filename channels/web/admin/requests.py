"""What a request says about itself: the name it was sent to, the page it came from, the language it asks for. Pure."""

import ipaddress
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

LOOPBACK_NAMES = frozenset({"localhost"})


def is_own_host(host: str, names: Collection[str]) -> bool:
    """Whether the Host header means this service: an address, a loopback name or one of `names`.

    A foreign page can have its own name point at this machine (DNS rebinding) and would then speak with us as if it
    were ours; with an address instead of a name it cannot.
    """
    name = _host_name(f"//{host}")
    return name is not None and (name in LOOPBACK_NAMES or name in names or _is_address(name))


def is_from_own_page(headers: Mapping[str, str]) -> bool:
    """Whether a change comes from a page of this service, as far as the browser says where it comes from."""
    if headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        return False
    origin = headers.get("Origin")
    return origin is None or urlsplit(origin).netloc.lower() == headers.get("Host", "").lower()


def language_of(accepted: str, otherwise: str) -> str:
    """zh or en: the one that an Accept-Language header names first."""
    for part in accepted.split(","):
        tag = part.split(";")[0].strip().lower()
        for language in ("zh", "en"):
            if tag == language or tag.startswith(f"{language}-"):
                return language
    return otherwise


def _host_name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
