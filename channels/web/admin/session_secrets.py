"""What a session is made of: a link's secret, a cookie's secret, and the token that every change carries. Pure.

The file keeps hashes of the first two. The token is made from the cookie and is kept nowhere: a page of another site
can neither read the cookie nor guess it.
"""

import hashlib
import hmac

COOKIE = "channels_admin"
LONGEST_SECRET = 200


def hash_secret(secret: str) -> str:
    """What the file keeps of a secret. Secrets are random (24 bytes or more), so one round is enough.

    Any text will do, also what aiohttp makes of bytes that are none: strangers send what they like.
    """
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()


def token_of(session: str) -> str:
    """The token that forms of this session carry."""
    return hmac.new(session.encode(), b"changes", hashlib.sha256).hexdigest()


def is_token_of(session: str, token: str) -> bool:
    """Compared without telling by its time how much was right."""
    return hmac.compare_digest(token_of(session).encode(), token.encode())
