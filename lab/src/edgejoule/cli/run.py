"""`edgejoule run`: from an experiment.toml to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from edgejoule.cli.common import json_option, store_option


@click.command(
    epilog="""\b
    Examples:
      edgejoule run experiments/first-look
      edgejoule run my.toml --dry-run
      edgejoule run my.toml --set 'factors.threads=[1, 4]'
      edgejoule run my.toml --only database=sqlite,leveldb --only workload=read
      edgejoule run my.toml --resume
      edgejoule run my.toml --rerun-flagged
      edgejoule run my.toml --more 3 --only database=sqlite,leveldb"""
)
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the cells, the duration, and each setting with its file; measure nothing. Databases, meters and rights "
    "that are missing here are marked; exit code 1 if no run can be done.",
)
@click.option("--full", is_flag=True, help="With --dry-run: print each run.")
@click.option("--resume", is_flag=True, help="Continue the latest unfinished experiment of this spec.")
@click.option(
    "--rerun-flagged",
    is_flag=True,
    help="Repeat the runs that were flagged for their conditions (throttling, temperature, clocks, other programs). "
    "Nothing is deleted: the first attempt without a flagged condition counts, whatever its result.",
)
@click.option(
    "--more",
    type=click.IntRange(min=1, max=10_000),
    metavar="N",
    help="Add N replications to the finished experiment of this spec; with --only, only for the chosen cells. The "
    "report says that they were added. Runs of a block that has only one cell are listed but not compared. Not for "
    "sequential designs.",
)
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a key of the spec; may be repeated."
)
@click.option("--meter", help="Use this meter instead of the spec's (see `edgejoule meters`).")
@click.option("--profile", help="Board profile for the modelled meter, by name or path.")
@click.option(
    "--only",
    multiple=True,
    metavar="FACTOR=LEVEL,...",
    help="Make only the runs with one of these levels; may be repeated. An unfinished experiment of this spec is "
    "continued. The other runs stay planned; --resume makes them.",
)
@click.option(
    "--wipe",
    multiple=True,
    metavar="SERIAL",
    help="Erase the disk with this serial number (see `lsblk --output PATH,MODEL,SIZE,SERIAL`) for each run whose "
    "filesystem_device it is; may be repeated. Never a disk that is in use or has data of others. --dry-run changes "
    "nothing.",
)
@click.option("--keep-going", is_flag=True, help="Continue after a run that failed.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the databases' files and for the loaded databases kept for later runs; default: beside the "
    "store.",
)
@click.option(
    "--clock-token",
    envvar="EDGEJOULE_TOKEN",
    default="",
    show_envvar=True,
    help="The secret that the clock servers in meter.clocks expect.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The report's file; default: beside the store.",
)
@store_option
@json_option
def run(**given: Any) -> None:
    """Measure the experiment in SPEC and write its report.

    SPEC is a TOML file, or a folder with an experiment.toml. With `base = "other.toml"` it states only the differences
    from another spec. Every finished run is stored at once. Ctrl-C stops cleanly; --resume continues.
    """
    from edgejoule.cli.run_study import run_study

    run_study(**given)
