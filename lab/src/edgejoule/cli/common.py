"""What all commands share: options, output as JSON or for people, errors as one line and an exit code."""

from __future__ import annotations

import json
import math
import shlex
import signal
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

import click
from rich.console import Console

from edgejoule import toml_text
from edgejoule.errors import EdgejouleError, UsageError

PIPE_COLUMNS = 400
EXIT_FLAGGED = 3
EXIT_INTERRUPTED = 130

Options = dict[str, dict[str, Any]]

F = TypeVar("F", bound=Callable[..., Any])

store_option: Callable[[F], F] = click.option(
    "--store",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("results/store.db"),
    envvar="EDGEJOULE_STORE",
    show_default=True,
    show_envvar=True,
    help="The store: one SQLite file.",
)
json_option: Callable[[F], F] = click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output.")


meter_option: Callable[[F], F] = click.option(
    "--option",
    "meter_options",
    multiple=True,
    metavar="METER.KEY=VALUE",
    callback=lambda _context, _parameter, values: parsed_meter_options(values),
    help="An option of a meter, for example serial.port=/dev/ttyUSB0; may be repeated.",
)


def require_folder(option: str, file: Path) -> None:
    """Checks that the folder of a file to be written exists; a misspelt path makes none. Raises UsageError."""
    if not file.parent.is_dir():
        raise UsageError(f"{option} {file}: no folder {file.parent}; make it: mkdir -p {shlex.quote(str(file.parent))}")


class Number(click.FloatRange):
    """A number of an option: within its range, and finite. click lets nan through every range."""

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Returns the number, or raises a usage error."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


def parsed_meter_options(settings: Sequence[str]) -> Options:
    """Parses METER.KEY=VALUE arguments for discovery; values as TOML, else as text. Raises click.BadParameter."""
    options: Options = {}
    for word in settings:
        name, dot, rest = word.partition(".")
        key, equals, value = rest.partition("=")
        if not (dot and equals and name and key):
            raise click.BadParameter(f"{word!r}: expected METER.KEY=VALUE, for example serial.port=/dev/ttyUSB0")
        try:
            parsed: Any = toml_text.loads(f"v = {value}")["v"]
        except tomllib.TOMLDecodeError:
            parsed = value
        options.setdefault(name, {})[key] = parsed
    return options


def console() -> Console:
    """Returns the console for results. In a pipe lines are not wrapped."""
    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(highlight=False, soft_wrap=True, width=PIPE_COLUMNS)


def messages() -> Console:
    """Returns the console for progress and errors: standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def echo_json(value: object) -> None:
    """Prints one JSON document. Rejects NaN and infinity, which JSON does not have."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


class Commands(click.Group):
    """A group that reports the errors of this program in one line, with their exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; EdgejouleError and interrupts become a message and an exit code."""
        try:
            return super().invoke(ctx)
        except EdgejouleError as error:
            fail(str(error), error.exit_code)
        except KeyboardInterrupt:
            fail("interrupted", EXIT_INTERRUPTED)
        except FileNotFoundError:
            if not _current_folder_exists():
                fail("the current folder was deleted; change to another one", 1)
            raise
        except BrokenPipeError:
            sys.stderr.close()  # the reader of the output has gone
            sys.exit(1)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the commands in the order of use, not of the alphabet."""
        return list(self.commands)


class OnDemand(Commands):
    """Imports the module of a command when it is called; some imports take a second."""

    def __init__(self, modules: Mapping[str, str], removed: Mapping[str, str] | None = None, **settings: Any) -> None:
        """modules: in the order of use, name -> module of edgejoule.cli and attribute, "run:run". removed: name of a
        command that is gone -> what replaces it.
        """
        super().__init__(**settings)
        self.modules, self.removed = modules, removed or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns all commands."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command. Raises UsageError for a removed one."""
        if cmd_name in self.removed:
            raise UsageError(f"{ctx.command_path} {cmd_name} is gone: {self.removed[cmd_name]}")
        if cmd_name not in self.modules:
            return None
        module, _, attribute = self.modules[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"edgejoule.cli.{module}"), attribute)
        return command


def _current_folder_exists() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def fail(message: str, code: int) -> NoReturn:
    """Prints the message and exits with the code."""
    messages().print(f"edgejoule: {message}", markup=False)
    sys.exit(code)


def stop_in_order() -> None:
    """Makes SIGTERM and a lost terminal end a study cleanly, like Ctrl-C."""

    def handler(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, handler)
