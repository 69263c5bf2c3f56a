"""`edgejoule export`: the runs of an experiment as CSV, JSON lines or Parquet, for other tools."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgejoule.cli.common import store_option
from edgejoule.errors import StoreError, UsageError
from edgejoule.output_files import check_output, whole_file
from edgejoule.unusable_files import reason

if TYPE_CHECKING:
    from edgejoule.store import Experiment, Run, Store

_FORMS = ("csv", "jsonl", "samples", "events")


@click.command(
    epilog="""\b
    Examples:
      edgejoule export --csv > runs.csv
      edgejoule export --parquet runs.parquet
      edgejoule export --samples --parquet samples.parquet
      edgejoule export first-look --samples -o samples.jsonl
      edgejoule export first-look --events | jq 'select(.event == "decision")'
      edgejoule export first-look --bundle first-look.zip"""
)
@click.argument("experiment", default="latest")
@click.option("--csv", is_flag=True, help="A table with one row per run (the default).")
@click.option("--jsonl", is_flag=True, help="JSON lines: one run record each (schemas/run-record.schema.json).")
@click.option("--samples", is_flag=True, help="JSON lines: one power sample each (schemas/meter-sample.schema.json).")
@click.option("--events", is_flag=True, help="JSON lines: one event of a run each (schemas/run-event.schema.json).")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="The file; default, and -: standard output."
)
@click.option(
    "--parquet",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the table of --csv to a Parquet file; with --samples the power samples. Needs the extra `parquet`.",
)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.zip",
    help="Write the whole experiment to one file, for `edgejoule import` and `edgejoule report` elsewhere.",
)
@click.option(
    "--attempts",
    is_flag=True,
    help="Add to tables the attempts that do not count (see `edgejoule run --rerun-flagged`).",
)
@store_option
def export(
    experiment: str,
    csv: bool,
    jsonl: bool,
    samples: bool,
    events: bool,
    output: Path | None,
    parquet: Path | None,
    bundle: Path | None,
    attempts: bool,
    store: Path,
) -> None:
    """Export the runs of an EXPERIMENT: table, lines or bundle.

    EXPERIMENT is an id, a name or latest (the default). The name of an energy column ends with its method
    (energy_j.modelled); the column beside it has the half width of the k=2 interval (energy_j.modelled.k2). The last
    columns name experiment, host and start (UTC), and the settings that are no factors, those of the workload among
    them. A missing value is an empty cell, in Parquet null. Tables have the attempts that count; JSON lines and bundles
    have all attempts.
    """
    from edgejoule.export.bundle import write_bundle
    from edgejoule.store import Store

    forms = [form for form, given in zip(_FORMS, (csv, jsonl, samples, events), strict=True) if given]
    if len(forms) > 1:
        raise UsageError(f"--{' --'.join(forms)}: expected one of them")
    form = forms[0] if forms else None
    if bundle is not None and forms:
        raise UsageError(f"--bundle {bundle}: has the whole experiment; leave --{forms[0]} out")
    if output == Path("-"):
        output = None
    if bundle is not None and (output is not None or bundle.suffix != ".zip"):
        raise UsageError(f"--bundle {bundle}: expected the name of a .zip file, and no -o beside it")
    if parquet is not None and (output is not None or bundle is not None or form in ("csv", "jsonl", "events")):
        raise UsageError(f"--parquet {parquet}: expected no --csv, --jsonl, --events, --bundle or -o beside it")
    for option, file in (("-o", output), ("--parquet", parquet), ("--bundle", bundle)):
        if file is not None:
            check_output(option, file, store)
    with Store.open(store) as opened:
        stored = opened.find(experiment)
        if bundle is not None:
            write_bundle(opened.path, stored, bundle)
            return
        table = form in ("csv", None) and not attempts
        runs = opened.runs(stored.id) if table else opened.attempts(stored.id)
        if parquet is not None:
            _write_parquet(opened, stored, runs, parquet, samples=form == "samples")
            return
        text = _text(opened, stored, runs, form or "csv")
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with whole_file(output) as opened_file:
            opened_file.write(text.encode())
    except OSError as error:
        raise StoreError(f"{output}: cannot be written: {reason(error, output)}") from error


def _text(store: Store, experiment: Experiment, runs: list[Run], form: str) -> str:
    from edgejoule.export.runs_table import runs_csv, runs_table

    if form == "csv":
        return runs_csv(runs_table(experiment, runs))
    if form == "jsonl":
        return "".join(_records(store, experiment, runs))
    return "".join(_events(store, runs) if form == "events" else _samples(store, runs))


def _records(store: Store, experiment: Experiment, runs: list[Run]) -> Iterable[str]:
    notes = store.notes(experiment.id)
    for run in runs:
        own = [note.text for note in notes if note.run_index == run.run_index]
        yield json.dumps({**run.record(experiment.name), "notes": own}, ensure_ascii=False) + "\n"


def _write_parquet(store: Store, experiment: Experiment, runs: list[Run], target: Path, *, samples: bool) -> None:
    from edgejoule.export.parquet import write_runs, write_samples
    from edgejoule.export.runs_table import runs_table

    if samples:
        write_samples(store, experiment, runs, target)
    else:
        write_runs(runs_table(experiment, runs), experiment, target)


def _samples(store: Store, runs: list[Run]) -> Iterable[str]:
    from edgejoule.meters.base import sample_record

    for run in runs:
        for trace in store.data(run).traces:
            which = {"run": run.run_index + 1, "attempt": run.attempt + 1}
            for sample in trace.samples():
                yield json.dumps({**which, **sample_record(trace.channel, sample)}) + "\n"


def _events(store: Store, runs: list[Run]) -> Iterable[str]:
    for run in runs:
        for event in store.data(run).events:
            yield json.dumps({"run_index": run.run_index, "attempt": run.attempt, **event}, ensure_ascii=False) + "\n"
