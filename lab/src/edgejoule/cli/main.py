"""The command line: `edgejoule`."""

from __future__ import annotations

from importlib import import_module

import click

from edgejoule import __version__
from edgejoule.cli.common import Commands

_COMMANDS = {  # in the order of use: name -> module and attribute
    "run": "run:run",
    "list": "show:list_",
    "show": "show:show",
    "report": "report:report",
    "export": "export:export",
    "import": "import_:import_",
    "analyse": "analyse:analyse",
    "audit": "audit:audit",
    "meters": "meters:meters",
    "calibrate": "calibrate:calibrate",
    "clock": "clock:clock",
    "conformance": "conformance:conformance",
    "databases": "databases:databases",
    "doctor": "doctor:doctor",
    "federation": "federation:federation",
    "trial": "trial:trial",
    "eco-sweep": "eco_sweep:eco_sweep",
}

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
  edgejoule federation                            eco's policies compared on servers of this machine
  edgejoule eco-sweep experiments/eco-sweeps/links.toml   the same simulated, over link speeds
  edgejoule conformance --all                     whether the meters tell the truth, on emulated instruments

Exit codes: 0 ok, 1 failure, 2 usage, 3 finished with flagged runs, 130 interrupted."""


class _OnDemand(Commands):
    """A command's module is imported when the command is called: some take a second to come."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import it."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"edgejoule.cli.{module}"), attribute)
        return command


@click.group(cls=_OnDemand, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="edgejoule")
def main() -> None:
    """Measure, choose and run databases by the energy they cost."""
