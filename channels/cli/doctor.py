"""`channels doctor`: every check says what it looked at, what it found, and how to mend it. Changes nothing.

Checks that need something an earlier one found broken are skipped and say why. What only the running service knows is
asked of it; where none runs, the file is looked at through a copy.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from channels import logs
from channels.cli.control_client import NotRunning, call_service
from channels.cli.doctor_checks import (
    check_agent_programs,
    check_disk,
    check_file,
    check_lock,
    check_places,
    check_programs,
    look_at_closed_file,
)
from channels.cli.doctor_feishu import check_feishu
from channels.cli.doctor_service import check_evidence, check_findings, check_service
from channels.cli.doctor_words import Check, failed, ok, skipped
from channels.cli.faults import CheckFailed
from channels.cli.running import read_settings
from channels.clock import Clock, SystemClock
from channels.config import Settings, check_secrets, resolve_secret
from channels.errors import ChannelsError, ConfigError

SIGNS = {"ok": "ok  ", "warning": "WARN", "failed": "FAIL", "skipped": "-   "}
SERVICE_LIMIT_S = 120.0


def examine(config: Path | None, environ: Mapping[str, str], *, invariants: bool, as_json: bool) -> None:
    """Run all checks and print them. Raises CheckFailed when one failed."""
    logs.configure("error", "console")
    checks = collect(config, environ, invariants=invariants)
    bad = [check for check in checks if check.state == "failed"]
    if as_json:
        document = {"ok": not bad, "checks": [asdict(check) for check in checks]}
        print(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        print("\n".join(line for check in checks for line in outline(check)))
    if bad:
        raise CheckFailed(f"{len(bad)} of {len(checks)} checks failed: {', '.join(check.name for check in bad)}.")


def outline(check: Check) -> list[str]:
    """One check as lines for a terminal."""
    lines = [f"{SIGNS[check.state]} {check.name}: {check.found}"]
    return lines if not check.mend else [*lines, f"       to mend: {check.mend}"]


def collect(
    config: Path | None, environ: Mapping[str, str], *, invariants: bool, clock: Clock | None = None
) -> list[Check]:
    """Every check in order. Needs a thread without a running loop."""
    clock = clock or SystemClock()
    checks = check_programs()
    try:
        settings = read_settings(config, environ)
        check_secrets(settings, environ)
        resolve_secret(settings.feishu.app_secret, "feishu.app_secret", environ)
    except ConfigError as error:
        mend = "correct it in the settings file or its environment variable; `channels check-config` shows the rest"
        return [*checks, failed("settings", str(error), mend), skipped("everything else", "the settings come first")]
    checks.append(ok("settings", f"read from {config or 'the environment only'}; agent {settings.agent_name}"))
    checks += [*check_places(settings), check_disk(settings), *check_agent_programs(settings, environ)]
    answer, running = _ask_service(settings, invariants)
    checks += [check_lock(settings, running, clock), check_file(settings)]
    if answer is None and running == "":
        answer, closed = look_at_closed_file(settings, invariants, clock)
        checks += closed
    checks += asyncio.run(check_feishu(settings, environ, (answer or {}).get("evidence", {}), clock))
    checks += check_service(answer, running)
    checks += check_evidence((answer or {}).get("evidence"))
    if invariants:
        checks += check_findings((answer or {}).get("findings"))
    return checks


def _ask_service(settings: Settings, invariants: bool) -> tuple[dict[str, Any] | None, str]:
    """What the running service says; and who that is in words: "" when none runs, else what came back."""
    try:
        answer = call_service(settings.control_socket, "doctor", {"invariants": invariants}, SERVICE_LIMIT_S)
    except NotRunning:
        return None, ""
    except ChannelsError as error:
        return None, f"it did not answer: {error}"
    return dict(answer), "answers"
