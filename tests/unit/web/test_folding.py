"""A session's log, read by a person."""

from channels.ids import TurnId
from channels.store.sessions import LogEntry
from channels.web.admin.folding import LONGEST_TOOL_TEXT, Piece, fold


def log(*entries: tuple[str, dict[str, object]], turn: str = "t1") -> list[LogEntry]:
    return [LogEntry(number, kind, TurnId(turn), number * 10, body) for number, (kind, body) in enumerate(entries, 1)]


def outline(pieces: list[Piece]) -> list[tuple[str, str]]:
    return [(piece.kind, piece.tool.title if piece.tool else piece.text) for piece in pieces]


def chunk(text: str) -> tuple[str, dict[str, object]]:
    return "assistant/chunk", {"text": text}


def whole(text: str) -> tuple[str, dict[str, object]]:
    return "assistant/message", {"text": text}


def call(tool_id: str, title: str) -> tuple[str, dict[str, object]]:
    return "tool/call", {"tool_id": tool_id, "title": title, "kind": "read", "arguments": "{}"}


SAID: tuple[str, dict[str, object]] = ("user/message", {"text": "hi", "sender_user_id": "u_1"})
END: tuple[str, dict[str, object]] = ("turn/end", {"outcome": "completed"})


def test_an_answer_is_shown_once() -> None:
    pieces = fold(log(SAID, chunk("Hel"), chunk("lo"), whole("Hello"), END))
    assert outline(pieces) == [("said", "hi"), ("answer", "Hello")]
    assert (pieces[0].who, pieces[0].at, pieces[0].number) == ("u_1", 10, 1)


def test_an_unfinished_answer_is_shown_as_far_as_it_came() -> None:
    assert outline(fold(log(SAID, chunk("Hel")))) == [("said", "hi"), ("answer", "Hel")]


def test_tools_stand_where_they_were_called() -> None:
    pieces = fold(
        log(
            SAID,
            chunk("Let me look. "),
            call("a", "Read file"),
            ("tool/result", {"tool_id": "a", "status": "running", "output": "half"}),
            ("tool/result", {"tool_id": "a", "status": "done", "output": ""}),
            chunk("Done."),
            whole("Let me look. Done."),
            END,
        )
    )
    assert outline(pieces) == [
        ("said", "hi"),
        ("answer", "Let me look. "),
        ("tool", "Read file"),
        ("answer", "Done."),
    ]
    assert pieces[2].tool is not None
    assert (pieces[2].tool.status, pieces[2].tool.output) == ("done", "half")


def test_where_pieces_and_whole_differ_the_whole_counts() -> None:
    pieces = fold(log(SAID, chunk("Let me"), call("a", "x"), chunk("lost"), whole("Let me look. Done.")))
    assert outline(pieces) == [("said", "hi"), ("tool", "x"), ("answer", "Let me look. Done.")]


def test_tokens_stand_at_the_answer() -> None:
    usage: dict[str, object] = {"input_tokens": 3, "output_tokens": 4, "cached_tokens": 1}
    pieces = fold(log(SAID, whole("Hello"), ("usage", usage), END))
    assert pieces[1].tokens == (3, 4)


def test_an_end_that_is_not_usual_is_said() -> None:
    assert outline(fold(log(SAID, ("turn/end", {"outcome": "stopped"}))))[-1] == ("note", "stopped")


def test_turns_do_not_mix() -> None:
    first, second = log(SAID, chunk("one")), log(SAID, chunk("two"), whole("two"), turn="t2")
    assert outline(fold([*first, *second, *log(whole("one"))])) == [
        ("said", "hi"),
        ("answer", "one"),
        ("said", "hi"),
        ("answer", "two"),
    ]


def test_a_part_of_a_log_may_begin_anywhere() -> None:
    entries = log(("tool/result", {"tool_id": "a", "status": "done"}), ("usage", {}), END, whole("Hello"))
    assert outline(fold(entries)) == [("answer", "Hello")]


def test_long_outputs_are_cut() -> None:
    pieces = fold(log(call("a", "x"), ("tool/result", {"tool_id": "a", "status": "done", "output": "y" * 10_000})))
    assert pieces[0].tool is not None
    assert len(pieces[0].tool.output) == LONGEST_TOOL_TEXT


def test_folders_and_files_are_shown() -> None:
    files = [{"kind": "file", "name": "a.pdf", "path": ""}]
    entries = log(
        ("session/start", {"agent": "demo", "cwd": "/w"}),
        ("working-directory/change", {"folder": "/w/x", "branch": None}),
        ("user/message", {"text": "", "sender_user_id": None, "files": files}),
    )
    pieces = fold(entries)
    assert [(piece.kind, piece.title, piece.text) for piece in pieces[:2]] == [
        ("note", "agent", "demo"),
        ("note", "folder", "/w/x"),
    ]
    assert pieces[2].files == ("a.pdf",)
