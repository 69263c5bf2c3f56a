"""What all commands share: options, output as JSON or for people, errors as one line and an exit code."""

from __future__ import annotations

import errno
import json
import math
import os
import signal
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from edgejoule import toml_text
from edgejoule.errors import EdgejouleError, UsageError

EXIT_FLAGGED = 3
EXIT_INTERRUPTED = 130

Options = dict[str, dict[str, Any]]

if TYPE_CHECKING:
    from rich.console import Console

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
    """Returns the console for results, see edgejoule.cli.terminal. It is imported here because `--help` needs none."""
    from edgejoule.cli import terminal

    return terminal.console()


def messages() -> Console:
    """Returns the console for progress and errors: standard error."""
    from edgejoule.cli import terminal

    return terminal.messages()


def near(path: Path) -> Path:
    """Returns the path as seen from the current folder, if it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def echo_json(value: object) -> None:
    """Prints one JSON document. Rejects NaN and infinity, which JSON does not have."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


class Commands(click.Group):
    """A group that reports the errors of this program in one line, with their exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; EdgejouleError and interrupts become a message and an exit code."""
        _open_closed_streams()
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
        except UnicodeEncodeError as error:
            fail(f"the output's encoding {error.encoding} lacks {error.object[error.start]!a}; set PYTHONUTF8=1", 1)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            fail(f"no space left on the device{f' of {error.filename}' if error.filename else ''}", 1)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the commands in the order of use, not of the alphabet."""
        return list(self.commands)


@dataclass(frozen=True)
class OnDemand:
    """A command that is imported when it is called; some imports take a second.

    place: module of edgejoule.cli and attribute, "run:run". summary: the first sentence of the command's help.
    """

    place: str
    summary: str

    def load(self) -> click.Command:
        """Imports the command."""
        module, _, attribute = self.place.partition(":")
        command: click.Command = getattr(import_module(f"edgejoule.cli.{module}"), attribute)
        return command


class CommandsOnDemand(Commands):
    """A group whose help imports none of its commands."""

    def __init__(
        self, on_demand: Mapping[str, OnDemand], removed: Mapping[str, str] | None = None, **settings: Any
    ) -> None:
        """on_demand: name -> command, in the order of use. removed: name of a command that is gone -> what replaces
        it.
        """
        super().__init__(**settings)
        self.on_demand, self.removed = on_demand, removed or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns all commands."""
        return list(self.on_demand)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command. Raises UsageError for a removed one."""
        if cmd_name in self.removed:
            raise UsageError(f"{ctx.command_path} {cmd_name} is gone: {self.removed[cmd_name]}")
        known = self.on_demand.get(cmd_name)
        return known.load() if known else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands' names and summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in self.on_demand.items()])


def _open_closed_streams() -> None:
    """Replaces standard streams that the caller closed (>&-) by /dev/null, so that no file of a study gets their
    numbers and with them the output of child processes.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115, open to the end


def _current_folder_exists() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def fail(message: str, code: int) -> NoReturn:
    """Prints the message and exits with the code."""
    from edgejoule.cli.layout import print_wrapped

    for line in f"edgejoule: {message}".split("\n"):
        print_wrapped(messages(), line, line[: len(line) - len(line.lstrip())])
    sys.exit(code)


def stop_in_order() -> None:
    """Makes SIGTERM and a lost terminal end a study cleanly, like Ctrl-C."""

    def handler(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, handler)
