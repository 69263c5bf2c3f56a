"""Interference by other programs: energies that cannot be compared, and caveats."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.dictionary.responses import OTHER_PROGRAMS
from edgejoule.findings.text import count, percent, size_text
from edgejoule.store import Experiment, Run

CLOCKED = ("ops/s", "MB/s", "s", "µs")  # units of responses measured by a clock alone
#: What the bytes of a kind are: a verb and a place. A write counts as the pages that it makes dirty.
BYTES_WORDS = {"read": ("read", "from storage"), "write": ("wrote", "to the page cache")}
BUSY_SHARE_MAX = 0.1  # of all CPUs, by others, before a study; above it the user is warned


def exceeded(run: Run, kind: str) -> bool:
    """Returns whether other programs exceeded their limit during the run. kind: cpu, read or write. The bytes of a
    device that was made for the run are the run's alone.
    """
    if kind != "cpu" and run.settings.get("file_system"):
        return False
    return kind in run.facts.get("other_programs", {}).get("exceeded", ())


def disturbed(runs: Sequence[Run]) -> str | None:
    """Returns why the runs' energies are not usable; None when other programs used few CPUs."""
    cpu = _cpu_text(runs)
    return cpu and f"{cpu}; the watts are not usable"


def disturbed_loads(runs: Sequence[Run]) -> str | None:
    """Returns why the loads' energies are not usable; None when other programs used few CPUs."""
    loads = [run.facts["load"]["other_programs"] for run in runs if "other_programs" in run.facts.get("load", {})]
    flagged = sum("cpu" in others["exceeded"] for others in loads)
    if not flagged:
        return None
    return f"other programs used the CPU in {flagged} of {count(len(loads), 'load')}; the watts are not usable"


def cpu_share_text(runs: Sequence[Run]) -> str | None:
    """Returns the CPU share of other programs in the runs flagged for it: up to 48 %; None if no run is flagged."""
    own = _flagged_for_cpu(runs)
    if not own:
        return None
    most = max(run.value(OTHER_PROGRAMS["cpu"]) or 0.0 for run in own)
    return f"{'up to ' if len(own) > 1 else ''}{percent(most)}"


def _flagged_for_cpu(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.status == "finished" and exceeded(run, "cpu")]


def _cpu_text(runs: Sequence[Run]) -> str | None:
    """Describes the CPU share of other programs with the number of flagged runs; None if no run is flagged."""
    share, flagged = cpu_share_text(runs), len(_flagged_for_cpu(runs))
    if share is None:
        return None
    finished = sum(run.status == "finished" for run in runs)
    in_runs = f" in {flagged} of {count(finished, 'run')}"
    if flagged == finished:
        in_runs = "" if flagged == 1 else f" in all {flagged} runs"
    return f"other programs took {share} of the CPU{in_runs}"


def _repetition(experiment: Experiment) -> str:
    """Returns how flagged runs are repeated; those of `edgejoule exec` and of sequential designs are not."""
    if experiment.spec.design.sequential or experiment.name.startswith("exec-"):
        return "measure again"
    return "repeat the flagged runs: edgejoule run SPEC --rerun-flagged"


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
        caveats += [
            f"{cpu[0].upper()}{cpu[1:]}, beyond a tenth of what the runs used: energies are shown and not compared.",
            f"{times[0].upper()}{times[1:]} are compared, but are not the {whose} alone.",
            f"Stop the other programs and {_repetition(experiment)}.",
        ]
    for kind, (verb, place) in BYTES_WORDS.items():
        own = [run for run in runs if run.status == "finished" and exceeded(run, kind)]
        if own:
            most = max((run.value(OTHER_PROGRAMS[kind]) or 0.0) * run.repeated for run in own)
            caveats.append(
                f"Other programs {verb} up to {size_text(round(most))} {place} during {count(len(own), 'run')}, beyond "
                f"a tenth of the run's own: bytes of the device and times are not the {whose} alone."
            )
    return caveats
