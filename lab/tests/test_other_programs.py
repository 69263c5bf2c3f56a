"""Other programs' load during a run: separated from the run's own, and flagged above the limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import jsonschema
import pytest

from edgejoule.machine import process_clock
from edgejoule.store import Run, Store
from edgejoule.study import other_programs
from edgejoule.study.other_programs import OtherPrograms, ProgramCounters, read_counters

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
LAB, DRIVER, SERVER, OTHER, KTHREADD, WRITEBACK = 100, 101, 102, 900, 2, 30
KERNEL_THREAD = 0x00200000
PAGE = os.sysconf("SC_PAGE_SIZE")
MB = 1_000_000


@dataclass
class Machine:
    """A /proc of two CPUs with the processes of a run, another program and a kernel thread."""

    proc: Path
    idle_s: float = 0.0
    interrupts_s: float = 0.0
    cpu_s: dict[int, float] = field(
        default_factory=lambda: dict.fromkeys((LAB, DRIVER, SERVER, OTHER, KTHREADD, WRITEBACK), 0.0)
    )
    ended_children_s: float = 0.0
    written: dict[int, int] = field(default_factory=lambda: dict.fromkeys((LAB, DRIVER, SERVER, OTHER), 0))
    read_bytes: int = 0
    parents: Mapping[int, int] = field(
        default_factory=lambda: {LAB: 1, DRIVER: LAB, SERVER: DRIVER, OTHER: 1, KTHREADD: 0, WRITEBACK: KTHREADD}
    )

    lists_children: bool = True  # the kernel has CONFIG_PROC_CHILDREN

    def write(self) -> None:
        if self.lists_children:
            for pid in (*self.parents, KTHREADD):
                thread = self.proc / str(pid) / "task" / str(pid)
                thread.mkdir(parents=True, exist_ok=True)
                (thread / "children").write_text("".join(f"{c} " for c, above in self.parents.items() if above == pid))
        for pid, parent in self.parents.items():
            folder = self.proc / str(pid)
            folder.mkdir(parents=True, exist_ok=True)
            flags = KERNEL_THREAD if pid in (KTHREADD, WRITEBACK) else 0
            ended = self.ended_children_s if pid == DRIVER else 0
            ticks = [round(100 * s) for s in (self.cpu_s[pid], 0, ended, 0)]
            numbers = [parent, 0, 0, 0, 0, flags, 0, 0, 0, 0, *ticks, *[0] * 20]
            (folder / "stat").write_text(f"{pid} (a (name) of 2) S {' '.join(map(str, numbers))}\n")
            if not flags:
                (folder / "io").write_text(f"rchar: 0\nread_bytes: 0\nwrite_bytes: {self.written[pid]}\n")
        row = f"0 0 0 {round(100 * self.idle_s)} 0 {round(100 * self.interrupts_s)} 0 0 0 0"
        (self.proc / "stat").write_text(f"cpu  {row}\ncpu0 {row}\ncpu1 {row}\nintr 1\n")
        dirtied = sum(self.written.values()) // PAGE
        (self.proc / "vmstat").write_text(f"nr_dirtied {dirtied}\npgpgin {self.read_bytes // 1024}\npgpgout 7\n")

    def read(self) -> ProgramCounters | None:
        """The clock of a kernel thread is what its file says: threads of this machine have the same numbers."""
        return read_counters(self.proc, LAB, self.cpu_s.__getitem__)


@pytest.fixture(params=[True, False], ids=["children are listed", "children are not listed"])
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    emulated = Machine(tmp_path, lists_children=request.param)
    emulated.write()
    return emulated


def during(machine: Machine, seconds: float, monkeypatch: pytest.MonkeyPatch, **changes: object) -> OtherPrograms:
    """Returns the result after that many seconds with these counters. Idle: unused CPU time."""
    times = iter((1000.0, 1000.0 + seconds))
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    begin = machine.read()
    for name, value in changes.items():
        setattr(machine, name, {**getattr(machine, name), **value} if isinstance(value, dict) else value)
    used_s = sum(machine.cpu_s.values()) + machine.interrupts_s + machine.ended_children_s
    machine.idle_s = 2 * seconds - used_s
    machine.write()
    return OtherPrograms.between(begin, machine.read())


def test_a_quiet_machine_flags_nothing(machine, monkeypatch):
    result = during(
        machine, 10, monkeypatch, cpu_s={LAB: 0.5, DRIVER: 6, SERVER: 2, OTHER: 0.1}, written={OTHER: 50_000}
    )
    assert result.cpu_share == pytest.approx(0.1 / 20)
    assert result.own_cpu_s == pytest.approx(8.5)
    assert result.flags() == []


def test_a_busy_program_beside_the_run_is_flagged(machine, monkeypatch):
    result = during(machine, 10, monkeypatch, cpu_s={DRIVER: 6, OTHER: 9.6})
    assert result.cpu_share == pytest.approx(0.48)
    assert result.flags() == ["other programs took 48 % of the CPU; the watts are not usable"]


@pytest.mark.parametrize(("other_s", "flagged"), [(0.59, False), (0.61, True)])
def test_the_bound_is_a_tenth_of_what_the_run_itself_used(machine, monkeypatch, other_s, flagged):
    result = during(machine, 10, monkeypatch, cpu_s={DRIVER: 4, SERVER: 1.9, LAB: 0.1, OTHER: other_s})
    assert bool(result.flags()) == flagged


def test_a_run_that_hardly_works_is_not_flagged_for_the_little_that_every_machine_does(machine, monkeypatch):
    result = during(
        machine, 10, monkeypatch, cpu_s={DRIVER: 0.05, OTHER: 0.15}, written={DRIVER: 90_000, OTHER: 400_000}
    )
    assert result.flags() == []


def test_children_of_the_run_that_have_ended_are_the_runs_own(machine, monkeypatch):
    result = during(machine, 10, monkeypatch, cpu_s={DRIVER: 2}, ended_children_s=5.0)
    assert result.own_cpu_s == pytest.approx(7)
    assert result.cpu_share == pytest.approx(0)


@pytest.mark.parametrize(("other_s", "told_s"), [(0, 0), (2, 3), (6, 8)])
def test_kernel_threads_and_interrupts_work_for_both_sides_as_the_processes_do(machine, monkeypatch, other_s, told_s):
    cpu_s = {DRIVER: 2, OTHER: other_s, WRITEBACK: 1.5 if other_s == 2 else 2}
    result = during(machine, 10, monkeypatch, cpu_s=cpu_s, interrupts_s=0.5 if other_s == 2 else 0.667)
    assert result.cpu_s == pytest.approx(told_s, abs=0.02)


def test_bytes_are_distinguished_by_who_made_the_pages_dirty(machine, monkeypatch):
    written = {LAB: 1 * MB, DRIVER: 2 * MB, SERVER: 2 * MB, OTHER: 859 * MB}
    result = during(machine, 10, monkeypatch, cpu_s={DRIVER: 5}, written=written, read_bytes=300 * MB)
    assert result.write_bytes == pytest.approx(859 * MB, abs=PAGE)
    assert result.read_bytes == pytest.approx(300 * MB, abs=1024)
    assert result.flags() == [
        "other programs read 300.0 MB from storage, the run 0.0 MB",
        "other programs wrote 859.0 MB to the page cache, the run 5.0 MB",
    ]


def test_bytes_of_other_devices_are_no_flag_of_a_run_with_a_device_of_its_own(machine, monkeypatch):
    written = {DRIVER: 2 * MB, OTHER: 859 * MB}
    result = during(machine, 10, monkeypatch, cpu_s={DRIVER: 5, OTHER: 5}, written=written, read_bytes=300 * MB)
    own = replace(result, own_device=True)
    assert own.exceeded() == ["cpu"]
    assert own.flags() == ["other programs took 25 % of the CPU; the watts are not usable"]
    assert result.exceeded() == ["cpu", "read", "write"]


def test_a_counter_that_cannot_be_read_is_missing_and_never_zero(machine, monkeypatch):
    (machine.proc / "vmstat").write_text("nr_free_pages 7\n")
    machine.write = lambda write=machine.write: (write(), (machine.proc / "vmstat").unlink())  # type: ignore[method-assign]
    result = during(machine, 10, monkeypatch, cpu_s={DRIVER: 5, OTHER: 9}, written={OTHER: 859 * MB})
    responses = {r.name: (r.value, r.missing_reason) for r in result.responses(1)}
    assert responses["other_write_bytes"][0] is None
    assert "which process" in str(responses["other_write_bytes"][1])
    assert responses["other_cpu_share"][0] == pytest.approx(0.45)
    assert responses["cpu_utilisation"][0] == pytest.approx(0.7)


def test_without_counters_in_proc_everything_is_missing(tmp_path):
    result = OtherPrograms.between(read_counters(tmp_path, LAB), read_counters(tmp_path, LAB))
    assert [r.value for r in result.responses(1)] == [None] * 4
    assert result.flags() == []


@pytest.mark.parametrize(("other_s", "flagged"), [(1.9, False), (2.1, True)])
def test_a_machine_at_rest_may_have_a_tenth_of_its_cpus_in_use(machine, monkeypatch, other_s, flagged):
    assert bool(during(machine, 10, monkeypatch, cpu_s={OTHER: other_s}).flags_at_rest()) == flagged


def test_amounts_of_several_executions_are_those_of_one(machine, monkeypatch):
    result = during(machine, 10, monkeypatch, cpu_s={DRIVER: 5, OTHER: 5}, written={OTHER: 80 * MB})
    responses = {r.name: r.value for r in result.responses(4)}
    assert responses["other_write_bytes"] == pytest.approx(20 * MB, abs=PAGE)
    assert responses["other_cpu_share"] == pytest.approx(0.25)


SPEC = """\
name = "beside"
question = "What happens beside the run?"

[factors]
database = ["leveldb", "sqlite"]

[fixed]
workload = "workloada"
recordcount = 500
operationcount = 1500
target = 1000
durability = "none"

[design]
replications = 1

[timing]
idle_s = 0.25

[meter]
run_s_min = 0
"""


def study(folder: Path) -> tuple[list[Run], str]:
    """Returns its runs and output. Runs in a separate process, so that a test's children are not the study's."""
    (folder / "experiment.toml").write_text(SPEC)
    command = [sys.executable, "-c", "from edgejoule.cli.main import main; main()", "run", "experiment.toml"]
    done = subprocess.run([*command, "--store", "store.db"], cwd=folder, capture_output=True, text=True, timeout=120,
                          env={k: v for k, v in os.environ.items() if k != "COLUMNS"}, check=False)  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    with Store.open(folder / "store.db") as store:
        return store.runs(store.find().id), done.stdout


@pytest.mark.slow
def test_a_program_that_computes_and_writes_beside_a_real_study_is_reported_everywhere(tmp_path: Path) -> None:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    target = tmp_path / "big"
    writer = subprocess.Popen(
        ["sh", "-c", f"while true; do dd if=/dev/zero of={target} bs=1M count=64 2>/dev/null; done"]
    )
    try:
        runs, said = study(tmp_path)
    finally:
        for process in (*busy, writer):
            process.kill()
            process.wait()
    for run in runs:
        assert (run.value("other_cpu_share") or 0) > 0.1, run.facts["other_programs"]
        assert (run.value("other_write_bytes") or 0) > 2 * MB
        assert any("of the CPU; the watts are not usable" in flag for flag in run.flags), run.flags
        assert any(flag.startswith("other programs wrote ") for flag in run.flags), run.flags
        assert set(run.flags) & set(run.conditions), "--rerun-flagged repeats it"
    assert "Other programs took up to " in said
    assert "the watts are not usable." in said
    assert "Least energy" not in said
    report = (tmp_path / "beside-1.html").read_text()
    for phrase in (
        "Other programs took up to ",
        "When the study began, other programs used ",
        "Bytes that other programs",
    ):
        assert phrase in report
    record = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "run-record.schema.json").read_text()))
    record.validate(json.loads(json.dumps(runs[0].record("beside"))))


def test_what_the_study_itself_computes_and_writes_is_not_counted_as_other_programs() -> None:
    """A real measurement around a child that works: its time and bytes are the run's own, on a noisy machine too."""
    begin = read_counters()
    work = "import time\nwhile time.process_time() < 0.5: pass\nopen('f', 'wb').write(bytes(8_000_000))"
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # /tmp may lie in memory
        subprocess.run([sys.executable, "-c", work], cwd=folder, check=True)
    result = OtherPrograms.between(begin, read_counters())
    assert result.own_cpu_s is not None
    assert result.own_cpu_s > 0.45
    assert result.own_write_bytes is not None
    assert result.own_write_bytes > 7_000_000


def test_a_scan_reads_the_counters_wherever_they_stand_in_files_of_several_pages(machine: Machine) -> None:
    """Kernels write /proc/vmstat in parts of a page, and pgpgin stands in its second one."""
    lines = "".join(f"nr_counter_{number} {number}\n" for number in range(1000))
    (machine.proc / "vmstat").write_text(f"{lines}nr_dirtied 12\nxpgpgin 9\n{lines}pgpgin 34\npgpgin_more 9\n")
    (machine.proc / str(LAB) / "io").write_text("rchar: 7\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 9\n")
    result = machine.read()
    assert result is not None
    assert (result.write_bytes, result.read_bytes) == (12 * PAGE, 34 * 1024)
    assert (result.own_read_bytes, result.own_write_bytes) == (5, 6)
    assert result.cpus == 2


def test_a_scan_of_this_machine_agrees_with_its_files() -> None:
    result = read_counters()
    counters = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    assert result is not None
    assert result.read_bytes == pytest.approx(int(counters["pgpgin"]) * 1024, rel=0.01)
    assert result.write_bytes == pytest.approx(int(counters["nr_dirtied"]) * PAGE, rel=0.01)
    assert result.own_cpu_s == pytest.approx(sum(os.times()[:4]), abs=0.5)


def test_children_of_every_thread_are_the_runs_own_and_a_thread_that_has_just_ended_hides_none(tmp_path, monkeypatch):
    machine = Machine(tmp_path)
    machine.write()
    threads = tmp_path / str(LAB) / "task"
    (threads / "105").mkdir()
    (threads / "105" / "children").write_text(f"{SERVER} ")
    (threads / "99").mkdir()  # without its files
    machine.parents = {**machine.parents, SERVER: LAB}
    (tmp_path / str(DRIVER) / "task" / str(DRIVER) / "children").write_text("")
    machine.lists_children = False  # leaves those that are there
    result = during(machine, 10, monkeypatch, cpu_s={DRIVER: 1, SERVER: 3})
    assert result.own_cpu_s == pytest.approx(4)


def test_a_scan_with_lists_of_children_finds_on_this_machine_what_a_whole_one_finds(monkeypatch):
    """The processes of this test, which are the same, and the kernel's time, which grows and is cut to ticks."""
    with subprocess.Popen(["sh", "-c", "sleep 30 & sleep 30 & wait"], start_new_session=True) as child:
        time.sleep(0.2)
        own, kernel_s = other_programs._own_and_kernel_s(Path("/proc"), os.getpid(), process_clock.cpu_s)
        monkeypatch.setattr(other_programs, "_at_and_below", lambda *_: None)
        of_whole, of_whole_s = other_programs._own_and_kernel_s(Path("/proc"), os.getpid(), process_clock.cpu_s)
        os.killpg(child.pid, signal.SIGKILL)
    assert {p.pid for p in own} == {p.pid for p in of_whole}
    assert len(own) >= 3, "sh and its two children, beside this process"
    threads = len(other_programs._children("/proc", KTHREADD) or [])
    assert kernel_s == pytest.approx(of_whole_s, abs=0.1 + 0.02 * threads)


def test_kernel_threads_that_cannot_be_seen_have_no_time_and_a_program_of_that_number_is_none(tmp_path):
    """In a container, process 2 may be anything."""
    machine = Machine(tmp_path)
    machine.cpu_s |= {KTHREADD: 3.0, WRITEBACK: 5.0}
    machine.write()
    result = machine.read()
    assert result is not None
    assert result.kernel_s == pytest.approx(8)
    stat = tmp_path / str(KTHREADD) / "stat"
    stat.write_text(stat.read_text().replace(f" {KERNEL_THREAD} ", " 0 "))
    result = machine.read()
    assert result is not None
    assert result.kernel_s == 0
