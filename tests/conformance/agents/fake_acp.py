"""A scripted agent that speaks the Agent Client Protocol: standard library only, so that it starts at once.

    python fake_acp.py [OPTION …]

The last word of a prompt says what to do (see `ACTS`). Sessions are kept in the folder FAKE_ACP_HOME, so that another
process can load them. To the Unix socket FAKE_ACP_SIGNALS it says what happens, a line each; the socket closes with
the process. Options change its ways: --no-load, --slow-start, --silent-start, --old-choices …
"""

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

OPTIONS = frozenset(sys.argv[1:])
HOME = Path(os.environ.get("FAKE_ACP_HOME", "/nonexistent"))
SECRET = "sk-conformance-key-1234567890"

Json = dict[str, Any]


class Wire:
    """Standard output, and the answers to what we ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[int, Json] = {}
        self._arrived = threading.Condition()
        self._number = 1000
        self._signals: socket.socket | None = None
        if path := os.environ.get("FAKE_ACP_SIGNALS"):
            self._signals = socket.socket(socket.AF_UNIX)
            self._signals.connect(path)

    def signal(self, word: str) -> None:
        if self._signals is not None:
            with contextlib.suppress(OSError):
                self._signals.sendall(f"{os.getpid()} {word}\n".encode())

    def raw(self, data: bytes) -> None:
        with self._lock:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def send(self, message: Json) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method: str, params: Json) -> Json:
        """The whole answer: with "result" or "error"."""
        with self._lock:
            self._number += 1
            number = self._number
        self.send({"id": number, "method": method, "params": params})
        with self._arrived:
            self._arrived.wait_for(lambda: number in self._answers)
            return self._answers.pop(number)

    def answered(self, message: Json) -> None:
        with self._arrived:
            self._answers[message["id"]] = message
            self._arrived.notify_all()


WIRE = Wire()


class Session:
    def __init__(self, name: str, folder: str) -> None:
        self.name, self.folder = name, folder
        self.cancelled = threading.Event()
        self.said: list[list[str]] = []

    @property
    def file(self) -> Path:
        return HOME / f"{self.name}.json"

    def keep(self) -> None:
        if HOME.is_dir():
            self.file.write_text(json.dumps({"folder": self.folder, "said": self.said}))

    def update(self, what: str, /, **fields: Any) -> None:
        WIRE.send(
            {
                "method": "session/update",
                "params": {"sessionId": self.name, "update": {"sessionUpdate": what, **fields}},
            }
        )

    def say(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def think(self, text: str) -> None:
        self.update("agent_thought_chunk", content={"type": "text", "text": text})

    def tool(self, tool_id: str, title: str, kind: str = "other", **fields: Any) -> None:
        self.update("tool_call", toolCallId=tool_id, title=title, kind=kind, status="pending", **fields)

    def step(self, tool_id: str, status: str, text: str = "", **fields: Any) -> None:
        content = [{"type": "content", "content": {"type": "text", "text": text}}] if text else None
        more = {"content": content} if content else {}
        self.update("tool_call_update", toolCallId=tool_id, status=status, **more, **fields)

    def until_heard(self) -> None:
        """Until the other side has read everything so far."""
        WIRE.ask("fs/read_text_file", {"sessionId": self.name, "path": "/"})

    def permission(self, tool_id: str, **call: Any) -> Json:
        options = [
            {"optionId": "yes-once", "name": "Allow once", "kind": "allow_once"},
            {"optionId": "yes-always", "name": "Always allow", "kind": "allow_always"},
            {"optionId": "no-once", "name": "Reject", "kind": "reject_once"},
        ]
        params = {"sessionId": self.name, "toolCall": {"toolCallId": tool_id, **call}, "options": options}
        outcome: Json = WIRE.ask("session/request_permission", params)["result"]["outcome"]
        return outcome


SESSIONS: dict[str, Session] = {}
Act = Callable[[Session, str], Json | None]


def plain(session: Session, text: str) -> None:
    session.say("Hello ")
    session.say("there.")


def repeats(session: Session, text: str) -> None:
    for piece in ("ha", "ha", "ha", "ha", "1", "000", "000"):
        session.say(piece)


def reasoning(session: Session, text: str) -> None:
    session.think("Let me ")
    session.think("think.")
    session.say("Done.")


def tools(session: Session, text: str) -> None:
    session.tool("t1", "Read notes.txt", "read", rawInput={"path": "notes.txt"}, locations=[{"path": "notes.txt"}])
    session.step("t1", "in_progress")
    session.step("t1", "completed", "3 lines")
    session.tool("t2", "Edit notes.txt", "edit")
    diff = {"type": "diff", "path": f"{session.folder}/notes.txt", "oldText": "a\nb\n", "newText": "a\nc\n"}
    session.update("tool_call_update", toolCallId="t2", status="completed", content=[diff])
    session.tool("t3", "Run tests", "execute", rawInput={"command": ["bash", "-lc", "pytest -q"]})
    session.step("t3", "failed", "1 failed")
    session.say("That was it.")


def plan(session: Session, text: str) -> None:
    names = ["look", "change", "check"]
    for done in range(4):
        entries = [
            {"content": name, "priority": "medium", "status": "completed" if index < done else "pending"}
            for index, name in enumerate(names)
        ]
        session.update("plan", entries=entries)
        session.until_heard()
    session.say("All done.")


def usage(session: Session, text: str) -> Json:
    session.say("Hi")
    session.update("usage_update", used=5000, size=200000)
    numbers = {"totalTokens": 137, "inputTokens": 90, "outputTokens": 7, "cachedReadTokens": 40}
    return {"stopReason": "end_turn", "usage": numbers}


def endless(session: Session, text: str) -> None:
    while not session.cancelled.is_set():
        session.say("on and on ")


def silent(session: Session, text: str) -> None:
    session.cancelled.wait()


def murmurs(session: Session, text: str) -> None:
    """Work for a while of which there is nothing to show."""
    for number in range(600):
        session.tool(f"m{number}", f"Read {number}", "read")
        session.step(f"m{number}", "completed")
    for _ in range(10):
        time.sleep(0.1)
        session.tool("m600", "Read 600", "read")
    session.say("Ready.")


def stubborn(session: Session, text: str) -> None:
    session.say("I do not stop.")
    threading.Event().wait()


def failure(session: Session, text: str) -> Json:
    return {"error": {"code": -32603, "message": "Internal error", "data": {"details": f"bad key {SECRET}"}}}


def length(session: Session, text: str) -> Json:
    session.say("Once upon a")
    return {"stopReason": "max_tokens"}


def huge(session: Session, text: str) -> None:
    session.say("x" * 3_000_000)


def many(session: Session, text: str) -> None:
    """A flood of small updates, alternating."""
    session.tool("t1", "Count", "execute")
    for number in range(5_000):
        session.step("t1", "in_progress", str(number))
        session.think("h")
        session.say("a")
    session.step("t1", "completed", "5000")


def monster(session: Session, text: str) -> None:
    """One update of far too many bytes, then the answer."""
    session.say("y" * 40_000_000)
    session.say("After it.")


def abyss(session: Session, text: str) -> None:
    """A line without an end that is no update."""
    for _ in range(40):
        WIRE.raw(b'{"jsonrpc":"2.0","id":1,"result":{"x":"' if _ == 0 else b"z" * 1_000_000)
    session.cancelled.wait()


def unhearing(session: Session, text: str) -> None:
    """Ask for a large file many times, and never take an answer (`main` stops reading)."""
    params = {"sessionId": session.name, "path": "large.txt"}
    session.say("Let me see.")
    for _ in range(20):
        WIRE.send({"id": "read", "method": "fs/read_text_file", "params": params})
    threading.Event().wait()


def babble(session: Session, text: str) -> None:
    """A command in a terminal that writes without end."""
    made = WIRE.ask("terminal/create", {"sessionId": session.name, "command": "yes", "cwd": session.folder})
    name = {"sessionId": session.name, "terminalId": made["result"]["terminalId"]}
    session.tool("x1", "yes", "execute", content=[{"type": "terminal", "terminalId": name["terminalId"]}])
    session.until_heard()
    WIRE.signal("babbling")
    session.cancelled.wait()


def garbage(session: Session, text: str) -> None:
    WIRE.raw(b"starting up ...\n{not json}\n[1, 2]\n\xff\xfe\n{}\n\n")
    session.update("agent_message_chunk", content="no block")
    session.update("something_new", with_fields=True)
    WIRE.send({"method": "session/update", "params": {"sessionId": "nobody", "update": {}}})
    WIRE.send({"method": "session/update", "params": "nothing"})
    WIRE.send({"id": 999_999, "result": {}})
    WIRE.send({"id": "odd", "method": "no/such", "params": {}})
    session.say("Still here.")


def crash(session: Session, text: str) -> None:
    session.say("I was about")
    print("noise\n" * 50_000 + "Traceback: the fake agent breaks on purpose", file=sys.stderr, flush=True)
    os._exit(3)


def closing(session: Session, text: str) -> None:
    session.say("Bye")
    os.close(1)
    session.cancelled.wait()


def refusal(session: Session, text: str) -> Json:
    return {"stopReason": "refusal"}


def requests(session: Session, text: str) -> Json:
    session.say("Part one.")
    return {"stopReason": "max_turn_requests"}


def permission(session: Session, text: str) -> None:
    session.tool("p1", "Run make", "execute", rawInput={"command": "make all"})
    outcome = session.permission("p1", title="Run make", kind="execute", rawInput={"command": "make all"})
    allowed = str(outcome.get("optionId", "")).startswith("yes")
    session.step("p1", "completed" if allowed else "failed", "made" if allowed else "not allowed")
    session.say(f"outcome {json.dumps(outcome)}")


def write(session: Session, text: str) -> None:
    """Write a file without asking before."""
    path = f"{session.folder}/made.txt"
    answer = WIRE.ask("fs/write_text_file", {"sessionId": session.name, "path": path, "content": "one\ntwo\n"})
    session.say(f"wrote {'result' in answer}")


def edit(session: Session, text: str) -> None:
    """Ask for an edit, then hand over the file."""
    path = f"{session.folder}/made.txt"
    diff = {"type": "diff", "path": path, "oldText": None, "newText": "one\n"}
    call = {"title": "Edit made.txt", "kind": "edit", "content": [diff], "locations": [{"path": path}]}
    session.tool("e1", "Edit made.txt", "edit")
    outcome = session.permission("e1", **call)
    answer = WIRE.ask("fs/write_text_file", {"sessionId": session.name, "path": path, "content": "one\n"})
    session.step("e1", "completed" if "result" in answer else "failed")
    session.say(f"{outcome.get('optionId')} {'result' in answer}")


def busy(session: Session, text: str) -> None:
    """More calls than a card shows, and then one that needs a person."""
    for number in range(600):
        session.tool(f"b{number}", f"Read {number}", "read")
        session.step(f"b{number}", "completed")
    permission(session, text)


def strays(session: Session, text: str) -> None:
    """Ask for an edit of one file; then say that the call is about another one too, and hand that over."""
    allowed, other = f"{session.folder}/made.txt", f"{session.folder}/other.txt"
    session.tool("e1", "Edit made.txt", "edit")
    session.permission("e1", title="Edit made.txt", kind="edit", locations=[{"path": allowed}])
    session.step("e1", "in_progress", locations=[{"path": other}])
    answer = WIRE.ask("fs/write_text_file", {"sessionId": session.name, "path": other, "content": "stray\n"})
    session.say(f"wrote {'result' in answer}")


def smuggles(session: Session, text: str) -> None:
    """Ask for a command with a comment, then run it with the comment as a line of its own."""
    session.tool("x1", "echo", "execute")
    session.permission("x1", title="echo", kind="execute", rawInput={"command": "echo one # touch smuggled"})
    params = {"sessionId": session.name, "command": "echo one #\ntouch smuggled", "cwd": session.folder}
    made = WIRE.ask("terminal/create", params)
    if "result" in made:
        WIRE.ask("terminal/wait_for_exit", {"sessionId": session.name, "terminalId": made["result"]["terminalId"]})
    session.say(f"ran {'result' in made}")


def read(session: Session, text: str) -> None:
    """Read the files named before the last word."""
    for name in text.split()[:-1]:
        params = {"sessionId": session.name, "path": name if name.startswith("/") else f"{session.folder}/{name}"}
        answer = WIRE.ask("fs/read_text_file", params)
        session.say(json.dumps(answer.get("result") or answer.get("error")) + "\n")


def swaps(session: Session, text: str) -> None:
    """Put a link to the folder above in the place of the session's folder, then read and write through it."""
    folder = Path(session.folder)
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(folder.parent)
    read(session, "secret.txt read")
    write(session, text)


def terminal(session: Session, text: str) -> None:
    params = {"sessionId": session.name, "command": "printf", "args": ["one\\ntwo"], "cwd": session.folder}
    made = WIRE.ask("terminal/create", params)
    if "error" in made:
        session.say(f"refused {made['error']['message']}")
        return
    name = {"sessionId": session.name, "terminalId": made["result"]["terminalId"]}
    session.tool("x1", "printf", "execute", content=[{"type": "terminal", "terminalId": name["terminalId"]}])
    ended = WIRE.ask("terminal/wait_for_exit", name)["result"]
    seen = WIRE.ask("terminal/output", name)["result"]
    WIRE.ask("terminal/release", name)
    session.step("x1", "completed")
    session.say(f"{ended['exitCode']} {seen['output']!r}")


def switch(session: Session, text: str) -> None:
    """Take another model in the middle of the turn."""
    option = {"id": "llm", "category": "model", "type": "select", "currentValue": "m-2"}
    options = [{"value": "m-2", "name": "Model Two"}]
    session.update("config_option_update", configOptions=[{**option, "options": options}])
    session.say("Now it is me.")


def printenv(session: Session, text: str) -> None:
    """What a command in a terminal finds in its environment."""
    made = WIRE.ask("terminal/create", {"sessionId": session.name, "command": "env", "cwd": session.folder})
    name = {"sessionId": session.name, "terminalId": made["result"]["terminalId"]}
    WIRE.ask("terminal/wait_for_exit", name)
    session.say(WIRE.ask("terminal/output", name)["result"]["output"])


def sleeper(session: Session, text: str) -> None:
    """Run a command for ever in a terminal, and wait for it."""
    params = {"sessionId": session.name, "command": "echo $$; exec sleep 1000", "cwd": session.folder}
    made = WIRE.ask("terminal/create", params)
    name = {"sessionId": session.name, "terminalId": made["result"]["terminalId"]}
    while not (output := WIRE.ask("terminal/output", name)["result"]["output"]).endswith("\n"):
        continue
    WIRE.signal(f"sleeping {output.strip()}")
    WIRE.ask("terminal/wait_for_exit", name)


def family(session: Session, text: str) -> None:
    """Leave a child in the group and one outside of it."""
    for away in (False, True):
        child = subprocess.Popen(["sleep", "1000"], start_new_session=away)
        WIRE.signal(f"child {child.pid}")
    session.cancelled.wait()


def toil(session: Session, text: str) -> None:
    """Begin to change something, with a child in the group and one outside of it, and never come to an end."""
    session.say("I begin.")
    session.tool("w1", "Rebuild everything", "execute", rawInput={"command": "make all"})
    session.step("w1", "in_progress")
    session.until_heard()
    family(session, text)


def blocks(session: Session, text: str) -> None:
    session.say("see the blocks")


def history(session: Session, text: str) -> None:
    session.say(json.dumps([said for said, _ in session.said]))


def folder(session: Session, text: str) -> None:
    session.say(json.dumps({"cwd": str(Path.cwd()), "session": session.folder, "pid": os.getpid()}))


def environment(session: Session, text: str) -> None:
    session.say(json.dumps(dict(os.environ)))


def work(session: Session, text: str) -> None:
    """Wait until whoever listens at the signals says go."""
    WIRE.signal("working")
    session.cancelled.wait(float(os.environ.get("FAKE_ACP_WORK_S", "0.01")))
    session.say("worked")


# What real agents do otherwise, each seen in `make agents`

REPLAYED = threading.Event()


def patient(session: Session, text: str) -> None:
    """Gemini CLI: answers after it has repeated the past."""
    REPLAYED.wait()
    session.say("Hello.")


def untold(session: Session, text: str) -> None:
    """Hermes: calls without any status, and a permission under an id of its own."""
    path = f"{session.folder}/made.txt"
    place = [{"path": path}]
    session.update("tool_call", toolCallId="u1", title=f"read: {path}", kind="read", locations=place)
    session.update("tool_call", toolCallId="u2", title=f"write: {path}", kind="edit", locations=place)
    diff = {"type": "diff", "path": path, "oldText": "one\n", "newText": "two\n"}
    raw = {"tool": "write_file", "arguments": {"path": path, "content": "two\n"}}
    outcome = session.permission("own-1", title=f"Approve: {path}", kind="edit", content=[diff], rawInput=raw)
    session.say(str(outcome.get("optionId")))


def rewrite(session: Session, text: str) -> None:
    """Claude Code: a call announced twice, a file written anew without its old text, a permission that names neither
    kind nor change; its output as a list of blocks."""
    path = f"{session.folder}/made.txt"
    diff = {"type": "diff", "path": path, "oldText": None, "newText": "two\n"}
    raw = {"file_path": path, "content": "two\n"}
    session.tool("w1", "Write", "edit", content=[diff])
    session.tool("w1", f"Write {path}", "edit", content=[diff], rawInput=raw)
    outcome = session.permission("w1", title=f"Write {path}", rawInput=raw)
    blocks = [{"type": "text", "text": "```\nwritten\n```"}]
    session.update("tool_call_update", toolCallId="w1", status="completed", rawOutput=blocks)
    session.say(str(outcome.get("optionId")))


def aborts(session: Session, text: str) -> Json:
    """Codex: a refused command ends the whole turn as cancelled."""
    session.tool("c1", "make", "execute", rawInput={"command": ["/bin/bash", "-lc", f"make {session.folder}"]})
    outcome = session.permission("c1", kind="execute", title="make")
    return {"stopReason": "end_turn" if str(outcome.get("optionId")).startswith("yes") else "cancelled"}


def wavers(session: Session, text: str) -> Json:
    """Breaks off by itself."""
    session.say("I had")
    return {"stopReason": "cancelled"}


def sums(session: Session, text: str) -> Json:
    """Hermes: tokens of the session, not of the turn."""
    session.say("Hi")
    turns = len(session.said) + 1
    return {
        "stopReason": "end_turn",
        "usage": {"totalTokens": 110, "inputTokens": 100 * turns, "outputTokens": 10 * turns},
    }


def quota(session: Session, text: str) -> Json:
    """Gemini CLI: tokens beside the protocol."""
    session.say("Hi")
    return {"stopReason": "end_turn", "_meta": {"quota": {"token_count": {"input_tokens": 300, "output_tokens": 30}}}}


ACTS: dict[str, Act] = {
    name: act
    for name, act in list(globals().items())
    if callable(act) and getattr(act, "__annotations__", {}).keys() == {"session", "text", "return"}
}


def shown(prompt: list[Json]) -> list[Json]:
    """The blocks of a prompt with long data cut."""
    cut = []
    for block in prompt:
        block = dict(block)
        if "data" in block:
            block["data"] = len(base64.b64decode(block["data"]))
        cut.append(block)
    return cut


def prompted(message: Json) -> None:
    params = message["params"]
    if params["sessionId"] not in SESSIONS:  # as Hermes does, which "loads" whatever it is asked to
        WIRE.send({"id": message["id"], "result": {"stopReason": "refusal"}})
        return
    session = SESSIONS[params["sessionId"]]
    text = "\n".join(block["text"] for block in params["prompt"] if block["type"] == "text")
    words = text.split()
    act = ACTS.get(words[-1].rstrip(".") if words else "", plain)
    session.cancelled.clear()
    WIRE.signal(f"prompt {session.name}")
    if act is blocks:
        session.say(json.dumps(shown(params["prompt"])))
    outcome = act(session, text) or {"stopReason": "end_turn"}
    session.said.append([text, "answered"])
    session.keep()
    WIRE.signal(f"ended {session.name}")
    if "error" in outcome:
        WIRE.send({"id": message["id"], **outcome})
    else:
        stopped = {"stopReason": "cancelled"} if session.cancelled.is_set() else {}
        WIRE.send({"id": message["id"], "result": outcome | stopped})


def initialised() -> Json:
    if "--silent-start" in OPTIONS:
        threading.Event().wait()
    if "--dying-start" in OPTIONS:
        print("cannot start: no reason", file=sys.stderr, flush=True)
        os._exit(1)
    capabilities = {
        "loadSession": "--no-load" not in OPTIONS,
        "promptCapabilities": {"image": "--image" in OPTIONS, "embeddedContext": "--embedded" in OPTIONS},
    }
    version = 9 if "--other-version" in OPTIONS else 1
    return {"protocolVersion": version, "agentCapabilities": capabilities, "authMethods": []}


def choices() -> Json:
    if "--choices" in OPTIONS:
        values = [{"value": "m-1", "name": "Model One"}, {"value": "m-2", "name": "Model Two"}]
        option = {"id": "llm", "name": "Model", "category": "model", "type": "select", "currentValue": "m-1"}
        return {"configOptions": [{**option, "options": values}]}
    if "--old-choices" in OPTIONS:
        models = [{"modelId": "m-1", "name": "Model One"}, {"modelId": "m-2", "name": "Model Two"}]
        modes = [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]
        return {
            "models": {"currentModelId": "m-1", "availableModels": models},
            "modes": {"currentModeId": "ask", "availableModes": modes},
        }
    return {}


def opened(params: Json) -> Json:
    name = "the-one" if "--one-name" in OPTIONS else f"s-{os.getpid()}-{len(SESSIONS)}"
    session = Session(name, params["cwd"])
    SESSIONS[session.name] = session
    session.keep()
    return {"sessionId": session.name, **choices()}


def loaded(params: Json) -> Json | None:
    if "--slow-load" in OPTIONS:
        threading.Event().wait()
    if "--dying-load" in OPTIONS:
        os._exit(4)
    session = Session(params["sessionId"], params["cwd"])
    if not session.file.exists():
        return {} if "--empty-load" in OPTIONS else None
    session.said = json.loads(session.file.read_text())["said"]
    SESSIONS[session.name] = session
    if "--late-replay" in OPTIONS:
        threading.Thread(target=replay_late, args=(session,), daemon=True).start()
        return choices()
    for text, answer in session.said:
        session.update("user_message_chunk", content={"type": "text", "text": text})
        session.update("agent_message_chunk", content={"type": "text", "text": f"REPLAYED {answer}"})
    return choices()


def replay_late(session: Session) -> None:
    """Gemini CLI: goes on after it has said that the session is loaded."""
    for text, answer in session.said[:1] * 10:
        time.sleep(0.02)
        session.update("user_message_chunk", content={"type": "text", "text": text})
        session.update("agent_message_chunk", content={"type": "text", "text": f"REPLAYED {answer}"})
    REPLAYED.set()


def handle(message: Json) -> None:
    method, params = message.get("method"), message.get("params") or {}
    result: Json | None = {}
    if method == "initialize":
        result = initialised()
    elif method == "session/new":
        if "--login" in OPTIONS:
            error = {"code": -32000, "message": "Authentication required"}
            WIRE.send({"id": message["id"], "error": error})
            return
        result = opened(params)
    elif method == "session/load":
        result = loaded(params)
    elif method in ("session/set_config_option", "session/set_model", "session/set_mode"):
        WIRE.signal(f"{method} {json.dumps(params, sort_keys=True)}")
    elif method == "session/cancel":
        SESSIONS[params["sessionId"]].cancelled.set()
        return
    elif method == "session/prompt":
        threading.Thread(target=prompted, args=(message,), daemon=True).start()
        return
    if "id" in message:
        answer = {"result": result} if result is not None else {"error": {"code": -32002, "message": "no such session"}}
        WIRE.send({"id": message["id"], **answer})


def main() -> None:
    if "--deaf" in OPTIONS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "--slow-start" in OPTIONS:
        time.sleep(float(os.environ.get("FAKE_ACP_SLOW_S", "0.5")))
    WIRE.signal("started")
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "method" in message:
            handle(message)
            if message["method"] == "session/prompt" and b"unhearing" in line:
                threading.Event().wait()
        else:
            WIRE.answered(message)
    if "--deaf" in OPTIONS:
        threading.Event().wait()


if __name__ == "__main__":
    main()
