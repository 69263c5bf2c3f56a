"""The commands of an experiment as the report shows them: what ran, with what, and what was read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgejoule.dictionary.responses import unit_text
from edgejoule.experiment.command import CommandWorkload, DeclaredResponse, shown
from edgejoule.experiment.model import Spec
from edgejoule.findings.text import unit_for
from edgejoule.store import Run

_TEXTS = ("load", "setup", "prepare", "conclude", "cleanup", "stdin", "cwd", "output", "phase")


@dataclass(frozen=True)
class CommandCard:
    """A command: its workload, its text, and what else the experiment declares of it, as (heading, text) pairs."""

    name: str
    text: str
    rows: Sequence[tuple[str, str]]
    hashes: Mapping[str, str]


def cards(spec: Spec, runs: Sequence[Run]) -> list[CommandCard]:
    """One card for each command that runs, in the experiment's order."""
    used = set(spec.factors.get("workload", [spec.fixed.get("workload")]))
    facts = [run.facts for run in runs if "shell" in run.facts]
    return [
        CommandCard(name, shown(command.command), _rows(command, facts), command.sha256)
        for name, command in spec.commands.items()
        if name in used
    ]


def response_rows(spec: Spec) -> list[tuple[str, str]]:
    """How every declared response is read from the output."""
    return [
        (name, f"{one.regex or one.json_path}{f' ({said})' if (said := _said(one)) else ''}")
        for name, one in spec.responses.items()
    ]


def _said(one: DeclaredResponse) -> str:
    sense = f"{one.better} is better" if one.better != "neither" else ""
    return ", ".join(filter(None, (unit_text(one.unit), sense)))


def _rows(command: CommandWorkload, facts: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    rows = [(key, shown(text)) for key in _TEXTS if (text := getattr(command, key)) is not None]
    rows += [("environment", f"{name}={value}") for name, value in command.env.items()]
    if command.warmup:
        rows.append(("warm-up", f"{command.warmup} runs before the first measured one"))
    if isinstance(command.command, str) and facts:
        shell = facts[0]["shell"]
        start = unit_for("s", [shell["start_s"]]).text(shell["start_s"])
        rows.append(("shell", f"{shell['shell']}, whose start takes {start}; that is subtracted"))
    return rows
