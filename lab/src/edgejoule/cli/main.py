"""The command line: `edgejoule`."""

from __future__ import annotations

import click

from edgejoule.cli.common import CommandsOnDemand, OnDemand
from edgejoule.version import __version__

_COMMANDS = {  # in the order of use
    "exec": OnDemand("exec_:exec_", "Measure what programs cost: joules, seconds, CPU, memory."),
    "run": OnDemand("run:run", "Measure the experiment in SPEC and write its report."),
    "list": OnDemand("show:list_", "List the experiments in the store."),
    "show": OnDemand("show:show", "Show the runs of an EXPERIMENT and their responses."),
    "report": OnDemand("report:report", "Write the report of an EXPERIMENT as one HTML file."),
    "export": OnDemand("export:export", "Export the runs of an EXPERIMENT: table, lines or bundle."),
    "import": OnDemand("import_:import_", "Import a bundle, or compute the energy of a power trace."),
    "note": OnDemand("note:note", "Write a note on an EXPERIMENT, or list its notes."),
    "delete": OnDemand("delete:delete", "Delete EXPERIMENTs with all their runs, or loaded databases."),
    "analyse": OnDemand("analyse:analyse", "Show which factors matter and which groups differ."),
    "meters": OnDemand("meters:meters", "List the meters, in the order in which a study prefers them."),
    "calibrate": OnDemand("calibrate:calibrate", "Fit a power model to this machine with a borrowed meter."),
    "clock": OnDemand("clock:clock", "Compare the clocks of two hosts."),
    "conformance": OnDemand("conformance:conformance", "Compare the joules that a METER reports with known joules."),
    "databases": OnDemand("databases:databases", "List the usable databases; start and stop servers."),
    "doctor": OnDemand("doctor:doctor", "Check this machine and its storage before a study."),
    "eco": OnDemand("eco:eco", "Simulate policies of compaction offloading for RocksDB."),
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

Exit codes: 0 ok, 1 failure, 2 usage or input, 3 finished with flagged runs,
130 interrupted, 141 the reader of the output ended."""


_REMOVED = {
    "audit": "the page docs/how-to/printed-anova-tables.md has the 25 lines of Python that do it",
}


@click.group(
    cls=CommandsOnDemand,
    on_demand=_COMMANDS,
    removed=_REMOVED,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="edgejoule")
def main() -> None:
    """Measure, choose and run databases by the energy they cost."""
