"""What people and machines outside the chat can ask: health, readiness, metrics, the control socket, the admin page.

This floor knows HTTP and nothing of Feishu, tables or turns (but for what `admin` reads): whatever it answers comes
from an `Operations` object and from a mapping of named operations, both handed in. It promises that the control socket
belongs to this user alone and to one living process, that a fault in one request never reaches another, and that
nothing here listens beyond the loopback unless the settings say so.
"""
