"""`edgejoule list` and `edgejoule show`: what is in the store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from edgejoule.cli.common import console, echo_json, json_option, store_option
from edgejoule.cli.table_text import print_table
from edgejoule.dictionary.responses import is_energy, unit_words
from edgejoule.experiment.command import shown
from edgejoule.findings import run_tables
from edgejoule.findings.facts import circumstances, effective_responses
from edgejoule.store import Experiment, ResponseValue, Run, SeveralError, Store


@click.command("list")
@store_option
@json_option
def list_(store: Path, as_json: bool) -> None:
    """List the experiments in the store.

    \b
    Examples:
      edgejoule list
      edgejoule list --store other/store.db --json
    """
    with Store.open(store) as opened:
        found = opened.experiments()
    if as_json:
        echo_json([_summary(e) for e in found])
        return
    if not found:
        console().print(f"{store} holds no experiment yet; `edgejoule run SPEC` makes one")
        return
    console().print(_experiments_table(found))


def _experiments_table(found: Sequence[Experiment]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("id", "name", "begun", "finished", "failed", "left", "question"):
        table.add_column(column, justify="right" if column in ("id", "finished", "failed", "left") else "left")
    for e in found:
        counts = [str(e.counts.get(s, 0)) for s in ("finished", "failed", "planned")]
        table.add_row(str(e.id), e.name, e.begun, *counts, escape(e.question))
    return table


def _summary(e: Experiment) -> dict[str, object]:
    return {
        "id": e.id,
        "name": e.name,
        "question": e.question,
        "created_realtime_ns": e.created_realtime_ns,
        "seed": e.seed,
        "runs": dict(e.counts),
        "energy": e.energy_words,
    }


@click.command()
@click.argument("experiment", default="latest")
@click.option("--run", "run_number", type=click.IntRange(min=1), help="Everything about one run, by its number.")
@store_option
@json_option
def show(experiment: str, run_number: int | None, store: Path, as_json: bool) -> None:
    """Show an EXPERIMENT (id, name or latest): its runs with their responses. A name that several have lists them.

    \b
    Examples:
      edgejoule show
      edgejoule show first-look --run 7
      edgejoule show 3 --json
    """
    with Store.open(store) as opened:
        try:
            found = opened.find(experiment)
        except SeveralError as error:
            if as_json or run_number is not None:
                raise
            console().print(_experiments_table(error.experiments))
            console().print("Several experiments have this name: `edgejoule show ID` shows one.")
            return
        runs = opened.attempts(found.id)
        if run_number is not None:
            count = len(opened.runs(found.id))
            runs = [run for run in runs if run.run_index == run_number - 1]
            if not runs:
                raise click.BadParameter(f"the experiment has {count} runs", param_hint="--run")
        events = {run.id: opened.data(run).events for run in runs} if run_number else {}
    if as_json:
        echo_json({**_summary(found), "records": [r.record(found.name) for r in runs]})
        return
    out = console()
    out.print(Text(f"{found.name} ({found.id}), {found.begun}: {found.question}", style="bold"))
    out.print(found.energy_words, markup=False)
    if not found.finished:
        out.print(f"Not complete: {found.progress}; `edgejoule run SPEC --resume` goes on.", markup=False)
    if run_number is not None:
        for run in runs:
            _print_run(run, [e for e in events[run.id] if e["event"] == "database"])
        return
    out.print(_runs_table(found, runs))


def _runs_table(found: Experiment, runs: list[Run]) -> Table:
    names, known = effective_responses(found.spec, runs), found.spec.known_responses()
    method = next((r.method for run in runs for r in run.responses if is_energy(r.name)), "")
    table = Table(box=None, pad_edge=False)
    table.add_column("run", justify="right", overflow="fold")
    table.add_column("block", justify="right", overflow="fold")
    for factor in found.spec.factors:
        table.add_column(factor, overflow="fold")
    for name in names:
        response = known[name]
        unit = f"{response.unit} {method}" if response.is_energy else unit_words(response.unit)
        table.add_column(f"{_broken(name)}\n{unit}".rstrip(), justify="right", overflow="fold")
    plain = all(run.status == "finished" and not run.flags and not run.set_aside for run in runs)
    if not plain:
        table.add_column("status", overflow="fold")
    for run in runs:
        values = {r.name: r for r in run.responses}
        status = run.status if run.status != "failed" else f"failed: {run.cause}"
        status += ", set aside: another attempt counts" if run.set_aside else ""
        table.add_row(
            str(run.run_index + 1),
            str(run.block + 1),
            *(escape(str(level)) for level in run.levels.values()),
            *(_value(values.get(name)) for name in names),
            *([] if plain else [escape(status + (f": flagged: {'; '.join(run.flags)}" if run.flags else ""))]),
        )
    return table


def _broken(name: str, width: int = 12) -> str:
    """A name over several lines, broken before its underscores."""
    lines = [""]
    for part in re.findall(r"_?[^_]+", name):
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _value(response: ResponseValue | None) -> str:
    if response is None:
        return "-"
    if response.value is None:
        return "missing"
    return f"{response.value:,.4g}" if abs(response.value) < 1000 else f"{response.value:,.0f}"


def _print_run(run: Run, events: list[object]) -> None:
    out = console()
    out.print(
        f"run {run.run_index + 1}, block {run.block + 1}: " + ", ".join(f"{k} = {v}" for k, v in run.levels.items()),
        markup=False,
    )
    counted = "" if run.is_command_alone else f"; {len(events)} database events"
    out.print(f"status: {run.status}{f', {run.cause}' if run.cause else ''}{counted}", markup=False)
    if command := run.facts.get("command"):
        out.print(f"command: {shown(command['command'])}", markup=False)
    for circumstance in circumstances(run):
        out.print(circumstance, markup=False)
    for flag in run.flags:
        out.print(f"flag: {flag}", markup=False)
    table = Table(box=None, pad_edge=False)
    for column in ("response", "value", "unit", "± (k=2)", "method"):
        table.add_column(column, justify="right" if column in ("value", "± (k=2)") else "left")
    for r in run.responses:
        spread = "" if r.uncertainty_k2 is None else f"{r.uncertainty_k2:,.3g}"
        table.add_row(
            r.name,
            _value(r) if r.value is not None else escape(f"missing: {r.missing_reason}"),
            unit_words(r.unit),
            spread,
            r.method,
        )
    out.print(table)
    if lines := run.facts.get("output", {}).get("last_lines"):
        out.print("\nthe output ends with:")
        for line in lines:
            out.print(f"  {line}", markup=False, highlight=False)
    for section in _run_tables(run):
        out.print()
        print_table(out, section.table)
        for sentence in section.sentences:
            out.print(sentence, markup=False)


def _run_tables(run: Run) -> Iterator[run_tables.RunTable]:
    if "baselines" in run.facts:
        yield run_tables.baselines(run)
    if run.facts.get("phases"):
        yield run_tables.phases(run.facts["phases"], run.repeated)
    if "metering" in run.facts:
        what = "repetitions" if "repetitions" in run.facts else "executions"
        yield run_tables.metering(run.facts["metering"], f"{run.repeated} {what}" if run.repeated > 1 else "")
