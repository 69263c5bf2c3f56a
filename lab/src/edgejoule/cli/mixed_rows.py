"""What speaks against analysing the rows of a table together: exports of several experiments put into one file, and
rows that did not reach the requested rate.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from edgejoule.dictionary.responses import RESPONSES
from edgejoule.errors import DataError, UsageError
from edgejoule.export.runs_table import EXPERIMENT, STARTED
from edgejoule.findings.rates import RATE_FACTORS, needs_its_rate, not_sustained, share_min
from edgejoule.findings.text import count, listed
from edgejoule.stats import CsvTable
from edgejoule.stats.model import label_of

_METHODS = frozenset({"measured", "counted", "modelled"})
_REMEDIES_MAX = 8  # columns whose warnings are shown
_LEVELS_MAX = 4  # of a column that a warning shows
_CELLS_MAX = 4  # that missed their rate and are named
#: Columns that name a row and not what was measured.
_NAMES = frozenset({STARTED, "experiment_id"})
#: Together they name an experiment, also of several stores.
_EXPERIMENT = (EXPERIMENT, "experiment_id", "spec", "host")


def blocks_of_each(table: CsvTable, block: str, rows_of_files: Sequence[int]) -> tuple[list[str | None], str | None]:
    """Returns the levels of the block, apart for each experiment and file, and a note if that made a difference.

    rows_of_files: the number of rows of each file, in the table's order.
    """
    files = [str(file) for file, rows in enumerate(rows_of_files) for _ in range(rows)]
    surroundings = list(table.columns)[list(table.columns).index(EXPERIMENT) :] if EXPERIMENT in table.columns else []
    owner_of = list(zip(files, *(table.columns[name] for name in _EXPERIMENT if name in surroundings), strict=True))
    owners = dict.fromkeys(owner_of)
    levels = table.levels(block)
    if len(owners) < 2:
        return levels, None
    numbers = {owner: number for number, owner in enumerate(owners, 1)}
    apart = [
        None if level is None else f"{numbers[owner]}-{level}" for level, owner in zip(levels, owner_of, strict=True)
    ]
    if len({*apart} - {None}) == len({*levels} - {None}):
        return levels, None
    what = f"{len(owners)} experiments" if EXPERIMENT in table.columns else f"{len(owners)} files"
    return (
        apart,
        f"{table.path}: {block}: the blocks of {what} are different blocks, also where their numbers are equal",
    )


def check_one_method(table: CsvTable, response: str, apart: str | None) -> None:
    """Refuses joules of several methods, and numbers of several units, in one column. apart: the column of --by, whose
    levels are analysed one by one. Raises UsageError.
    """
    if "method" not in table.columns or not set(table.columns["method"]) & _METHODS:
        return
    rows = [at for at, value in enumerate(table.numbers(response)) if value is not None]
    for name in ("method", "unit"):
        levels = {table.columns[name][at] for at in rows} if name in table.columns and name != apart else set()
        if len(levels) > 1:
            raise UsageError(
                f"{table.path}: column {response!r} has numbers of {name} {' and '.join(sorted(levels))}, which are "
                f"not compared: analyse them one by one (--by {name}), or keep the rows of one"
            )


def warnings(
    table: CsvTable, response: str, factors: Sequence[str], block: str | None, apart: str | None
) -> Iterator[str]:
    """Yields a warning for each thing that the rows of an export do not share and the analysis does not use, and one
    for the cells that missed their rate.

    apart: the column of --by.
    """
    yield from _missed_rates(table, response, [*factors, *([apart] if apart else [])])
    if EXPERIMENT not in table.columns:
        return
    rows = [at for at, value in enumerate(table.numbers(response)) if value is not None]
    yield from _repeated(table, rows)
    yield from _other_methods(table, response)
    named = {*factors, block, apart}
    first = list(table.columns).index(EXPERIMENT)
    names = [name for name in list(table.columns)[first:] if name not in named | _NAMES and not _is_response(name)]
    differing = {
        name: counts
        for name in names
        if len(counts := _levels(table, name, rows)) > 1 and not _is_of_workload(table, name, rows)
    }
    if not differing:
        return
    settings = [name for name in differing if name not in (EXPERIMENT, "spec")]
    first_names = list(differing)[: _REMEDIES_MAX + 2]
    shown = "; ".join(f"{name}: {_text(differing[name])}" for name in first_names)
    more = f"; and {count(left, 'more column')}" if (left := len(differing) - len(first_names)) else ""
    yield f"{table.path}: the rows differ in columns that the analysis does not use: {shown}{more}"
    advised = settings or list(differing)[:1]
    for name in advised[:_REMEDIES_MAX]:
        yield f"{name}: {_remedy(table, name, rows, [factor for factor in factors if factor != apart])}"
    if others := len(advised[_REMEDIES_MAX:]):
        yield f"{count(others, 'more column')} in which the rows differ"


def _is_response(name: str) -> bool:
    """Returns whether it is a column of a response: its name, its method, and .k2 of a half width."""
    base, *method = name.removesuffix(".k2").split(".")
    if method and method[-1] in _METHODS:
        return True
    try:
        return bool(RESPONSES[base])
    except KeyError:
        return False


def _missed_rates(table: CsvTable, response: str, factors: Sequence[str]) -> Iterator[str]:
    """Yields a warning if cells did not sustain the requested rate and the response is comparable only at that rate."""
    target = next((name for name in ("target_ops_s", "target") if name in table.columns), None)
    if target is None or "target_share" not in table.columns or not needs_its_rate(response.partition(".")[0]):
        return
    try:
        values, targets, shares = (table.numbers(name) for name in (response, target, "target_share"))
    except DataError:  # a column of that name with something else
        return
    cells: dict[tuple[str, float], list[float]] = {}
    named = [name for name in dict.fromkeys(factors) if name not in RATE_FACTORS]
    for at, (value, asked, share) in enumerate(zip(values, targets, shares, strict=True)):
        if value is not None and asked is not None and share is not None:
            cell = label_of({name: table.columns[name][at] for name in named}) or "the database"
            cells.setdefault((cell, asked), []).append(share)
    least = share_min(load_curve="load_percent" in table.columns)
    means = {cell: statistics.fmean(own) for cell, own in cells.items()}
    missed = [f"{cell} {not_sustained(asked, share)}" for (cell, asked), share in means.items() if share < least]
    if missed:
        more = [f"{len(missed) - _CELLS_MAX} more"] if len(missed) > _CELLS_MAX else []
        yield (
            f"{table.path}: {listed([*missed[:_CELLS_MAX], *more])}: their {response} is that of a lower rate and is "
            "not compared in a report; leave their rows out"
        )


def _repeated(table: CsvTable, rows: Sequence[int]) -> Iterator[str]:
    keys = [name for name in (EXPERIMENT, "experiment_id", "host", STARTED, "run", "attempt") if name in table.columns]
    counts = Counter(tuple(table.columns[name][at] for name in keys) for at in rows)
    if repeated := sum(count - 1 for count in counts.values()):
        yield f"{table.path}: {repeated} of {len(rows)} rows repeat others: the same run counts several times"
    aside = sum(table.columns["set_aside"][at] == "yes" for at in rows) if "set_aside" in table.columns else 0
    if aside:
        yield f"{table.path}: {aside} rows are attempts that do not count (set_aside): export without --attempts"


def _other_methods(table: CsvTable, response: str) -> Iterator[str]:
    """Yields a warning if rows without the response have it by another method."""
    base, _, method = response.rpartition(".")
    if method not in _METHODS:
        return
    here = table.numbers(response)
    for other in sorted(_METHODS - {method}):
        if (column := f"{base}.{other}") in table.columns:
            values = table.numbers(column)
            if left := sum(mine is None and theirs is not None for mine, theirs in zip(here, values, strict=True)):
                yield (
                    f"{table.path}: {left} rows have {column} instead of {response} and are left out; {method} and "
                    f"{other} joules are not compared"
                )


def _is_of_workload(table: CsvTable, name: str, rows: Sequence[int]) -> bool:
    """Is the column a property of the experiment's workloads: different within one experiment, and one per workload?"""
    if "workload" not in table.columns:
        return False
    inside: dict[tuple[str, ...], set[str]] = {}
    for key in ("workload", EXPERIMENT):
        for at in rows:
            inside.setdefault((key, table.columns[key][at]), set()).add(table.columns[name][at])
    differs = any(len(values) > 1 for (key, _), values in inside.items() if key == EXPERIMENT)
    return differs and all(len(values) == 1 for (key, _), values in inside.items() if key == "workload")


def _levels(table: CsvTable, name: str, rows: Collection[int]) -> Counter[str]:
    return Counter(table.columns[name][at] for at in rows)


def _text(counts: Counter[str]) -> str:
    shown = [f"{level or 'not given'} in {count} rows" for level, count in counts.most_common(_LEVELS_MAX)]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _remedy(table: CsvTable, name: str, rows: Sequence[int], used: Sequence[str]) -> str:
    """Says how the column becomes a factor, or that the rows cannot tell it from one that is used."""
    columns = [table.columns[factor] for factor in used]
    levels: dict[tuple[str, ...], set[str]] = {}
    for at in rows:
        levels.setdefault(tuple(column[at] for column in columns), set()).add(table.columns[name][at])
    if all(len(inside) == 1 for inside in levels.values()):
        return f"changes together with {', '.join(used)}: these rows cannot tell which of them had the effect"
    missing = " (first write its value into the empty cells)" if "" in _levels(table, name, rows) else ""
    return f"make it a factor (--factors {','.join([*used, name])}) or analyse its levels apart (--by {name}){missing}"
