"""The longest time without a success, on SQLite while another connection holds its write lock."""

import contextlib
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from driving import DRIVER, drive, events_of

HELD_S = 1.5


def gap_of(tmp_path: Path, *arguments: str) -> tuple[float, float, str]:
    """Returns the gap and its begin in s, and the notes, of a run that is locked out for HELD_S after a second."""
    place = ["-db", "sqlite", "-p", f"sqlite.path={tmp_path / 'data'}", "-p", "recordcount=100", "--seed", "1"]
    assert drive("load", *place).returncode == 0
    updates = ["-p", "readproportion=0", "-p", "updateproportion=1", "-p", "operationcount=0"]
    command = [DRIVER, "run", *place, *updates, "-p", "maxexecutiontime=4", *arguments, "-json", "-"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running,
        contextlib.closing(sqlite3.connect(tmp_path / "data", isolation_level=None, timeout=30)) as other,
    ):
        time.sleep(1)
        other.execute("BEGIN IMMEDIATE")
        time.sleep(HELD_S)
        other.execute("COMMIT")
        out, said = running.communicate(timeout=60)
    assert running.returncode == 0, said
    events = events_of(out)
    begin_ns = next(event for event in events if event["event"] == "active_end")["active_start_ns"]
    end = events[-1]
    return end["longest_gap_ns"] / 1e9, (end["longest_gap_start_ns"] - begin_ns) / 1e9, said


# While the lock is held, updates wait (the default) or fail at once. With a rate, the client idles between two.
@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-p", "sqlite.busy_timeout_ms=1", "--failure-share-max", "1"],
        pytest.param(
            ["-p", "sqlite.busy_timeout_ms=1", "--failure-share-max", "1", "-target", "50"], marks=pytest.mark.slow
        ),
        pytest.param(["-threads", "3"], marks=pytest.mark.slow),
    ],
    ids=["waiting", "failing", "failing at a rate", "several clients"],
)
def test_the_longest_gap_is_that_of_the_outage(tmp_path: Path, arguments: list[str]) -> None:
    gap_s, begin_s, said = gap_of(tmp_path, *arguments)
    assert HELD_S - 0.1 < gap_s < HELD_S + 1.2
    assert 0 < begin_s < 2.5
    assert f"no operation succeeded for {gap_s:.3g} s, from {begin_s:.3g} s on (longest_gap_s_max = 1 s)" in said


@pytest.mark.slow
def test_a_longer_bound_adds_no_message(tmp_path: Path) -> None:
    gap_s, _, said = gap_of(tmp_path, "-p", "longest_gap_s_max=20")
    assert gap_s > HELD_S - 0.1
    assert "no operation succeeded" not in said


def test_the_time_in_which_nothing_is_due_is_no_gap() -> None:
    rate = ["-P", "workloadc", "-p", "operationcount=4", "-target", "2"]
    done = drive("run", "-db", "noop", *rate, "--seed", "1", "-json", "-")
    assert done.returncode == 0, done.stderr
    assert events_of(done.stdout)[-1]["longest_gap_ns"] < 0.4e9
    assert "no operation succeeded" not in done.stderr
