"""How far eco's predictions were from what came out, by the events of a study's runs.

    edgejoule export eco-real --events | python3 experiments/eco-real/predictions.py

It needs nothing but Python. The study needs [servers.NAME] and programs whose RocksDB asks an ecod; the input rate
needs the LOG of that RocksDB below {data}. A job without a prediction, or without a result where it was sent, is in no
error.

Each prediction was made before its job began. The first jobs of a server, at home and elsewhere, are left out: the
models learn from them. The input rate is what the monitor saw when a decision was made, beside what came in the next
seconds, both as files of level 0: flushes are counted between their times. Decisions in the first seconds of a run are
left out.
"""

from __future__ import annotations

import argparse
import bisect
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Event = dict[str, Any]
Errors = dict[str, list[float]]

LEARNT_AFTER = 20  # jobs
AHEAD_S = 3.0


def job_errors(decisions: Iterable[Event], learnt_after: int) -> dict[tuple[str, str], Errors]:
    """(server, where) -> relative errors of time and energy, in the order of time."""
    errors: dict[tuple[str, str], Errors] = defaultdict(lambda: {"time": [], "energy": []})
    jobs: dict[tuple[str, str], int] = defaultdict(int)
    for event in decisions:
        if event["shadow"] or not event["predicted_s"] or not event["actual_s"]:
            continue
        key = event["home"], "at home" if event["place"] == event["home"] else "elsewhere"
        jobs[key] += 1
        if jobs[key] <= learnt_after:
            continue
        for name, unit in (("time", "s"), ("energy", "j")):
            predicted, actual = event[f"predicted_{unit}"], event[f"actual_{unit}"]
            if predicted and actual:
                errors[key][name].append(abs(predicted / actual - 1))
    return errors


def rate_errors(run: Sequence[Event]) -> Iterator[float]:
    """Of the input rate, at each decision of a run that has seconds of writing before it and after it.

    The last flush is left out: its memtable was not full.
    """
    flushes: dict[str | None, list[int]] = defaultdict(list)
    for event in run:
        if event["event"] == "database" and event["kind"] == "flush":
            flushes[event.get("server")].append(event["monotonic_ns"])
    for event in run:
        if event["event"] != "decision" or not event["level0_files_s"]:
            continue
        times = sorted(flushes[event["home"] if event["home"] in flushes else None])[:-1]
        before, begin, end = (
            files_until(times, event["monotonic_ns"] + round(s * 1e9)) for s in (-AHEAD_S, 0, AHEAD_S)
        )
        if before is not None and begin is not None and end is not None and end > begin:
            yield abs(event["level0_files_s"] / ((end - begin) / AHEAD_S) - 1)


def files_until(times: Sequence[int], at_ns: int) -> float | None:
    """How many flushes began until then, with the part of the next one; None before the first and after the last."""
    count = bisect.bisect_right(times, at_ns)
    if not 0 < count < len(times):
        return None
    return count + (at_ns - times[count - 1]) / (times[count] - times[count - 1])


def near_stalls(decisions: Iterable[Event]) -> dict[tuple[str, str], tuple[int, int]]:
    """(policy, server) -> jobs that would have ended in a stall at home, and how many of them another server did."""
    counts: dict[tuple[str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for event in decisions:
        if event["stall_predicted"]:
            near, installed = counts[event["policy"], event["home"]]
            counts[event["policy"], event["home"]] = near + 1, installed + (event["outcome"] == "installed")
    return counts


def shown(errors: Sequence[float]) -> str:
    """Mean and median in percent, and of how many."""
    if not errors:
        return "-"
    return f"{statistics.mean(errors):.1%} (median {statistics.median(errors):.1%}, {len(errors)})"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """The rows as columns of text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def tables(events: Sequence[Event], learnt_after: int) -> str:
    """Errors of time, energy and input rate, and what became of the jobs that would have ended in a stall."""
    decisions = sorted((e for e in events if e["event"] == "decision"), key=lambda e: int(e["monotonic_ns"]))
    runs: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in events:
        runs[event["run_index"], event["attempt"]].append(event)
    errors = [["server", "jobs", "error of predicted time", "of energy"]]
    for (server, where), own in sorted(job_errors(decisions, learnt_after).items()):
        errors.append([server, where, shown(own["time"]), shown(own["energy"])])
    stalls = [["policy", "server", "jobs near a stall", "of them done elsewhere"]]
    for (policy, server), (near, installed) in sorted(near_stalls(decisions).items()):
        stalls.append([policy, server, str(near), str(installed)])
    rates = [error for run in runs.values() for error in rate_errors(run)]
    return f"{aligned(errors)}\n\n{aligned(stalls)}\n\nerror of the input rate, next {AHEAD_S:g} s: {shown(rates)}"


def main() -> None:
    """Standard input to standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learnt-after", type=int, default=LEARNT_AFTER, metavar="JOBS", help="default: %(default)s")
    options = parser.parse_args()
    if sys.stdin.isatty():
        parser.error("no events on standard input: edgejoule export NAME --events | predictions.py")
    events = [json.loads(line) for line in sys.stdin if line.strip()]
    if not any(event.get("event") == "decision" for event in events):
        parser.error("these runs have no decisions: the study needs [servers.NAME] and a RocksDB that asks an ecod")
    print(tables(events, options.learnt_after))


if __name__ == "__main__":
    main()
