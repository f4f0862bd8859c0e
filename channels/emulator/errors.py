"""The platform's business errors, with its own words where its documents give them."""

TEXTS = {
    1: "system error",
    403: "forbidden",
    514: "auth failed",
    9499: "Bad Request",
    10002: "Your request contains an invalid request parameter.",
    10003: "invalid param",
    10014: "app secret invalid",
    200220: "Failed to generate card content",
    200740: "The card entity does not exist",
    200750: "The card entity has expired",
    200770: "UUID conflict",
    200810: "The card is in an ongoing interaction and cannot be updated",
    200850: "Card streaming timeout",
    200860: "Card content exceeds limit.",
    230001: "Your request contains an invalid request parameter.",
    230002: "The bot can not be outside the group.",
    230011: "The message is recalled.",
    230013: "Bot has NO availability to this user.",
    230018: "These operations are NOT allowed at current group settings.",
    230019: "The topic does NOT exist.",
    230020: "This operation triggers the frequency limit.",
    230022: "The content of the message contains sensitive information.",
    230025: "The length of the message content reaches its limit.",
    230026: "No permission to recall this message.",
    230027: "Lack of necessary permissions.",
    230028: "The messages do NOT pass the audit.",
    230031: "The message exceeds the time limit for update.",
    230034: "The receive_id is invalid.",
    230035: "Send Message Permission deny.",
    230049: "The message is being sent.",
    230054: "This operation is not supported for this message type.",
    230055: "The type of file upload does not match the type of message being sent.",
    230071: "The group to which the message belongs does not support reply in thread.",
    230072: "The message has reached the number of times it can be edited.",
    230099: "Failed to create card content.",
    230110: "Action unavailable as the message has been deleted.",
    231001: "reaction type is invalid.",
    231002: "The operator has no permission to react on the specific message.",
    231003: "The message is not found, maybe not exist or deleted.",
    231007: "The operator has no permission to delete this reaction.",
    231010: "The reaction does not belong to the message.",
    231011: "The request has an invalid reaction_id.",
    232006: "Your request specifies a chat_id which is invalid.",
    232009: "Your request specifies a chat which has already been dissolved.",
    234001: "Invalid request param.",
    234003: "File not in message.",
    234004: "App not in chat.",
    234006: "The file size exceed the max value.",
    234010: "File's size can't be 0.",
    234011: "Can't regonnize the image format.",
    234037: "Downloaded file size exceeds limit.",
    234043: "Unsupported message type.",
    300301: "Duplicate element_id in card component.",
    300302: "update_multi property is false",
    300303: "Only schema 2.0 is supported",
    300305: "The number of card components exceeds 200",
    300307: "The card DSL is empty",
    300309: "Card streaming closed",
    300310: "Only update text",
    300312: "Unable to update element tag",
    300313: "Failed to update element properties",
    300314: "Failed to delete element",
    300315: "Failed to add element",
    300317: "The sequence number for operating on the card did not increment consecutively",
    99991400: "request trigger frequency limit",
    99991403: "This month's API call quota has been exceeded",
    99991661: "Missing access token for authorization. Please make a request with token attached.",
    99991663: "Invalid access token for authorization. Please make a request with token attached.",
    99991672: "Access denied. The app lacks a required scope.",
    99992361: "open_id cross app",
    99992402: "field validation failed",
    1000040343: "system busy",
    1000040350: "the number of connections exceeded the limit",
    1000040351: "incorrect domain name",
}


class ApiError(Exception):
    """A refused call: `code`, Feishu's words with a detail, and the HTTP status."""

    def __init__(
        self, code: int, detail: str = "", *, status: int = 400, headers: dict[str, str] | None = None
    ) -> None:
        text = TEXTS.get(code, "error")
        self.code, self.status, self.headers = code, status, headers or {}
        self.msg = f"{text}, ext={detail}" if detail else text
        super().__init__(f"{code}: {self.msg}")


def card_error(inner: int, detail: str) -> ApiError:
    """230099 with the inner code that tells why Feishu refused the card."""
    error = ApiError(230099)
    error.msg = f"Failed to create card content, ext=ErrCode: {inner}; ErrMsg: {detail}; ErrorValue: "
    return error
