"""A Feishu Open Platform on loopback: HTTP calls, the long connection and a chat page, for demo and proof.

It is an independent witness: it imports nothing of the product, keeps its own ledger of everything a person could see,
and can be told to fail in every way the platform is known to fail.
"""

from channels.emulator.accounts import GROUP, PLAIN, TOPICS, Kind
from channels.emulator.behaviour import SocketBehaviour
from channels.emulator.faults import Fault
from channels.emulator.ledger import Ledger
from channels.emulator.server import Emulator, serve
from channels.emulator.settings import EmulatorSettings
from channels.emulator.world import World

__all__ = [
    "GROUP",
    "PLAIN",
    "TOPICS",
    "Emulator",
    "EmulatorSettings",
    "Fault",
    "Kind",
    "Ledger",
    "SocketBehaviour",
    "World",
    "serve",
]
