"""What the control socket can ask of the running service."""

import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any

from channels.app.access_operations import AccessOperations
from channels.app.building import Parts
from channels.app.figures import Figures
from channels.app.session_operations import SessionOperations
from channels.app.settlement_operations import QuotaOperations, SettlementOperations
from channels.app.topic_operations import TopicOperations
from channels.errors import Refused
from channels.service.quota_desk import books_json
from channels.store.invariants import look
from channels.store.transactions.evidence import read_evidence
from channels.web.control import Operation


class ControlOperations:
    """One object per boot; before the boot is through, everything but `status` is refused."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def table(self) -> dict[str, Operation]:
        """Name → operation, as the control socket serves them."""
        own: dict[str, Operation] = {"status": self.status, "backup": self.backup, "doctor": self.doctor}
        access, sessions = AccessOperations(lambda: self._parts.desk), SessionOperations(lambda: self._parts.sessions)
        topics = TopicOperations(lambda: self._parts.launching)
        settlement = SettlementOperations(lambda: self._parts.ledger.desk)
        quotas = QuotaOperations(lambda: self._parts.ledger.quotas)
        tables = (access, sessions, topics, settlement, quotas)
        return own | {name: operation for each in tables for name, operation in each.table().items()}

    async def status(self, _arguments: dict[str, Any]) -> dict[str, Any]:
        """Everything about this boot; also what was used, which costs too much for a page that asks every moment."""
        found = await self._figures.status()
        if self._figures.parts is None:
            return found
        return found | {"usage": books_json(await self._parts.ledger.quotas.books())}

    async def backup(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """{"target": absolute path} → {"target"}. Commits go on meanwhile and are in the copy."""
        target = Path(str(arguments.get("target", "")))
        if not target.is_absolute():
            raise ValueError("target must be an absolute path")
        try:
            await self._parts.context.database.backup(target)
        except (OSError, sqlite3.Error) as error:
            raise Refused("backup_failed", f"{target} could not be written: {error}") from error
        return {"target": str(target)}

    async def doctor(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """{"invariants": bool} → what only the running service knows, and what its file says of the set-up."""
        context = self._parts.context
        answer: dict[str, Any] = {
            "status": await self._figures.status(),
            "evidence": asdict(await context.database.read(read_evidence)),
        }
        if arguments.get("invariants"):
            answer["findings"] = asdict(await context.database.read(look, context.now()))
        return answer

    @property
    def _parts(self) -> Parts:
        if self._figures.parts is None:
            raise Refused("starting", "the service is still starting; ask again in a moment")
        return self._figures.parts
