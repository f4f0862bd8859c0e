"""Pure decisions: values in, decisions out.

This floor knows what a message, a turn, a delivery and a command are and what must happen next. It knows nothing of
time, chance, network, files or tables: whatever a decision depends on is an argument. Decisions are unions of frozen
dataclasses, matched with `match` and `assert_never`. Everything here can be tested with plain tables of cases.
"""
