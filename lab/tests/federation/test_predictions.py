"""experiments/eco-real/predictions.py: what was predicted beside what came out, by the events of an export."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "experiments/eco-real/predictions.py"
Event = dict[str, Any]


def decision(job: int, **more: Any) -> Event:
    return {
        "run_index": 0, "attempt": 0, "event": "decision", "monotonic_ns": job * 10**9, "policy": "eco",
        "home": "low", "place": "low", "shadow": False, "level0_files_s": None, "predicted_s": 2.2,
        "predicted_j": 9.0, "actual_s": 2.0, "actual_j": 10.0, "stall_predicted": False, "outcome": "local", **more,
    }  # fmt: skip


def flush(at_s: float, **more: Any) -> Event:
    at_ns = round(at_s * 1e9)
    return {"run_index": 0, "attempt": 0, "event": "database", "monotonic_ns": at_ns, "kind": "flush", **more}


def printed(events: list[Event], *options: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, SCRIPT, *options], input="\n".join(map(json.dumps, events)), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def row(text: str, *cells: str) -> str:
    (result,) = (line for line in text.splitlines() if line.split()[: len(cells)] == list(cells))
    return result


def test_jobs_at_home_and_elsewhere_have_errors_of_time_and_energy() -> None:
    away = {"place": "high", "outcome": "installed", "predicted_s": 1.0, "actual_s": 1.25}
    text = printed([decision(1), decision(2, **away)], "--learnt-after", "0")
    assert "10.0% (median 10.0%, 1)" in row(text, "low", "at", "home")
    assert "20.0% (median 20.0%, 1)" in row(text, "low", "elsewhere")


@pytest.mark.parametrize(
    "without", [{"predicted_s": None}, {"actual_s": None, "outcome": "high: no heartbeat"}, {"shadow": True}]
)
def test_a_job_without_prediction_or_result_at_its_place_is_in_no_error(without: Event) -> None:
    text = printed([decision(1), decision(2, **without)], "--learnt-after", "0")
    assert "10.0% (median 10.0%, 1)" in row(text, "low", "at", "home")


def test_the_first_jobs_of_a_server_are_left_out() -> None:
    jobs = [decision(i, predicted_s=4.0 if i < 20 else 2.1) for i in range(40)]
    assert "5.0% (median 5.0%, 20)" in row(printed(jobs), "low", "at", "home")


def test_jobs_near_a_stall_are_counted_with_those_that_another_server_did() -> None:
    near = {"stall_predicted": True}
    jobs = [
        decision(1, **near, place="high", outcome="installed"),
        decision(2, **near),
        decision(3, place="high", outcome="installed"),
        decision(4, **near, place="high", outcome="high: is slow"),
    ]
    assert row(printed(jobs), "eco", "low").split() == ["eco", "low", "3", "1"]


@pytest.mark.parametrize("of_server", [{}, {"server": "low"}])
def test_the_input_rate_is_compared_with_the_flushes_of_the_next_seconds(of_server: Event) -> None:
    flushes = [flush(s / 2, **of_server) for s in range(20)]  # two files a second
    others = [flush(s / 8, server="mid") for s in range(80)] if of_server else []
    text = printed([*flushes, *others, decision(4, level0_files_s=3.0)])
    assert "error of the input rate, next 3 s: 50.0% (median 50.0%, 1)" in text


@pytest.mark.parametrize("at_s", [2, 7])
def test_an_input_rate_without_seconds_of_writing_before_and_after_it_is_left_out(at_s: int) -> None:
    closing = flush(60)  # of a memtable that was not full
    text = printed([*(flush(s / 2) for s in range(20)), closing, decision(at_s, level0_files_s=3.0)])
    assert "error of the input rate, next 3 s: -" in text


def test_runs_without_decisions_are_refused_with_what_is_needed() -> None:
    assert "the study needs [servers.NAME]" in printed([flush(1)], code=2)
