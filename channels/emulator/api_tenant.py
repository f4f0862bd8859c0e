"""Token, bot, chats, people and media."""

from channels.emulator.accounts import Chat, Person
from channels.emulator.errors import ApiError
from channels.emulator.gateway import Blob, Operation, Request, Services
from channels.emulator.views import Json

IM = "/open-apis/im/v1"
CONTACT = "/open-apis/contact/v3/users"


def token(services: Services, request: Request) -> Json:
    settings = services.world.settings
    if request.body.get("app_id") != settings.app_id:
        return {"code": 10003, "msg": "invalid param"}
    if request.body.get("app_secret") != settings.app_secret:
        return {"code": 10014, "msg": "app secret invalid"}
    value, expire_s = services.tokens.issue()
    return {"code": 0, "msg": "ok", "tenant_access_token": value, "expire": expire_s}


def bot(services: Services, request: Request) -> Json:
    who = services.world.bot
    shown = {"activate_status": 2, "app_name": who.name, "avatar_url": "", "ip_white_list": [], "open_id": who.open_id}
    return {"code": 0, "msg": "ok", "bot": shown}


def application(services: Services, request: Request) -> Json:
    who = services.world.bot
    return {"app": {"app_id": who.app_id, "app_name": who.name, "status": 1, "description": ""}}


def scopes(services: Services, request: Request) -> Json:
    """What the tenant has granted to the app."""
    return {"scopes": [{"scope_name": each, "grant_status": 1} for each in sorted(services.world.settings.scopes)]}


def chats(services: Services, request: Request) -> Json:
    """The groups the bot is in."""
    found = [each for each in services.world.directory.chats.values() if each.chat_type == "group" and _inside(each)]
    items = [services.world.views.chat(each) | {"chat_id": each.chat_id} for each in found]
    return {"items": items, "has_more": False, "page_token": ""}


def chat(services: Services, request: Request) -> Json:
    return services.world.views.chat(_chat(services, request))


def members(services: Services, request: Request) -> Json:
    where = _chat(services, request)
    id_type = request.query.get("member_id_type") or "open_id"
    people = [services.world.person(each) for each in where.members]
    items = [
        {
            "member_id_type": id_type,
            "member_id": getattr(each, id_type),
            "name": each.name,
            "tenant_key": _tenant(services),
        }
        for each in people
    ]
    return {"items": items, "has_more": False, "page_token": "", "member_total": len(items)}


def member_bots(services: Services, request: Request) -> Json:
    _chat(services, request)
    who = services.world.bot
    return {"items": [{"bot_id": who.open_id, "bot_name": who.name, "app_id": who.app_id}], "has_more": False}


def users(services: Services, request: Request) -> Json:
    """Several people by id; unknown ones are left out."""
    id_type = _id_type(services, request)
    wanted = request.query.getall("user_ids", [])
    people = [each for each in services.world.directory.people.values() if getattr(each, id_type) in wanted]
    return {"items": [_user(services, each) for each in people]}


def user(services: Services, request: Request) -> Json:
    id_type = _id_type(services, request)
    for each in services.world.directory.people.values():
        if getattr(each, id_type) == request.params["user_id"]:
            return {"user": _user(services, each)}
    raise ApiError(99992351, "not a valid user id")


def user_ids(services: Services, request: Request) -> Json:
    """Ids by e-mail address."""
    id_type = _id_type(services, request)
    by_email = {each.email: each for each in services.world.directory.people.values()}
    emails = request.body.get("emails") or []
    found = [
        {"email": each} | ({"user_id": getattr(by_email[each], id_type)} if each in by_email else {}) for each in emails
    ]
    return {"user_list": found}


def upload_image(services: Services, request: Request) -> Json:
    if request.body.get("image_type") not in ("message", "avatar") or "image" not in request.files:
        raise ApiError(234001)
    medium = services.world.media.upload_image(request.files["image"])
    request.call.result_id = medium.key
    return {"image_key": medium.key}


def upload_file(services: Services, request: Request) -> Json:
    body = request.body
    if "file" not in request.files:
        raise ApiError(234001)
    duration = str(body.get("duration") or "")
    medium = services.world.media.upload_file(
        str(body.get("file_name", "")),
        request.files["file"],
        str(body.get("file_type", "")),
        int(duration) if duration.isdigit() else None,
    )
    request.call.result_id = medium.key
    return {"file_key": medium.key}


def resource(services: Services, request: Request) -> Blob:
    """The bytes of a file or picture that the message carries."""
    world, key = services.world, request.params["file_key"]
    message = world.timeline.get(request.params["message_id"], 234001)
    medium, kind = world.media.find(key), request.query.get("type")
    if not _inside(world.chat(message.chat_id)):
        raise ApiError(234004)
    if message.recalled:
        raise ApiError(230110)
    if message.message_type in ("merge_forward", "interactive") or message.upper_message_id:
        raise ApiError(234043)
    if kind not in ("image", "file"):
        raise ApiError(234001)
    if medium is None or medium.kind != kind or key not in message.content:
        raise ApiError(234003)
    if len(medium.data) > world.settings.max_download_bytes:
        raise ApiError(234037)
    return Blob(medium.data, medium.content_type, medium.name)


def _chat(services: Services, request: Request) -> Chat:
    found = services.world.directory.chats.get(request.params["chat_id"])
    if found is None:
        raise ApiError(232006)
    services.posting.admit(found)
    return found


def _inside(where: Chat) -> bool:
    return where.bot_in_chat and not where.disbanded


def _id_type(services: Services, request: Request) -> str:
    id_type = request.query.get("user_id_type") or "open_id"
    if id_type not in ("open_id", "user_id", "union_id"):
        raise ApiError(99992402, "user_id_type is invalid")
    if id_type == "user_id" and not services.world.views.shows_user_id:
        raise ApiError(99991672, "need scope: contact:user.employee_id:readonly")
    return id_type


def _user(services: Services, person: Person) -> Json:
    return services.world.views.ids(person.open_id) | {"name": person.name, "en_name": person.name, "nickname": ""}


def _tenant(services: Services) -> str:
    return services.world.settings.tenant_key


OPERATIONS = [
    Operation("POST", "/open-apis/auth/v3/tenant_access_token/internal", "auth.token", token, auth=False, flat=True),
    Operation("GET", "/open-apis/bot/v3/info", "bot.info", bot, flat=True),
    Operation("GET", "/open-apis/application/v6/applications/{app_id}", "application.get", application),
    Operation("GET", "/open-apis/application/v6/scopes", "application.scopes", scopes),
    Operation("GET", IM + "/chats", "im.chat.list", chats),
    Operation("GET", IM + "/chats/{chat_id}", "im.chat.get", chat),
    Operation("GET", IM + "/chats/{chat_id}/members", "im.chat.members", members),
    Operation("GET", IM + "/chats/{chat_id}/members/bots", "im.chat.member_bots", member_bots),
    Operation("GET", CONTACT + "/batch", "contact.user.batch", users),
    Operation("POST", CONTACT + "/batch_get_id", "contact.user.batch_get_id", user_ids),
    Operation("GET", CONTACT + "/{user_id}", "contact.user.get", user),
    Operation("POST", IM + "/images", "im.image.create", upload_image, multipart=True),
    Operation("POST", IM + "/files", "im.file.create", upload_file, multipart=True),
    Operation("GET", IM + "/messages/{message_id}/resources/{file_key}", "im.resource.get", resource),
]
