"""The settings file that `channels init` begins with: the example's own words, everything a comment but the least."""

from pathlib import Path

import channels
from channels.cli.init_toml import comment_out

ACTIVE = frozenset({"feishu.app_id", "feishu.app_secret", "feishu.domain", "agents.demo.kind"})
# Where the example is: beside the package in a working copy, or inside it where somebody packed it there.
_PACKAGE = Path(channels.__file__).parent
_PLACES = (_PACKAGE / "config" / "example.toml", _PACKAGE.parent / "config" / "example.toml")
WITHOUT_EXAMPLE = """\
# Settings of Feishu Channels. `channels check-config --show` prints every setting with the value that counts.
# Secrets are references: "env:NAME" is an environment variable, "file:PATH" a file that holds only the secret.
# Relative paths belong to the folder of this file.

[feishu]
# "feishu" (China), "lark" (international), or the address of something that speaks the same API.
domain = "feishu"

# One section per agent. The name is what /agent shows: lower-case letters, digits, - and _.
[agents.demo]
# "demo": built in, shows what cards can do, needs nothing.
kind = "demo"
"""


def fresh_settings() -> str:
    """The text of a new settings file: defaults are comments, the app's own values are still to be set."""
    place = next((each for each in _PLACES if each.is_file()), None)
    return comment_out(place.read_text(encoding="utf-8"), ACTIVE) if place else WITHOUT_EXAMPLE
