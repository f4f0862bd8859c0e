"""What the page's renderer makes of Feishu's Markdown: what Feishu draws is drawn, what it leaves raw stays raw."""

import pytest
from playwright.async_api import Page

DRAW = """async ([text, flavour]) => {
  const { drawMarkdown } = await import("/static/markdown.js");
  const people = (id) => (id === "ou_alice" ? "Alice" : undefined);
  const context = { language: "zh", people, mediaAddress: (key) => `/static/icon.svg#${key}` };
  const node = drawMarkdown(text, flavour, context);
  const nameOf = (drawn) => drawn.dataset.token ?? drawn.getAttribute("aria-label") ?? "icon";
  for (const drawn of node.querySelectorAll("svg")) drawn.replaceWith(`[${nameOf(drawn)}]`);
  const noise = ["class", "style", "target", "rel", "title", "loading"];
  for (const part of node.querySelectorAll("*")) for (const name of noise) part.removeAttribute(name);
  return node.innerHTML.replaceAll(' style=""', "");
}"""


def code(language: str, text: str) -> str:
    head = f'<span>{language}</span><button type="button" aria-label="复制">[icon]</button>'
    return f"<figure><figcaption>{head}</figcaption><pre><code>{text}</code></pre></figure>"


CARD_2 = [
    ("# 一\n###### 六", "<h1>一</h1><h6>六</h6>"),
    ("#话题", "<p>#话题</p>"),
    ("标题\n===", "<h1>标题</h1>"),
    ("一行\n又一行\n\n新段", "<p>一行<br>又一行</p><p>新段</p>"),
    (
        "**粗** *斜* ~~删~~ ***both***",
        "<p><strong>粗</strong> <em>斜</em> <s>删</s> <em><strong>both</strong></em></p>",
    ),
    ("**注意：**后面", "<p>**注意：**后面</p>"),  # CommonMark's flanking rule: people see the stars
    ("**注意：** 后面", "<p><strong>注意：</strong> 后面</p>"),
    ("snake_case_name __x__", "<p>snake_case_name <strong>x</strong></p>"),
    ("2 * 3 * 4", "<p>2 * 3 * 4</p>"),
    ("`a*b*` ``x`y``", "<p><code>a*b*</code> <code>x`y</code></p>"),
    ("`open", "<p>`open</p>"),
    (r"\*not\* &lt;b&gt; &#42;", "<p>*not* &lt;b&gt; *</p>"),
    ("[站](https://a.b/c)", '<p><a href="https://a.b/c">站</a></p>'),
    ("[x](javascript:alert(1))", "<p><span>x</span></p>"),
    ("<https://a.b>", '<p><a href="https://a.b/">https://a.b</a></p>'),
    ("[a][1]\n\n[1]: https://a.b", '<p><a href="https://a.b/">a</a></p>'),
    (
        "- 一\n- 二\n    - 三\n- 四",
        "<ul><li><p>一</p></li><li><p>二</p><ul><li><p>三</p></li></ul></li><li><p>四</p></li></ul>",
    ),
    ("1. 一\n2. 二\n3. 三", '<ol start="1"><li><p>一</p></li><li><p>二</p></li><li><p>三</p></li></ol>'),
    ("3. 三", '<ol start="3"><li><p>三</p></li></ol>'),
    ("- a\n\n  b", "<ul><li><p>a</p><p>b</p></li></ul>"),
    ("- [ ] 待办", "<ul><li><p>[ ] 待办</p></li></ul>"),  # no task lists in Feishu
    ("> 引用\n继续\n\n外面", "<blockquote><p>引用<br>继续</p></blockquote><p>外面</p>"),
    ("上\n\n---\n\n下", "<p>上</p><hr><p>下</p>"),
    ("<hr>", "<hr>"),
    (
        "```py\n| a |\n|---|\n```",
        code("py", "| a |\n|---|"),
    ),
    (
        "```\nopen",
        code("Plain Text", "open"),
    ),
    (
        "|a|b|\n|-|-:|\n|1|`x`|\n|2|",
        "<div><div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><code>x</code></td></tr><tr><td>2</td><td></td></tr></tbody></table></div></div>",
    ),
    ("|a|b|\n|---|", "<p>|a|b|<br>|---|</p>"),  # not a table: people see the pipes
    ("<div>x</div><script>alert(1)</script>", "<p>&lt;div&gt;x&lt;/div&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
    ("<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>"),
    ("<at id=ou_alice></at> <at id=all></at>", "<p><span>@Alice</span> <span>@所有人</span></p>"),
    (
        "<font color='red'>红**粗**<font color=green>绿</font></font>",
        "<p><span>红<strong>粗</strong><span>绿</span></span></p>",
    ),
    ("<font color='red'>没完", "<p>&lt;font color='red'&gt;没完</p>"),
    ("<text_tag color='blue'>标签</text_tag><number_tag>3</number_tag>", "<p><span>标签</span><span>3</span></p>"),
    ("<raw>**x**</raw>", "<p>**x**</p>"),
    ("<link icon='chat_outlined' url='https://a.b'>去</link>", '<p><a href="https://a.b/">[chat_outlined]去</a></p>'),
    (":DONE: :NoSuchEmoji: 10:20:30", "<p>[DONE] :NoSuchEmoji: 10:20:30</p>"),
    ("![图](img_v3_abc)", '<p><img src="/static/icon.svg#img_v3_abc" alt="图"></p>'),
    ("![图](https://a.b/c.png)", "<p><span>图</span></p>"),
]

OLD = [
    ("card1", "# 标题", "<p># 标题</p>"),
    ("card1", "> 引用", "<p>&gt; 引用</p>"),
    ("card1", "`code`", "<p>`code`</p>"),
    ("card1", "|a|\n|-|\n|1|", "<p>|a|<br>|-|<br>|1|</p>"),
    ("card1", "**粗**\n- 项", "<p><strong>粗</strong></p><ul><li><p>项</p></li></ul>"),
    ("lark_md", "**粗**\n# 标题\n- 项", "<p><strong>粗</strong><br># 标题<br>- 项</p>"),
    ("lark_md", "![图](img_v3_abc)", "<p>!<span>图</span></p>"),
]


async def draw(page: Page, text: str, flavour: str) -> str:
    return str(await page.evaluate(DRAW, [text, flavour]))


async def test_schema_2_draws_commonmark_tables_and_feishu_tags(page: Page) -> None:
    drawn = [(text, await draw(page, text, "card2")) for text, _ in CARD_2]
    assert drawn == CARD_2


async def test_what_older_text_does_not_know_stays_raw(page: Page) -> None:
    drawn = [(flavour, text, await draw(page, text, flavour)) for flavour, text, _ in OLD]
    assert drawn == OLD


@pytest.mark.parametrize("rows", [5, 6])
async def test_a_table_shows_five_rows_a_page(page: Page, rows: int) -> None:
    html = await draw(page, "|n|\n|-|\n" + "\n".join(f"|r{number}|" for number in range(rows)), "card2")
    assert html.count("<td>") == 5
    assert ("1 / 2" in html) == (rows > 5)
