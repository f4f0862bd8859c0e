"""Protections switched off: a patch on a copied tree, and the kills that must then show a violation."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.case import Cases
from tests.crash.children import ROOT, WarmParent
from tests.crash.handover import hand_over
from tests.crash.proofs import two_proofs
from tests.crash.stage import Violation
from tests.crash.workloads import WORKLOADS

SHORT_S = 10.0  # what a missing protection loses would be waited for in vain
PATCHES = Path(__file__).parent / "ablations"


@dataclass(frozen=True, slots=True)
class Ablation:
    """`rules`: at least one of these must be violated. `kills`: (workload, boot, point, nth); where there are none, the
    processes of `case` show it."""

    name: str
    rules: frozenset[str]
    kills: tuple[tuple[str, int, str, int], ...] = field(default=())
    case: Callable[[Path, Path], Awaitable[list[Violation]]] = hand_over

    @property
    def patch(self) -> Path:
        return PATCHES / f"{self.name}.patch"


ABLATIONS = {
    each.name: each
    for each in (
        Ablation(
            "ack-before-commit",
            frozenset({"S11"}),
            (("first message", 1, "inbox.INSERT_ROW", 1), ("first message", 1, "inbox.REGISTER", 1)),
        ),
        Ablation(
            "snapshot-before-confirmation",
            frozenset({"S3"}),
            (("first message", 1, "update_card before", 1), ("continue in a topic", 1, "inbox.REGISTER", 2)),
        ),
        Ablation(
            "uuid-per-attempt", frozenset({"S2", "S12"}), (("first message", 1, "reply_message after_effect", 1),)
        ),
        Ablation(
            "gate-without-inbox",
            frozenset({"S1", "S11"}),
            (("first message", 1, "inbox.INSERT_ROW", 1),),
        ),
        Ablation("no-epoch-check", frozenset({"S10"})),
        Ablation("release-by-proof", frozenset({"S4", "S5"}), case=two_proofs),
        Ablation(
            "quota-outside",
            frozenset({"S4"}),
            (("settled after a restart", 2, "quotas.GIVE_BACK", 1), ("first message", 1, "quotas.GIVE_BACK", 1)),
        ),
        Ablation(
            "deadline-extended-at-boot", frozenset({"S8"}), (("too late to settle", 2, "owners.COUNT_COMMIT", 1),)
        ),
        Ablation("tombstone-skipped", frozenset({"S7"}), (("stop racing settle", 1, "inbox.REGISTER", 1),)),
    )
}


def copy_tree(target: Path, ablation: Ablation | None) -> Path:
    """The tree as it stands here, with the protection taken out. Raises when the patch does not apply.

    Bytecode comes along, where there is some: it fits as long as its source is as old and as long as before.
    """
    for name in ("channels", "tests", "config"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("pictures"))
    if ablation is not None:
        apply_patch(target, ablation)
    return target


def does_apply(tree: Path, ablation: Ablation) -> bool:
    """Whether the patch fits this tree, which is left as it is."""
    return _apply(tree, ablation, "--check") is None


def apply_patch(tree: Path, ablation: Ablation) -> None:
    """Take the protection out of this tree. Raises when the patch does not apply."""
    if (fault := _apply(tree, ablation)) is not None:
        raise AssertionError(f"{ablation.patch.name} does not apply any more: {fault}")


def _apply(tree: Path, ablation: Ablation, *options: str) -> str | None:
    """What git has against it, if anything."""
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(tree.parent)}
    command = ["git", "apply", "--verbose", *options, str(ablation.patch)]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode != 0 or "Skipped" in done.stderr else None


async def find_violations(ablation: Ablation | None, tree: Path, folder: Path) -> list[Violation]:
    """The small campaign that belongs to an ablation, on the code of `tree`."""
    if ablation is not None and not ablation.kills:
        return await ablation.case(folder, tree)
    parent = await WarmParent.start(tree)
    try:
        cases, found = Cases(parent, limit_s=SHORT_S), list[Violation]()
        for workload, boot, point, nth in ablation.kills if ablation else ():
            result = await cases.run(WORKLOADS[workload], {boot: (point, nth)})
            found += result.violations
            if ablation is not None and {each.rule for each in found} & ablation.rules:
                break
        return found
    finally:
        await asyncio.shield(parent.stop())
