"""The result of `edgejoule exec` as JSON, CSV and Markdown. Names of wall time are hyperfine's; SI units everywhere."""

from __future__ import annotations

import csv
import io
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgejoule.errors import StoreError
from edgejoule.exec.options import parameter_of
from edgejoule.exec.results import Result, Row
from edgejoule.exec.verdict import verdict, wall_verdict
from edgejoule.exec.view import FIGURES, column_of
from edgejoule.findings.text import ratio
from edgejoule.output_files import whole_file
from edgejoule.store import Run

#: What the figures of the document are, one definition for each field.
DEFINITIONS = {
    "mean": "arithmetic mean of the runs; of power_mean_w, mean energy over mean wall time",
    "ci95": "Student's 95 % interval of that mean, from the spread of the command's own runs",
    "median": "of the runs",
    "uncertainty_k2": "the meter's or model's half width of a single run, at k = 2; the largest of the runs",
    "ratio_to_best": "ratio of geometric means of the response that decides; null where a mean or its interval holds 0",
    "ratio_ci": "simultaneous 95 % interval of that ratio",
    "letters": "commands that share a letter are not shown to differ; null where a mean or its interval holds 0",
    "resolved": "no value, mean or interval of the response that decides holds 0",
}


def to_json(result: Result) -> dict[str, Any]:
    """Returns the whole result with the values of every run."""
    return {
        "experiment": {"id": result.experiment.id, "name": result.experiment.name},
        "energy": {
            "method": result.findings.energy_method,
            "words": result.findings.energy_words,
            "min_ratio": result.findings.energy_min_ratio,
        },
        "verdict": verdict(result),
        "verdict_wall_time": wall_verdict(result),
        "definitions": DEFINITIONS,
        "decides": result.decides.name if result.decides else None,
        "one_after_another": result.in_turn,
        "noise_floor": None
        if result.floor is None
        else {"share": result.floor.share, "ratio": result.floor.ratio, "ratio_ci": result.floor.ratio_ci},
        "looks": list(result.looks),
        "flags": [{"flag": flag, "runs": times} for flag, times in result.flags()],
        "results": [_row_json(result, row) for row in result.rows],
    }


def _row_json(result: Result, row: Row) -> dict[str, Any]:
    runs = result.runs_of(row)
    return {
        "command": row.label,
        "parameters": {parameter_of(name): level for name, level in row.levels.items() if name != "workload"},
        "control": row.control,
        **_times(runs),
        "ratio_to_best": row.ratio,
        "ratio_ci": row.ratio_ci,
        "letters": row.letters,
        "resolved": row.resolved,
        "phases": [asdict(phase) for phase in result.phases(row)],
        "responses": {name: _response_json(result, row, name, runs) for name in row.cells},
    }


def _times(runs: Sequence[Run]) -> dict[str, Any]:
    """Returns wall time, by hyperfine's names."""
    times = [value for run in runs if (value := run.value("active_s")) is not None]
    return {
        "mean": statistics.fmean(times) if times else None,
        "stddev": statistics.stdev(times) if len(times) > 1 else None,
        "median": statistics.median(times) if times else None,
        "min": min(times, default=None),
        "max": max(times, default=None),
        "times": times,
    }


def _response_json(result: Result, row: Row, name: str, runs: Sequence[Run]) -> dict[str, Any]:
    cell, response = row.cells[name], result.response(name)
    assert response is not None
    return {
        "unit": response.unit,
        "method": response.method,
        "mean": cell.mean,
        "ci95": cell.ci,
        "median": cell.median,
        "min": cell.minimum,
        "max": cell.maximum,
        "uncertainty_k2": cell.uncertainty_k2,
        "values": [run.value(name) for run in runs],
    }


def to_csv(result: Result) -> str:
    """Returns a line for each command: hyperfine's columns, the mean of every response with its unit, the
    parameters."""
    parameters = [name for name in result.experiment.spec.factors if name != "workload"]
    known = [(name, r) for name, _, _ in FIGURES if (r := result.response(name)) is not None and name != "active_s"]
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    times = ("mean", "stddev", "median", "min", "max")
    named = [f"{name}.{r.method}" if r.is_energy else name for name, r in known]
    table.writerow(
        ["command", *times, *named, "ratio_to_best", "letters", *(f"parameter_{parameter_of(p)}" for p in parameters)]
    )
    for row in result.rows:
        wall = _times(result.runs_of(row))
        means = [row.mean(name) for name, _ in known]
        texts = ["" if value is None else value for value in (*(wall[t] for t in times), *means, row.ratio)]
        table.writerow([row.label, *texts, row.letters or "", *(row.levels[p] for p in parameters)])
    return out.getvalue()


def to_markdown(result: Result) -> str:
    """Returns the main figures as a table to paste into an issue, with the verdict below it."""
    columns = [c for name, heading, sure in FIGURES[:5] if (c := column_of(result, name, heading, uncertain=sure))]
    heads = [" ".join(filter(None, (*c.heading[:-1], f"[{c.heading[-1]}]"))) for c in columns]
    lines = [f"| command | {' | '.join(heads)} | ratio to the best |", "|:---|" + "---:|" * (len(heads) + 1)]
    for i, row in enumerate(result.rows):
        times = f"{ratio(row.ratio)}×" if row.ratio is not None else ""
        label = row.label.replace("|", "\\|")
        lines.append(f"| `{label}` | {' | '.join(c.cells[i] for c in columns)} | {times} |")
    return "\n".join([*lines, "", *filter(None, (verdict(result), wall_verdict(result))), ""])


def write(text: str, target: str) -> None:
    """Write to the file, or to standard output for '-'. Raises StoreError."""
    if target == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        with whole_file(Path(target)) as file:
            file.write(text.encode())
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error.strerror}") from error


def exported(result: Result, kind: str) -> str:
    """Converts the result to json, csv or markdown."""
    if kind == "csv":
        return to_csv(result)
    if kind == "markdown":
        return to_markdown(result)
    return json.dumps(to_json(result), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
