"""`edgejoule export`: the runs of an experiment as CSV or JSON lines, for other tools."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path

import click

from edgejoule.bundle import write_bundle
from edgejoule.cli.common import store_option
from edgejoule.errors import StoreError, UsageError
from edgejoule.meters.base import sample_record
from edgejoule.responses import RESPONSES
from edgejoule.store import Experiment, Run, Store


@click.command()
@click.argument("experiment", default="latest")
@click.option("--csv", "form", flag_value="csv", default="csv", help="One row per run (the default).")
@click.option("--jsonl", "form", flag_value="jsonl", help="One run record per line (schemas/run-record.schema.json).")
@click.option(
    "--samples", "form", flag_value="samples", help="Power samples (schemas/meter-sample.schema.json), by line."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="A file; default: standard output."
)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.zip",
    help="Everything of the experiment as one file, for `edgejoule import` and `edgejoule report` elsewhere.",
)
@click.option(
    "--attempts", is_flag=True, help="With --csv also the attempts that do not count (`edgejoule run --rerun-flagged`)."
)
@store_option
def export(experiment: str, form: str, output: Path | None, bundle: Path | None, attempts: bool, store: Path) -> None:
    """Write the runs of an EXPERIMENT (id, name or latest).

    In CSV an energy column has its method in its name (energy_j.modelled), and beside it the half width of its k=2
    interval (energy_j.modelled.k2); a missing value is an empty cell. JSON lines, samples and bundles hold every
    attempt at a run, CSV those that count.

    \b
    Examples:
      edgejoule export --csv > runs.csv
      edgejoule export first-look --samples -o samples.jsonl
      edgejoule export first-look --bundle first-look.zip
    """
    if bundle is not None and (output is not None or bundle.suffix != ".zip"):
        raise UsageError(f"--bundle {bundle}: expected the name of a .zip file, and no -o beside it")
    with Store.open(store) as opened:
        found = opened.find(experiment)
        if bundle is not None:
            write_bundle(opened.path, found, bundle)
            return
        runs = opened.runs(found.id) if form == "csv" and not attempts else opened.attempts(found.id)
        if form == "csv":
            text = runs_csv(found, runs)
        elif form == "jsonl":
            text = "".join(json.dumps(r.record(found.name), ensure_ascii=False) + "\n" for r in runs)
        else:
            text = "".join(_samples(opened, runs))
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{output}: cannot be written: {error.strerror}") from error


def runs_csv(experiment: Experiment, runs: list[Run]) -> str:
    """One row per run: run, block, the factors, every response (energies with their method and, where they have one,
    uncertainty), status, cause, flags.
    """
    columns = {(r.name, r.method): None for run in runs for r in run.responses}
    uncertain = {(r.name, r.method) for run in runs for r in run.responses if r.uncertainty_k2 is not None}
    heads = {}
    for name, method in columns:
        heads[name, method, ""] = f"{name}.{method}" if RESPONSES[name].is_energy else name
        if (name, method) in uncertain:
            heads[name, method, "k2"] = f"{heads[name, method, '']}.k2"
    tried = ["attempt", "set_aside"] if any(run.attempt for run in runs) else []
    clash = set(experiment.spec.factors) & {"run", "block", "status", "cause", "flags", *tried, *heads.values()}
    if clash:
        raise UsageError(f"a factor has the name of a column: {', '.join(sorted(clash))}")
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["run", "block", *experiment.spec.factors, *heads.values(), "status", "cause", "flags", *tried])
    for run in runs:
        values = {(r.name, r.method, ""): r.value for r in run.responses}
        values |= {(r.name, r.method, "k2"): r.uncertainty_k2 for r in run.responses}
        cells = ["" if values.get(key) is None else repr(values[key]) for key in heads]
        writer.writerow(
            [
                run.run_index + 1,
                run.block + 1,
                *run.levels.values(),
                *cells,
                run.status,
                run.cause or "",
                "; ".join(run.flags),
                *([run.attempt + 1, "yes" if run.set_aside else "no"] if tried else []),
            ]
        )
    return buffer.getvalue()


def _samples(store: Store, runs: list[Run]) -> Iterable[str]:
    for run in runs:
        for trace in store.data(run).traces:
            for sample in trace.samples():
                yield json.dumps(sample_record(trace.channel, sample)) + "\n"
