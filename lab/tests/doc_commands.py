"""The fenced blocks of the Markdown pages: their commands, how each is tested, and whether what they name exists.

`python lab/tests/doc_commands.py` lists every command with its label.
"""

from __future__ import annotations

import functools
import itertools
import re
import shlex
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from source_files import source_files

from edgejoule.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_suffix(".toml")
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```[^\n]*$", re.MULTILINE | re.DOTALL)
COMMANDS = {"", "sh", "console"}  # languages of a block of commands
OTHER = {"c", "conf", "cpp", "csv", "python", "sql", "text", "toml"}
REDIRECTION = r"[<>]+&?|&>"
HISTORY = ("CHANGELOG.md", "docs/adr/")

RUN = "run"
MARKED = ("slow", "root", "server")  # run in the tests of that marker
PARSED = ("build", "hardware", "machine", "network", "long", "example", "elsewhere")  # never run by this test
SYSTEM = {
    "apt", "bluetoothctl", "cc", "chmod", "modprobe", "rfcomm", "sysctl", "tee",
    "cd", "cmake", "curl", "dpkg", "echo", "git", "grep", "head", "install", "journalctl", "ldconfig",
    "ldd", "lsblk", "nats-server", "openssl", "pip", "pip-compile", "printf", "qemu-system-arm", "qemu-system-riscv64",
    "scp", "ssh", "systemctl", "tail", "truncate", "useradd", "usermod", "west", "db_bench", "firmware/logger",
}  # fmt: skip
OWN = {
    "ecod", "ecoctl", "eco-sim", "eco-calibrate", "edgejoule-driver", "edgejoule-sampler", "edgejoule-supervisor",
    "lunar",
}  # fmt: skip


@dataclass(frozen=True)
class Block:
    """A fenced block. line: of its fence, from 1."""

    page: str
    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a block, its lines joined. output: the lines that the page prints below it."""

    page: str
    line: int
    text: str
    output: str = ""


@dataclass(frozen=True)
class Rule:
    """How commands are tested. add: arguments that make the run small. exits: codes that are no failure."""

    page: str = ""
    command: str = ""
    label: str = RUN
    add: str = ""
    exits: list[int] = field(default_factory=lambda: [0])
    why: str = ""

    def matches(self, command: Command) -> bool:
        """Whether the page and the text match."""
        return bool(re.search(self.page, command.page) and re.search(self.command, command.text))


def pages(root: Path = ROOT) -> list[str]:
    """Markdown pages that say what is so today."""
    return [name for name in source_files(root) if name.endswith(".md") and not name.startswith(HISTORY)]


def blocks_of(page: str, text: str) -> list[Block]:
    """The fenced blocks of a page, without the indentation of a list; of a meter's page the indented ones too."""
    indented = re.finditer(r"(?:^ {4}\S.*\n)+", text, re.MULTILINE) if "/plugins/" in page else ()
    return [
        *(
            Block(page, text.count("\n", 0, m.start()), "sh", re.sub(r"^ {4}", "", m[0], flags=re.M))
            for m in indented
            if re.match(r" *[a-z]", m[0])  # others are lines of a configuration
        ),
        *_fenced(page, text),
    ]


def _fenced(page: str, text: str) -> list[Block]:
    return [
        Block(
            page,
            text.count("\n", 0, match.start()) + 1,
            match[2].strip(),
            re.sub(f"^{match[1]}", "", match[3], flags=re.M),
        )
        for match in FENCE.finditer(text)
    ]


@functools.cache
def all_blocks() -> tuple[Block, ...]:
    """Those of the repository."""
    return tuple(block for page in pages() for block in blocks_of(page, (ROOT / page).read_text(encoding="utf-8")))


def commands_of(block: Block) -> list[Command]:
    """The commands of a block; without comments. With `$ ` before the first, other lines are output."""
    prompts = bool(re.search(r"^\$ ", block.text, re.MULTILINE))
    commands: list[Command] = []
    pending, start = "", 0
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if prompts and not pending and not line.startswith("$ "):
            if commands:
                last = commands[-1]
                commands[-1] = Command(last.page, last.line, last.text, f"{last.output}{line}\n")
            continue
        code = re.sub(r"(^|\s+)# .*$", "", line.removeprefix("$ ") if prompts else line)
        if not (code.strip() or pending):
            continue
        start = start if pending else number
        pending += code
        if pending.endswith("\\"):
            pending = pending[:-1].rstrip() + " "
        elif pending.startswith("for ") and not pending.endswith("done"):
            pending += "\n"
        else:
            commands.append(Command(block.page, start, re.sub(r" {2,}", " ", pending).strip()))
            pending = ""
    return commands


@functools.cache
def all_commands() -> tuple[Command, ...]:
    """Those of the repository, in the order of the pages."""
    return tuple(command for block in all_blocks() if block.language in COMMANDS for command in commands_of(block))


@functools.cache
def table() -> dict[str, Any]:
    """The table of labels."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


@functools.cache
def rules() -> tuple[Rule, ...]:
    """Those of the table, in its order."""
    return tuple(Rule(**entry) for entry in table()["rule"])


def rule_of(command: Command) -> Rule:
    """The first that matches; a command without one is run in the fast tests."""
    return next((rule for rule in rules() if rule.matches(command)), Rule())


def simple_commands(text: str) -> list[list[str]]:
    """The argument lists of a shell command's parts; without redirections, variables before them, and sudo."""
    lexer = shlex.shlex(text.replace("\n", ";"), posix=True, punctuation_chars=";|&<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    parts: list[list[str]] = [[]]
    tokens = list(lexer)
    for place, token in enumerate(tokens):
        if re.fullmatch(r"[;|&]+", token):
            parts.append([])
        elif not re.fullmatch(REDIRECTION, token) and not (place and re.fullmatch(REDIRECTION, tokens[place - 1])):
            parts[-1].append(token)
    result = []
    for part in parts:
        while part and (re.match(r"[A-Z_]+=", part[0]) or part[0] in ("sudo", "do")):
            part = part[1:]
        if part and part[0] not in ("for", "done"):
            result.append(part)
    return result


def help_of(*program: str) -> str:
    """The help of a program that the build has made."""
    return printed_by(*program, "--help")


@functools.cache
def printed_by(program: str, *arguments: str) -> str:
    """What a program that the build has made prints."""
    command = [str(ROOT / "build/bin" / program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def edgejoule_complaint(arguments: list[str]) -> str | None:
    """What `edgejoule` would complain about: an unknown command or option, a missing argument."""
    command: click.Command = main
    context = click.Context(main, info_name="edgejoule")
    while isinstance(command, click.Group) and arguments:
        below = command.get_command(context, arguments[0])
        if below is None and context.info_name == "databases" and (ROOT / "driver/adapters" / arguments[0]).is_dir():
            return None  # `edgejoule databases redis` shows a database
        if below is None:
            return f"no command {arguments[0]!r}"
        context = click.Context(below, parent=context, info_name=arguments[0], **below.context_settings)
        command, arguments = below, arguments[1:]
    try:
        command.make_parser(context).parse_args(args=list(arguments))
    except click.UsageError as error:
        return error.format_message()
    return None


def own_complaint(name: str, arguments: list[str]) -> str | None:
    """What a native program lacks: a subcommand or an option that its help does not name."""
    text = help_of(name)
    if name == "lunar" and arguments[:1] == ["bdtest"]:
        text = help_of(*[name, *arguments][:3])
    elif arguments and "Subcommands:" in text and not arguments[0].startswith("-"):
        if not re.search(rf"^  {re.escape(arguments[0])}\b", text, re.MULTILINE):
            return f"no command {arguments[0]!r}"
        text += help_of(name, arguments[0])
    if "--" in arguments:
        arguments = arguments[: arguments.index("--")]
    for option in arguments:
        named = re.match(r"-{1,2}[a-zA-Z][\w-]*", option)
        known = named and re.search(rf"(^|[\s,(]){re.escape(named[0])}\b", text, re.MULTILINE)
        if named and not known:
            return f"no option {named[0]!r}"
    return property_complaint(arguments) if name == "edgejoule-driver" else None


def property_complaint(arguments: list[str]) -> str | None:
    """What the driver does not know of `-db`, `-P`, `-p` and `--vary`."""
    known = set(re.findall(r"^  ([\w.]+)", printed_by("edgejoule-driver", "databases"), re.MULTILINE))
    known |= set(re.findall(r'"([\w.]+)"', (ROOT / "schemas/properties.json").read_text(encoding="utf-8")))
    for option, value in itertools.pairwise(arguments):
        name = value.partition("=")[0]
        if option == "-db" and not (ROOT / "driver/adapters" / value).is_dir():
            return f"no database {value!r}"
        if option == "-P" and not (ROOT / "driver/workloads" / value).is_file():
            return f"no workload {value!r}"
        if option in ("-p", "--vary") and name != "durability" and name not in known:
            return f"no property {name!r}"
    return None


def make_complaint(arguments: list[str]) -> str | None:
    """A target or a variable that the Makefile does not have."""
    folder = ""
    if arguments[:1] == ["-C"]:
        folder, arguments = arguments[1], arguments[2:]
    text = (ROOT / folder / "Makefile").read_text(encoding="utf-8")
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        used = rf"\$\({name}[),]|\b{name}=" if equals else rf"^[\w -]*(?<![\w-]){re.escape(name)}(?![\w-])[\w -]*:"
        if not re.search(used, text, re.MULTILINE):
            return f"the Makefile has no {name}"
    return None


def path_complaint(arguments: list[str]) -> str | None:
    """A path into the repository that does not exist. What a command writes (`-o`, `--out`) may be new."""
    tops = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build", ".venv", "results", "docs"}
    for place, word in enumerate(arguments):
        written = place and arguments[place - 1] in ("-o", "--out")
        if word.partition("/")[0] in tops and "/" in word and not written and not (ROOT / word).exists():
            return f"no {word}"
    return None


def complaint(command: Command) -> str | None:
    """What a command names and the repository does not have."""
    if re.search(r"\.\.\.(\s|$)", command.text):
        command = Command(command.page, command.line, re.sub(r"(=?)\.\.\.(?=\s|$)", r"\1", command.text))
    syntax = subprocess.run(["bash", "-n", "-c", command.text], capture_output=True, text=True, check=False)
    if syntax.returncode:
        return syntax.stderr
    for argv in simple_commands(command.text):
        name, arguments = argv[0].rpartition("/")[2], argv[1:]
        if name == "edgejoule":
            result = edgejoule_complaint(arguments)
        elif name in OWN:
            result = own_complaint(name, arguments)
        elif name == "make":
            result = make_complaint(arguments)
        elif name in ("python", "python3"):
            result = None if (ROOT / arguments[0]).is_file() else f"no {arguments[0]}"
        else:
            result = None if argv[0] in SYSTEM or name in SYSTEM else f"unknown program {argv[0]!r}"
        result = result or path_complaint(arguments)
        if result:
            return result
    return None


def listing() -> str:
    """Every command with its label, and their numbers."""
    counts = Counter(rule_of(command).label for command in all_commands())
    languages = Counter(block.language or "sh" for block in all_blocks())
    return "\n".join(
        [
            *(f"{rule_of(c).label:10} {c.page}:{c.line}: {c.text.splitlines()[0][:120]}" for c in all_commands()),
            "",
            f"{sum(counts.values())} commands: " + ", ".join(f"{n} {label}" for label, n in counts.most_common()),
            f"{len(all_blocks())} blocks: " + ", ".join(f"{n} {language}" for language, n in languages.most_common()),
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(listing() + "\n")
