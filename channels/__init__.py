"""Feishu Channels: a bridge between a Feishu bot and AI agents that survives being killed anywhere.

The floors, top to bottom (a module imports only from floors below its own, never sideways):
cli > app | emulator > web > service > feishu | agents | store | cards > config > rules > logs | clock | errors > ids
"""

__version__ = "0.1.0"
