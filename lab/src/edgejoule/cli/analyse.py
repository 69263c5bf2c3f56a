"""`edgejoule analyse`: ANOVA, Tukey and letters for anyone's CSV."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from edgejoule.cli.common import console, echo_json, json_option


def _names(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise click.BadParameter("expected column names separated by commas")
    return names


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--response", required=True, metavar="Y", help="Column with the numbers to explain.")
@click.option("--factors", required=True, metavar="A,B", callback=_names, help="Columns that may explain them.")
@click.option("--block", metavar="B", help="Column of blocks: added to the model without interactions.")
@click.option("--by", metavar="F", help="One analysis for each level of this column.")
@click.option("--compare", metavar="A", callback=_names, help="Factors whose means are compared.  [default: all]")
@click.option(
    "--scale",
    type=click.Choice(["raw", "log"]),
    default="raw",
    show_default=True,
    help="log: effects are ratios. Experiments use log by default; here it is raw, for a column may hold zeros.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Level of significance.",
)
@click.option(
    "--ss-type",
    type=click.Choice(["I", "II", "III"]),
    default="II",
    show_default=True,
    help="Type of the sums of squares; it matters for unbalanced data only.",
)
@click.option(
    "--better",
    type=click.Choice(["lower", "higher"]),
    help="Which mean comes first and gets letter a.  [default: lower, or as the response is known]",
)
@click.option(
    "--min-ratio",
    type=click.FloatRange(1),
    metavar="R",
    help="Means closer than this factor are never called different. Modelled responses (Y.modelled) need it, or get no "
    "letters: it is what the model resolves, as the report and `edgejoule meters` state it.",
)
@json_option
def analyse(
    file: Path,
    response: str,
    factors: tuple[str, ...],
    block: str | None,
    by: str | None,
    compare: tuple[str, ...] | None,
    scale: str,
    alpha: float,
    ss_type: str,
    better: str | None,
    min_ratio: float | None,
    as_json: bool,
) -> None:
    """Which factors explain Y, and which groups really differ.

    FILE is a CSV: UTF-8, a header, one observation a line; empty cells and NA are missing. Analysis of variance with
    all interactions, means with 95 % intervals, and Tukey's comparison of all pairs from the model's error; groups
    that share a letter do not differ.

    \b
    Examples:
      edgejoule analyse runs.csv --response throughput_ops_s --factors database,workload --block block --scale log
      edgejoule analyse runs.csv --response energy_j.modelled --factors database --scale log --min-ratio 1.77
    """
    # numpy and scipy take most of a second to import; --help does without them.
    from edgejoule.cli.analysis_tables import print_analysis
    from edgejoule.stats import AnalysisBy, read_table
    from edgejoule.stats import analyse as analyse_table

    table = read_table(file)
    columns: dict[str, list[float | None] | list[str | None]] = {response: table.numbers(response)}
    grouping = [*factors, *([block] if block else []), *([by] if by else [])]
    columns |= {name: table.levels(name) for name in grouping if name != response}
    result = analyse_table(
        columns,
        response,
        factors,
        block=block,
        by=by,
        compare=compare,
        scale=scale,
        alpha=alpha,
        ss_type=ss_type,
        better=better,
        min_ratio=min_ratio,
    )
    if as_json:
        echo_json(result.to_json())
        return
    out = console()
    if isinstance(result, AnalysisBy):
        for level, part in result.analyses.items():
            out.rule(f"[bold]{escape(result.by)} {escape(level)}", align="left")
            print_analysis(out, part)
    else:
        print_analysis(out, result)
