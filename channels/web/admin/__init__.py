"""The admin page: what the service does, for the people who look after it, in a browser on a desk or a phone.

Knows HTTP, HTML and the store's reading functions; never a table, a statement or Feishu's wire. What it needs of the
running service comes through `desk.Desk`. It promises: nobody gets in without a one-time link, and nobody stays in
once the session has ended or the person is no admin any more; nothing changes on GET, or without the session's own
token; nothing that people wrote ever becomes markup; and a fault in it never reaches the loops.
"""
