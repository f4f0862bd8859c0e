"""Request bodies are as small as the budgets of cards count them, and can always be sent."""

import json

import pytest

from channels.feishu.transport import dump_body


def test_chinese_costs_three_bytes_a_character() -> None:
    assert dump_body({"content": "你好"}).encode() == '{"content":"你好"}'.encode()


@pytest.mark.parametrize("text", ["half a pair \ud83d", "\udc00", "fine 😀"])
def test_any_text_can_be_sent(text: str) -> None:
    sent = json.loads(dump_body({"content": text}).encode())
    assert sent["content"] == text.encode("utf-8", "replace").decode()
