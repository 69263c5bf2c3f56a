"""The command line: `edgejoule`."""

from __future__ import annotations

import click

from edgejoule.cli.common import OnDemand
from edgejoule.version import __version__

_COMMANDS = {  # in the order of use: name -> module and attribute
    "exec": "exec_:exec_",
    "run": "run:run",
    "list": "show:list_",
    "show": "show:show",
    "report": "report:report",
    "export": "export:export",
    "import": "import_:import_",
    "note": "note:note",
    "delete": "delete:delete",
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
  edgejoule doctor                        check this machine before a study
  edgejoule meters                        list the meters
  edgejoule exec -- gzip -kf FILE         measure a program
  edgejoule exec 'gzip -kf F' 'xz -kf F'  compare two programs
  edgejoule run experiments/first-look    measure and write a report
  edgejoule run SPEC --dry-run            show the plan and its duration
  edgejoule run SPEC --resume             continue after an interruption
  edgejoule show                          show the latest experiment
  edgejoule export --csv > runs.csv       export its runs as a table
  edgejoule COMMAND --help                show options and more examples

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
