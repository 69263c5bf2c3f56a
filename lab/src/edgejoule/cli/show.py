"""`edgejoule list` and `edgejoule show`: what is in the store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgejoule.cli.common import console, echo_json, json_option, messages, near, store_option

if TYPE_CHECKING:
    from rich.console import Console

    from edgejoule.findings import run_tables
    from edgejoule.findings.table import Table
    from edgejoule.store import Experiment, Run


@click.command(
    "list",
    epilog="""\b
    Examples:
      edgejoule list
      edgejoule list --store other/store.db --json""",
)
@store_option
@json_option
def list_(store: Path, as_json: bool) -> None:
    """List the experiments in the store.

    A last line, on standard error, has the size of the loaded databases that `edgejoule run` keeps beside the store.
    """
    from edgejoule.cli.layout import print_wrapped
    from edgejoule.databases.snapshots import Snapshots
    from edgejoule.findings.text import count, size_text
    from edgejoule.store import Store
    from edgejoule.study.study import Places

    with Store.open(store) as opened:
        stored = opened.experiments()
        notes = [len(opened.notes(e.id)) for e in stored]
    if as_json:
        echo_json([_summary(e) for e in stored])
        return
    if not stored:
        print_wrapped(console(), f"{store} holds no experiment yet; `edgejoule run SPEC` makes one")
        return
    _print_experiments(console(), stored, notes)
    folder = Places.beside(store).snapshots
    if sizes := Snapshots(folder).sizes():
        kept = f"{count(len(sizes), 'loaded database')} ({size_text(sum(sizes.values()))}) in {near(folder)}"
        print_wrapped(messages(), f"{kept}; `edgejoule delete --snapshots` deletes them")


def _print_experiments(out: Console, stored: Sequence[Experiment], notes: Sequence[int]) -> None:
    """Prints a table, or where it does not fit two lines per experiment."""
    from edgejoule.cli.layout import print_wrapped
    from edgejoule.cli.table_text import is_narrow, print_bare
    from edgejoule.findings import experiments

    table = experiments.table(stored, notes)
    if not is_narrow(out, table):
        print_bare(out, table)
        return
    width = len(str(max(e.id for e in stored)))
    for experiment, number in zip(stored, notes, strict=True):
        head, question = experiments.in_lines(experiment, number)
        print_wrapped(out, head, f"{experiment.id:>{width}}  ")
        print_wrapped(out, question, " " * (width + 2))


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


@click.command(
    epilog="""\b
    Examples:
      edgejoule show
      edgejoule show first-look --run 7
      edgejoule show 3 --json"""
)
@click.argument("experiment", default="latest")
@click.option("--run", "run_number", type=click.IntRange(min=1), help="Show everything about the run with this number.")
@store_option
@json_option
def show(experiment: str, run_number: int | None, store: Path, as_json: bool) -> None:
    """Show the runs of an EXPERIMENT and their responses.

    EXPERIMENT is an id, a name or latest (the default). If several experiments have the name, show lists them.
    """
    from edgejoule.cli.layout import print_wrapped
    from edgejoule.cli.report import print_answer, print_details
    from edgejoule.findings import experiments, find, tables
    from edgejoule.store import SeveralError, Store

    with Store.open(store) as opened:
        try:
            stored = opened.find(experiment)
        except SeveralError as error:
            if as_json or run_number is not None:
                raise
            several = error.experiments
            _print_experiments(console(), several, [len(opened.notes(e.id)) for e in several])
            console().print("Several experiments have this name: `edgejoule show ID` shows one.")
            return
        runs = opened.attempts(stored.id)
        if run_number is not None:
            total = len(opened.runs(stored.id))
            runs = [run for run in runs if run.run_index == run_number - 1]
            if not runs:
                raise click.BadParameter(f"the experiment has {total} runs", param_hint="--run")
        notes = opened.notes(stored.id)
        findings = find(opened, stored) if run_number is None and not as_json else None
        events = {run.id: opened.data(run).events for run in runs} if run_number else {}
    if as_json:
        noted = [note.record() for note in notes]
        echo_json({**_summary(stored), "notes": noted, "records": [r.record(stored.name) for r in runs]})
        return
    out = console()
    print_wrapped(out, f"{stored.name} ({stored.id}), {stored.begun}: {stored.question}", style="bold")
    print_wrapped(out, _first_sentence(stored.energy_words))
    if not stored.finished:
        print_wrapped(out, f"Not complete: {stored.progress}; `edgejoule run SPEC --resume` continues.")
    for note in notes:
        if run_number is None or note.run_index in (None, run_number - 1):
            print_wrapped(out, note.line)
    if run_number is not None:
        for run in runs:
            _print_run(run, [e for e in events[run.id] if e["event"] == "database"])
        return
    out.print()
    if findings is not None:
        print_answer(out, findings.answer)
        out.print()
        if findings.answer.response is not None and (means := tables.means(findings.answer.response)):
            _print_list(out, means)
            out.print()
    with_note = {note.run_index for note in notes if note.run_index is not None}
    _print_list(out, experiments.runs(stored, runs, with_note))
    _print_flags(out, runs)
    if findings is not None:
        out.print()
        print_details(out, findings)


def _first_sentence(text: str) -> str:
    """Returns which energy it is; the rest explains why no other meter was used."""
    return re.split(r"(?<=\.) ", text, maxsplit=1)[0]


def _print_list(out: Console, table: Table) -> None:
    """Prints a table and the names of the columns that do not fit."""
    from edgejoule.cli.table_text import print_bare, print_omitted

    if omitted := print_bare(out, table):
        out.print()
        print_omitted(out, omitted)


def _print_flags(out: Console, runs: Sequence[Run]) -> None:
    """Prints the cause of every failure and every flag in full. The caveats say why runs are not here."""
    from edgejoule.cli.layout import print_rows

    rows = []
    for run in runs:
        texts = [*([run.cause] if run.cause and run.status == "failed" else []), *run.flags]
        rows += [(str(run.run_index + 1) if i == 0 else "", text) for i, text in enumerate(texts)]
    if rows:
        out.print()
        print_rows(out, ("run", "cause of its failure, or flags"), rows, numeric=(0,))


def _print_run(run: Run, events: list[object]) -> None:
    from edgejoule.cli.layout import print_wrapped
    from edgejoule.cli.table_text import print_table
    from edgejoule.experiment.command import shown
    from edgejoule.findings.facts import circumstances
    from edgejoule.findings.text import count

    out = console()
    print_wrapped(
        out,
        f"run {run.run_index + 1}, block {run.block + 1}: " + ", ".join(f"{k} = {v}" for k, v in run.levels.items()),
    )
    counted = "" if run.is_command_alone or run.status == "not_here" else f"; {count(len(events), 'database event')}"
    print_wrapped(out, f"status: {run.status.replace('_', ' ')}{f', {run.cause}' if run.cause else ''}{counted}")
    if command := run.facts.get("command"):
        print_wrapped(out, f"command: {shown(command['command'])}")
    for circumstance in circumstances(run):
        print_wrapped(out, circumstance)
    for flag in run.flags:
        print_wrapped(out, f"flag: {flag}")
    if run.responses:
        out.print()
        _print_responses(out, run)
    if lines := run.facts.get("output", {}).get("last_lines"):
        out.print("\nthe output ends with:")
        for line in lines:
            out.print(f"  {line}", markup=False, highlight=False)
    for section in _run_tables(run):
        out.print()
        print_table(out, section.table)
        for sentence in section.sentences:
            print_wrapped(out, sentence)


def _print_responses(out: Console, run: Run) -> None:
    """Prints a table, or where it does not fit a line per response."""
    from edgejoule.cli.layout import print_wrapped
    from edgejoule.cli.table_text import is_narrow, print_bare
    from edgejoule.findings import run_tables

    section = run_tables.responses(run)
    if is_narrow(out, section.table):
        for line in run_tables.responses_in_lines(run):
            print_wrapped(out, line, indent=2)
    else:
        print_bare(out, section.table)
    for sentence in section.sentences:
        print_wrapped(out, sentence)


def _run_tables(run: Run) -> Iterator[run_tables.RunTable]:
    from edgejoule.findings import run_tables

    if "baselines" in run.facts:
        yield run_tables.baselines(run)
    if run.facts.get("phases"):
        yield run_tables.phases(run.facts["phases"], run.repeated)
    if "metering" in run.facts:
        what = "repetitions" if "repetitions" in run.facts else "executions"
        yield run_tables.metering(run.facts["metering"], f"{run.repeated} {what}" if run.repeated > 1 else "")
