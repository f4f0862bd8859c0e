"""Answers for tests: strategies that write Markdown as agents do, and a very long one."""

from hypothesis import strategies as st

WORDS = st.sampled_from(
    [
        "hello",
        "world",
        "数据",
        "结果：",
        "**bold**",
        "**重点：**后",
        "`code`",
        "a_b",
        "x < y",
        "3~5",
        "[link](https://a.b/c)",
        "🎉",
        "…",
        "https://e.org/p?a=1&b=2",
        "*it*",
        "~~gone~~",
        "1.",
        "-",
        "#",
        "|",
        "`",
        "**",
        "<at id=all></at>",
        "\\",
        "&amp;",
        "![p](http://i.j)",
    ]
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
PARAGRAPHS = st.lists(SENTENCES, min_size=1, max_size=4).map("\n".join)
HEADINGS = st.tuples(st.integers(1, 6), SENTENCES).map(lambda pair: "#" * pair[0] + " " + pair[1].replace("\n", " "))
CODE_LINES = st.lists(
    st.sampled_from(["x = 1", "", "| a | b |", "# not a heading", "  indented", "- no item", "~~~", "``", '"q"']),
    max_size=30,
)
FENCES = st.tuples(st.sampled_from(["", "py", "js", "mermaid"]), CODE_LINES).map(
    lambda pair: f"```{pair[0]}\n" + "".join(line + "\n" for line in pair[1]) + "```"
)
ROWS = st.lists(st.sampled_from(["| 1 | 2 |", "| `x` | **y** |", "| 长一点的内容 | |", "| only |"]), max_size=12)
TABLES = ROWS.map(lambda rows: "\n".join(["| 名称 | value |", "|---|:-:|", *rows]))
BULLETS = st.lists(SENTENCES, min_size=1, max_size=5).map(lambda lines: "\n".join(f"- {line}" for line in lines))
NUMBERS = st.lists(SENTENCES, min_size=1, max_size=5).map(
    lambda lines: "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
)
NESTED = st.just("- a\n  - b\n    - c\n\n  more of a\n- d\n  ```py\n  x\n\n  y\n  ```\n- e")
QUOTES = st.lists(SENTENCES, min_size=1, max_size=4).map(lambda lines: "\n".join(f"> {line}" for line in lines))
RULES = st.sampled_from(["---", "***"])
BLOCKS = st.one_of(PARAGRAPHS, HEADINGS, FENCES, TABLES, BULLETS, NUMBERS, NESTED, QUOTES, RULES)
ANSWERS = st.lists(BLOCKS, max_size=12).map("\n\n".join)

# Text that nobody writes on purpose, dense in characters that mean something
NASTY = st.text(alphabet="ab1 \n\n\t#*_-+>|`~.[]()<&;:\\!=文，", max_size=200)


def long_answer(tables: int = 30, blocks: int = 40, size: int = 120_000) -> str:
    """An answer of about `size` bytes with so many tables and code blocks."""
    table = "| 项目 | 数量 | 说明 |\n| --- | ---: | --- |\n" + "".join(
        f"| 第 {row} 行 | {row * 7} | 说明文字 {row} |\n" for row in range(8)
    )
    code = "```python\n" + "".join(f"value_{line} = compute({line}, 'x')  # 注释\n" for line in range(12)) + "```"
    parts: list[str] = []
    for number in range(max(tables, blocks)):
        parts.append(f"## 第 {number} 节\n\n这一节说明**第 {number} 个**问题，内容足够长，可以换行。" * 2)
        if number < tables:
            parts.append(table)
        if number < blocks:
            parts.append(code)
        parts.append("- 一\n- 二\n    - 三\n\n" + "普通段落，包含 `code` 和 [链接](https://example.com/a)。" * 8)
    text = "\n\n".join(parts)
    filler = "补充说明，用来凑够长度。" * 20
    while len(text.encode()) < size:
        text += "\n\n" + filler
    return text
