"""Pure drawing: a view in, card JSON out, in Chinese and English.

This floor knows Feishu's card schema 2.0, its budgets (28 000 bytes, 200 elements, 3 tables a card) and the texts that
people read. It knows nothing of sending. The same view always gives the same bytes.

The way of an answer: `parsing` → `units` → `paging` (`measure`, `splitting`) → `rendering` (`inline`) → `reply`.
What was parsed and drawn is kept in bounded caches, because every frame of a running turn draws the whole answer again.
"""
