"""`edgejoule report`: an experiment's findings as one HTML file, or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgejoule.cli.common import console, echo_json, json_option, store_option
from edgejoule.errors import StoreError
from edgejoule.output_files import check_output, whole_file
from edgejoule.unusable_files import reason

if TYPE_CHECKING:
    from rich.console import Console

    from edgejoule.findings import Answer, Findings
    from edgejoule.store import Experiment, Store

ROWS_MAX = 6  # more conditions are read in the report


@click.command(
    epilog="""\b
    Examples:
      edgejoule report
      edgejoule report first-look -o first-look.html
      edgejoule report 3 --json > findings.json
      edgejoule report first-look.zip"""
)
@click.argument("experiment", default="latest")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The HTML file; default: NAME-ID.html beside the store or the bundle. --json alone writes no HTML file.",
)
@store_option
@json_option
def report(experiment: str, output: Path | None, store: Path, as_json: bool) -> None:
    """Write the report of an EXPERIMENT as one HTML file.

    EXPERIMENT is an id, a name, latest (the default) or a bundle's FILE.zip. The report opens without a network.
    """
    from edgejoule.export.bundle import bundle_store
    from edgejoule.findings import find
    from edgejoule.store import Store

    bundle = Path(experiment) if experiment.endswith(".zip") else None
    if output is not None:
        check_output("-o", output, bundle or store)
    with bundle_store(bundle) if bundle else Store.open(store) as opened:
        stored = opened.find("latest" if bundle else experiment)
        findings = find(opened, stored)
        notes = [note.record() for note in opened.notes(stored.id)]
        target = output or (bundle or store).parent / f"{stored.name}-{stored.id}.html"
        if output is not None or not as_json:
            write_report(opened, stored, findings, target)
    if as_json:
        echo_json({**findings.to_json(), "notes": notes})
        return
    print_end(console(), findings, target)


def write_report(store: Store, experiment: Experiment, findings: Findings, target: Path) -> None:
    """Writes the HTML file; on failure the old file stays. Raises StoreError when it cannot be written."""
    from edgejoule.report import build

    text = build(store, experiment, findings)
    try:
        with whole_file(target) as file:
            file.write(text.encode())
    except OSError as error:
        raise StoreError(
            f"{target}: the report cannot be written: {reason(error, target)}. The runs are stored; "
            f"`edgejoule report {experiment.id} -o FILE` writes it elsewhere"
        ) from error


def print_end(out: Console, findings: Findings, target: Path) -> None:
    """Prints the answer, the number of caveats, and the report's path as the last line."""
    from edgejoule.findings.text import count

    print_answer(out, findings.answer)
    if findings.caveats:
        out.print(f"{count(len(findings.caveats), 'caveat')}: `edgejoule show` and the report have them", markup=False)
    out.print(f"report: {target}", markup=False)


def print_answer(out: Console, answer: Answer) -> None:
    """Prints the headline, and a line for each condition if they are few."""
    from rich.padding import Padding
    from rich.text import Text

    out.print(Text(answer.headline, style="bold"))
    if not 1 < len(answer.rows) <= ROWS_MAX:
        return
    for row in answer.rows:
        out.print(Padding(Text.assemble((row.name, "bold"), f": {row.verdict}"), (0, 0, 0, 2), expand=False))


def print_details(out: Console, findings: Findings) -> None:
    """Prints a line per factor and interaction, a line per condition, caveats."""
    from rich.text import Text

    for effect in findings.effects if len(findings.effects) > 1 else ():
        out.print(Text.assemble((effect.lead, "bold"), ": ", effect.text))
    for statement in findings.verdict:
        out.print(Text.assemble((statement.lead, "bold"), ": ", statement.text))
    for caveat in findings.caveats:
        out.print(Text(f"! {caveat}", style="yellow"))
