"""One table: Feishu error code → what the caller must do.

Sources: feishu.md §4, and the error tables of the pages for message create, reply, update, patch, list and resource,
message reactions, images and files, CardKit cards and elements, chats, and the general server codes. A few numbers
mean different things on different calls (230071 on a reply: "no threads in this group"; on an edit: "not the
sender"); those stand in `BY_CALL`, keyed by the name of the `FeishuApi` method.
"""

import re

from channels.errors import CodeKind

_BY_KIND: dict[CodeKind, tuple[int, ...]] = {
    CodeKind.MESSAGE_GONE: (
        230011, 230050, 230110, 230111, 231003, 231005, 231010, 231011, 231018, 234005, 234040,
    ),
    CodeKind.CHAT_GONE: (
        230002, 230013, 230018, 230029, 230035, 230038, 230053, 230075, 231004, 231022, 232009, 232011, 234004,
    ),
    CodeKind.RATE: (11232, 11233, 11247, 230020, 232019, 99991400),
    CodeKind.MONTHLY_QUOTA: (99991403,),
    CodeKind.TOO_LARGE: (200860, 230025, 234006, 234037, 234039, 300305),
    CodeKind.CARD_CONTENT: (
        11310, 100290, 200220, 200380, 200381, 200550, 200570, 200621, 200732, 200737, 200830, 200861, 200914, 200915,
        230054, 230099, 300121, 300122, 300220, 300230, 300240, 300301, 300302, 300303, 300307, 300310, 300312, 300313,
        300314, 300315,
    ),
    CodeKind.STREAMING_CLOSED: (200510, 200850, 300309),
    CodeKind.SEQUENCE: (300317,),
    CodeKind.REPEATED_UUID: (200770,),
    CodeKind.EXPIRED: (200740, 200750, 230009, 230031),
    CodeKind.AUDIT: (230022, 230028),
    CodeKind.NO_THREAD: (230019, 230071, 230072),
    CodeKind.IN_FLIGHT: (18121, 230049, 231015),
    CodeKind.TOKEN: (99991661, 99991663, 99991664, 99991665, 99991668, 99991671, 99991677, 234002),
    CodeKind.SCOPE: (
        10005, 10012, 10013, 10014, 10015, 230006, 230012, 230026, 230027, 230036, 230073, 230074, 231002, 231007,
        231008, 231019, 231020, 231021, 231203, 231204, 232004, 232010, 232014, 232024, 232025, 232033, 232034, 234007,
        234008, 234009, 234038, 234041, 234042, 300311, 99991401, 99991543, 99991662, 99991672, 99991673, 99991676,
        99991679,
    ),
    CodeKind.PARAMETER: (
        10001, 10002, 10003, 200530, 230001, 230015, 230017, 230034, 230055, 231001, 231006, 231012, 231013, 231014,
        231017, 232001, 232006, 234001, 234003, 234010, 234011, 234043, 99991201, 99991301, 99992351, 99992352,
        99992353, 99992354, 99992355, 99992356, 99992359, 99992360, 99992361, 99992363, 99992364, 99992402,
    ),
    CodeKind.CALLBACK: (
        200080, 200340, 200341, 200342, 200343, 200345, 200346, 200347, 200671, 200672, 200673,
    ),
    CodeKind.CARD_BUSY: (200810,),
    CodeKind.SERVER: (10101, 10500, 232096, 234019, 300000, 300120),
}  # fmt: skip

TABLE: dict[int, CodeKind] = {code: kind for kind, codes in _BY_KIND.items() for code in codes}

# On a plain send: nobody is there who could receive it. A turn that is to begin there has no card and does not run.
_NO_RECEIVER = (230034, 99992351, 99992352, 99992354, 99992356, 99992359, 99992360, 99992361, 99992363, 99992364)

BY_CALL: dict[tuple[str, int], CodeKind] = {
    **{("send_message", code): CodeKind.CHAT_GONE for code in _NO_RECEIVER},
    ("edit_message", 230054): CodeKind.PARAMETER,  # this type of message cannot be edited
    ("edit_message", 230071): CodeKind.SCOPE,  # somebody else's message
    ("edit_message", 230072): CodeKind.EXPIRED,  # edited 20 times already
    ("edit_message", 230075): CodeKind.EXPIRED,  # the tenant's time for edits is over
    ("recall_message", 230054): CodeKind.PARAMETER,
    ("reply_message", 230054): CodeKind.MESSAGE_GONE,  # a system message takes no reply: a new message to the chat
}

# A code inside a message, as 230099 carries it: "ext=ErrCode: 11310; ErrMsg: …", and 230011 sometimes only there.
_INNER = re.compile(r"\b(?:ErrCode|code)\s*[:=]\s*(\d{4,9})", re.IGNORECASE)
_RECALLED = re.compile(r"message (?:is|was|has been) (?:recalled|withdrawn|deleted)", re.IGNORECASE)


def classify(http_status: int, code: int, msg: str = "", call: str = "") -> CodeKind:
    """What an answer with this status, code and text asks for; `call` is the name of the `FeishuApi` method.

    `code` is 0 when the body had none. A known code decides before the status does, because business errors come with
    HTTP 200, 400 or anything else; the status decides about codes that nobody documented.
    """
    if known := BY_CALL.get((call, code)) or TABLE.get(code):
        return _sharpened(known, code, msg)
    if http_status == 429:
        return CodeKind.RATE
    if http_status >= 500 or http_status in (408, 425):
        return CodeKind.SERVER
    if (inner := _inner_kind(code, msg)) is not None:
        return inner
    if http_status == 401:
        return CodeKind.TOKEN
    return CodeKind.TOO_LARGE if http_status == 413 else CodeKind.OTHER


def inner_code(code: int, msg: str) -> int:
    """The first code in the text that is not `code` itself; 0 where there is none."""
    return next((found for found in map(int, _INNER.findall(msg)) if found != code), 0)


def _sharpened(kind: CodeKind, code: int, msg: str) -> CodeKind:
    """230099 is a wrapper: the code inside says whether the card is too large or bad, or the message recalled."""
    if code != 230099:
        return kind
    return _inner_kind(code, msg) or kind


def _inner_kind(code: int, msg: str) -> CodeKind | None:
    if known := TABLE.get(inner_code(code, msg)):
        return known
    return CodeKind.MESSAGE_GONE if _RECALLED.search(msg) else None
