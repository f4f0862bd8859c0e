"""The record of a run: JSON that is never overwritten, and lines for people."""

import json
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.real_agents.catalogue import Candidate
from tests.real_agents.install import Installed
from tests.real_agents.scenario import Step


@dataclass(slots=True)
class AgentRecord:
    """What came out for one agent. `trouble`: why it did not get as far as its steps."""

    candidate: Candidate
    shared: bool = False
    installed: Installed | None = None
    introduction: dict[str, Any] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    memory_mb: dict[str, int] = field(default_factory=dict)
    trouble: str = ""

    @property
    def ok(self) -> bool:
        return not self.trouble and bool(self.steps) and all(step.ok for step in self.steps)

    def as_json(self) -> dict[str, Any]:
        candidate, installed = self.candidate, self.installed
        return {
            "agent": candidate.name,
            "registry": candidate.registry,
            "package": candidate.package,
            "version": candidate.version,
            "processes": "shared" if self.shared else "session",
            "installed_mb": installed.megabytes if installed else None,
            "install_s": installed.seconds if installed else None,
            **self.introduction,
            "ok": self.ok,
            "trouble": self.trouble,
            "steps": [asdict(step) for step in self.steps],
            "memory_mb": self.memory_mb,
        }

    def lines(self) -> list[str]:
        head = f"{self.candidate.name} {self.candidate.version}: {'ok' if self.ok else 'FAILED'} {self.trouble}".strip()
        steps = [
            f"  {'ok    ' if one.ok else 'FAILED'} {one.seconds:6.1f} s  {one.name}: {one.said}" for one in self.steps
        ]
        memory = [f"  memory {mb:6} MB  {program}" for program, mb in self.memory_mb.items()]
        return [head, *steps, *memory]


def write_record(agents: list[AgentRecord], path: Path | None) -> Path:
    """Write it; a path that exists is refused."""
    target = path or Path("build") / time.strftime("agents-%Y%m%d-%H%M%S.json", time.gmtime())
    values = {
        "written_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "node": _version("node"),
        "code": _version("git", "rev-parse", "HEAD"),
        "ok": all(each.ok for each in agents),
        "agents": [each.as_json() for each in agents],
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("x", encoding="utf-8") as file:
        json.dump(values, file, ensure_ascii=False, indent=1)
    return target


def _version(program: str, *arguments: str) -> str:
    found = shutil.which(program)
    if found is None:
        return "none"
    done = subprocess.run([found, *(arguments or ("--version",))], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
