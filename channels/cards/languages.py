"""Names of programming languages as Feishu's code blocks know them (its page on rich text lists them)."""

_NAMES = (
    "plain_text abap ada apache apex assembly bash c c_sharp cpp cmake cobol coffee_script css d dart delphi diff "
    "django docker_file erlang fortran gherkin go graphql groovy haskell html htmlbars http java javascript json "
    "julia kotlin latex lisp lua makefile markdown matlab nginx objective_c opengl_shading_language perl php "
    "powershell prolog properties protobuf python r ruby rust sas scala scheme scss shell solidity sql swift thrift "
    "toml typescript vbscript visual_basic xml yaml"
)
_KNOWN = frozenset(_NAMES.split())
_OTHER_NAMES = {
    "asm": "assembly",
    "c#": "c_sharp",
    "c++": "cpp",
    "cc": "cpp",
    "coffee": "coffee_script",
    "console": "bash",
    "cs": "c_sharp",
    "csharp": "c_sharp",
    "docker": "docker_file",
    "dockerfile": "docker_file",
    "golang": "go",
    "h": "c",
    "hpp": "cpp",
    "ini": "properties",
    "js": "javascript",
    "json5": "json",
    "jsonc": "json",
    "jsx": "javascript",
    "kt": "kotlin",
    "make": "makefile",
    "md": "markdown",
    "objc": "objective_c",
    "objective-c": "objective_c",
    "patch": "diff",
    "proto": "protobuf",
    "ps1": "powershell",
    "py": "python",
    "py3": "python",
    "python3": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "shell",
    "shell-session": "bash",
    "svg": "xml",
    "tex": "latex",
    "ts": "typescript",
    "tsx": "typescript",
    "vb": "visual_basic",
    "yml": "yaml",
    "zsh": "bash",
}


def language_name(info: str) -> str:
    """What to write behind the opening fence for the info string `info`; "" for one that Feishu does not know."""
    name = info.split(maxsplit=1)[0].strip("{}.").lower() if info.split() else ""
    name = _OTHER_NAMES.get(name, name)
    return name if name in _KNOWN else ""
