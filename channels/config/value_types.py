"""The types of the settings' values: what may stand in the file, and what it is read as.

Each check here needs nothing but the value itself and the folder that relative paths belong to, which is handed over as
the validation's context.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationInfo
from pydantic_core import PydanticCustomError

from channels.config.references import HOW_TO_WRITE, Reference, Secret, SecretSource, parse_reference
from channels.config.time_zones import is_time_zone

PLACEHOLDER = "cli_your_app_id"  # what config/example.toml has in the place of an app's id


def _fault(text: str) -> PydanticCustomError:
    return PydanticCustomError("setting", "{text}", {"text": text})


def _folder(info: ValidationInfo) -> Path:
    """Relative paths belong to the folder of the settings file, handed over as the validation's context."""
    return Path(info.context["folder"]) if info.context else Path.cwd()


def _read_secret(value: Any, info: ValidationInfo) -> SecretSource:
    if isinstance(value, Reference | Secret):
        return value
    reference = parse_reference(value, _folder(info)) if isinstance(value, str) else None
    if reference is None:
        raise _fault(f"must not hold the secret itself; {HOW_TO_WRITE}")
    return reference


def _read_path(value: Any, info: ValidationInfo) -> Path:
    if not isinstance(value, str | Path) or not str(value).strip():
        raise _fault("must be a path in quotes")
    path, folder = Path(value).expanduser(), _folder(info)
    while not path.is_absolute() and path.parts[:1] == ("..",):  # people read these paths: without a/../b
        path, folder = Path(*path.parts[1:]), folder.resolve().parent
    return folder / path


def _read_address(value: Any) -> str:
    if not isinstance(value, str) or urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname:
        raise _fault('must be an address such as "https://host" or "http://host:port/path"')
    if urlsplit(value).password:
        raise _fault(f"must not hold a password; {HOW_TO_WRITE}")
    return value.rstrip("/")


def _read_domain(value: Any) -> str:
    if value in ("feishu", "lark"):
        return str(value)
    try:
        return _read_address(value)
    except PydanticCustomError:
        raise _fault('must be "feishu", "lark" or an address such as "http://127.0.0.1:8800"') from None


def _check_app_id(value: str) -> str:
    if value == PLACEHOLDER:
        raise _fault("is still the example's: put your own app's id there (`channels init` does it for you)")
    return value


def _read_proxy(value: Any, info: ValidationInfo) -> str | SecretSource:
    if isinstance(value, Reference | Secret):
        return value
    if value == "":
        return ""
    reference = parse_reference(value, _folder(info)) if isinstance(value, str) else None
    return reference or _read_address(value)


def _read_public_url(value: Any) -> str:
    if value == "":
        return ""
    if urlsplit(_read_address(value)).path not in ("", "/"):
        raise _fault("must be an address without a path: the page always lies under /admin")
    return _read_address(value)


def _read_time_zone(value: Any) -> str:
    if not isinstance(value, str) or not is_time_zone(value):
        raise _fault('must be a time zone such as "UTC" or "Asia/Shanghai"')
    return value


def _read_command(value: Any, info: ValidationInfo) -> tuple[str, ...]:
    """The program's path is made whole here: it must not depend on the folder in which the program is started."""
    if not isinstance(value, list | tuple) or not value or not all(isinstance(word, str) and word for word in value):
        raise _fault('must be a list of words, the program first, such as ["opencode", "acp"]')
    program = Path(value[0]).expanduser()
    if len(program.parts) > 1:
        program = _folder(info) / program
    return str(program), *value[1:]


def _read_environment(value: Any, info: ValidationInfo) -> dict[str, str | SecretSource]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise _fault('must be a table of names and texts, such as { NAME = "text", KEY = "env:OTHER_NAME" }')
    found: dict[str, str | SecretSource] = {}
    for name, text in value.items():
        if not name or "=" in name or "\0" in name:
            raise _fault(f'holds "{name}", which cannot be the name of a variable')
        if not isinstance(text, str | Reference | Secret):
            raise _fault(f"holds {name}, whose value must be text in quotes")
        found[name] = (parse_reference(text, _folder(info)) or text) if isinstance(text, str) else text
    return found


AppId = Annotated[str, Field(min_length=1), AfterValidator(_check_app_id)]
SecretSetting = Annotated[Reference | Secret, BeforeValidator(_read_secret)]
PathSetting = Annotated[Path, BeforeValidator(_read_path)]
Address = Annotated[str, BeforeValidator(_read_address)]
Domain = Annotated[str, BeforeValidator(_read_domain)]
Proxy = Annotated[str | Reference | Secret, BeforeValidator(_read_proxy)]
PublicUrl = Annotated[str, BeforeValidator(_read_public_url)]
Command = Annotated[tuple[str, ...], BeforeValidator(_read_command), Strict(False)]
Environment = Annotated[dict[str, str | Reference | Secret], BeforeValidator(_read_environment)]
Names = Annotated[tuple[str, ...], Strict(False)]
Gaps = Annotated[tuple[Annotated[int, Field(ge=0, le=60_000)], ...], Strict(False), Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Count = Annotated[int, Field(ge=1)]
Limit = Annotated[int, Field(ge=0, le=1_000_000_000_000)]  # 0: none
TimeZone = Annotated[str, BeforeValidator(_read_time_zone)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)
