"""edgejoule-driver verify-durability: real databases, a real loop device, real power cuts. Most tests need root."""

import json
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from driving import DRIVER, Caller, drive

KEPT, NOT_KEPT, WRONG = 0, 3, 2
SHORT = ("--cuts", "25", "--operations", "400", "--seed", "1")
DATABASES_WITH_FILES = ("leveldb", "lmdb", "lunar", "rocksdb", "sqlite")
SOUND = {"lmdb": ("-p", "lmdb.nosync=false")}  # otherwise the database may not open after a power cut

Report = dict[str, Any]


def verify(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DRIVER, "verify-durability", *arguments], capture_output=True, text=True, timeout=170, check=False, **options
    )


def report_of(*arguments: str, status: int) -> list[Report]:
    done = verify(*SHORT, "--json", "-", *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    settings: list[Report] = json.loads(done.stdout)["settings"]
    return settings


def left_behind() -> list[str]:
    """Returns the loop devices, mounts and directories that tests have left."""
    devices = [path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    directories = [str(path) for path in Path(tempfile.gettempdir()).glob("edgejoule-durability-*")]
    return [what for what in [*devices, *mounts, *directories] if "edgejoule-durability" in what]


def wait_until_nothing_is_left() -> list[str]:
    """Waits, because the kernel detaches the loop device of killed processes a moment later."""
    for _ in range(100):
        if not left_behind():
            break
        time.sleep(0.1)
    return left_behind()


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    listed = json.loads(subprocess.run([DRIVER, "databases", "--json"], capture_output=True, check=True).stdout)
    built_in = {adapter["name"] for adapter in listed if adapter["built_in"]}
    name = str(request.param)
    if name not in built_in:
        pytest.skip(f"{name} is not built in")
    return name


every_database = pytest.mark.parametrize("database", DATABASES_WITH_FILES, indirect=True)


@pytest.mark.root
@every_database
def test_class_power_keeps_every_acknowledged_row(database: str) -> None:
    (power,) = report_of("-db", database, "--durability", "power", status=KEPT)
    assert power["cuts"] == 25
    assert power["rows_checked"] > 1000
    assert power["rows_lost"] == power["databases_failed"] == power["file_systems_failed"] == 0
    assert power["verdict"] == "keeps what it promises"


@pytest.mark.root
@every_database
def test_class_process_judged_as_power_is_caught(database: str) -> None:
    """Mutant: judged by class power, but without its syncs."""
    process_as_power = ("--durability", "process", "--expect", "power")
    (unsynced,) = report_of("-db", database, *process_as_power, status=NOT_KEPT)
    assert unsynced["rows_lost_max"] > 0
    assert unsynced["verdict"].startswith("LOST")


@pytest.mark.root
@every_database
def test_class_process_opens_as_it_was_at_an_earlier_moment(database: str) -> None:
    (process,) = report_of("-db", database, "--durability", "process", *SOUND.get(database, ()), status=KEPT)
    assert process["cuts_with_loss"] > 0
    assert process["databases_failed"] == process["rows_never_written"] == process["rows_unreadable"] == 0
    if database not in ("leveldb", "rocksdb"):  # their logs may lack a write and have a later one
        assert process["earlier_state"]


@pytest.mark.root
@every_database
def test_a_disk_that_lies_about_flushes_is_caught(database: str) -> None:
    (lied_to,) = report_of("-db", database, "--durability", "power", "--device-ignores-flushes", status=NOT_KEPT)
    assert lied_to["rows_lost_max"] > 0


@pytest.mark.root
def test_an_option_that_takes_the_syncs_from_class_power_is_caught() -> None:
    (unsynced,) = report_of("-db", "sqlite", "--durability", "power", "-p", "sqlite.synchronous=off", status=NOT_KEPT)
    assert unsynced["cuts_with_loss"] == unsynced["cuts"]


@pytest.mark.root
def test_sqlite_with_a_deleted_journal_needs_extra_to_keep_the_last_transaction() -> None:
    full, extra = report_of(
        *("-db", "sqlite", "--durability", "power", "-p", "sqlite.journal_mode=delete"),
        *("--vary", "sqlite.synchronous=full,extra"),
        status=NOT_KEPT,
    )
    assert not full["kept"]
    assert full["rows_lost_max"] == 1
    assert full["oldest_lost_operations"] == 0
    assert full["earlier_state"]
    assert extra["kept"]
    assert extra["rows_lost"] == 0


@pytest.mark.root
def test_several_threads_on_xfs_keep_what_class_power_promises() -> None:
    if not Path("/usr/sbin/mkfs.xfs").exists():
        pytest.skip("xfsprogs is not installed")
    (power,) = report_of(
        "-db", "rocksdb", "--durability", "power", "-threads", "4", "--file-system", "xfs", status=KEPT
    )
    assert power["earlier_state"] is None  # the writes of several threads have no total order
    assert power["rows_checked"] > 1000


@pytest.mark.root
def test_the_disk_sees_a_flush_for_every_acknowledgement_of_class_power() -> None:
    (power,) = report_of("-db", "rocksdb", "--durability", "power", status=KEPT)
    assert power["trace"]["flushes"] >= 400
    assert power["trace"]["writes"] >= 400


@pytest.mark.root
def test_one_cut_can_be_examined_again() -> None:
    """On a disk that ignores flushes, each commit is written at once, so every run has the same trace."""
    arguments = ("-db", "sqlite", "--durability", "power", "--device-ignores-flushes")
    (all_cuts,) = report_of(*arguments, status=NOT_KEPT)
    worst = max(all_cuts["each_cut"], key=lambda cut: int(cut["rows_lost"]))
    (again,) = report_of(*arguments, "--cut", str(worst["number"]), status=NOT_KEPT)
    assert [cut["number"] for cut in again["each_cut"]] == [worst["number"]]
    assert again["each_cut"][0]["survival"] == worst["survival"]
    assert again["rows_lost"] > 0


@pytest.mark.root
def test_nothing_is_left_after_a_test() -> None:
    verify(*SHORT, "-db", "sqlite", "--durability", "power")
    assert wait_until_nothing_is_left() == []


def interrupted_after(seconds: float, number: signal.Signals) -> subprocess.Popen[str]:
    test = subprocess.Popen(
        [DRIVER, "verify-durability", "-db", "sqlite", "--durability", "power", "--cuts", "5000", "--seed", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(seconds)
    test.send_signal(number)
    return test


@pytest.mark.root
@pytest.mark.parametrize("seconds", [0.3, 4.0])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_nothing_is_left_after_ctrl_c_and_the_terminal_s_end(seconds: float, number: signal.Signals) -> None:
    test = interrupted_after(seconds, number)
    _, errors = test.communicate(timeout=30)
    assert test.returncode == 130, errors
    assert f"interrupted ({number.name})" in errors
    assert wait_until_nothing_is_left() == []


@pytest.mark.root
@pytest.mark.parametrize("seconds", [0.3, 4.0])
def test_a_killed_test_leaves_one_empty_directory_that_the_next_test_names_and_removes(seconds: float) -> None:
    test = interrupted_after(seconds, signal.SIGKILL)
    test.communicate(timeout=30)
    left = f"{tempfile.gettempdir()}/edgejoule-durability-{test.pid}"
    for _ in range(100):
        if left_behind() == [left]:
            break
        time.sleep(0.1)
    assert left_behind() == [left]
    done = verify(*SHORT, "-db", "sqlite", "--durability", "power", "--cut", "0")
    assert f"left by an earlier call that was killed: {left} (removed)" in done.stderr
    assert wait_until_nothing_is_left() == []


def test_without_root_it_reports_that_it_needs_root(unprivileged: Caller) -> None:
    done = drive("verify-durability", "-db", "sqlite", caller=unprivileged)
    assert done.returncode == 1
    assert "it needs root" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-db", "noop"], "needs a database that keeps files on a path"),
        (["-db", "sqlite", "-p", "sqlite.path=/data/a.db"], "leave it out"),
        (["-db", "sqlite", "-p", "recordcount=10"], "unknown property recordcount"),
        (["-db", "sqlite", "--vary", "sqlite.synchronous"], "expected key=value,value"),
        (["-db", "sqlite", "--cuts", "5", "--cut", "5"], "--cut 5: expected 0 to 4, as --cuts is 5"),
        (["-db", "sqlite", "--cuts", "-1"], "--cuts -1: expected a whole number from 1"),
        (["-db", "sqlite", "--operations", "0x10"], "--operations 0x10: expected a whole number from 1"),
        (["-db", "sqlite", "--seed", "-1"], "--seed -1: expected a whole number"),
        (
            ["-db", "sqlite", "--vary", "sqlite.journal_mode=wal", "--vary", "sqlite.journal_mode=delete"],
            "expected one --vary sqlite.journal_mode=value,value",
        ),
        (["-db", "sqlite", "--vary", "sqlite.journal_mode=wal,delete,wal"], "has wal twice"),
        (
            ["-db", "sqlite", "-p", "sqlite.journal_mode=wal", "--vary", "sqlite.journal_mode=wal,delete"],
            "sqlite.journal_mode is given by -p, too",
        ),
        (["-db", "sqlite", "--durability", "power", "--vary", "durability=none"], "is given by --durability, too"),
        (["-db", "sqlite", "--vary", "threadcount=1,4"], "expected -threads"),
        (["-db", "sqlite", "--expect", "all"], "expected one of: none, process, power"),
        (["-db", "sqlite", "--file-system", "xfs", "--disk-mib", "10"], "expected at least"),
    ],
)
def test_what_it_cannot_test_is_refused(arguments: list[str], reason: str) -> None:
    done = verify(*arguments)
    assert done.returncode == WRONG
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_help_shows_examples_and_the_exit_status() -> None:
    help_text = verify("--help").stdout
    assert "verify-durability -db sqlite --durability power" in help_text
    assert "3 a promise was broken" in help_text
