"""The bench of the driver's bars runs and judges correctly; its figures are not tested."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from driving import DRIVER, REPOSITORY
from figures import Bar, Figure, ratio
from process import BenchError, Running, cost_of

BENCH = REPOSITORY / "driver" / "bench"


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, BENCH / "driver.py", "--driver", DRIVER, "--quick", "--no-java", *arguments]
    without_peers = {name: value for name, value in os.environ.items() if name not in ("GO_YCSB", "YCSB_CPP")}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=without_peers)


@pytest.mark.slow
def test_one_short_round_without_peers_gives_every_figure_and_a_verdict_on_every_bar(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = bench("--json", str(file), "--data", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "absent: Java YCSB (--no-java)" in done.stdout
    assert "absent: go-ycsb (--go-ycsb PATH, or GO_YCSB=PATH)" in done.stdout
    assert "absent: YCSB-cpp" in done.stdout
    bars = done.stdout.split("\nBars\n")[1].splitlines()
    assert len(bars) == 8
    assert all(bar.endswith((": met", ": MISSED")) for bar in bars)
    figures = json.loads(file.read_text())
    assert {(case["workload"], case["threads"]) for case in figures["null"]} == {
        (workload, threads) for workload in ("C", "A", "load") for threads in (1, 2)
    }
    assert all(len(case["rss_peak_bytes"]) == 1 for case in figures["null"])
    assert all(len(case["two_threads_more_percent"]) == 5 for case in figures["threads"])
    for case in figures["engines"]:
        assert case["cpu_per_op_ns"][0] > 0, case
        assert 0 < case["driver_share"][0] < 1, case
    assert list(tmp_path.iterdir()) == [file], "a database was left behind"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_bench_that_is_stopped_leaves_no_process_and_no_database_behind(tmp_path: Path, number: int) -> None:
    slow = tmp_path / "slow-driver"
    # Sections first run the driver to list its databases.
    slow.write_text(f'#!/bin/sh\n[ "$1" = databases ] && exit\necho $$ > {tmp_path}/pid\nexec sleep 60\n')
    slow.chmod(0o755)
    data = tmp_path / "data"
    data.mkdir()
    command = [sys.executable, BENCH / "driver.py", "--driver", slow, "--no-java", "--only", "threads", "--data", data]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text() or not list(data.iterdir()):
            assert running.poll() is None
            time.sleep(0.01)
        pid = int((tmp_path / "pid").read_text())
        time.sleep(0.2)  # the bench registers the process a moment after the process prints its id
        running.send_signal(number)
        _, stderr = running.communicate(timeout=30)
    assert stderr in ("bench: interrupted\n", "bench: terminated\n")
    assert running.returncode == 1
    assert not Path(f"/proc/{pid}").exists()
    assert list(data.iterdir()) == []


def test_a_peer_that_is_no_program_is_refused_by_its_option() -> None:
    done = bench("--go-ycsb", "/nowhere/go-ycsb")
    assert done.returncode == 1
    assert done.stderr == "bench: --go-ycsb /nowhere/go-ycsb: not a program\n"
    assert done.stdout == ""


def test_a_process_that_fails_ends_the_bench_with_its_last_message() -> None:
    with pytest.raises(BenchError, match="exit status 3: no such workload"):
        cost_of(["sh", "-c", "echo no such workload >&2; exit 3"])


def test_a_process_that_does_not_end_is_killed() -> None:
    with pytest.raises(BenchError, match="exit status -9"):
        Running(["sleep", "60"], time_limit_s=0.05).cost()


def test_memory_of_a_small_process_is_its_own_and_not_that_of_the_interpreter() -> None:
    ballast = bytearray(os.urandom(1 << 20) * 64)
    cost = cost_of(["sleep", "0.2"])
    assert cost.rss_peak_bytes is not None
    assert cost.rss_peak_bytes < len(ballast) // 4


def test_cpu_time_of_a_process_that_waits_is_not_its_time() -> None:
    cost = cost_of(["sleep", "0.5"])
    assert cost.wall_ns >= 0.5e9
    assert cost.cpu_ns < 0.25e9


def test_a_figure_of_no_round_is_missing_and_its_bar_not_met() -> None:
    figure = Figure()
    figure.add(None)
    assert (figure.median, figure.shown(), ratio(figure, Figure([1.0]))) == (None, "-", "")
    assert Bar("C", "ns/op", 100, figure.median).verdict == "not measured"


@pytest.mark.parametrize(("measured", "verdict"), [(100.0, "met"), (100.1, "MISSED")])
def test_a_bar_is_met_up_to_its_value(measured: float, verdict: str) -> None:
    assert Bar("C", "ns/op", 100, measured).verdict == verdict
