"""Everything that knows Feishu's wire.

`frames`, `events` and `codes` are pure; `connection` holds the long connection, `api` makes the calls, `limits` keeps
to the platform's rates. This floor turns frames and answers into values of `rules` and `errors`, and promises that an
ack leaves only with the verdict its handler returned, that no failure is reported as certain when it is not, and that
one bad frame or answer never stops the next.
"""
