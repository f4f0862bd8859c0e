"""The warm parent: has imported everything and opened nothing; forks one child for each line of its standard input.

`python -m tests.crash.warm` prints {"warm": pid}, then one JSON line when a child is born and one when it has ended.
Forking happens before any loop or thread exists; a fresh interpreter would cost 0.7 s for each boot.
"""

import gc
import json
import os
import select
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import channels
from channels.agents import demo, openai_chat  # noqa: F401  (imported so that no child has to)
from tests.crash import boot


def serve() -> None:
    """Until standard input ends; then kill what is left."""
    assert threading.active_count() == 1, "a thread runs: forking is not safe"
    woken, waker = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    gc.collect()
    gc.freeze()
    children: set[int] = set()
    _say({"warm": os.getpid(), "code": str(Path(str(channels.__file__)).parents[1])})
    waiting = b""
    while True:
        readable, _, _ = select.select([0, woken.fileno()], [], [])
        if woken.fileno() in readable:
            woken.recv(4096)
            _reap(children)
        if 0 not in readable:
            continue
        data = os.read(0, 65536)
        if not data:
            break
        *lines, waiting = (waiting + data).split(b"\n")
        for line in lines:
            _fork(json.loads(line), children, (woken, waker))
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _fork(job: dict[str, Any], children: set[int], inherited: tuple[socket.socket, socket.socket]) -> None:
    pid = os.fork()
    if pid:
        children.add(pid)
        _say({"born": job["name"], "pid": pid})
        return
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for one in inherited:
            one.close()
        boot.run_child(job)
        code = 0
    finally:
        os._exit(code)


def _reap(children: set[int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        children.discard(pid)
        _say({"ended": pid, "code": os.waitstatus_to_exitcode(status)})


def _say(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve()
