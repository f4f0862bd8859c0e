"""Installs an agent from its registry into a folder of its own, once. Scripts of a package run where they must."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.real_agents.catalogue import Candidate

LIMIT_S = 900


class CannotInstall(Exception):
    """Says what to do."""


@dataclass(frozen=True, slots=True)
class Installed:
    """Where its program is. `fresh`: it was installed just now."""

    program: Path
    fresh: bool
    seconds: float
    megabytes: int


def install(candidate: Candidate, cache: Path) -> Installed:
    """Into `cache`/NAME-VERSION. A folder that was not finished is begun anew. Raises CannotInstall."""
    folder = cache / f"{candidate.name}-{candidate.version}"
    done, program = folder / "installed.json", folder / candidate.program
    if done.exists() and program.exists():
        return Installed(**{**json.loads(done.read_text()), "program": program, "fresh": False})
    started = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    match candidate.registry:
        case "npm":
            _npm(candidate, folder)
        case "pypi":
            _pip(candidate, folder)
    if not program.exists():
        raise CannotInstall(f"{candidate.requirement} has no program {candidate.program}")
    size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file() and not each.is_symlink())
    installed = Installed(program, True, round(time.monotonic() - started, 1), size // 2**20)
    done.write_text(json.dumps(asdict(installed) | {"program": ""}))
    return installed


def _npm(candidate: Candidate, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise CannotInstall("npm is needed: install Node.js 20 or newer")
    (folder / "package.json").write_text('{"private": true}\n')
    options = ["--no-audit", "--no-fund", "--loglevel=error"]
    if not candidate.scripts:
        options.append("--ignore-scripts")
    _run([npm, "install", "--prefix", str(folder), *options, candidate.requirement], candidate)


def _pip(candidate: Candidate, folder: Path) -> None:
    _run([sys.executable, "-m", "venv", str(folder)], candidate)
    pip = [str(folder / "bin/python"), "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    _run([*pip, candidate.requirement], candidate)


def _run(command: list[str], candidate: Candidate) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise CannotInstall(f"{candidate.requirement}: not there after {LIMIT_S} s") from None
    except subprocess.CalledProcessError as error:
        raise CannotInstall(f"{candidate.requirement}: {error.stderr.strip()[-600:]}") from None
