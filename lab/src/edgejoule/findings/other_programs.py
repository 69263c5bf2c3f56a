"""What other programs did to the runs: when energies are not compared, and what a reader must know."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.findings.model import ResponseFinding
from edgejoule.findings.words import count
from edgejoule.other_programs import RESPONSES_OF, percent
from edgejoule.store import Experiment, Run

BUSY_SHARE_MAX = 0.1  # of all CPUs, by others, before a study; above it the user is told


def exceeded(run: Run, kind: str) -> bool:
    """Did other programs use too much of it during the run? kind: cpu, read or write."""
    return kind in run.facts.get("other_programs", {}).get("exceeded", ())


def disturbed(runs: Sequence[Run]) -> str | None:
    """Why the runs' energies are not usable, in words; None: other programs left the CPUs to them."""
    finished = [run for run in runs if run.status == "finished"]
    own = [run for run in finished if exceeded(run, "cpu")]
    if not own:
        return None
    most = max(run.value(RESPONSES_OF["cpu"]) or 0.0 for run in own)
    in_runs = f" in {len(own)} of {count(len(finished), 'run')}"
    if len(own) == len(finished):
        in_runs = "" if len(own) == 1 else f" in all {len(own)} runs"
    upto = "up to " if len(own) > 1 else ""
    return f"other programs took {upto}{percent(most)} of the CPU{in_runs}; the watts are not usable"


def disturbed_headline(
    headline: str, first: ResponseFinding | None, energy_method: str | None, runs: Sequence[Run]
) -> str:
    """The headline, or that there is none on energy. energy_method: None where no run has energy."""
    words = disturbed(runs)
    if words is None or energy_method is None:
        return headline
    sentence = f"{words[0].upper()}{words[1:]}."
    return sentence if first is None or first.is_energy else f"{headline} {sentence}"


def other_caveats(experiment: Experiment, runs: Sequence[Run]) -> list[str]:
    """What a reader must know of other programs, before the study and during the runs."""
    found = []
    busy_share = experiment.environment.get("system", {}).get("cpu_busy_share_before")
    if busy_share is not None and busy_share > BUSY_SHARE_MAX:
        found.append(f"When the study began, other programs used {percent(busy_share)} of the CPU.")
    if disturbed(runs):
        found.append(
            "Energies are shown and not compared: other programs used more than a tenth of the CPU time that the runs "
            "used. Stop them and repeat the flagged runs: edgejoule run --rerun-flagged."
        )
    for kind, verb in (("read", "read"), ("write", "wrote")):
        own = [run for run in runs if run.status == "finished" and exceeded(run, kind)]
        if own:
            most = max(run.value(RESPONSES_OF[kind]) or 0.0 for run in own)
            found.append(
                f"Other programs {verb} up to {most / 1e6:,.0f} MB during {count(len(own), 'run')}, more than a tenth "
                "of what the run did: bytes of the device and times are not the database's alone."
            )
    return found
