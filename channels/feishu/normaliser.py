"""lark_channel's normaliser without the rest of its package. Pure.

Importing any module of lark_channel first runs the code of the packages around it, which loads its HTTP and WebSocket
clients and breaks an event loop that runs already: 0.4 s and 37 MB, for nothing that is used here.
So the packages stand empty in `sys.modules` while the normaliser is imported, and are taken away afterwards: whoever
imports lark_channel later (tests do) gets the real ones. Its modules stay, so that what they import inside their
functions is found. `tests/unit/feishu/test_normaliser.py` holds all this to its word.
"""

import importlib
from typing import Any

from channels.feishu.empty_packages import empty_packages

_PACKAGES = ("lark_channel", "lark_channel.channel", "lark_channel.core")


def _make_pipeline() -> Any:
    """The normaliser, without anything that could call Feishu."""
    log = importlib.import_module("lark_channel.core.log")
    log.logger.removeHandler(log.handler)  # it writes to stdout, which belongs to the answers of commands
    config = importlib.import_module("lark_channel.channel.config")
    pipeline = importlib.import_module("lark_channel.channel.normalize.pipeline")
    return pipeline.InboundPipeline(
        pipeline.PipelineConfig(
            inbound=config.InboundConfig(expand_merge_forward=False, fetch_interactive_card=False, include_raw=False),
            security=config.SecurityConfig(),  # strict text would turn "a < b" into HTML
        ),
        pipeline.PipelineDeps(),
    )


with empty_packages(*_PACKAGES):
    PIPELINE: Any = _make_pipeline()
