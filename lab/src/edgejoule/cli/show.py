"""`edgejoule list` and `edgejoule show`: what is in the store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from edgejoule.cli.common import console, echo_json, json_option, messages, near, store_option
from edgejoule.cli.layout import print_rows
from edgejoule.cli.report import print_answer, print_details
from edgejoule.cli.table_text import print_bare, print_table
from edgejoule.databases.snapshots import Snapshots
from edgejoule.experiment.command import shown
from edgejoule.findings import experiments, find, run_tables, tables
from edgejoule.findings.facts import circumstances
from edgejoule.findings.text import count, listed, size_text
from edgejoule.store import Experiment, Run, SeveralError, Store
from edgejoule.study.study import Places


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
    with Store.open(store) as opened:
        stored = opened.experiments()
    if as_json:
        echo_json([_summary(e) for e in stored])
        return
    if not stored:
        console().print(f"{store} holds no experiment yet; `edgejoule run SPEC` makes one")
        return
    print_bare(console(), experiments.table(stored))
    folder = Places.beside(store).snapshots
    if sizes := Snapshots(folder).sizes():
        kept = f"{count(len(sizes), 'loaded database')} ({size_text(sum(sizes.values()))}) in {near(folder)}"
        messages().print(f"{kept}; `edgejoule delete --snapshots` deletes them", markup=False)


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
    with Store.open(store) as opened:
        try:
            stored = opened.find(experiment)
        except SeveralError as error:
            if as_json or run_number is not None:
                raise
            print_bare(console(), experiments.table(error.experiments))
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
    out.print(Text(f"{stored.name} ({stored.id}), {stored.begun}: {stored.question}", style="bold"))
    out.print(_first_sentence(stored.energy_words), markup=False)
    if not stored.finished:
        out.print(f"Not complete: {stored.progress}; `edgejoule run SPEC --resume` continues.", markup=False)
    for note in notes:
        if run_number is None or note.run_index in (None, run_number - 1):
            out.print(note.line, markup=False)
    if run_number is not None:
        for run in runs:
            _print_run(run, [e for e in events[run.id] if e["event"] == "database"])
        return
    out.print()
    if findings is not None:
        print_answer(out, findings.answer)
        out.print()
        if findings.answer.response is not None and (means := tables.means(findings.answer.response)):
            print_bare(out, means)
            out.print()
    omitted = print_bare(out, experiments.runs(stored, runs))
    _print_omitted(out, omitted)
    _print_flags(out, runs)
    if findings is not None:
        out.print()
        print_details(out, findings)


def _first_sentence(text: str) -> str:
    """Returns which energy it is; the rest explains why no other meter was used."""
    return re.split(r"(?<=\.) ", text, maxsplit=1)[0]


def _print_omitted(out: Console, headings: Sequence[str]) -> None:
    if headings:
        names = listed([heading.partition("\n")[0] for heading in reversed(headings)])
        out.print(f"\nNot shown at {out.width} columns: {names}.", markup=False)


def _print_flags(out: Console, runs: Sequence[Run]) -> None:
    """Prints the cause of every failure and every flag in full."""
    rows = []
    for run in runs:
        texts = [*([run.cause] if run.cause else []), *run.flags]
        rows += [(str(run.run_index + 1) if i == 0 else "", text) for i, text in enumerate(texts)]
    if rows:
        out.print()
        print_rows(out, ("run", "cause of its failure, or flags"), rows, numeric=(0,))


def _print_run(run: Run, events: list[object]) -> None:
    out = console()
    out.print(
        f"run {run.run_index + 1}, block {run.block + 1}: " + ", ".join(f"{k} = {v}" for k, v in run.levels.items()),
        markup=False,
    )
    counted = "" if run.is_command_alone else f"; {count(len(events), 'database event')}"
    out.print(f"status: {run.status}{f', {run.cause}' if run.cause else ''}{counted}", markup=False)
    if command := run.facts.get("command"):
        out.print(f"command: {shown(command['command'])}", markup=False)
    for circumstance in circumstances(run):
        out.print(circumstance, markup=False)
    for flag in run.flags:
        out.print(f"flag: {flag}", markup=False)
    out.print()
    print_bare(out, run_tables.responses(run))
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
