"""New ids in Feishu's shapes: unique across restarts of the emulator by a random prefix, readable by their counter."""

import secrets


class Identifiers:
    def __init__(self) -> None:
        self._prefix = secrets.token_hex(8)
        self._card_prefix = str(7_000_000_000_000 + secrets.randbelow(999_999_999_999))
        self._count = 0

    def new(self, prefix: str) -> str:
        """`new("om_")` → "om_" and 32 hexadecimal digits."""
        self._count += 1
        return f"{prefix}{self._prefix}{self._count:016x}"

    def card(self) -> str:
        """A card id: 19 digits."""
        self._count += 1
        return f"{self._card_prefix}{self._count:06d}"
