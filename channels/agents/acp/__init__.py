"""Agents that run as a subprocess and speak the Agent Client Protocol over their standard input and output.

From below to above: `framing` cuts bytes into lines, `watchdog`, `guardian` and `orphans` see to it that no process
outlives the service, `process` is one subprocess, `peer` speaks JSON-RPC with it, `host` is a process that has been
initialised, `opening` starts or loads a session in it, `pool` shares out a bounded number of hosts, and `agent` runs
turns. What an agent says becomes events in `updates` and `tool_book` (pure) and reaches the turn through `feed`, which
coalesces; what it asks of us is answered by `requests`, `permissions`, `files` and `terminals`.

Nothing here is a task of its own: a process calls back, timers are the loop's, and what a turn needs to wait for it
awaits itself, so that a turn which goes away leaves nothing behind. The package `acp` (types of the protocol) is
imported by the modules that need it, which are imported only when such an agent is configured; `orphans` and `watchdog`
need nothing but the standard library.
"""
