"""`edgejoule doctor`: what to change on this machine before a study."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from edgejoule.cli.common import Number, console, echo_json, json_option
from edgejoule.doctor import Examination, examine


@click.command(
    epilog="""\b
    Examples:
      edgejoule doctor
      edgejoule doctor --data /media/sd --seconds 5
      edgejoule doctor --seconds 0 --json"""
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    help="The folder for the databases' files; default: the current one.",
)
@click.option(
    "--seconds",
    type=Number(0, 60),
    default=2.0,
    show_default=True,
    help="Duration of each storage test; 0: no storage test.",
)
@json_option
def doctor(data: Path, seconds: float, as_json: bool) -> None:
    """Check this machine and its storage before a study.

    Prints facts about the machine and the changes that would make its figures more reliable. Writes a scratch file of
    at most 64 MiB and removes it; changes nothing else.
    """
    examination = examine(data, seconds)
    if as_json:
        echo_json(examination.to_json())
        return
    out = console()
    out.print(_table(examination))
    for advice in examination.advice:
        out.print(Text(f"! {advice}", style="yellow"))
    if not examination.advice:
        out.print("Nothing stands in the way of a study here.")


def _name(name: str) -> str:
    for unit in ("_bytes", "_c", "_per_s", "_bits"):
        name = name.removesuffix(unit)
    return name.replace("khz_", "frequency_").replace("_", " ").replace("4kb", "4 KB")


def _table(examination: Examination) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(overflow="fold")
    for group, facts in groupby(examination.facts, lambda f: f.group):
        for i, fact in enumerate(facts):
            value = Text(fact.words) if fact.why is None else Text(f"not known: {fact.why}", style="dim")
            table.add_row(Text(group if i == 0 else "", style="bold"), _name(fact.name), value)
    return table
