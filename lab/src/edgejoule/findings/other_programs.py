"""Interference by other programs: energies that cannot be compared, and caveats."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.dictionary.responses import OTHER_PROGRAMS
from edgejoule.findings.model import ResponseFinding
from edgejoule.findings.text import count, percent
from edgejoule.store import Experiment, Run

CLOCKED = ("ops/s", "MB/s", "s", "µs")  # units of responses measured by a clock alone
BUSY_SHARE_MAX = 0.1  # of all CPUs, by others, before a study; above it the user is warned


def exceeded(run: Run, kind: str) -> bool:
    """Returns whether other programs exceeded their limit during the run. kind: cpu, read or write."""
    return kind in run.facts.get("other_programs", {}).get("exceeded", ())


def disturbed(runs: Sequence[Run]) -> str | None:
    """Returns why the runs' energies are not usable; None when other programs used few CPUs."""
    cpu = _cpu_text(runs)
    return cpu and f"{cpu}; the watts are not usable"


def _cpu_text(runs: Sequence[Run]) -> str | None:
    """Describes the CPU share of other programs in the runs flagged for it; None if no run is flagged."""
    finished = [run for run in runs if run.status == "finished"]
    own = [run for run in finished if exceeded(run, "cpu")]
    if not own:
        return None
    most = max(run.value(OTHER_PROGRAMS["cpu"]) or 0.0 for run in own)
    in_runs = f" in {len(own)} of {count(len(finished), 'run')}"
    if len(own) == len(finished):
        in_runs = "" if len(own) == 1 else f" in all {len(own)} runs"
    upto = "up to " if len(own) > 1 else ""
    return f"other programs took {upto}{percent(most)} of the CPU{in_runs}"


def disturbed_headline(
    headline: str, first: ResponseFinding | None, energy_method: str | None, runs: Sequence[Run]
) -> str:
    """Returns the headline after interference by other programs. energy_method: None if no run has energy.

    A verdict on energy is replaced. A verdict on another response stays, with a qualification.
    """
    cpu = _cpu_text(runs)
    if cpu is None:
        return headline
    sentence = f"{cpu[0].upper()}{cpu[1:]}"
    watts = "; the watts are not usable" if energy_method is not None else ""
    if first is not None and not first.is_energy:
        times = f", so times are not the {_whose(runs)} alone" if first.unit in CLOCKED else ""
        return f"{headline} {sentence}{times}{watts}." if times or watts else headline
    return f"{sentence}{watts}." if watts else headline


def _whose(runs: Sequence[Run]) -> str:
    """Returns the possessive of the program under measurement."""
    return "command's" if any(run.is_command_alone for run in runs) else "database's"


def other_caveats(experiment: Experiment, runs: Sequence[Run]) -> list[str]:
    """Returns caveats on other programs, before the study and during the runs."""
    caveats, whose = [], _whose(runs)
    busy_share = experiment.environment.get("system", {}).get("cpu_busy_share_before")
    if busy_share is not None and busy_share > BUSY_SHARE_MAX:
        caveats.append(f"When the study began, other programs used {percent(busy_share)} of the CPU.")
    if cpu := _cpu_text(runs):
        times = "times" if whose == "command's" else "throughput, latencies and other times"
        caveats.append(
            f"{cpu[0].upper()}{cpu[1:]}, more than a tenth of what the runs used themselves: {times} "
            f"are not the {whose} alone. They are compared as they are; energies are shown and not "
            "compared. Stop those programs and repeat the flagged runs: edgejoule run --rerun-flagged."
        )
    for kind, verb in (("read", "read"), ("write", "wrote")):
        own = [run for run in runs if run.status == "finished" and exceeded(run, kind)]
        if own:
            most = max(run.value(OTHER_PROGRAMS[kind]) or 0.0 for run in own)
            caveats.append(
                f"Other programs {verb} up to {most / 1e6:,.0f} MB during {count(len(own), 'run')}, more than a tenth "
                f"of what the run did: bytes of the device and times are not the {whose} alone."
            )
    return caveats
