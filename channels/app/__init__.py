"""The composition root: builds every object in order, runs the loops in one TaskGroup, stops them in order.

Up: web port, lock and domain file, boot commit, control socket, loops, long connection. Down, on a stop: no new
decisions while accepting goes on; running turns get their time, then end as interrupted; what delivery has on its way
is recorded; the connection acks what it holds and closes; the last moment alive is written; the file is closed.
"""

from channels.app.building import Ports
from channels.app.serving import Service, serve

__all__ = ["Ports", "Service", "serve"]
