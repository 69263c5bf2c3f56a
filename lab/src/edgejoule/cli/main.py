"""The command line: `edgejoule`."""

from __future__ import annotations

import click

from edgejoule import __version__
from edgejoule.cli.analyse import analyse
from edgejoule.cli.audit import audit
from edgejoule.cli.calibrate import calibrate
from edgejoule.cli.clock import clock
from edgejoule.cli.common import Commands
from edgejoule.cli.conformance import conformance
from edgejoule.cli.databases import databases
from edgejoule.cli.doctor import doctor
from edgejoule.cli.export import export
from edgejoule.cli.import_ import import_
from edgejoule.cli.meters import meters
from edgejoule.cli.report import report
from edgejoule.cli.run import run
from edgejoule.cli.show import list_, show

_EPILOG = """\b
Examples:
  edgejoule run experiments/first-look            measure, then report
  edgejoule run SPEC --dry-run                    the plan and how long it takes
  edgejoule run SPEC --resume                     go on after an interruption
  edgejoule show                                  the latest experiment
  edgejoule export first-look --csv > runs.csv
  edgejoule analyse runs.csv --response throughput_ops_s --factors database,workload
  edgejoule meters                                what can be measured here
  edgejoule doctor                                what a study must know of this machine
  edgejoule calibrate -o my-board.toml            a power model of this board, with a borrowed meter
  edgejoule conformance --all                     whether the meters tell the truth, on emulated instruments

Exit codes: 0 ok, 1 failure, 2 usage, 3 finished with flagged runs, 130 interrupted."""


@click.group(cls=Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="edgejoule")
def main() -> None:
    """Measure, choose and run databases by the energy they cost."""


for command in (
    run,
    list_,
    show,
    report,
    export,
    import_,
    analyse,
    audit,
    meters,
    calibrate,
    clock,
    conformance,
    databases,
    doctor,
):
    main.add_command(command)
