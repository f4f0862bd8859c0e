"""The loops: they await, wake, retry and log.

This floor brings the pure decisions of `rules`, the commits of `store`, the wire of `feishu`, the drawings of `cards`
and the `agents` together. It holds no SQL, no JSON shapes and no rules of its own. Nothing in its memory is the only
way forward: a wake-up is a hint, every loop also polls its table, and a boot scans it. `except Exception` stands only
at the head of a loop, so that one bad row never stops the others.
"""
