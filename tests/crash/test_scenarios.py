"""Report 008 by name, over the product: real processes, a real file, pipes and SIGKILL; and what it leaves open.

A1, A2, B1, C1 and D1 show that the product does not have that fault; the others that it has that protection. The world
is the emulator's ledger, the provider the agent's own record, the authority the domain file.
"""

import json
import logging
from pathlib import Path

import pytest

from tests.crash.children import WarmParent
from tests.crash.report_008 import FAILED, NAMED, OK, REFUSED, main
from tests.crash.trial import Scenario, Trial, assert_holds, carry_out

pytestmark = pytest.mark.timeout(180)


async def hold(name: str, folder: Path, parent: WarmParent) -> None:
    assert_holds(await carry_out(NAMED[name], folder, parent))


async def test_a1_no_ack_before_the_commit(tmp_path: Path, parent: WarmParent) -> None:
    await hold("A1", tmp_path, parent)


async def test_a2_memory_is_not_the_only_way_forward(tmp_path: Path, parent: WarmParent) -> None:
    await hold("A2", tmp_path, parent)


async def test_a3_queued_work_goes_on_under_its_own_key(tmp_path: Path, parent: WarmParent) -> None:
    await hold("A3", tmp_path, parent)


async def test_b1_nothing_starts_before_it_is_registered(tmp_path: Path, parent: WarmParent) -> None:
    await hold("B1", tmp_path, parent)


async def test_b2_a_deposed_owner_enters_nothing(tmp_path: Path, parent: WarmParent) -> None:
    await hold("B2", tmp_path, parent)


async def test_b3_two_starts_under_one_epoch_enter_once(tmp_path: Path, parent: WarmParent) -> None:
    await hold("B3", tmp_path, parent)


async def test_b4_entered_and_killed_before_the_effect_is_not_run_again(tmp_path: Path, parent: WarmParent) -> None:
    await hold("B4", tmp_path, parent)


async def test_b5_entered_and_killed_after_the_effect_is_not_run_again(tmp_path: Path, parent: WarmParent) -> None:
    await hold("B5", tmp_path, parent)


async def test_c1_release_quota_and_receipt_are_one_commit(tmp_path: Path, parent: WarmParent) -> None:
    await hold("C1", tmp_path, parent)


async def test_c2_killed_before_the_commit_everything_is_rolled_back(tmp_path: Path, parent: WarmParent) -> None:
    await hold("C2", tmp_path, parent)


async def test_c3_killed_after_the_commit_the_retry_reads_it_back(tmp_path: Path, parent: WarmParent) -> None:
    await hold("C3", tmp_path, parent)


async def test_c4_two_proofs_at_once_release_once(tmp_path: Path, parent: WarmParent) -> None:
    await hold("C4", tmp_path, parent)


async def test_d1_a_name_releases_nothing(tmp_path: Path, parent: WarmParent) -> None:
    await hold("D1", tmp_path, parent)


async def test_d2_only_the_whole_identity_counts(tmp_path: Path, parent: WarmParent) -> None:
    await hold("D2", tmp_path, parent)


async def test_d3_an_old_fact_is_kept_and_gives_no_right(tmp_path: Path, parent: WarmParent) -> None:
    await hold("D3", tmp_path, parent)


@pytest.mark.parametrize("name", [name for name in NAMED if name.startswith("E")])
async def test_beyond_the_report(tmp_path: Path, parent: WarmParent, name: str) -> None:
    await hold(name, tmp_path, parent)


def test_all_fifteen_are_there() -> None:
    fifteen = ["A1", "A2", "A3", "B1", "B2", "B3", "B4", "B5", "C1", "C2", "C3", "C4", "D1", "D2", "D3"]
    assert [name for name in NAMED if not name.startswith("E")] == fifteen


class TestTheReport:
    def test_it_prints_the_table_and_writes_the_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        target = tmp_path / "report.json"
        assert main(["--output", str(target), "--only", "C2", "--only", "D1"]) == OK
        printed = capsys.readouterr().out
        assert "C2  holds" in printed and "D1  holds" in printed and "2 scenarios" in printed
        written = json.loads(target.read_text(encoding="utf-8"))
        assert [one["name"] for one in written["scenarios"]] == ["C2", "D1"]
        assert written["holds"] is True and written["kills"] == 1 and written["claims"] > 8

    def test_a_file_that_exists_is_refused_and_stays(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        target = tmp_path / "report.json"
        target.write_text("mine")
        assert main(["--output", str(target), "--only", "C2"]) == REFUSED
        assert target.read_text() == "mine"
        assert "never overwritten" in capsys.readouterr().err

    def test_cut_off_in_the_middle_it_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        async def cut_off(_trial: Trial) -> str:
            raise KeyboardInterrupt

        level = logging.getLogger("aiohttp").level
        monkeypatch.setitem(NAMED, "C2", Scenario("C2", "ended", "by the terminal", cut_off))
        with pytest.raises(KeyboardInterrupt):
            main(["--output", str(tmp_path / "report.json"), "--only", "C2"])
        assert list(tmp_path.iterdir()) == []
        assert logging.getLogger("aiohttp").level == level

    def test_a_claim_that_does_not_hold_is_told(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def wrong(trial: Trial) -> str:
            trial.claim("two and two", 2 + 2, 5)
            return "four"

        monkeypatch.setitem(NAMED, "C2", Scenario("C2", "arithmetic", "five", wrong))
        assert main(["--output", str(tmp_path / "report.json"), "--only", "C2"]) == FAILED
        assert "does not hold: two and two: 4" in capsys.readouterr().out


async def test_a_scenario_without_claims_or_with_an_error_does_not_hold(tmp_path: Path) -> None:
    async def nothing(_trial: Trial) -> str:
        return "nothing"

    async def raising(trial: Trial) -> str:
        trial.claim("fine", True)
        raise ValueError("broken")

    for run in (nothing, raising):
        outcome = await carry_out(Scenario("X", "x", "x", run), tmp_path)
        assert not outcome.holds
        with pytest.raises(AssertionError):
            assert_holds(outcome)
