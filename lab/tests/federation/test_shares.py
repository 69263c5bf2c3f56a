"""A share of a core: the bucket by numbers, signals and cgroups with real processes or an emulated tree."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgejoule.eco.federation import CpuGroups, Duty, FederationServer, Unlimited
from edgejoule.eco.federation.shares import PERIOD_S, Bucket, why_no_groups
from edgejoule.errors import UsageError
from edgejoule.machine.processes import Adopted, Process

BUSY = ["sh", "-c", "while :; do :; done"]
WITH_A_BUSY_CHILD = ["sh", "-c", "sh -c 'while :; do :; done' & wait"]


def small(share: float = 0.05) -> FederationServer:
    return FederationServer("small", share=share, busy_w=1, idle_w=1)


def eventually(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def stopped_at_the_end() -> Iterator[list[Process]]:
    processes: list[Process] = []
    yield processes
    for process in processes:
        process.stop()


def test_a_bucket_gives_its_share_of_the_time_and_no_more() -> None:
    bucket, used_s, step_s = Bucket(0.25, 0, 0), 0.0, 0.001
    for tick in range(1, 100_001):
        used_s += 0 if bucket.empty(used_s, tick * step_s) else step_s
    assert used_s == pytest.approx(0.25 * 100, rel=0.01)


def test_a_bucket_saves_no_more_than_a_period_for_later() -> None:
    bucket = Bucket(0.5, 0, 0)
    assert not bucket.empty(0, 1000)
    assert not bucket.empty(0.5 * PERIOD_S, 1000)
    assert bucket.empty(0.5 * PERIOD_S + 0.001, 1000)


def test_a_debt_is_paid_by_standing_still() -> None:
    bucket = Bucket(0.1, 0, 0)
    assert bucket.empty(1.0, 0)
    assert bucket.empty(1.0, 9.9)
    assert not bucket.empty(1.0, 10.1)


@pytest.mark.parametrize("arguments", [BUSY, WITH_A_BUSY_CHILD])
def test_signals_stop_a_busy_server_and_its_children_and_let_it_continue(
    arguments: list[str], tmp_path: Path, stopped_at_the_end: list[Process]
) -> None:
    with Duty() as shares:
        limit = shares.limit(small(), tmp_path / "cgroup")
        process = Process(arguments, tmp_path / "log", limit)
        stopped_at_the_end.append(process)
        assert eventually(lambda: state(process.pid) == "T")
        used_s = limit.cpu_s()
        assert eventually(lambda: limit.cpu_s() > used_s + 0.05), "it goes on"
    assert eventually(lambda: state(process.pid) != "T"), "no limit outlives its backend"


def test_usage_is_written_for_a_server_in_the_form_of_a_cgroup(
    tmp_path: Path, stopped_at_the_end: list[Process]
) -> None:
    def usage_usec() -> int:
        return int((tmp_path / "cgroup/cpu.stat").read_text().removeprefix("usage_usec "))

    with Unlimited() as shares:
        limit = shares.limit(small(0.2), tmp_path / "cgroup")
        assert (tmp_path / "cgroup/cpu.max").read_text() == "20000 100000\n"
        assert usage_usec() == 0
        process = Process(WITH_A_BUSY_CHILD, tmp_path / "log", limit)
        stopped_at_the_end.append(process)
        assert eventually(lambda: usage_usec() > 100_000), "its children count"
        process.stop()
        ended_s = limit.cpu_s()
        assert ended_s >= 0.1, "what has ended counts"
        assert eventually(lambda: usage_usec() >= ended_s * 1e6 - 1)


def test_a_process_has_ended_once(tmp_path: Path) -> None:
    with Unlimited() as shares:
        limit = shares.limit(small(), tmp_path / "cgroup")
        process = Process(["sh", "-c", "echo out; exit 3"], tmp_path / "log", limit)
        assert process.wait() == process.wait() == 3
        assert not process.runs()
        assert process.text() == "out\n"
        process.stop()


def version_2(root: Path) -> Path:
    (root / "cgroup.controllers").write_text("cpuset cpu memory\n")
    (root / "cgroup.subtree_control").write_text("memory\n")
    return root


def test_version_2_has_the_quota_and_is_what_ecod_reads(tmp_path: Path) -> None:
    root = version_2(tmp_path)
    with CpuGroups(root) as shares:
        limit = shares.limit(small(0.1), tmp_path / "unused")
        assert (limit.folder / "cpu.max").read_text() == "2000 20000"
        assert (limit.folder / "cpu.weight").read_text() == "10000"
        assert (root / "cgroup.subtree_control").read_text() == "+cpu"
        (limit.folder / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
        assert limit.cpu_s() == 2.5
        assert list(limit.command())[-1] == str(limit.folder / "cgroup.procs")


def test_version_1_has_the_quota_and_files_for_ecod(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cgroup.procs").touch()
    with CpuGroups(tmp_path) as shares:
        limit = shares.limit(small(0.1), tmp_path / "declared")
        (group,) = (tmp_path / "cpu").glob("edgejoule-*")
        assert (group / "cpu.cfs_quota_us").read_text() == "2000"
        assert (group / "cpu.cfs_period_us").read_text() == "20000"
        assert (group / "cpu.shares").read_text() == "262144"
        assert limit.folder == tmp_path / "declared"
        for file in group.iterdir():
            file.unlink()  # a real group is removed with its files
    assert not group.exists()


def test_where_no_group_can_be_made_it_reports_it(tmp_path: Path) -> None:
    why = why_no_groups(tmp_path)
    assert why is not None
    assert "no cgroups" in why
    with pytest.raises(UsageError, match="shares be kept by signals"):
        CpuGroups(tmp_path)
    (tmp_path / "cgroup.controllers").write_text("memory\n")
    assert "no cpu controller" in str(why_no_groups(tmp_path))


@pytest.mark.root
def test_a_real_cgroup_throttles_and_is_removed(tmp_path: Path, stopped_at_the_end: list[Process]) -> None:
    with CpuGroups() as shares:
        limit = shares.limit(small(), tmp_path / "cgroup")
        process = Process(BUSY, tmp_path / "log", limit)
        stopped_at_the_end.append(process)
        group = Path(list(limit.command())[-1]).parent
        assert eventually(lambda: f"{process.pid}\n" in (group / "cgroup.procs").read_text())
        stat = group / "cpu.stat"
        assert eventually(lambda: "nr_throttled 0\n" not in stat.read_text())
        assert eventually(lambda: limit.cpu_s() > 0.02)
        process.stop()
    assert not group.exists()


def test_a_process_that_another_part_started_is_a_member_until_it_ends(tmp_path: Path) -> None:
    with Unlimited() as shares:
        limit = shares.limit(small(), tmp_path)
        with subprocess.Popen(
            [*limit.command(), "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"], start_new_session=True
        ) as popen:
            adopted = Adopted(popen.pid, limit)
            adopted.await_end()
            assert popen.wait() == 0
        used_s = limit.cpu_s()
        assert used_s > 0
        assert limit.cpu_s() == used_s
