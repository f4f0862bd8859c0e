"""The domain file: one SQLite file that holds every table, and the only place with SQL.

`tx` is all that tables and transactions know: a statement on an open transaction. Table modules (one per table group)
hold SQL constants and plain functions; `transactions` composes them, one function = one commit. `database` owns the
one connection and its thread, group-commits whole functions and releases a caller only after COMMIT; `migrate` brings
a file to this version or refuses it untouched. Everything but `database` and `migrate` is synchronous and takes `now`
and new ids as arguments.
"""
