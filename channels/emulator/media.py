"""Files and pictures: what was uploaded, by whom, and which message carries it."""

from dataclasses import dataclass

from channels.emulator.errors import ApiError
from channels.emulator.identifiers import Identifiers
from channels.emulator.settings import EmulatorSettings

FILE_TYPES = ("opus", "mp4", "pdf", "doc", "xls", "ppt", "stream")
_MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"RIFF", b"\x00\x00\x01\x00", b"II*\x00", b"MM\x00*")


@dataclass(frozen=True, slots=True)
class Medium:
    key: str
    kind: str  # image or file
    name: str
    data: bytes
    file_type: str = ""
    duration_ms: int | None = None

    @property
    def content_type(self) -> str:
        if self.kind == "image":
            return "image/png" if self.data.startswith(_MAGIC[0]) else "image/jpeg"
        return {"opus": "audio/ogg", "mp4": "video/mp4", "pdf": "application/pdf"}.get(
            self.file_type, "application/octet-stream"
        )


class Media:
    def __init__(self, settings: EmulatorSettings, identifiers: Identifiers) -> None:
        self._settings, self._identifiers = settings, identifiers
        self._media: dict[str, Medium] = {}

    def find(self, key: str) -> Medium | None:
        return self._media.get(key)

    def knows_image(self, key: str) -> bool:
        medium = self._media.get(key)
        return medium is not None and medium.kind == "image"

    def upload_image(self, data: bytes, *, check_format: bool = True) -> Medium:
        """A picture of at most 10 MB in a format Feishu recognises."""
        _check_bytes(data, self._settings.max_image_bytes)
        if check_format and not data.startswith(_MAGIC) and data[4:8] != b"ftyp":
            raise ApiError(234011)
        return self._keep(Medium(self._identifiers.new("img_v3_"), "image", "", data))

    def upload_file(self, name: str, data: bytes, file_type: str, duration_ms: int | None = None) -> Medium:
        """A file of at most 30 MB; `file_type` opus is audio, mp4 video."""
        if file_type not in FILE_TYPES or not name:
            raise ApiError(234001)
        _check_bytes(data, self._settings.max_file_bytes)
        return self.keep_file(name, data, file_type, duration_ms)

    def keep_file(self, name: str, data: bytes, file_type: str, duration_ms: int | None = None) -> Medium:
        """A person's upload: people may send larger files than a bot may."""
        return self._keep(Medium(self._identifiers.new("file_v3_"), "file", name, data, file_type, duration_ms))

    def _keep(self, medium: Medium) -> Medium:
        self._media[medium.key] = medium
        return medium


def _check_bytes(data: bytes, limit: int) -> None:
    if not data:
        raise ApiError(234010)
    if len(data) > limit:
        raise ApiError(234006)
