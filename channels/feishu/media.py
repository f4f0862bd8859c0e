"""Pictures and files, in and out. Everything is held in memory, so everything is bounded."""

from collections.abc import Callable
from urllib.parse import quote

import aiohttp

from channels.errors import CodeKind, RetryLater
from channels.feishu.envelopes import text
from channels.feishu.messages import MESSAGES
from channels.feishu.transport import Call, Transport
from channels.ids import MessageId

DOWNLOAD_LIMIT_BYTES = 100 * 2**20
TRANSFER_TIMEOUT_S = 120.0


def file_type_of(name: str) -> str:
    """Feishu's type for an upload of this name: opus, mp4, pdf, doc, xls, ppt or stream."""
    ending = name.rpartition(".")[2].lower()
    return {"docx": "doc", "xlsx": "xls", "pptx": "ppt"}.get(
        ending, ending if ending in ("opus", "mp4", "pdf", "doc", "xls", "ppt") else "stream"
    )


class MediaCalls:
    """The media part of `FeishuApi`. Uploads are invisible until they are sent, so repeating one is harmless."""

    _transport: Transport

    async def download(
        self, message_id: MessageId, file_key: str, kind: str, *, limit_bytes: int = DOWNLOAD_LIMIT_BYTES
    ) -> bytes:
        """The bytes of a message's picture or file. `kind` "image" for pictures, anything else counts as "file".

        Raises ApiRefused(TOO_LARGE) as soon as it shows that there are more than `limit_bytes`.
        """
        path = f"{MESSAGES}/{message_id}/resources/{quote(file_key, safe='')}"
        params = (("type", "image" if kind == "image" else "file"),)
        call = Call("download", "GET", path, params=params, largest_bytes=limit_bytes, timeout_s=TRANSFER_TIMEOUT_S)
        return await self._transport.download(call)

    async def upload_image(self, data: bytes) -> str:
        """The image_key of a picture (≤ 10 MB)."""

        def form() -> aiohttp.FormData:
            fields = aiohttp.FormData()
            fields.add_field("image_type", "message")
            fields.add_field("image", data, filename="image", content_type="application/octet-stream")
            return fields

        return await self._upload("upload_image", "/open-apis/im/v1/images", form, "image_key")

    async def upload_file(self, name: str, data: bytes, file_type: str, *, duration_ms: int | None = None) -> str:
        """The file_key of a file (≤ 30 MB, not empty); `file_type` as `file_type_of` gives it."""

        def form() -> aiohttp.FormData:
            fields = aiohttp.FormData()
            fields.add_field("file_type", file_type)
            fields.add_field("file_name", name)
            if duration_ms is not None:
                fields.add_field("duration", str(duration_ms))
            fields.add_field("file", data, filename=name, content_type="application/octet-stream")
            return fields

        return await self._upload("upload_file", "/open-apis/im/v1/files", form, "file_key")

    async def _upload(self, name: str, path: str, form: Callable[[], aiohttp.FormData], key: str) -> str:
        call = Call(name, "POST", path, form=form, timeout_s=TRANSFER_TIMEOUT_S)
        if not (found := text(await self._transport.data(call), key)):
            raise RetryLater(0, CodeKind.SERVER, why=f"success without a {key}")
        return found
