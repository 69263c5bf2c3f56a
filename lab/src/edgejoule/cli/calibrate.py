"""`edgejoule calibrate`: a board profile of your own, from a staged load and a borrowed meter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from edgejoule.cli.common import Number, json_option
from edgejoule.cli.recording_options import recording_options


@click.command(
    epilog="""\b
    Examples:
      edgejoule calibrate --dry-run
      edgejoule calibrate -o my-board.toml
      edgejoule calibrate --meter serial --meter-option port=/dev/ttyUSB0
      edgejoule calibrate --trace recording.csv --gain-rel 0.005 --offset-w 0.01"""
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), default=Path("calibrated.toml"),
              show_default=True, help="The profile's file; its name must end in .toml.")  # fmt: skip
@click.option("--meter", help="The meter; default: the best measured or counted one (see `edgejoule meters`).")
@click.option(
    "--meter-option",
    "meter_options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the meter; may be repeated.",
)
@click.option("--trace", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.csv",
              help="Use another device's recording instead of a meter; a sample at least every 2 s.")  # fmt: skip
@click.option("--stages", "stages_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.json",
              help="With --trace: the stages of an earlier call; no load is made.")  # fmt: skip
@recording_options
@click.option("--rounds", type=click.IntRange(2, 100), default=3, show_default=True, help="Repetitions of every stage.")
@click.option("--observe-s", type=Number(0.2), default=8.0, show_default=True, help="Measured time of each stage.")
@click.option("--settle-s", type=Number(0), default=2.0, show_default=True, help="Time before it that is not measured.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed for the order of the stages.")
@click.option("--storage/--no-storage", default=True, show_default=True, help="Also write and read blocks.")
@click.option(
    "--network",
    is_flag=True,
    help="Also load the network over loopback; it tests the model and adds no joules per byte.",
)
@click.option("--data", type=click.Path(path_type=Path, file_okay=False, exists=True), default=Path(),
              help="The folder whose storage is loaded; default: the current one.")  # fmt: skip
@click.option("--name", help="The profile's name; default: from the file's name.")
@click.option("--force", is_flag=True, help="Replace an existing profile.")
@click.option("--dry-run", is_flag=True, help="Show the stages and how long they take; load nothing.")
@json_option
def calibrate(**given: Any) -> None:
    """Fit a power model to this machine with a borrowed meter.

    You need the meter for 5 to 15 minutes; --dry-run shows the time. calibrate loads the CPUs in stages, and writes and
    reads blocks. The board profile that it writes has power over utilisation, joules per byte, and the interval of its
    predictions. Without the meter, `edgejoule run SPEC --profile FILE` then uses the profile.
    """
    from edgejoule.cli.calibration import run_calibration

    run_calibration(**given)
