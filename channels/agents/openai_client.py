"""The package's client, set up so that it uses what the preset says and nothing that the environment says."""

import ssl
from urllib.parse import urlsplit

import httpx2
import openai

from channels.agents.presets import OpenAiPreset
from channels.errors import ConfigError
from channels.logs import hide_value


def build_client(preset: OpenAiPreset) -> openai.AsyncOpenAI:
    """A client for `preset`. Raises ConfigError for an address, key or certificate file that can never work."""
    _check(preset)
    hide_value(preset.api_key)
    limits = preset.limits
    client = openai.AsyncOpenAI(
        api_key=preset.api_key or "none",  # the package insists on one; without a key openai_chat sends no header
        base_url=preset.base_url,
        max_retries=0,  # openai_chat decides, since only it knows whether anything was seen
        http_client=openai.DefaultAsyncHttpxClient(
            trust_env=False,  # no proxy, no .netrc
            proxy=preset.proxy,
            verify=_certificates(preset),
            follow_redirects=False,  # the key goes to the configured address only
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=30.0),
            timeout=openai.Timeout(None, connect=limits.connect_s, write=limits.first_s),
        ),
    )
    client.organization = client.project = None  # else taken from the environment and sent to whatever address
    _ = client.chat.completions.with_streaming_response  # loads 30 modules, which the first turn need not wait for
    return client


def _check(preset: OpenAiPreset) -> None:
    parts = urlsplit(preset.base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"agents.{preset.name}.base_url", "must be an http or https address, such as one ending in /v1"
        )
    if not (preset.api_key.isascii() and preset.api_key.isprintable()) or " " in preset.api_key:
        raise ConfigError(f"agents.{preset.name}.api_key", "must be one word of plain ASCII, without a line break")


def _certificates(preset: OpenAiPreset) -> ssl.SSLContext | bool:
    if urlsplit(preset.base_url).scheme == "http" and not (preset.proxy or "").startswith("https"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody, and saves 50 ms of loading certificates
    if preset.ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(preset.ca_file))
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(f"agents.{preset.name}.ca_file", f"cannot be used as certificates: {error}") from None
