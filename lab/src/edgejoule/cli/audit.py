"""`edgejoule audit`: does a printed table of variance add up, and how many runs does it imply?"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from edgejoule.cli.common import console, echo_json, json_option
from edgejoule.errors import UsageError

if TYPE_CHECKING:
    from edgejoule.stats import Audit

EXIT_INCONSISTENT = 3


def _levels(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    parts = value.split(",")
    if not all(part.strip().isdigit() and int(part) >= 2 for part in parts):
        raise click.BadParameter("expected the number of levels of each factor, 2 or more, such as 3,3")
    return tuple(int(part) for part in parts)


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--row",
    "rows",
    multiple=True,
    metavar="SOURCE=SHARE,F",
    help="A row as printed, instead of FILE: DBMS=23.15,230.41; share of variation in percent. Repeat for each source.",
)
@click.option("--error", "error_share", metavar="SHARE", help="The error's share of variation as printed; with --row.")
@click.option(
    "--levels",
    metavar="A,B",
    callback=_levels,
    help="Levels of the single factors, in order; FILE may have df instead.",
)
@click.option("--replications", type=click.IntRange(2), metavar="N", help="Replications of each cell that are stated.")
@json_option
def audit(
    file: Path | None,
    rows: tuple[str, ...],
    error_share: str | None,
    levels: tuple[int, ...] | None,
    replications: int | None,
    as_json: bool,
) -> None:
    """Check a paper's table of variance against itself.

    From each row's F and share of variation follows the error's degrees of freedom; all rows of a table must imply the
    same, within rounding, and it tells how many replications were analysed. FILE is a CSV with the columns source,
    share (in percent), F, and df unless --levels tells it; `table` where there are several. The row named Error has
    the error's share.

    Exit code 3: a table disagrees with itself, or with the stated replications.

    \b
    Examples:
      edgejoule audit --levels 3,3 --replications 75 --row DBMS=23.15,230.41 --row Comm=9,89.55 \\
          --row 'DBMS*Comm=30.78,153.16' --error 37.07
      edgejoule audit paper.csv --levels 3,3 --replications 75 --json
    """
    from edgejoule.stats import audit as audit_table
    from edgejoule.stats import printed_table, read_printed

    if (file is None) == (not rows):
        raise UsageError("name either a FILE or the rows themselves with --row and --error")
    if rows and error_share is None:
        raise UsageError("--row needs --error, the error's share of variation as printed")
    cells = math.prod(levels) if levels else None
    if replications and cells is None:
        raise UsageError("--replications needs --levels: replications of how many cells?")
    tables = (
        read_printed(file, levels)
        if file is not None
        else (printed_table("the rows given", [_row(text) for text in rows] + [_error(error_share or "")], levels),)
    )
    audits = [audit_table(table, cells=cells, replications=replications) for table in tables]
    if as_json:
        echo_json({"tables": [found.to_json() for found in audits]})
    else:
        _print(audits)
    if not all(found.consistent for found in audits):
        raise SystemExit(EXIT_INCONSISTENT)


def _row(text: str) -> dict[str, str]:
    source, _, figures = text.rpartition("=")
    share, comma, f = figures.partition(",")
    if not source or not comma:
        raise UsageError(f"--row: expected SOURCE=SHARE,F such as DBMS=23.15,230.41, got {text!r}")
    return {"source": source.strip(), "share": share.strip(), "F": f.strip()}


def _error(share: str) -> dict[str, str]:
    return {"source": "Error", "share": share, "F": ""}


def _print(audits: list[Audit]) -> None:
    from edgejoule.cli.analysis_extras import table_of
    from edgejoule.stats.figures import p_value

    out = console()
    for found in audits:
        table = table_of(found.name, "source", "df", "F", "implied error df", "within rounding", "p")
        for row in found.rows:
            table.add_row(
                row.source,
                str(row.df),
                f"{row.f:g}",
                f"{row.estimate:.1f}",
                f"{row.low:.1f} – {row.high:.1f}",
                p_value(row.p),
            )
        out.print()
        out.print(table)
        for sentence in found.findings:
            out.print(Text(f" · {sentence}", style="" if found.consistent else "bold"))
    out.print()
