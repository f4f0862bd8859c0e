"""The languages in which coding agents speak to their models, each as two pure functions.

`hear(body)` makes a `Conversation` of a request; `say(thought, body)` makes the HTTP answer, streamed where the request
asks for it. Only what the agents of `tests/real_agents/catalogue.py` use is spoken.
"""
