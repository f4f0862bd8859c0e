"""A Feishu Open Platform on loopback: HTTP calls, the long connection and a chat page, for demo and proof.

It is an independent witness: it imports nothing of the product, keeps its own ledger of everything a person could see,
and can be told to fail in every way the platform is known to fail.
"""
