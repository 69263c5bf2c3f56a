"""The checked options of `edgejoule exec`: commands, parameters, and setup and cleanup around them.

Names and meanings are those of hyperfine 1.19 where both have the option, so that its users need learn nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path

from edgejoule.dictionary.properties import ALL_PROPERTIES, SETTINGS, Level
from edgejoule.errors import UsageError
from edgejoule.experiment.command import ALWAYS, DISCARD, SHELL, CommandLine, placeholders

VALUES_MAX = 1000  # of one parameter
CONTROL = "control"
#: Names that mean something else in an experiment: there the parameter's factor is called `parameter_NAME`.
TAKEN = frozenset({*ALWAYS, *SETTINGS, *ALL_PROPERTIES})
PARAMETER = "parameter_"
_INNER = re.compile(r"(?<!\$)\{([A-Za-z_][\w.-]*)\}")


@dataclass(frozen=True)
class Around:
    """Setup and cleanup of a command's runs: once, or before and after each."""

    setup: CommandLine | None = None
    prepare: CommandLine | None = None
    conclude: CommandLine | None = None
    cleanup: CommandLine | None = None


@dataclass(frozen=True)
class OneCommand:
    """A command with its name. output: as in the spec; None is read by edgejoule, for a failure's last lines."""

    name: str
    command: CommandLine
    around: Around = field(default_factory=Around)
    output: str | None = DISCARD


@dataclass(frozen=True)
class Request:
    """All checked options. parameters: by the names of their factors.

    runs: the exact number for each command; None: as many as precision and budget allow.
    """

    commands: tuple[OneCommand, ...]
    parameters: dict[str, list[Level]]
    runs: int | None
    budget_s: float
    warmup: int = 0
    shell: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    stdin: str | None = None
    ignore_failure: bool = False
    phase: str | None = None
    control: bool = False

    @property
    def in_turn(self) -> bool:
        """Returns whether setup or cleanup differ, so that the commands run one after another."""
        texts = {(str(c.around.setup), str(c.around.cleanup)) for c in self.commands}
        named = any(f"{{{p}}}" in text for pair in texts for text in pair for p in self.parameters)
        return len(texts) > 1 or named


def parameters_of(
    lists: Sequence[tuple[str, str]], scan: tuple[str, str, str] | None, step: str | None
) -> dict[str, list[Level]]:
    """Returns the parameters with their values. Raises UsageError."""
    if scan and lists:
        raise UsageError("--parameter-scan and --parameter-list exclude each other; list the values instead")
    if step is not None and not scan:
        raise UsageError("--parameter-step-size needs --parameter-scan")
    if scan:
        return {_parameter(scan[0]): scanned(scan[1], scan[2], step)}
    parameters: dict[str, list[Level]] = {}
    for name, values in lists:
        factor = _parameter(name)
        if factor in parameters:
            raise UsageError(f"--parameter-list {name}: given twice; one list holds all values")
        parameters[factor] = levels(split_values(values), name)
    return parameters


def _parameter(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][\w-]*", name):
        raise UsageError(f"parameter {name!r}: expected a name of letters, digits, '_' and '-', for example 'threads'")
    return factor_of(name)


def factor_of(parameter: str) -> str:
    """Returns the experiment's name for a parameter."""
    return f"{PARAMETER}{parameter}" if parameter in TAKEN else parameter


def parameter_of(factor: str) -> str:
    """Returns the user's name for a factor."""
    name = factor.removeprefix(PARAMETER)
    return name if name in TAKEN else factor


def check_parameters(request: Request) -> None:
    """Checks that every parameter occurs in a command. Raises UsageError."""
    used = {one.name: _placeholders(one, request) for one in request.commands}
    for factor in request.parameters:
        without = [name for name, own in used.items() if factor not in own]
        if not without:
            continue
        placeholder = f"{{{parameter_of(factor)}}}"
        if len(without) == len(used):
            raise UsageError(f"parameter {parameter_of(factor)}: no command uses {placeholder}")
        raise UsageError(
            f"parameter {parameter_of(factor)}: {without[0]!r} does not contain {placeholder}; every command needs it"
        )


def _placeholders(one: OneCommand, request: Request) -> set[str]:
    texts = [one.command, *(own for own in vars(one.around).values() if own), *request.env.values()]
    arguments = [word for text in texts for word in ([text] if isinstance(text, str) else text)]
    return {name for text in [*arguments, one.output or ""] for name in placeholders(text)}


def split_values(text: str) -> list[str]:
    r"""Splits a list at its commas; `\,` is a comma within a value."""
    parts = re.split(r"(?<!\\),", text)
    return [part.replace("\\,", ",") for part in parts]


def levels(values: Sequence[str], name: str) -> list[Level]:
    """Returns numbers if every value is written as Python writes that number, else texts. Raises UsageError."""
    if "" in values:
        raise UsageError(f"--parameter-list {name}: an empty value; separate values by one comma")
    if len(set(values)) < len(values):
        raise UsageError(f"--parameter-list {name}: a value is given twice")
    for kind in (int, float):
        try:
            numbers = [kind(value) for value in values]
        except ValueError:
            continue
        if [str(number) for number in numbers] == list(values):
            return list(numbers)
    return list(values)


def scanned(low: str, high: str, step: str | None) -> list[Level]:
    """Returns the values of a scan, both ends included. Raises UsageError."""
    try:
        start, stop, width = Decimal(low), Decimal(high), Decimal(step or "1")
    except InvalidOperation:
        raise UsageError(f"--parameter-scan: expected numbers, got {low}, {high} and step {step or 1}") from None
    if not (start.is_finite() and stop.is_finite() and width.is_finite()):
        raise UsageError(f"--parameter-scan: expected finite numbers, got {low}, {high} and step {step or 1}")
    whole = start == start.to_integral() and stop == stop.to_integral()
    if step is None and not whole:
        raise UsageError("--parameter-scan: bounds with decimals need --parameter-step-size")
    if width <= 0:
        raise UsageError(f"--parameter-step-size: expected a number above 0, got {step}")
    if stop < start:
        raise UsageError(f"--parameter-scan: the range is empty, {low} is above {high}")
    count = int((stop - start) / width) + 1
    if count > VALUES_MAX:
        raise UsageError(f"--parameter-scan: {count:,} values, expected at most {VALUES_MAX}")
    return levels([f"{start + n * width:f}" for n in range(count)], "of the scan")


def commands_of(
    texts: Sequence[str],
    argv: Sequence[str] | None,
    names: Sequence[str],
    around: dict[str, Sequence[str]],
    outputs: Sequence[str],
    *,
    shell: str | None,
    parameters: Sequence[str],
) -> tuple[OneCommand, ...]:
    """Returns the commands with their options. argv: the one after `--`. Raises UsageError."""
    if argv is not None and texts:
        raise UsageError("give one program behind --, or one or more commands in quotes, not both")
    given: list[CommandLine] = [list(argv)] if argv else [_command_line(text, shell, parameters) for text in texts]
    if argv and not argv[0].strip():
        raise UsageError("an empty command; expected a program behind --")
    if not given or any(not command for command in given):
        raise UsageError("no command: give 'COMMAND' in quotes, or -- COMMAND ARG...")
    if argv:
        given = [[escaped(word, parameters) for word in argv]]
    if len(names) > len(given):
        have = "is 1 command" if len(given) == 1 else f"are {len(given)} commands"
        raise UsageError(f"--command-name: given {len(names)} times, and there {have}")
    shown = [" ".join(text.split()) if "\n" in text else text for text in ([shlex.join(argv)] if argv else texts)]
    labels = _distinct([*names, *shown[len(names) :]])
    each = {
        option: [_command_line(text, shell, parameters) if text else None for text in _each(option, texts_, len(given))]
        for option, texts_ in around.items()
    }
    where = [output_of(word and escaped(word, parameters)) for word in _each("output", outputs, len(given))]
    return tuple(
        OneCommand(label, command, Around(**{option: own[i] for option, own in each.items()}), where[i])
        for i, (label, command) in enumerate(zip(labels, given, strict=True))
    )


def _each(option: str, given: Sequence[str], count: int) -> Sequence[str | None]:
    """Returns one value for each command, of an option given once for all of them or once for each."""
    if not given:
        return [None] * count
    if len(given) not in (1, count):
        raise UsageError(f"--{option}: given {len(given)} times; expected once, or once for each of {count} commands")
    return [*given] * (count if len(given) == 1 else 1)


def _command_line(text: str, shell: str | None, parameters: Sequence[str]) -> CommandLine:
    """Returns a text for the shell, or its argv without a shell."""
    if not text.strip():
        raise UsageError("an empty command; expected a program")
    if shell is not None:
        return escaped(text, parameters)
    try:
        return [escaped(word, parameters) for word in shlex.split(text)]
    except ValueError as error:
        raise UsageError(
            f"{text!r} cannot be split into arguments ({error}); mend the quotes, or use a shell"
        ) from None


def escaped(text: str, parameters: Sequence[str]) -> str:
    """Keeps the placeholders of the parameters and doubles all other braces, which then stay as they are."""

    def placeholder(match: re.Match[str]) -> str:
        factor = factor_of(match[1])
        return f"{{{factor}}}" if factor in parameters else f"{{{match[0]}}}"

    return _INNER.sub(placeholder, text)


def _distinct(names: Sequence[str]) -> list[str]:
    """Numbers repeated names: a command may be compared with itself."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return distinct


def shell_of(shell: str | None, no_shell: bool) -> str | None:
    """Returns the shell that runs texts; None when they are split and run directly. Raises UsageError."""
    if no_shell and shell is not None:
        raise UsageError("--shell and -N exclude each other; -N is --shell=none")
    if no_shell or shell == "none":
        return None
    if shell is None or shell == "default":
        return SHELL
    if not shell.strip():
        raise UsageError("--shell: an empty command; expected a shell, for example 'bash --norc'")
    return shell


def output_of(word: str | None) -> str | None:
    """Returns the spec's `output` for a value of --output. Raises UsageError."""
    if word in (None, "null"):
        return DISCARD
    if word == "pipe":
        return None
    if word == "inherit":
        raise UsageError("--output inherit: the output would mix with the result's; give pipe or a file")
    if "/" not in word:
        raise UsageError(f"--output {word}: expected null, pipe or a file; for a file of that name write ./{word}")
    folder = Path(word).parent
    if "{" not in str(folder) and not folder.is_dir():  # else a parameter names it
        raise UsageError(f"--output {word}: no folder {folder}; make it: mkdir -p {shlex.quote(str(folder))}")
    if Path(word).is_dir():
        raise UsageError(f"--output {word}: is a directory; expected a file")
    return word


def input_of(word: str | None) -> str | None:
    """Returns the spec's `stdin` for a value of --input. Raises UsageError."""
    if word in (None, "null"):
        return None
    if Path(word).is_dir():
        raise UsageError(f"--input {word}: is a directory; expected a file")
    if not Path(word).is_file():
        why = "is no regular file; expected one" if Path(word).exists() else "there is no such file"
        raise UsageError(f"--input {word}: {why}")
    return word


def environment_of(settings: Sequence[str], own: dict[str, str]) -> dict[str, str]:
    """Returns declared variables: NAME=VALUE, or NAME with its value in this process. Raises UsageError."""
    variables = {}
    for word in settings:
        name, equals, value = word.partition("=")
        if not name:
            raise UsageError(f"--env {word}: expected NAME=VALUE, or NAME")
        if not equals and name not in own:
            raise UsageError(f"--env {name}: is not set here; give NAME=VALUE")
        variables[name] = value if equals else own[name]
    return variables
