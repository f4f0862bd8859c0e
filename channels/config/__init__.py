"""Settings: a TOML file and CHANNELS_* variables in, one frozen typed value out.

This floor knows every key, its type, default and bounds, and how to say what is wrong with one. It opens no
connection, makes no folder and reads no clock. Secrets stand in the settings as references only; whoever needs one
calls `resolve_secret` at the last moment. It promises that an unknown key, a wrong type or a literal secret never
passes, and that no error shows a secret.
"""

from channels.config.agent_settings import AcpAgentSettings, DemoAgentSettings, OpenAiAgentSettings
from channels.config.keys import check_secrets
from channels.config.loading import CONFIG_VARIABLE, build_settings, load_settings
from channels.config.references import Reference, Secret, SecretSource, resolve_address, resolve_secret
from channels.config.settings import Settings
from channels.config.time_zones import find_time_zone
from channels.config.value_types import PLACEHOLDER

__all__ = [
    "CONFIG_VARIABLE",
    "PLACEHOLDER",
    "AcpAgentSettings",
    "DemoAgentSettings",
    "OpenAiAgentSettings",
    "Reference",
    "Secret",
    "SecretSource",
    "Settings",
    "build_settings",
    "check_secrets",
    "find_time_zone",
    "load_settings",
    "resolve_address",
    "resolve_secret",
]
