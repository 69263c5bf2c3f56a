"""`edgejoule eco sweep`: eco-sim over policies, seeds and levels of factors, here or on a Dask cluster."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgejoule.cli.common import stop_in_order
from edgejoule.errors import UsageError

if TYPE_CHECKING:
    from rich.progress import Progress

    from edgejoule.eco import sweep as sweeps

_EPILOG = """\b
Examples:
  edgejoule eco sweep experiments/eco-sweeps/links.toml
  edgejoule eco sweep SPEC --dry-run                        count simulations
  edgejoule eco sweep SPEC -o links --workers 8 --parquet
  edgejoule eco sweep SPEC --scheduler tcp://10.0.0.1:8786  on a Dask cluster"""


@click.command(epilog=_EPILOG)
@click.argument("spec", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the results; default: results/eco-sweeps/NAME.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Simulate on the Dask cluster of this scheduler. Needs the extra `distributed`.",
)
@click.option(
    "--workers", type=click.IntRange(1), help="Simulations at a time on this machine; default: the number of cores."
)
@click.option(
    "--eco-sim",
    "program",
    type=click.Path(path_type=Path),
    help="The program; default: build/bin/eco-sim, else eco-sim on the PATH.",
)
@click.option("--parquet", is_flag=True, help="Also write rows.parquet. Needs the extra `parquet`.")
@click.option("--dry-run", is_flag=True, help="Print the number of simulations; simulate nothing.")
def sweep(
    spec: Path,
    output: Path | None,
    scheduler: str | None,
    workers: int | None,
    program: Path | None,
    parquet: bool,
    dry_run: bool,
) -> None:
    """Simulate every combination of a sweep file.

    A combination is a policy, a seed and a level of each factor. Writes rows.csv, with a row for each server and run
    and a row "total" for all servers, and the pictures that the file declares. A combination with stored results is
    skipped, so a sweep continues after an interruption or with more levels.
    """
    from edgejoule.eco import sweep as sweeps
    from edgejoule.eco.pictures import draw, load_matplotlib

    stop_in_order()
    sweep = sweeps.read_sweep(spec)
    folder = output or Path("results/eco-sweeps") / sweep.name
    if program is not None and scheduler is None:
        sweeps.find_program(program)
    click.echo(f"{sweep.name}: {sweep.question}")
    with _naming_files(folder):
        if dry_run:
            _missing(sweep, sweeps.Results(folder / "points.jsonl"), folder)
            return
        if sweep.pictures:
            load_matplotlib()
        folder.mkdir(parents=True, exist_ok=True)
        with sweeps.alone_in(folder):
            results = sweeps.Results(folder / "points.jsonl")
            if missing := _missing(sweep, results, folder):
                path = sweeps.find_program(program) if scheduler is None or program is None else str(program)
                here = ThreadPoolExecutor(workers or os.cpu_count() or 1)
                with sweeps.dask_executor(scheduler) if scheduler else here as executor, _progress() as bar:
                    task = bar.add_task("simulating", total=missing)
                    sweeps.run(sweep, results, executor, path, lambda: bar.advance(task))
            rows = results.rows(sweep)
            sweeps.write_csv(folder / "rows.csv", rows)
            written = [folder / "rows.csv"]
            if parquet:
                written.append(folder / "rows.parquet")
                sweeps.write_parquet(written[-1], rows)
            for file in [*written, *draw(sweep, rows, folder)]:
                click.echo(f"  {file}")


@contextlib.contextmanager
def _naming_files(folder: Path) -> Iterator[None]:
    """Raises a usage error with the name of a file that cannot be read or written."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{error.filename or folder}: {error.strerror}") from error


def _missing(sweep: sweeps.Sweep, results: sweeps.Results, folder: Path) -> int:
    """Prints and returns how many points are to be simulated."""
    missing = sum(point not in results for point in sweep.points)
    reused = len(sweep.points) - missing
    click.echo(f"{len(sweep.points)} simulations, {reused} of them in {folder}" + (": reused" if reused else ""))
    return missing


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty(),
    )  # fmt: skip
