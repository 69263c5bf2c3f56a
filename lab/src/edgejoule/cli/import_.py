"""`edgejoule import`: what was measured elsewhere: an experiment as a bundle, or a power trace as CSV."""

from __future__ import annotations

import zipfile
from pathlib import Path

import click

from edgejoule.cli.common import console, echo_json, given_options, json_option, store_option
from edgejoule.cli.interval_options import IntervalOptions, interval_options
from edgejoule.cli.recording_options import RecordingOptions, recording_options


@click.command(
    "import",
    epilog="""\b
    Examples:
      edgejoule import first-look.zip
      edgejoule import first-look.zip --store results/others.db
      edgejoule import trace.csv --gain-rel 0.0058 --offset-w 0.003
      edgejoule import ppk2.csv --voltage-v 5.0 --from 10 --to 70 \\
          --gain-rel 0.05 --offset-w 0.0001
      edgejoule import wt310.csv --time Zeit --time-unit s --power P1:W --mean \\
          --gain-rel 0.001 --offset-w 0.05 --json
      edgejoule import trace.csv --gain-rel 0.01 --offset-w 0 --attach first-look
      edgejoule import trace.csv --gain-rel 0.01 --offset-w 0 \\
          --attach first-look --run 3 --clock-within 0.5
      edgejoule import --detach first-look""",
)
@click.argument("file", metavar="FILE.zip|FILE.csv", required=False, type=click.Path(path_type=Path, dir_okay=False))
@recording_options
@interval_options
@store_option
@json_option
def import_(
    file: Path | None, recording: RecordingOptions, intervals: IntervalOptions, store: Path, as_json: bool
) -> None:
    """Import a bundle, or compute the energy of a power trace.

    FILE.zip is a bundle (`edgejoule export --bundle`). The experiment keeps its number if the store has it free. A
    missing store is created. A damaged or foreign file changes nothing.

    FILE.csv is a trace with a header. The header names columns and units (Time(ms), power_mw, Main Voltage (V)), or
    options do. State the recorder's accuracy: --gain-rel and --offset-w. --attach stores the trace with the runs of an
    experiment, as one more meter. To place a run in the trace, import uses its marker bursts (timing.marker = true),
    clock exchanges with the recorder's host (meter.clocks), or the recorder's wall clock (--clock-within).
    """
    from edgejoule.cli.import_trace import detach_trace, import_trace

    if intervals.detach is not None:
        if file is not None:
            raise click.UsageError("--detach takes no FILE")
        detach_trace(store, as_json, intervals)
    elif file is None:
        raise click.UsageError("Missing argument 'FILE.zip|FILE.csv'.")
    elif file.suffix == ".zip" or zipfile.is_zipfile(file):
        if others := given_options("--store", "--json"):
            raise click.UsageError(f"{', '.join(others)}: of a power trace (FILE.csv); {file} is a bundle")
        _take_bundle(file, store, as_json)
    else:
        import_trace(file, store, as_json, recording, intervals)


def _take_bundle(bundle: Path, store: Path, as_json: bool) -> None:
    from edgejoule.export.bundle import import_bundle
    from edgejoule.store import Store

    number = import_bundle(bundle, store)
    with Store.open(store) as opened:
        imported = opened.find(str(number))
    if as_json:
        echo_json({"id": imported.id, "name": imported.name, "store": str(store), "runs": dict(imported.counts)})
        return
    runs = ", ".join(f"{count} {status}" for status, count in sorted(imported.counts.items()))
    console().print(f"{imported.name} is experiment {imported.id} of {store}: runs {runs}", markup=False)
