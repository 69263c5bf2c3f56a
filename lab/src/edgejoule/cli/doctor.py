"""`edgejoule doctor`: what to change on this machine before a study."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgejoule.cli.common import Number, console, echo_json, json_option

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from edgejoule.doctor import Examination


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
    from rich.text import Text

    from edgejoule.doctor import examine

    examination = examine(data, seconds)
    if as_json:
        echo_json(examination.to_json())
        return
    out = console()
    _print_facts(out, examination)
    out.print()
    for advice in examination.advice:
        out.print(Text(f"! {advice}", style="yellow"))
    if not examination.advice:
        out.print("Nothing stands in the way of a study here.")


def _name(name: str) -> str:
    for unit in ("_bytes", "_c", "_per_s", "_bits"):
        name = name.removesuffix(unit)
    return name.replace("khz_", "frequency_").replace("_", " ").replace("4kb", "4 KB")


def _print_facts(out: Console, examination: Examination) -> None:
    """Prints a row for each known fact, and one for all that are not known."""
    from rich.text import Text

    from edgejoule.cli.layout import print_rows

    known = [fact for fact in examination.facts if fact.why is None]
    unknown = [fact for fact in examination.facts if fact.why is not None]
    rows: list[tuple[str | Text, ...]] = []
    for group, facts in groupby(known, lambda f: f.group):
        for i, fact in enumerate(facts):
            rows.append((Text(group if i == 0 else "", style="bold"), _name(fact.name), fact.words))
    if unknown:
        names = ", ".join(_name(fact.name) for fact in unknown)
        text = f"{names}; `edgejoule doctor --json` has the reasons"
        rows.append((Text("not known", style="bold"), f"{len(unknown)} facts", text))
    print_rows(out, (), rows)
