"""Trials of policies: what is refused, and what is made of the rounds."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from edgejoule.errors import FederationError, SpecError
from edgejoule.federation.decisions import joined
from edgejoule.federation.leftovers import new_folder
from edgejoule.federation.trial.predictions import LEARNT_AFTER, input_rates, prediction_table, predictions
from edgejoule.federation.trial.rounds import compactions, operations_by_second, written
from edgejoule.federation.trial.spec import Link, read_trial, servers_of
from edgejoule.federation.trial.stalls import stall_shares
from edgejoule.federation.trial.tables import comparison

EXPERIMENTS = Path(__file__).parents[3] / "experiments/eco-real"
Record = dict[str, Any]

SPEC = """
name = "small"
question = "?"
tiers = "tiers.toml"
policies = ["local", "eco"]
rounds = 2
duration_s = 10
{more}
[[links]]
name = "unshaped"
[[servers]]
name = "low"
tier = "low"
share = {share}
[[servers]]
name = "high"
tier = "high"
share = 0.4
"""


def spec(folder: Path, more: str = "", share: float = 0.1) -> Path:
    file = folder / "trial.toml"
    file.write_text(SPEC.format(more=more, share=share))
    return file


def test_an_unknown_key_is_refused_by_file_and_key(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"trial\.toml: durations"):
        read_trial(spec(tmp_path, "durations = 1"))


def test_a_server_gets_no_more_than_its_part_of_the_machine(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="share"):
        read_trial(spec(tmp_path, share=0.5))


def test_all_servers_together_get_no_more_than_the_machine_has(tmp_path: Path) -> None:
    file = spec(tmp_path)
    more = "".join(f'[[servers]]\nname = "s{i}"\ntier = "low"\nshare = 0.4\n' for i in range(3))
    file.write_text(file.read_text() + more)
    with pytest.raises(SpecError, match=r"1\.7 cores"):
        read_trial(file)


def test_watts_are_those_of_the_tier_and_a_link_is_told_its_rate(tmp_path: Path) -> None:
    file = spec(tmp_path)
    tier = "[tiers.{}]\nbusy_core_w = {}\nidle_w = {}\ntransfer_nj_per_byte = 2\n"
    (tmp_path / "tiers.toml").write_text(tier.format("low", 1.5, 8) + tier.format("high", 7, 30))
    low, high = servers_of(read_trial(file), file, Link(name="slow", rate_mbit_s=100))
    assert (low.busy_core_w, low.idle_w, low.link_mbit_s) == (15, 8, 100)
    assert (high.busy_core_w, high.transfer_j_per_byte) == (pytest.approx(17.5), 2e-9)


@pytest.mark.parametrize("file", sorted(EXPERIMENTS.glob("*.toml")), ids=lambda file: str(file.stem))
def test_the_experiments_can_be_read(file: Path) -> None:
    trial = read_trial(file)
    for link in trial.links:
        assert len(servers_of(trial, file, link)) == len(trial.servers)


def test_the_folder_of_a_killed_run_is_removed_by_the_next(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in (f"ej-{gone.pid}-abc", f"ej-{os.getpid()}-abc", "ej-other"):
        (tmp_path / name / "db").mkdir(parents=True)
    made = new_folder(tmp_path)
    left = {entry.name for entry in tmp_path.iterdir()}
    assert left == {f"ej-{os.getpid()}-abc", "ej-other", made.name}


def test_operations_are_those_that_db_bench_counted() -> None:
    text = "fillrandom   :   8.1 micros/op 12345 ops/sec 10.002 seconds 123477 operations;  119.6 MB/s\n"
    assert written(text) == (10.002, 123477)
    with pytest.raises(FederationError, match="no fillrandom"):
        written("open error: IO error")


def test_seconds_and_cpu_seconds_of_a_compaction_are_in_the_databases_log() -> None:
    log = (
        '2026/11/22-23:00:00.000001 7f EVENT_LOG_v1 {"time_micros": 1, "job": 7, "event": "compaction_finished", '
        '"compaction_time_micros": 1500000, "compaction_time_cpu_micros": 250000, "output_level": 1}\n'
        '2026/11/22-23:00:00.000001 7f EVENT_LOG_v1 {"time_micros": 1, "job": 8, "event": "flush_finished"}\n'
    )
    assert compactions(log) == {"7": [1.5, 0.25]}


def test_operations_come_by_second(tmp_path: Path) -> None:
    file = tmp_path / "db.csv"
    file.write_text("secs_elapsed,interval_qps\n1,5000\n2,4000\n")
    assert operations_by_second(file) == [5000, 4000]


def decision(job: int, **more: Any) -> Record:
    return {
        "at_s": 100 + job,
        "request": {
            "server": "low",
            "job": f"S-{job}-0",
            "features": {"input_bytes": "1000"},
            "level_zero": {"files_s": 2.0},
        },
        "placement": {},
        **more,
    }


def home(time_s: float, energy_j: float, *, stalls: bool = False) -> Record:
    return {"server": "low", "time_s": time_s, "energy_j": energy_j, "stalls": stalls}


def a_round(policy: str, turn: int, operations: int, decisions: list[Record], **more: Any) -> Record:
    low = {
        "cpu_s": 1.0,
        "marginal_j": 10.0,
        "idle_j": 20.0,
        "operations": operations,
        "writing_s": 10.0,
        "stall_s": 1.5,
        "offloaded": {"high": 3},
        "kept": 4,
        "fell_back": 0,
        "flushes": 10,
        "compactions": {str(i): [2.0, 0.5] for i in range(100)},
        "seconds": [operations // 10] * 10,
        **more,
    }
    return {
        "link": "unshaped",
        "policy": policy,
        "turn": turn,
        "value_bytes": 984,
        "begun_s": 100.0 + turn,
        "watts": {"low": [15, 8, 1e-9], "high": [17.5, 30, 1e-9]},
        "servers": {"low": low, "high": {"cpu_s": 0.1, "marginal_j": 2.0, "idle_j": 30.0}},
        "decisions": decisions,
    }


def test_what_was_expected_and_what_came_out_are_joined_from_both_logs() -> None:
    asked = decision(1, outcome="installed", wall_s=2.0, took_s=0.004)
    decided = decision(1, options=[home(3, 1)], took_s=0.001)
    (only,) = joined([[asked], [decided]])
    assert only["outcome"] == "installed"
    assert only["options"] == [home(3, 1)]
    assert only["took_s"] == 0.004


def test_changes_are_within_a_turn() -> None:
    rounds = [
        a_round("local", 0, 1000, []),
        a_round("eco", 0, 1100, []),
        a_round("eco", 1, 2200, []),
        a_round("local", 1, 2000, []),
    ]
    row = next(line for line in comparison(rounds).splitlines() if line.startswith("low") and " eco " in line)
    assert "+10.0 % (+10.0 to +10.0)" in row
    assert "-9.1 %" in row, "energy per operation"


def test_jobs_that_would_stall_are_told_from_those_that_would_not() -> None:
    rounds = [
        a_round(
            "eco",
            0,
            1000,
            [
                decision(1, options=[home(3, 1, stalls=True)], outcome="installed"),
                decision(2, options=[home(3, 1, stalls=True)]),
                decision(3, options=[home(3, 1)], outcome="installed"),
                decision(4, options=[home(3, 1, stalls=True)], outcome="fell back: it is slow"),
            ],
        )
    ]
    assert stall_shares(rounds, "low").near == 3
    assert stall_shares(rounds, "low").offloaded == 1
    assert stall_shares(rounds, "high").near == 0


def test_a_prediction_is_compared_with_what_came_out_here_and_elsewhere() -> None:
    away = {"server": "high", "time_s": 1.0, "energy_j": 5.0}
    rounds = [
        a_round(
            "eco",
            0,
            1000,
            [
                decision(1, options=[home(2.2, 9)], outcome="local"),
                decision(
                    2,
                    options=[home(2.2, 9), away],
                    placement={"offload": True, "server": "high"},
                    outcome="installed",
                    wall_s=1.25,
                    energy_j=4.0,
                    home_cpu_s=0.1,
                    bytes_moved="1000000000",
                ),
                decision(
                    3,
                    options=[home(2.2, 9), away],
                    placement={"offload": True, "server": "high"},
                    outcome="fell back: x",
                ),
            ],
        )
    ]
    local, remote = predictions(rounds)
    assert (local.kind, local.expected_s, local.took_s, local.took_j) == ("local", 2.2, 2.0, 7.5)
    assert (remote.kind, remote.expected_s, remote.took_s) == ("remote", 1.0, 1.25)
    assert remote.took_j == pytest.approx(4.0 + 1.5 + 1.0)


def test_a_prediction_of_no_energy_is_one() -> None:
    unknown = {"server": "low", "time_s": 2.2}  # ecod's JSON leaves out what is zero
    (local,) = predictions([a_round("eco", 0, 1000, [decision(1, options=[unknown], outcome="local")])])
    assert (local.expected_s, local.expected_j, local.took_j) == (2.2, 0, 7.5)


def test_the_first_jobs_errors_do_not_count() -> None:
    rounds = [
        a_round("local", 0, 1000, [decision(i, options=[home(4 if i < LEARNT_AFTER else 2.1, 7.5)]) for i in range(40)])
    ]
    assert "low, local, 20 jobs: time 5.0 % (median 5.0), energy 0.0 %" in prediction_table(rounds)


def test_the_input_rate_is_compared_with_the_next_seconds() -> None:
    # 1000 operations of 1000 B in 10 files: 100 kB each; 2 files a second are 200 kB, and 100 kB are written.
    (rate,) = input_rates([a_round("local", 0, 1000, [decision(5)])])
    assert rate.predicted == pytest.approx(200e3)
    assert rate.actual == pytest.approx(100e3)
