"""Every row of the table, by meaning: what feishu.md §4 and the documentation's error tables say must be done."""

import pytest

from channels.errors import CodeKind
from channels.feishu.codes import BY_CALL, TABLE, classify, inner_code

# feishu.md §4, row by row, then what the pages of the calls that we make add.
ROWS: dict[CodeKind, str] = {
    CodeKind.MESSAGE_GONE: "230011 230110 231003 230050 230111 231005 231010 231011 231018 234005 234040",
    CodeKind.CHAT_GONE: ("230002 230013 232009 230018 230035 230029 230038 230053 230075 231004 231022 232011 234004"),
    CodeKind.RATE: "99991400 230020 11232 11233 11247 232019",
    CodeKind.MONTHLY_QUOTA: "99991403",
    CodeKind.TOO_LARGE: "230025 200860 300305 234006 234037 234039",
    CodeKind.CARD_CONTENT: (
        "230099 11310 200570 200621 200550 200732 200861 200914 100290 200220 200380 200381 200737 200830 200915"
        " 230054 300121 300122 300220 300230 300240 300301 300302 300303 300307 300310 300312 300313 300314 300315"
    ),
    CodeKind.STREAMING_CLOSED: "200850 300309 200510",
    CodeKind.SEQUENCE: "300317",
    CodeKind.REPEATED_UUID: "200770",
    CodeKind.EXPIRED: "230031 200750 200740 230009",
    CodeKind.AUDIT: "230028 230022",
    CodeKind.NO_THREAD: "230019 230071 230072",
    CodeKind.IN_FLIGHT: "230049 231015 18121",
    CodeKind.TOKEN: "99991661 99991663 99991664 99991665 99991668 99991671 99991677 234002",
    CodeKind.SCOPE: (
        "99991672 99991679 230027 99991401 10005 10012 10013 10014 10015 230006 230012 230026 230036 230073 230074"
        " 231002 231007 231008 231019 231020 231021 231203 231204 232004 232010 232014 232024 232025 232033 232034"
        " 234007 234008 234009 234038 234041 234042 300311 99991543 99991662 99991673 99991676"
    ),
    CodeKind.PARAMETER: (
        "99992402 99992351 99992354 99992361 10001 10002 10003 200530 230001 230015 230017 230034 230055 231001 231006"
        " 231012 231013 231014 231017 232001 232006 234001 234003 234010 234011 234043 99991201 99991301 99992352"
        " 99992353 99992355 99992356 99992359 99992360 99992363 99992364"
    ),
    CodeKind.CALLBACK: "200340 200341 200671 200672 200673 200080 200342 200343 200345 200346 200347",
    CodeKind.CARD_BUSY: "200810",
    CodeKind.SERVER: "10101 10500 232096 234019 300000 300120",
}
EXPECTED = [(int(code), kind) for kind, codes in ROWS.items() for code in codes.split()]


@pytest.mark.parametrize(("code", "kind"), EXPECTED)
def test_each_code_asks_for_one_thing_under_any_status(code: int, kind: CodeKind) -> None:
    assert classify(400, code) is kind
    assert classify(200, code) is kind


def test_the_table_holds_these_rows_and_no_others() -> None:
    assert dict(EXPECTED) == TABLE
    assert len(EXPECTED) == len(TABLE), "a code stands in two rows"


@pytest.mark.parametrize(
    ("call", "code", "kind"),
    [
        ("edit_message", 230054, CodeKind.PARAMETER),
        ("edit_message", 230071, CodeKind.SCOPE),
        ("edit_message", 230072, CodeKind.EXPIRED),
        ("edit_message", 230075, CodeKind.EXPIRED),
        ("recall_message", 230054, CodeKind.PARAMETER),
        ("reply_message", 230054, CodeKind.MESSAGE_GONE),
    ],
)
def test_numbers_that_mean_something_else_on_one_call(call: str, code: int, kind: CodeKind) -> None:
    assert classify(400, code, "", call) is kind
    assert TABLE[code] is not kind, "then it needs no row of its own"


def test_the_calls_with_rows_of_their_own_are_tested() -> None:
    assert len(BY_CALL) == 16
    assert classify(400, 230034, call="send_message") is CodeKind.CHAT_GONE
    assert classify(400, 230034, call="reply_message") is CodeKind.PARAMETER


@pytest.mark.parametrize(
    ("msg", "inner", "kind"),
    [
        ("Failed to create card content, ext=ErrCode: 11310; ErrMsg: table over limit", 11310, CodeKind.CARD_CONTENT),
        ("Failed to create card content, ext=ErrCode: 200570; ErrMsg: image", 200570, CodeKind.CARD_CONTENT),
        ("ext=ErrCode: 300305; ErrMsg: too many", 300305, CodeKind.TOO_LARGE),
        ("ext=ErrCode: 200860", 200860, CodeKind.TOO_LARGE),
        ("ext=ErrCode: 987654321", 987654321, CodeKind.CARD_CONTENT),
        ("the message is recalled", 0, CodeKind.MESSAGE_GONE),
        ("code:230099 only itself", 0, CodeKind.CARD_CONTENT),
        ("", 0, CodeKind.CARD_CONTENT),
    ],
)
def test_230099_is_a_wrapper(msg: str, inner: int, kind: CodeKind) -> None:
    assert inner_code(230099, msg) == inner
    assert classify(400, 230099, msg) is kind


@pytest.mark.parametrize(
    ("status", "code", "msg", "kind"),
    [
        (429, 0, "", CodeKind.RATE),
        (429, 99991403, "", CodeKind.MONTHLY_QUOTA),
        (500, 0, "", CodeKind.SERVER),
        (502, 123, "", CodeKind.SERVER),
        (500, 230002, "", CodeKind.CHAT_GONE),
        (408, 0, "", CodeKind.SERVER),
        (401, 0, "", CodeKind.TOKEN),
        (413, 0, "", CodeKind.TOO_LARGE),
        (404, 0, "", CodeKind.OTHER),
        (400, 55, "The message is recalled", CodeKind.MESSAGE_GONE),
        (400, 55, "wrapped code=230011", CodeKind.MESSAGE_GONE),
        (200, 55, "who knows", CodeKind.OTHER),
    ],
)
def test_what_the_status_says_where_the_code_says_nothing(status: int, code: int, msg: str, kind: CodeKind) -> None:
    assert classify(status, code, msg) is kind
