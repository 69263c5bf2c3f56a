"""The command line: `edgejoule`."""

from __future__ import annotations

import click

from edgejoule import __version__
from edgejoule.cli.common import OnDemand

_COMMANDS = {  # in the order of use: name -> module and attribute
    "exec": "exec_:exec_",
    "run": "run:run",
    "list": "show:list_",
    "show": "show:show",
    "report": "report:report",
    "export": "export:export",
    "import": "import_:import_",
    "analyse": "analyse:analyse",
    "meters": "meters:meters",
    "calibrate": "calibrate:calibrate",
    "clock": "clock:clock",
    "conformance": "conformance:conformance",
    "databases": "databases:databases",
    "doctor": "doctor:doctor",
    "eco": "eco:eco",
}

_EPILOG = """\b
Examples:
  edgejoule exec -- gzip -kf FILE                 what a program costs, in joules and seconds
  edgejoule exec 'gzip -kf FILE' 'zstd -kf FILE'  which of two costs less
  edgejoule run experiments/first-look            measure, then report
  edgejoule run SPEC --dry-run                    the plan and how long it takes
  edgejoule run SPEC --resume                     continue after an interruption
  edgejoule show                                  the latest experiment
  edgejoule export first-look --csv > runs.csv
  edgejoule analyse runs.csv --response throughput_ops_s --factors database,workload
  edgejoule meters                                what can be measured here
  edgejoule doctor                                what to change on this machine before a study
  edgejoule calibrate -o my-board.toml            a power model of this board, with a borrowed meter
  edgejoule run experiments/eco-demo              eco's policies compared on servers of this machine
  edgejoule eco sweep experiments/eco-sweeps/links.toml   simulated servers, over link speeds
  edgejoule conformance --all                     whether the meters' joules are true, on emulated instruments

Exit codes: 0 ok, 1 failure, 2 usage, 3 finished with flagged runs, 130 interrupted."""


_REMOVED = {
    "audit": "the page docs/how-to/printed-anova-tables.md has the 25 lines of Python that do it",
}


@click.group(
    cls=OnDemand,
    modules=_COMMANDS,
    removed=_REMOVED,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="edgejoule")
def main() -> None:
    """Measure, choose and run databases by the energy they cost."""
