"""The im calls: messages, their history, reactions."""

from channels.emulator.accounts import Kind
from channels.emulator.errors import ApiError
from channels.emulator.gateway import Operation, Request, Services
from channels.emulator.limits import Limit
from channels.emulator.messages import Message, page_of
from channels.emulator.views import Json

MESSAGES = "/open-apis/im/v1/messages"
ONE = MESSAGES + "/{message_id}"
ID_TYPES = ("open_id", "user_id", "union_id")


def create(services: Services, request: Request) -> Json:
    id_type = request.query.get("receive_id_type")
    if not id_type:
        raise ApiError(99992402, "receive_id_type is required")
    return _made(services, request, services.posting.send(id_type, request.body))


def reply(services: Services, request: Request) -> Json:
    return _made(services, request, services.posting.reply(request.params["message_id"], request.body))


def patch(services: Services, request: Request) -> Json:
    request.call.result_id = request.params["message_id"]
    request.call.effect = services.posting.patch(request.params["message_id"], request.body)
    return {}


def edit(services: Services, request: Request) -> Json:
    message = services.posting.edit(request.params["message_id"], request.body)
    request.call.result_id = message.message_id
    return services.world.views.item(message)


def recall(services: Services, request: Request) -> Json:
    services.posting.recall(request.params["message_id"])
    return {}


def get(services: Services, request: Request) -> Json:
    """One message; a merge_forward comes with its children."""
    world = services.world
    message = world.timeline.get(request.params["message_id"])
    services.posting.admit(world.chat(message.chat_id))
    children = [world.message(each) for each in message.children]
    return {"items": [_item(services, request, each) for each in (message, *children)]}


def mget(services: Services, request: Request) -> Json:
    """Several messages at once; unknown ones are left out."""
    if not services.world.settings.mget:
        raise ApiError(99991404, status=404)
    wanted = [part for each in request.query.getall("message_ids", []) for part in each.split(",") if part]
    if not 1 <= len(wanted) <= 50:
        raise ApiError(99992402, "message_ids must hold 1 to 50 ids")
    found = [message for each in wanted if (message := services.world.timeline.find(each))]
    visible = [each for each in found if services.world.chat(each.chat_id).bot_in_chat]
    return {"items": [_item(services, request, each) for each in visible]}


def history(services: Services, request: Request) -> Json:
    """A page of a chat or a topic."""
    query = request.query
    match query.get("container_id_type"):
        case "chat":
            messages = _chat_history(services, query.get("container_id", ""))
            messages = _in_time_range(messages, query.get("start_time"), query.get("end_time"))
        case "thread":
            messages = _thread_history(services, query.get("container_id", ""))
            code = services.world.settings.thread_time_range_code
            if code and (query.get("start_time") or query.get("end_time")):
                raise ApiError(code, "thread does not support start_time and end_time")
        case _:
            raise ApiError(99992402, "container_id_type is invalid")
    sort = query.get("sort_type") or "ByCreateTimeAsc"
    if sort not in ("ByCreateTimeAsc", "ByCreateTimeDesc"):
        raise ApiError(99992402, "sort_type is invalid")
    page, token = page_of(
        messages,
        descending=sort == "ByCreateTimeDesc",
        page_size=request.page_size(),
        page_token=query.get("page_token", ""),
    )
    result: Json = {"has_more": token is not None, "items": [_item(services, request, each) for each in page]}
    return result | ({"page_token": token} if token else {})


def _chat_history(services: Services, chat_id: str) -> list[Message]:
    world = services.world
    chat = world.directory.chats.get(chat_id)
    if chat is None:
        raise ApiError(230001, "invalid container_id")
    services.posting.admit(chat)
    if chat.kind is not Kind.P2P and "im:message.group_msg" not in world.settings.scopes:
        raise ApiError(230027, "need scope: im:message.group_msg")
    return world.timeline.listed(chat)


def _thread_history(services: Services, thread_id: str) -> list[Message]:
    messages = services.world.timeline.in_thread(thread_id)
    if not messages:
        raise ApiError(230001, "invalid container_id")
    services.posting.admit(services.world.chat(messages[0].chat_id))
    return messages


def _in_time_range(messages: list[Message], start: str | None, end: str | None) -> list[Message]:
    """Whole seconds, both ends included."""
    try:
        start_s, end_s = int(start or 0), int(end or 10**12)
    except ValueError:
        raise ApiError(99992402, "start_time and end_time are seconds") from None
    if start_s > end_s:
        raise ApiError(230001, "start_time is later than end_time")
    return [each for each in messages if start_s <= each.create_ms // 1000 <= end_s]


def add_reaction(services: Services, request: Request) -> Json:
    world, message_id = services.world, request.params["message_id"]
    _check_reactor(services, message_id)
    emoji_type = (request.body.get("reaction_type") or {}).get("emoji_type", "")
    reaction_id = world.reactions.add(message_id, str(emoji_type), world.bot.open_id)
    request.call.result_id = reaction_id
    return next(
        world.reactions.item(each) for each in world.reactions.on(message_id) if each.reaction_id == reaction_id
    )


def remove_reaction(services: Services, request: Request) -> Json:
    world, message_id = services.world, request.params["message_id"]
    _check_reactor(services, message_id)
    reaction = world.reactions.remove(message_id, request.params["reaction_id"], world.bot.open_id)
    return world.reactions.item(reaction)


def list_reactions(services: Services, request: Request) -> Json:
    world, message_id = services.world, request.params["message_id"]
    _check_reactor(services, message_id)
    if world.timeline.get(message_id, 231003).recalled:
        raise ApiError(231003)
    wanted = request.query.get("reaction_type")
    found = [each for each in world.reactions.on(message_id) if not wanted or each.emoji_type == wanted]
    token = request.query.get("page_token") or "0"
    if not token.isdigit():
        raise ApiError(231012)
    start, size = int(token), request.page_size()
    id_type = request.query.get("user_id_type") or "open_id"
    items = [world.reactions.item(each, id_type) for each in found[start : start + size]]
    more = len(found) > start + size
    return {"items": items, "has_more": more, "page_token": str(start + size) if more else ""}


def _check_reactor(services: Services, message_id: str) -> None:
    chat = services.world.chat(services.world.timeline.get(message_id, 231003).chat_id)
    if chat.disbanded:
        raise ApiError(232009)
    if not chat.bot_in_chat:
        raise ApiError(231002)


def _item(services: Services, request: Request, message: Message) -> Json:
    id_type = request.query.get("user_id_type") or "open_id"
    if id_type not in ID_TYPES:
        raise ApiError(99992402, "user_id_type is invalid")
    if id_type == "user_id" and not services.world.views.shows_user_id:
        raise ApiError(99991672, "need scope: contact:user.employee_id:readonly")
    card = services.world.card_of(message)
    raw_card = request.query.get("card_msg_content_type") in ("user_card_content", "raw_card_content")
    return services.world.views.item(message, id_type=id_type, card=card, raw_card=raw_card)


def _made(services: Services, request: Request, message: Message) -> Json:
    request.call.result_id = message.message_id
    return services.world.views.item(message, card=services.world.card_of(message))


def _chat_limit(services: Services, chat_id: str) -> list[Limit]:
    settings = services.world.settings
    return [Limit(f"chat {chat_id}", settings.chat_per_s, code=settings.chat_rate_code)]


def _create_limits(services: Services, request: Request) -> list[Limit]:
    id_type, receive_id = request.query.get("receive_id_type", ""), str(request.body.get("receive_id", ""))
    return _chat_limit(services, services.world.directory.receiver(id_type, receive_id).chat_id)


def _reply_limits(services: Services, request: Request) -> list[Limit]:
    message = services.world.timeline.find(request.params["message_id"])
    return _chat_limit(services, message.chat_id) if message else []


def _message_limits(services: Services, request: Request) -> list[Limit]:
    settings = services.world.settings
    return [Limit(f"message {request.params['message_id']}", settings.patch_per_s, code=settings.chat_rate_code)]


OPERATIONS = [
    Operation("POST", MESSAGES, "im.message.create", create, changes=True, limits=_create_limits),
    Operation("GET", MESSAGES, "im.message.list", history),
    Operation("GET", MESSAGES + "/mget", "im.message.mget", mget),
    Operation("POST", ONE + "/reply", "im.message.reply", reply, changes=True, limits=_reply_limits),
    Operation("PATCH", ONE, "im.message.patch", patch, limits=_message_limits),
    Operation("PUT", ONE, "im.message.update", edit, changes=True, limits=_message_limits),
    Operation("DELETE", ONE, "im.message.delete", recall, changes=True),
    Operation("GET", ONE, "im.message.get", get),
    Operation("POST", ONE + "/reactions", "im.reaction.create", add_reaction, changes=True),
    Operation("GET", ONE + "/reactions", "im.reaction.list", list_reactions),
    Operation("DELETE", ONE + "/reactions/{reaction_id}", "im.reaction.delete", remove_reaction, changes=True),
]
