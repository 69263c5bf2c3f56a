"""What all commands share: options, output as JSON or for people, errors as one line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import signal
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
from click.core import ParameterSource

from edgejoule import toml_text
from edgejoule.cli import streams
from edgejoule.errors import EdgejouleError, UsageError

EXIT_FLAGGED = 3
EXIT_INTERRUPTED = 130
_UNUSABLE_NAME = (errno.ENAMETOOLONG, errno.ELOOP)

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


def given_options(*kept: str) -> list[str]:
    """Returns the options that the command line of the running command names, such as --gain-rel, without `kept`."""
    ctx = click.get_current_context()
    return [
        parameter.opts[0]
        for parameter in ctx.command.params
        if isinstance(parameter, click.Option)
        and parameter.name is not None
        and ctx.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
        and parameter.opts[0] not in kept
    ]


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


@contextlib.contextmanager
def _errors_reported() -> Iterator[None]:
    """Turns EdgejouleError, interrupts and errors of the system into a message and an exit code."""
    streams.open_closed()
    try:
        yield
    except EdgejouleError as error:
        fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        fail("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        if streams.has_reader():
            raise
        streams.discard_output()
        sys.exit(streams.EXIT_NO_READER)
    except UnicodeEncodeError as error:
        fail(f"the output's encoding {error.encoding} lacks {error.object[error.start]!a}; set PYTHONUTF8=1", 1)
    except OSError as error:
        if (message := _system_message(error)) is None:
            raise
        streams.discard_output()
        fail(message, UsageError.exit_code if error.errno in _UNUSABLE_NAME else 1)


def _system_message(error: OSError) -> str | None:
    """Returns what the user can know of an error; None for one that is not about a file or the standard output."""
    if error.errno == errno.ENOENT and not _current_folder_exists():
        return "the current folder was deleted; change to another one"
    if error.errno == errno.ENOSPC:
        return f"no space left on the device{f' of {error.filename}' if error.filename else ''}"
    if isinstance(error.filename, str | bytes):
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if error.errno == errno.EBADF:  # of a closed standard output; see streams.open_closed
        return "standard output is closed; nothing can be written to it"
    return None


class Commands(click.Group):
    """A group that reports the errors of this program in one line, with their exit code."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parses the arguments; --help and --version print here."""
        with _errors_reported():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command."""
        with _errors_reported():
            return super().invoke(ctx)

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
        with contextlib.suppress(OSError):  # the exit code remains
            print_wrapped(messages(), line, line[: len(line) - len(line.lstrip())])
    sys.exit(code)


def stop_in_order() -> None:
    """Makes SIGTERM and a lost terminal end a study cleanly, like Ctrl-C."""

    def handler(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, handler)
