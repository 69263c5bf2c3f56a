"""An experiment's settings of a command: `[workloads.X] command = ...` and `[responses.NAME]`.

Texts of a command may contain placeholders: `{data}`, `{folder}`, `{host}`, `{port}`, `{threads}`, `{block_seed}`, on a
federation `{eco_preload}` and `{eco_config}`, and every factor or fixed setting by its name. `{{name}}` stands for the
text `{name}`, and `${name}` is left to the shell.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from edgejoule.dictionary.properties import Level
from edgejoule.dictionary.responses import Better, Response, Values, declared_label
from edgejoule.errors import UsageError
from edgejoule.experiment.conditional import cells_of

NO_DATABASE = "none"
DISCARD = "discard"
SHELL = "/bin/sh"
RESPONSE_NAME = r"^[a-z][a-z0-9_]*$"
#: Placeholders that a run fills in; the others are factors and fixed settings.
OF_A_FEDERATION = ("eco_preload", "eco_config")
OWN_OF_THE_RUN = ("data", "host", "port", "block_seed")  # of one command
OF_THE_RUN = (*OWN_OF_THE_RUN, *OF_A_FEDERATION)
#: Keys of a command whose values may name files.
HAVING_PATHS = ("files", "stdin", "cwd", "load", "setup", "cleanup", "prepare", "conclude")
ALWAYS = (*OF_THE_RUN, "folder", "threads")
#: Variables that a command inherits. The values of all others stay out of it, and no inherited value is stored.
INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR")

_PLACEHOLDER = re.compile(r"\{\{([A-Za-z_][\w.-]*)\}\}|(?<!\$)\{([A-Za-z_][\w.-]*)\}")

_PLAIN_WORD = re.compile(r"[\w@%+=:,./{}-]+", re.ASCII)  # needs no quotes for a reader; braces are placeholders

CommandLine = str | list[str]


class CommandWorkload(BaseModel):
    """A program as a workload: a list is one argv without a shell, a string is run by a shell."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    command: CommandLine = Field(min_length=1, description="a list: one argv, no shell; a string: run by `shell`")
    shell: str | None = Field(
        default=None,
        min_length=1,
        description=f"runs the texts given as a string, default {SHELL}; its own start is measured once a study and "
        "subtracted",
    )
    env: dict[str, str] = Field(
        default_factory=dict,
        description=f"environment of the command, beside {', '.join(INHERITED)} and LC_*, which it inherits",
    )
    cwd: str | None = Field(default=None, min_length=1, description="default: the run's own folder, {data}")
    stdin: str | None = Field(default=None, min_length=1, description="a file; default: nothing")
    output: str | None = Field(
        default=None,
        min_length=1,
        description='"discard", or a file; default: read for the declared responses, and its last lines are kept',
    )
    files: list[str] = Field(
        default_factory=list, description="files that the command reads; their contents are part of the experiment"
    )
    load: CommandLine | None = Field(
        default=None, min_length=1, description="makes the data in {data}; every run starts from a copy of them"
    )
    setup: CommandLine | None = Field(
        default=None, min_length=1, description="once, before the first run of this workload"
    )
    cleanup: CommandLine | None = Field(
        default=None, min_length=1, description="once, after the last run of this workload"
    )
    prepare: CommandLine | None = Field(default=None, min_length=1, description="before every run, not measured")
    conclude: CommandLine | None = Field(default=None, min_length=1, description="after every run, not measured")
    warmup: int = Field(default=0, ge=0, le=10_000, description="runs before the first measured one of a cell")
    ignore_failure: bool = Field(
        default=False, description="keep runs that end with a code other than 0, flagged; a death by signal has failed"
    )
    phase: str | None = Field(
        default=None, min_length=1, description="a line of the output that this expression matches begins a phase"
    )
    servers: list[str] = Field(
        default_factory=list,
        description="of the federation: the command runs on all of them at once, each with its own {data} and "
        "{block_seed}; default: on the first server",
    )
    per_server: dict[str, dict[str, Level]] = Field(
        default_factory=dict, description="server -> what its command has for a placeholder, instead of the setting"
    )
    folder: str | None = Field(
        default=None, description="of the experiment's file: {folder}; filled in when the experiment is read"
    )
    sha256: dict[str, str] = Field(
        default_factory=dict, description="program or file -> SHA-256; filled in when the experiment is read"
    )

    def identity(self) -> dict[str, Any]:
        """Returns the input of the experiment's digest: everything declared, and the contents of program and files."""
        return self.model_dump(mode="json", exclude={"folder"}, exclude_defaults=True)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yields every text that may contain placeholders, with its key."""
        for key in ("command", "load", "setup", "cleanup", "prepare", "conclude"):
            command_line = getattr(self, key)
            yield from (
                (key, word) for word in ([command_line] if isinstance(command_line, str) else command_line or ())
            )
        for key in ("cwd", "stdin", "output"):
            if (text := getattr(self, key)) is not None:
                yield key, text
        yield from ((f"env.{name}", value) for name, value in self.env.items())
        yield from (("files", file) for file in self.files)

    def uses(self) -> set[str]:
        """Returns the placeholders in its texts."""
        return {name for _, text in self.texts() for name in placeholders(text)}


class DeclaredResponse(BaseModel):
    """A figure that a command prints: by a regular expression with one group, or by a path into JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)

    regex: str | None = Field(default=None, min_length=1, description="its first group is the figure; the last match")
    json_path: str | None = Field(
        default=None, alias="json", min_length=1, description='path in JSON output, for example "$.results.tps"'
    )
    unit: str = Field(default="1", min_length=1, max_length=20)
    better: Literal["higher", "lower", "neither"] = "neither"
    of_servers: Literal["mean", "sum", "max"] | None = Field(
        default=None,
        description="what the name without a server is, where the command runs on several servers; default: mean, of "
        "`operations` sum",
    )

    def response(self, name: str) -> Response:
        """Returns the response as the report shows it."""
        return Response(name, self.unit, declared_label(name), Better(self.better), Values.SIGNED)

    def complaint(self) -> tuple[str, str] | None:
        """Returns a complaint (key and message), or None."""
        if (self.regex is None) == (self.json_path is None):
            return "", "expected either regex or json"
        if self.json_path is not None:
            wrong = json_steps(self.json_path) is None
            return (".json", "expected a path like $.results[0].tps") if wrong else None
        assert self.regex is not None
        message = regex_complaint(self.regex, groups=1)
        return (".regex", message) if message else None


def regex_complaint(text: str, *, groups: int) -> str | None:
    """Explains why a text is no regular expression with at least that many groups; None if it is one."""
    try:
        group_count = re.compile(text).groups
    except re.error as error:
        return f"is no regular expression: {error}"
    return (
        None if group_count >= groups else "has no group: put the figure in parentheses, for example 'tps = ([0-9.]+)'"
    )


def json_steps(path: str) -> list[str | int] | None:
    """Returns the keys and indices of a path `$.a.b[0]`; None for another form."""
    if not re.fullmatch(r"\$(\.[^.\[\]]+|\[\d+\])+", path):
        return None
    return [int(index) if index else key for key, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path)]


def placeholders(text: str) -> list[str]:
    """Returns the names in {braces}."""
    return [name for _, name in _PLACEHOLDER.findall(text) if name]


def filled(text: str, values: Mapping[str, object]) -> str:
    """Replaces the placeholders that have a value; {{name}} stays until `unescaped`."""
    return _PLACEHOLDER.sub(
        lambda m: str(values[m[2]]) if m[2] and m[2] in values else m[0],
        text,
    )


def unescaped(text: str) -> str:
    """Converts {{name}} to {name}; the last step, after every placeholder has been replaced."""
    return _PLACEHOLDER.sub(lambda m: f"{{{m[1]}}}" if m[1] else m[0], text)


def inherited_environment() -> dict[str, str]:
    """Returns the part of this process's environment that every command inherits."""
    return {n: os.environ[n] for n in os.environ if n in INHERITED or n.startswith("LC_")}


def is_command(workload: object) -> bool:
    """Returns whether a workload of an experiment, as a model or a table, is a command."""
    return isinstance(workload, CommandWorkload) or (isinstance(workload, dict) and "command" in workload)


def with_contents(workload: Mapping[str, Any], folder: Path, settings: Mapping[str, Sequence[Level]]) -> dict[str, Any]:
    """Returns the table of a command with the folder of its experiment, and the SHA-256 of its programs and files.

    settings: factors and fixed settings with their levels. A program that is not here has no hash; `check_plan` refuses
    it. Raises UsageError for a declared file that cannot be read.
    """
    for key in ("folder", "sha256"):
        if key in workload:
            raise UsageError(f"{key} is filled in when the experiment is read; leave it out")
    files = [f for f in _list(workload.get("files")) + _list([workload.get("stdin")]) if f]
    hashes: dict[str, str] = {}
    for name in (one for file in files for one in _filled_all(file, settings)):
        try:
            hashes[name] = file_sha256(located(name, folder))
        except OSError as error:
            raise UsageError(f"{name}: cannot be read: {error.strerror}") from error
    env = workload.get("env")
    path = {**inherited_environment(), **(env if isinstance(env, dict) else {})}.get("PATH")
    for name in (n for key in ("command", "load") for n in _programs(workload, key, settings)):
        if (program := program_of(name, folder, path)) is not None:
            hashes[name] = file_sha256(program)
    return {**workload, "folder": str(folder.absolute()), "sha256": hashes}


def _list(value: object) -> list[str]:
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def _programs(workload: Mapping[str, Any], key: str, settings: Mapping[str, Sequence[Level]]) -> list[str]:
    """Returns the programs that a text starts: for a string its shell and, if it is a plain word, its first word."""
    command_line = workload.get(key)
    if isinstance(command_line, str):
        shell = workload.get("shell", SHELL)
        own = first_word(command_line)
        return [*([shell.split()[0]] if isinstance(shell, str) and shell.split() else []), *_filled_all(own, settings)]
    argv = _list(command_line)
    return _filled_all(argv[0], settings) if argv else []


def first_word(script: str) -> str:
    """Returns the first word of a shell's text; empty if it is an assignment or unknown."""
    try:
        word = next(iter(shlex.split(script)), "")
    except ValueError:
        return ""
    return "" if "=" in word else word


def _filled_all(text: str, settings: Mapping[str, Sequence[Level]]) -> list[str]:
    """Returns the text at every combination of the levels that it names; none if a run fills in the rest."""
    used = {name: settings[name] for name in placeholders(text) if name in settings}
    texts = [filled(text, cell) for cell in cells_of(used)]
    return [unescaped(t) for t in dict.fromkeys(texts) if t and not set(placeholders(t)) - {"folder"}]


def located(name: str, folder: Path) -> Path:
    """Returns a path of the experiment; a relative one is below the folder of the experiment's file."""
    return folder / filled(name, {"folder": folder})


def program_of(name: str, folder: Path, path: str | None) -> Path | None:
    """Returns the program of that name or path, or None. path: the PATH of the command's environment."""
    file = located(name, folder)
    if "/" in name:
        return file if file.is_file() and os.access(file, os.X_OK) else None
    on_path = shutil.which(name, path=path)
    return Path(on_path) if on_path else None


def why_no_program(name: str, folder: Path) -> str:
    """Returns the complaint about a name or path that `program_of` cannot resolve."""
    file = located(name, folder)
    if "/" not in name:
        return "no such program here; install it, or give its path"
    if file.is_dir():
        return "is a folder, not a program"
    return "is not executable" if file.exists() else "does not exist"


def file_sha256(path: Path) -> str:
    """Returns the SHA-256 of a file's content, hex. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def shown(command: CommandLine) -> str:
    """Returns a command as a person types it."""
    if isinstance(command, str):
        return command
    return " ".join(word if _PLAIN_WORD.fullmatch(word) else shlex.quote(word) for word in command)
