"""What the agents' processes take: for status, the admin page and /metrics. Asks memory only."""

from collections.abc import Iterator, Mapping
from typing import Any

from channels.agents.protocol import Agent, KeepsProcesses
from channels.web.operations import Number


def agents_at_work(agents: Mapping[str, Agent]) -> dict[str, Any]:
    """Every agent by name: {"kind"}, and where it keeps processes {"processes", "memory_bytes", "waiting"}."""
    return {name: {"kind": agent.kind} | _kept(agent) for name, agent in agents.items()}


def agent_numbers(agents: Mapping[str, Agent]) -> Iterator[Number]:
    """The same as figures, for agents that keep processes."""
    for name, agent in agents.items():
        if isinstance(agent, KeepsProcesses):
            figures, labels = agent.processes(), {"agent": name}
            memory = sum(one.memory_bytes for one in figures)
            yield Number("agent_processes", len(figures), labels, help="Process groups that the agent keeps.")
            yield Number("agent_memory_bytes", memory, labels, help="Resident memory of the agent's processes.")
            yield Number("agent_waiting", agent.waiting(), labels, help="Turns that wait for a place at the agent.")


def _kept(agent: Agent) -> dict[str, Any]:
    if not isinstance(agent, KeepsProcesses):
        return {}
    figures = agent.processes()
    return {
        "processes": [
            {
                "pid": one.pid,
                "session_id": one.session_id or None,
                "memory_bytes": one.memory_bytes,
                "idle_s": one.idle_ms // 1000,
            }
            for one in figures
        ],
        "memory_bytes": sum(one.memory_bytes for one in figures),
        "waiting": agent.waiting(),
    }
