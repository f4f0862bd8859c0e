"""Other processes of a conformance test: scripts that speak JSON lines, and the emulator's control interface."""

import json
import os
import queue
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
LINE_TIMEOUT_S = 100


class Script:
    """A script of this folder in its own process; it ends when its standard input ends.

    The official clients warn about their own deprecated imports, so warnings are off there and nowhere else.
    """

    def __init__(self, name: str, *arguments: str) -> None:
        environment = os.environ | {"PYTHONWARNINGS": "ignore", "PYTHONPATH": str(REPOSITORY)}
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / name), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def line(self) -> dict[str, Any]:
        """The next JSON line; fails when the script ends or stays silent."""
        line = self._lines.get(timeout=LINE_TIMEOUT_S)
        assert line is not None, "the script ended"
        return line

    def stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(5)
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            if text.startswith("{"):
                self._lines.put(json.loads(text))
        self._lines.put(None)


class Control:
    """The control interface of an emulator in another process."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str) -> dict[str, Any]:
        return self._call("GET", path, None)

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        return self._call("POST", path, body)

    def world(self, method: str, **arguments: Any) -> Any:
        """Call a method of the emulator's `World`."""
        return self.post(f"world/{method}", **arguments)["result"]

    def say(self, user: str, chat_id: str, text: str, **more: Any) -> str:
        return str(self.world("say", user=user, chat_id=chat_id, text=text, **more))

    def ledger(self, message_id: str) -> dict[str, Any]:
        return self.get(f"ledger?message_id={message_id}")

    def calls(self, kind: str) -> list[dict[str, Any]]:
        return list(self.get(f"ledger?kind={kind}")["calls"])

    def _call(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_emulator/{path}", data=data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LINE_TIMEOUT_S) as response:
                return dict(json.load(response))
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{path}: {error.code} {error.read().decode()}") from None
