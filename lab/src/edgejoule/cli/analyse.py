"""`edgejoule analyse`: analysis of variance, the declared comparison and letters for anyone's CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from edgejoule.cli.common import Number, console, echo_json, json_option, messages
from edgejoule.errors import DataError, UsageError

if TYPE_CHECKING:
    from edgejoule.findings.exact_counts import ExactCounts
    from edgejoule.stats import CsvTable


def _names(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise click.BadParameter("expected column names separated by commas")
    return names


def _counts(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    try:
        return tuple(int(part) for part in value.split(","))
    except ValueError as error:
        raise click.BadParameter("expected whole numbers separated by commas, such as 5,10,20") from error


@click.command(
    epilog="""\b
    Examples:
      edgejoule analyse runs.csv --response active_s --factors database,workload
      edgejoule analyse runs.csv --response active_s --factors database --block B
      edgejoule analyse runs.csv --response energy_j.modelled --factors database \\
          --scale log --min-ratio 1.77
      edgejoule analyse runs.csv --response active_s --factors database --unit L
      edgejoule analyse runs.csv --response active_s --factors database \\
          --test games-howell --scale log --margin 1.05
      edgejoule analyse runs.csv --response energy_j.counted --factors database \\
          --looks 5,10,20 --look 1
      edgejoule analyse monday.csv tuesday.csv --response active_s \\
          --factors database --block block"""
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--response", required=True, metavar="Y", help="The column with the numbers to explain.")
@click.option("--factors", required=True, metavar="A,B", callback=_names, help="The columns that may explain them.")
@click.option("--block", metavar="B", help="The column of the blocks; the model has no interactions with it.")
@click.option(
    "--unit",
    metavar="L",
    help="The column with the loaded database of each run, if runs share one. The load is then the replication, and "
    "its runs are averaged (split plot).",
)
@click.option("--by", metavar="F", help="Make one analysis for each level of this column.")
@click.option("--compare", metavar="A", callback=_names, help="The factors whose means are compared.  [default: all]")
@click.option(
    "--test",
    type=click.Choice(["tukey", "games-howell", "kruskal-dunn-holm"]),
    default="tukey",
    show_default=True,
    help="The comparison of pairs; declare it before you see the data. tukey: one variance for all groups; "
    "games-howell: a variance per group, with Welch's F; kruskal-dunn-holm: ranks. The checks never change it.",
)
@click.option(
    "--scale",
    type=click.Choice(["raw", "log"]),
    default="raw",
    show_default=True,
    help="log: effects are ratios. The default here is raw because a column may contain zeros; experiments use log.",
)
@click.option(
    "--alpha",
    type=Number(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Level of significance.",
)
@click.option(
    "--ss-type",
    type=click.Choice(["I", "II", "III"]),
    default="II",
    show_default=True,
    help="Type of the sums of squares; only unbalanced data make a difference.",
)
@click.option(
    "--better",
    type=click.Choice(["lower", "higher"]),
    help="Which mean comes first and gets letter a.  [default: that of a known response, else lower]",
)
@click.option(
    "--min-ratio",
    type=Number(1),
    metavar="R",
    help="Never call means different that are closer than this factor. Modelled responses (Y.modelled) get no letters "
    "without it; the report and `edgejoule meters` state the factor that the model resolves.",
)
@click.option(
    "--margin",
    type=Number(),
    metavar="M",
    help="Test whether pairs are equivalent: their ratio (--scale log) or their difference (raw, in the response's "
    "unit, below the smallest mean) is below M.",
)
@click.option(
    "--precision",
    type=Number(),
    metavar="P",
    help="Show how many more runs give each mean within this ratio (--scale log) or half width (raw).",
)
@click.option("--order", metavar="RUN", help="The column with the order of the runs; shows the lag-1 autocorrelation.")
@click.option(
    "--line-on", metavar="X", help="Also fit a line Y = a + b X per group: slope, intercept, R², test of equal slopes."
)
@click.option("--cdf", is_flag=True, help="Also show each group's distribution: quantiles, with --json all steps.")
@click.option("--aa", is_flag=True, help="Also compare each group with itself (A/A); no difference may appear.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed for the random halves of --aa.")
@click.option(
    "--looks",
    metavar="N,N,..",
    callback=_counts,
    help="The declared interim analyses (looks): replications of each group at each. Needs --look.",
)
@click.option("--look", type=int, metavar="K", help="The number of this look, from 1; its level replaces --alpha.")
@click.option(
    "--spending",
    type=click.Choice(["obrien-fleming", "pocock"]),
    default="obrien-fleming",
    show_default=True,
    help="How alpha is distributed over the looks.",
)
@json_option
def analyse(
    files: tuple[Path, ...],
    response: str,
    factors: tuple[str, ...],
    line_on: str | None,
    by: str | None,
    looks: tuple[int, ...] | None,
    spending: str,
    alpha: float,
    cdf: bool,
    aa: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Show which factors matter and which groups differ.

    FILE is a CSV file in UTF-8 with a header and one observation per line, separated by commas, semicolons or tabs
    (the last two allow decimal commas). Several files are joined: a column that one lacks is empty there. Blocks of
    different files and experiments are different blocks. Empty cells and NA are missing values. Levels that are
    equal numbers (1, 1.0) are one level. Counts that are the same in all runs of each group, such as syncs per write,
    are compared exactly, without a test. The output has an analysis of variance with all interactions, means with 95 %
    intervals, the declared comparison of all pairs, and a comparison of each group with the best of the others. Groups
    that share a letter are not shown to differ.
    """
    # numpy and scipy take most of a second to import; --help does without them.
    from edgejoule.cli.analysis_view import print_analysis, print_extremes, print_regression
    from edgejoule.cli.mixed_rows import blocks_of_each, check_one_method, warnings
    from edgejoule.export.runs_table import EXPERIMENT
    from edgejoule.stats import AnalysisBy, join, read_table, regression
    from edgejoule.stats import analyse as analyse_table
    from edgejoule.stats import looks as declared_looks

    tables = [read_table(file) for file in files]
    table = join(tables, EXPERIMENT)
    numbers = [name for name in (response, options["order"], line_on) if name]
    levels = [*factors, *(name for name in (options["block"], options["unit"], by) if name)]
    columns = _columns(table, numbers, levels)
    check_one_method(table, response, by)
    mixed = list(warnings(table, response, factors, options["block"], by))
    if options["block"]:
        columns[options["block"]], note = blocks_of_each(table, options["block"], [len(part.lines) for part in tables])
        mixed += [note] if note else []
    if looks is None and options["look"] is not None:
        raise UsageError("--look needs --looks, the declared numbers of replications")
    plan = declared_looks(looks, alpha=alpha, spending=spending) if looks else None
    # A line through modelled values is refused before anything is shown.
    repeated = (options["unit"], *factors) if options["unit"] else ()
    groups = options["compare"] or factors
    lines = regression(columns, response, line_on, groups, repeated=repeated) if line_on else None
    for warning in mixed:
        messages().print(f"warning: {warning}", markup=False, highlight=False)
    try:
        result = analyse_table(
            columns,
            response,
            factors,
            by=by,
            alpha=alpha,
            looks=plan,
            distributions=cdf,
            same_against_same=aa,
            **options,
        )
    except DataError as error:
        if exact := _exact(columns, response, factors, by, options["better"]):
            _print_exact(exact, by, mixed, as_json=as_json)
            return
        where = f"{', '.join(map(str, files))}, column {response}"
        raise DataError(f"{where}: {str(error).removeprefix(f'{response}: ')}") from error
    if as_json:
        echo_json({**result.to_json(), **({"regression": lines.to_json()} if lines else {}), "warnings": mixed})
        return
    out = console()
    if isinstance(result, AnalysisBy):
        for level, part in result.analyses.items():
            out.rule(f"[bold]{escape(result.by)} {escape(level)}", align="left")
            print_analysis(out, part)
        print_extremes(out, result)
    else:
        print_analysis(out, result)
    if lines:
        print_regression(out, lines)


def _exact(
    columns: Mapping[str, Sequence[float | str | None]],
    response: str,
    factors: Sequence[str],
    by: str | None,
    better: str | None,
) -> dict[str, ExactCounts]:
    """Returns the comparison of constant counts for each level of `by`; empty if the response is no such count."""
    from edgejoule.findings.exact_counts import exact_counts
    from edgejoule.stats.observations import with_equal_levels

    table, _ = with_equal_levels(columns, [*factors, *([by] if by else [])])
    levels = [""] * len(table[response]) if by is None else table[by]
    parts = {
        str(level): exact_counts(
            table, response, factors, better, [row for row, own in enumerate(levels) if own == level]
        )
        for level in dict.fromkeys(levels)
        if level is not None
    }
    return {level: part for level, part in parts.items() if part} if all(parts.values()) else {}


def _print_exact(exact: Mapping[str, ExactCounts], by: str | None, warnings: Sequence[str], *, as_json: bool) -> None:
    from edgejoule.cli.analysis_view import print_exact

    if as_json:
        each = [{**({"level": level} if by else {}), **part.to_json()} for level, part in exact.items()]
        echo_json({**({"by": by, "analyses": each} if by else each[0]), "warnings": list(warnings)})
        return
    out = console()
    for level, part in exact.items():
        if by:
            out.rule(f"[bold]{escape(by)} {escape(level)}", align="left")
        print_exact(out, part)


def _columns(
    table: CsvTable, numbers: list[str], levels: list[str]
) -> dict[str, list[float | None] | list[str | None]]:
    columns: dict[str, list[float | None] | list[str | None]] = {name: table.levels(name) for name in levels}
    return columns | {name: table.numbers(name) for name in numbers}
