"""Who we are at Feishu, and where Feishu is."""

from dataclasses import dataclass, field

DOMAINS = {"feishu": "https://open.feishu.cn", "lark": "https://open.larksuite.com"}


@dataclass(frozen=True, slots=True)
class Credentials:
    """One app. `domain` is "feishu", "lark" or a whole address ("http://127.0.0.1:8080"); the secret is never shown."""

    app_id: str
    app_secret: str = field(repr=False)
    domain: str = "feishu"

    @property
    def base_url(self) -> str:
        """The address that paths are put behind, without a closing slash."""
        return DOMAINS.get(self.domain, self.domain).rstrip("/")
