"""Real runs of RocksDB servers beside eco-sim's, with the error of each figure.

    validate.py measure     # the real runs (root: CPU quotas by cgroups); those that exist are kept
    validate.py compare     # simulates each with the calibration and prints the table

Real: a federation of ecods, each server with its share of a core, and an unmodified db_bench on each that writes,
through the preload library. Joules are modelled on both sides, CPU seconds times declared watts: what is compared is
the CPU time.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgejoule.eco.federation import CpuGroups, Federation, FederationServer, Programs
from edgejoule.errors import EdgejouleError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
IDLE_W, BUSY_W, LINK_MBIT_S, SLOTS = 2.0, 3.0, 10_000, 2  # declared; the same on both sides


@dataclass
class Host:
    """A server of a scenario. rate_ops_s: that its application offers; 0: as fast as it can."""

    name: str
    cores: float
    application: bool = True
    rate_ops_s: float = 0


@dataclass
class Scenario:
    """One run, real and simulated."""

    name: str
    duration_s: float
    servers: list[Host]
    value_bytes: int
    write_buffer_mb: int
    keys: int
    background_jobs: int = 2
    policy: str = "local"
    threads: int = 1  # that write
    stored: float = 0.56
    options: dict[str, float] = field(default_factory=dict)

    def database(self) -> dict[str, float]:
        """RocksDB's options: its defaults, sizes in the proportions of its defaults."""
        return {
            "write_buffer_mb": self.write_buffer_mb,
            "max_bytes_for_level_base_mb": 4 * self.write_buffer_mb,
            "target_file_size_base_mb": self.write_buffer_mb,
            "max_background_jobs": self.background_jobs,
            "delayed_write_rate_mb_s": 8,
        } | self.options


def read_scenarios(file: Path) -> list[Scenario]:
    """Read a file of scenarios; unknown keys are refused."""
    content = tomllib.loads(file.read_text())
    scenarios = []
    for table in content["scenarios"]:
        servers = [Host(**one) for one in table.pop("servers")]
        scenarios.append(Scenario(servers=servers, **{**content.get("common", {}), **table}))
    return scenarios


def db_bench(scenario: Scenario, host: Host, database_folder: Path, seed: int) -> list[str]:
    """Its command line."""
    database = scenario.database()
    mib = 1 << 20
    options = {
        "benchmarks": "fillrandom,stats",
        "db": database_folder,
        "num": scenario.keys,
        "duration": round(scenario.duration_s),
        "threads": scenario.threads,
        "value_size": scenario.value_bytes,
        "key_size": 16,
        "seed": seed,
        "write_buffer_size": round(database["write_buffer_mb"] * mib),
        "max_bytes_for_level_base": round(database["max_bytes_for_level_base_mb"] * mib),
        "target_file_size_base": round(database["target_file_size_base_mb"] * mib),
        "max_background_jobs": round(database["max_background_jobs"]),
        "delayed_write_rate": round(database["delayed_write_rate_mb_s"] * mib),
        "benchmark_write_rate_limit": round(host.rate_ops_s * (16 + scenario.value_bytes)),
    }
    return ["db_bench", *(f"--{key}={value}" for key, value in options.items())]


def duration_of(text: str) -> float:
    """Seconds of "00:01:02.345"."""
    hours, minutes, seconds = text.split(":")
    return 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def read_db_bench(output: str, log: str) -> dict[str, float]:
    """Read the figures of a run from db_bench's output and the database's LOG."""
    done = re.search(r"fillrandom\s*:.*?([\d.]+) seconds (\d+) operations", output)
    stall = re.search(r"Cumulative stall: ([\d:.]+) H:M:S", output)
    if not done or not stall:
        raise RuntimeError(f"db_bench's output has no figures:\n{output}")
    ends = [json.loads(line[line.index("{") :]) for line in log.splitlines() if "EVENT_LOG_v1" in line]
    compactions = [each for each in ends if each.get("event") == "compaction_finished"]
    flushes = [each for each in ends if each.get("event") == "flush_started"]
    return {
        "seconds": float(done[1]),
        "operations": int(done[2]),
        "throughput_ops_s": int(done[2]) / float(done[1]),
        "stall_s": duration_of(stall[1]),
        "compactions": len(compactions),
        "level0_compactions": sum(each.get("output_level") == 1 for each in compactions),
        "offloaded": len(re.findall(r"\[eco\] job \S+: compacted by", log)),
        "fell_back": len(re.findall(r"compacted here after", log)),
        "compaction_cpu_s": sum(each["compaction_time_cpu_micros"] for each in compactions) / 1e6,
        "flushes": len(flushes),
        "entries_by_flush": sum(each["num_entries"] for each in flushes) / max(1, len(flushes)),
    }


def measure(scenario: Scenario, seed: int, under: Path) -> dict[str, Any]:
    """One real run."""
    folder = Path(tempfile.mkdtemp(prefix="eco-", dir=under))
    servers = [
        FederationServer(host.name, host.cores, BUSY_W * host.cores, IDLE_W, slots=SLOTS, link_mbit_s=LINK_MBIT_S)
        for host in scenario.servers
    ]
    programs = Programs.of(ROOT / "build")
    writers = [host for host in scenario.servers if host.application]
    policy = {"name": scenario.policy}
    try:
        with Federation(servers, programs, folder, shares=CpuGroups(), policy=policy) as federation:
            before = {server.name: federation.cpu_s(server.name) for server in servers}
            running = {}
            for host in writers:
                own = federation.place(host.name).folder
                command = db_bench(scenario, host, own / "db", seed)
                environment = federation.with_preload(host.name)
                running[host.name] = federation.start(host.name, command, own / "output", environment)
            for name, process in running.items():
                if process.wait():
                    raise RuntimeError(f"{name}: db_bench failed: {process.text()[-1000:]}")
            used = {server.name: federation.cpu_s(server.name) - before[server.name] for server in servers}
            figures: dict[str, dict[str, float]] = {name: {"cpu_s": seconds} for name, seconds in used.items()}
            for name, process in running.items():
                log = (federation.place(name).folder / "db/LOG").read_text()
                figures[name] |= read_db_bench(process.text(), log)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"scenario": scenario.name, "seed": seed, "servers": figures}


def results_of(file: Path) -> list[dict[str, Any]]:
    """Real runs that exist."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def measure_all(arguments: argparse.Namespace) -> None:
    """Measure what is not measured yet."""
    scenarios = read_scenarios(arguments.scenarios)
    have = {(each["scenario"], each["seed"]) for each in results_of(arguments.results)}
    wanted = [(scenario, seed) for seed in arguments.seeds for scenario in scenarios]
    missing = [each for each in wanted if (each[0].name, each[1]) not in have]
    for number, (scenario, seed) in enumerate(missing, 1):
        print(f"{number} of {len(missing)}: {scenario.name}, seed {seed}, {scenario.duration_s:.0f} s", flush=True)
        result = measure(scenario, seed, arguments.directory)
        with arguments.results.open("a") as file:
            file.write(json.dumps(result) + "\n")


def simulate(scenario: Scenario, seeds: list[int], calibration: Path) -> dict[str, list[dict[str, float]]]:
    """Simulate a scenario: each server's figures by seed."""
    figures = {"speed": 1, "link_gbit_s": LINK_MBIT_S / 1000, "slots": SLOTS, "transfer_nj_per_byte": 0}
    figures |= {"idle_w": IDLE_W, "busy_core_w": BUSY_W}
    tiers = "schema_version = 1\n"
    experiment = f"""schema_version = 1
name = "{scenario.name}"
question = "as measured?"
tiers = "tiers.toml"
calibration = "{calibration.resolve()}"
[run]
duration_s = {scenario.duration_s}
seeds = {seeds}
policies = ["{scenario.policy}"]
placement_ms = 50
beat_s = 0.3
[database]
"""
    experiment += "".join(f"{key} = {value}\n" for key, value in scenario.database().items())
    for server in scenario.servers:
        experiment += f"""[workloads.{server.name}]
kind = "fillrandom"
value_bytes = {scenario.value_bytes}
keys = {scenario.keys}
stored = {scenario.stored}
rate_ops_s = {server.rate_ops_s}
threads = {scenario.threads}
"""
    for server in scenario.servers:
        own = {"cores": server.cores} | figures
        tiers += f"[tiers.{server.name}]\n" + "".join(f"{key} = {value}\n" for key, value in own.items())
        tiers += f"[tiers.{server.name}.sources]\n" + "".join(f'{key} = "the scenario"\n' for key in own)
        workload = server.name if server.application else "none"
        experiment += f'[[servers]]\nname = "{server.name}"\ntier = "{server.name}"\nworkload = "{workload}"\n'
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tiers.toml").write_text(tiers)
        (Path(folder) / "experiment.toml").write_text(experiment)
        out = Path(folder) / "out.json"
        program = str(ROOT / "build/bin/eco-sim")
        done = subprocess.run(
            [program, "run", str(Path(folder) / "experiment.toml"), "--json", str(out)], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        runs = json.loads(out.read_text())["runs"]
    by_server: dict[str, list[dict[str, float]]] = {server.name: [] for server in scenario.servers}
    for run in runs:
        for one in run["servers"]:
            by_server[one["name"]].append(
                {
                    "throughput_ops_s": one["throughput_ops_s"],
                    "stall_s": one["stopped_s"] + one["delayed_s"] + one["memtable_wait_s"],
                    "cpu_s": one["energy_marginal_j"] / BUSY_W,
                    "offloaded": one["offloaded"],
                }
            )
    return by_server


def mean(values: list[float]) -> float:
    """Arithmetic mean."""
    return sum(values) / len(values)


@dataclass
class Line:
    """A server's figure, real and simulated."""

    scenario: str
    server: str
    figure: str
    unit: str
    real: list[float]
    simulated: float
    whole: float = 0.0  # what an error is relative to; 0: the real value

    @property
    def error(self) -> float:
        """Relative error of the simulation, in percent."""
        return 100 * (self.simulated - mean(self.real)) / (self.whole or mean(self.real))

    @property
    def spread(self) -> float:
        """Range of the real runs, in percent of the same."""
        return 100 * (max(self.real) - min(self.real)) / (self.whole or mean(self.real))


def compare(arguments: argparse.Namespace) -> list[Line]:
    """Put real and simulated figures side by side."""
    lines = []
    real = results_of(arguments.results)
    for scenario in read_scenarios(arguments.scenarios):
        runs = [each["servers"] for each in real if each["scenario"] == scenario.name]
        if not runs:
            continue
        simulated = simulate(scenario, list(range(1, 6)), arguments.calibration)
        for server in scenario.servers:
            there = simulated[server.name]
            seconds = scenario.duration_s

            def line(figure: str, unit: str, values: list[float], sim: list[float], whole: float = 0.0) -> None:
                lines.append(Line(scenario.name, server.name, figure, unit, values, mean(sim), whole))  # noqa: B023

            here = [run[server.name] for run in runs]
            if server.application:
                line(
                    "throughput", "ops/s", [one["throughput_ops_s"] for one in here],
                    [one["throughput_ops_s"] for one in there],
                )  # fmt: skip
                away = [one["offloaded"] for one in here]
                line("offloaded", "jobs", away, [one["offloaded"] for one in there], max(1.0, mean(away)))
                line("stall", "s", [one["stall_s"] for one in here], [one["stall_s"] for one in there], seconds)
            joules = [IDLE_W * seconds + BUSY_W * one["cpu_s"] for one in here]
            line("energy", "J", joules, [IDLE_W * seconds + BUSY_W * one["cpu_s"] for one in there])
            if server.application:
                per_op = [1e3 * j / (one["throughput_ops_s"] * seconds) for j, one in zip(joules, here, strict=True)]
                line(
                    "energy per operation", "mJ", per_op,
                    [1e3 * (IDLE_W * seconds + BUSY_W * one["cpu_s"]) / (one["throughput_ops_s"] * seconds)
                     for one in there],
                )  # fmt: skip
    return lines


def print_table(lines: list[Line]) -> None:
    """Print them as Markdown, and what the errors are in all."""
    print("| run | server | figure | real | range % | simulated | error % |\n|---|---|---|---|---|---|---|")
    for one in lines:
        real = mean(one.real)
        print(
            f"| {one.scenario} | {one.server} | {one.figure}, {one.unit} | {real:.4g} | {one.spread:.1f} "
            f"| {one.simulated:.4g} | {one.error:+.1f} |"
        )
    print("\n| figure | runs | median of absolute errors, % | largest, % |\n|---|---|---|---|")
    for figure in dict.fromkeys(one.figure for one in lines):
        errors = sorted(abs(one.error) for one in lines if one.figure == figure)
        print(f"| {figure} | {len(errors)} | {errors[len(errors) // 2]:.1f} | {errors[-1]:.1f} |")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["measure", "compare"])
    parser.add_argument("--scenarios", type=Path, default=HERE / "scenarios.toml")
    parser.add_argument("--results", type=Path, default=HERE / "real.jsonl")
    parser.add_argument("--calibration", type=Path, default=ROOT / "eco/sim/calibration/measured.toml")
    parser.add_argument("--directory", type=Path, default=Path("/dev/shm"), help="where databases are made")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    try:
        if arguments.command == "measure":
            measure_all(arguments)
        else:
            print_table(compare(arguments))
    except (RuntimeError, OSError, EdgejouleError) as error:
        sys.exit(f"validate.py: {error}")


if __name__ == "__main__":
    main()
