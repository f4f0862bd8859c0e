"""The demo agent's answers: well-formed Markdown, the same for the same question. Pure; nothing here runs or waits."""

from collections.abc import Sequence
from typing import Final

from channels.agents.failures import is_chinese
from channels.agents.protocol import Attachment, Said

_LONG_SECTIONS: Final = 40
_HUGE_BYTES: Final = 300_000
_LONGEST_ECHO: Final = 4_000

DIFF: Final = "--- a/notes.md\n+++ b/notes.md\n@@ -1,2 +1,2 @@\n # Notes\n-old line\n+new line"
_DECIDED: Final[dict[str, tuple[str, str]]] = {
    "allowed": (
        "I was allowed to change `notes.md`. This is a demo: no file was touched.",
        "我获准修改 `notes.md`。这只是演示，没有改动任何文件。",
    ),
    "denied": ("I was not allowed to change `notes.md`, so I leave it.", "我没有获准修改 `notes.md`，所以不改。"),
    "timeout": (
        "Nobody answered in time, so `notes.md` stays as it is.",
        "没有人及时答复，`notes.md` 保持不变。",
    ),
    "no_code_write": (
        "I may not change `notes.md` for you: the right to change code is missing.",
        "我不能替你修改 `notes.md`：你没有改代码的权限。",
    ),
}

_TOPICS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "en": (
        (
            "Arrival",
            "A message arrives as a frame on the long connection and is written down before it is acknowledged.",
        ),
        ("Decision", "One rule looks at the chat, the topic and the sender and says what has to happen next."),
        (
            "Admission",
            "The turn gets a number, its intended effects are stored, and only then does anything visible start.",
        ),
        (
            "Answer",
            "The agent writes, the card follows, and the text that you have read is kept from second to second.",
        ),
        ("Ending", "The last words and the reaction are stored together, so a restart can finish what was begun."),
        ("Repair", "Whatever a crash leaves open is found at the next start and is ended in a way that can be read."),
    ),
    "zh": (
        ("到达", "消息以帧的形式经长连接到达，先写入存储，再向平台确认。"),
        ("判定", "由一条规则查看会话、话题和发送者，决定接下来要做什么。"),
        ("接纳", "为这次运行编号，保存它将产生的每个效果，然后才开始任何可见的动作。"),
        ("回答", "助手逐步写出内容，卡片随之更新，你读到的文字每秒都会留存。"),
        ("收尾", "最后的文字和表情回应一并保存，因此重启之后可以把未完成的事做完。"),
        ("修复", "崩溃留下的未完之事会在下次启动时被找到，并以看得懂的方式结束。"),
    ),
}


def echo(text: str, language: str) -> str:
    """A friendly answer that quotes the message."""
    shown = text if len(text) <= _LONGEST_ECHO else text[:_LONGEST_ECHO] + " …"
    quoted = "\n".join(f"> {line}".rstrip() for line in shown.splitlines() or [""])
    if is_chinese(language):
        return f"你好！我收到了你的消息：\n\n{quoted}\n\n我是**演示助手**，不联网。发送 `演示` 可以看到我会展示的内容。"
    return (
        f"Hello! This is what you sent:\n\n{quoted}\n\n"
        "I am the **demo agent** and use no network. Send `demo` to see what I can show."
    )


def received(attachments: Sequence[Attachment], language: str) -> str:
    """A list of what came with the message."""
    chinese = is_chinese(language)
    lines = ["随消息收到：" if chinese else "With it came:"]
    for one in attachments:
        size = f"{one.size_bytes} B" if one.path else one.why
        lines.append(f"- {one.name}" + (f" ({size})" if size else ""))
    return "\n".join([lines[0], "", *lines[1:]])


def long_answer(language: str) -> str:
    """About 60 KB in sections with headings, paragraphs and lists."""
    return "\n\n".join(_section(number, language) for number in range(1, _LONG_SECTIONS + 1))


def huge_answer(language: str) -> str:
    """A little over 300 KB."""
    parts: list[str] = []
    size = number = 0
    while size < _HUGE_BYTES:
        number += 1
        parts.append(_section(number, language))
        size += len(parts[-1].encode()) + 2
    return "\n\n".join(parts)


def tables(count: int, language: str) -> str:
    """`count` tables of five rows, each under its own heading."""
    return "\n\n".join(_table(number, language) for number in range(1, count + 1))


def code(language: str) -> str:
    """Code in several languages, among it a fence in a fence and pipes that are no table."""
    intro = "几种语言的代码：" if is_chinese(language) else "Code in several languages:"
    python = (
        "def greet(names: list[str]) -> str:\n"
        '    """Greets everybody at once."""\n'
        '    return ", ".join(f"hello {name}" for name in names)'
    )
    shell = "grep -c 'turn.ended' service.log | sort | uniq -c\necho \"$HOME\" && ls -la"
    sql = "SELECT state, count(*) AS turns\nFROM turns\nGROUP BY state\nORDER BY turns DESC;"
    pipes = "| this | is |\n|------|----|\n| no   | table, it is code |"
    nested = 'A fence inside a fence:\n\n```json\n{"language": "json", "值": [1, 2, 3]}\n```'
    blocks = [
        f"```{name}\n{text}\n```" for name, text in (("python", python), ("bash", shell), ("sql", sql), ("text", pipes))
    ]
    return "\n\n".join([intro, *blocks, f"````markdown\n{nested}\n````"])


def markdown(language: str) -> str:
    """Every construct that people use in chats."""
    return _MARKDOWN_ZH if is_chinese(language) else _MARKDOWN_EN


def remembered(history: Sequence[Said], language: str) -> str:
    """The last ten things that the person said in this session."""
    said = [entry.text for entry in history if entry.role == "user"][-10:]
    if is_chinese(language):
        head = "本次会话中你之前说过：" if said else "这是你在本次会话中的第一条消息。"
    else:
        head = "Before this message you said:" if said else "This is your first message in this session."
    rows = [f"{number}. {_one_line(text)}" for number, text in enumerate(said, start=1)]
    return "\n".join([head, "", *rows]) if rows else head


def decided(allowed: bool, why: str, language: str) -> str:
    """What was decided about the change that was asked for."""
    english, chinese = _DECIDED["allowed" if allowed else why if why in _DECIDED else "denied"]
    return f"{chinese if is_chinese(language) else english}\n\n"


def reasoning(language: str) -> str:
    if is_chinese(language):
        return (
            "先看看对方想要什么。消息很短，语气友好。\n"
            "可以直接回答，也可以先查一查资料；直接回答更快。\n"
            "那就先引用原文，再给出结果，最后说明下一步能做什么。"
        )
    return (
        "First, what is wanted here? The message is short and friendly.\n"
        "I could answer at once or look something up; answering at once is quicker.\n"
        "So: quote the message, give the result, then say what can be done next."
    )


def plan(language: str) -> tuple[str, ...]:
    if is_chinese(language):
        return ("理解问题", "收集资料", "写出回答", "检查结果")
    return ("Understand the question", "Gather what is needed", "Write the answer", "Check the result")


def filler(characters: int, language: str) -> str:
    """Readable text of exactly `characters` characters."""
    sentence = _TOPICS["zh" if is_chinese(language) else "en"][0][1] + ("" if is_chinese(language) else " ")
    return (sentence * (characters // len(sentence) + 1))[:characters]


def _section(number: int, language: str) -> str:
    topics = _TOPICS["zh" if is_chinese(language) else "en"]
    title, sentence = topics[(number - 1) % len(topics)]
    others = [topics[(number + step) % len(topics)][1] for step in range(4)]
    space = "" if is_chinese(language) else " "
    points = "\n".join(f"- **{name}** {text}" for name, text in topics[:3])
    paragraphs = [space.join([sentence, *others]), space.join([*others[::-1], sentence])]
    return "\n\n".join([f"## {number}. {title}", paragraphs[0], points, paragraphs[1]])


def _table(number: int, language: str) -> str:
    if is_chinese(language):
        title, header, states = f"### 表格 {number}", "| 序号 | 名称 | 状态 | 用时 |", ("完成", "进行中", "等待")
        name, unit = "任务", "毫秒"
    else:
        title, header, states = f"### Table {number}", "| No. | Name | State | Time |", ("done", "running", "waiting")
        name, unit = "Task", "ms"
    rows = [
        f"| {row} | {name} {number}.{row} | {states[(number + row) % 3]} | {number * 37 + row * 11} {unit} |"
        for row in range(1, 6)
    ]
    return "\n".join([title, "", header, "|---:|:---|:---:|---:|", *rows])


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:200] + " …"


_MARKDOWN_EN: Final = """\
# A heading

## A smaller one

Text with **bold**, *italic*, ~~struck out~~ and `inline code`, and a [link](https://open.feishu.cn).

- a list
  - with a list inside
- another point

1. first
2. second

- [x] a task that is done
- [ ] one that is not

> A quotation
> of two lines.

| Left | Right |
|:-----|------:|
| a    | 1     |
| b    | 22    |

---

A picture: ![a picture](https://open.feishu.cn/logo.png), an address: someone@example.com, and signs that mean nothing
here: 5 < 7, a * b, snake_case_name, <b>no markup</b>."""

_MARKDOWN_ZH: Final = """\
# 一级标题

## 二级标题

这里有**粗体**、*斜体*、~~删除线~~和`行内代码`，还有一个[链接](https://open.feishu.cn)。

- 列表
  - 列表中的列表
- 另一项

1. 第一
2. 第二

- [x] 已完成的任务
- [ ] 未完成的任务

> 一段引用，
> 共两行。

| 左对齐 | 右对齐 |
|:-------|-------:|
| 甲     | 1      |
| 乙     | 22     |

---

图片：![一张图片](https://open.feishu.cn/logo.png)，邮箱：someone@example.com，以及在这里没有含义的符号：
5 < 7、a * b、snake_case_name、<b>不是标记</b>。"""
