"""What comes along with lark_channel's normaliser, and what does not, in a process that has imported nothing else."""

import json
import subprocess
import sys
from typing import Any

PROGRAM = """
import json, sys
from channels.feishu.content import normalise

def heard(message_type, content):
    sender = {"sender_id": {"open_id": "ou_1", "user_id": "u_1"}, "sender_type": "user"}
    message = {"message_id": "om_1", "chat_id": "oc_1", "chat_type": "p2p", "create_time": "1"}
    message |= {"message_type": message_type, "content": json.dumps(content)}
    event = {"sender": sender, "message": message}
    return normalise(json.dumps({"schema": "2.0", "header": {}, "event": event}), "ou_bot").text

words = {
    "text": heard("text", {"text": "hello"}),
    "post": heard("post", {"title": "T", "content": [[{"tag": "text", "text": "line"}]]}),
    "merge_forward": heard("merge_forward", {}),
}
for kind in ("image", "file", "audio", "media", "sticker", "location", "share_chat", "share_user", "interactive",
             "system", "folder", "hongbao", "vote", "todo", "video_chat", "calendar", "share_calendar_event", "new"):
    heard(kind, {"text": "t", "image_key": "k", "file_key": "k", "file_name": "n"})
loaded = set(sys.modules)
import lark_channel
from lark_channel import FeishuChannel
from lark_channel.channel.normalize.pipeline import InboundPipeline
json.dump({"words": words, "loaded": sorted(loaded), "later": FeishuChannel.__name__}, sys.stdout)
"""


def _run() -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def test_the_normaliser_comes_alone_and_the_package_can_still_be_imported_later() -> None:
    result = _run()
    loaded = set(result["loaded"])
    assert result["words"]["text"] == "hello"
    assert "line" in result["words"]["post"]
    assert "lark_channel.channel.normalize.pipeline" in loaded
    heavy = {"lark_channel", "lark_channel.client", "lark_channel.ws", "requests", "websockets", "pkg_resources"}
    assert not loaded & heavy
    assert result["later"] == "FeishuChannel"
