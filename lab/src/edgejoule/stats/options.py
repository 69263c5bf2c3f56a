"""The options of `analyse` and their validation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, TypeVar

from edgejoule.dictionary.responses import RESPONSES, Better, nearest
from edgejoule.errors import DataError, UsageError
from edgejoule.stats.anova import SsType
from edgejoule.stats.declared import DeclaredTest
from edgejoule.stats.observations import Columns
from edgejoule.stats.precision import half_width_of
from edgejoule.stats.scale import Scale
from edgejoule.stats.spending import Looks

MODELLED = "modelled"
_Choice = TypeVar("_Choice", Scale, Better, SsType, DeclaredTest)


class AnalyseOptions(TypedDict, total=False):
    """Keyword arguments of `analyse`, which documents them."""

    block: str | None
    unit: str | None
    scale: Scale | str
    alpha: float
    compare: Sequence[str] | None
    modelled: bool | None
    min_ratio: float | None
    better: Better | str | None
    ss_type: SsType | str
    test: DeclaredTest | str
    order: str | None
    margin: float | None
    precision: float | None
    error: tuple[float, int] | None
    looks: Looks | None
    look: int | None
    distributions: bool
    same_against_same: bool
    seed: int


@dataclass(frozen=True)
class Options:
    """Validated options with defaults."""

    response: str
    factors: tuple[str, ...]
    compare: tuple[str, ...]
    block: str | None
    unit: str | None
    scale: Scale
    alpha: float
    better: Better
    modelled: bool
    min_ratio: float | None
    ss_type: SsType
    test: DeclaredTest
    order: str | None
    margin: float | None
    precision: float | None
    error: tuple[float, int] | None
    looks: Looks | None
    look: int | None
    distributions: bool
    same_against_same: bool
    seed: int

    @property
    def judged(self) -> bool:
        """See AnalysisResult.judged."""
        return not self.modelled or self.min_ratio is not None

    @property
    def columns(self) -> list[str]:
        """The columns in which a row must have values."""
        return [self.response, *self.factors, *(name for name in (self.block, self.unit, self.order) if name)]


def options_of(table: Columns, response: str, factors: Sequence[str], by: str | None, given: AnalyseOptions) -> Options:
    """Validates the options and fills in defaults. Raises UsageError for an unknown or contradictory option."""
    compare, modelled, better = given.get("compare"), given.get("modelled"), given.get("better")
    looks, look = given.get("looks"), given.get("look")
    options = Options(
        response=response,
        factors=tuple(name for name in factors if name != by),
        compare=tuple(name for name in (factors if compare is None else compare) if name != by),
        block=given.get("block"),
        unit=given.get("unit"),
        scale=_one_of(Scale, given.get("scale", Scale.LOG), "scale"),
        alpha=given.get("alpha", 0.05),
        better=_default_better(response) if better is None else _one_of(Better, better, "better"),
        modelled=response.endswith(f".{MODELLED}") if modelled is None else modelled,
        min_ratio=given.get("min_ratio"),
        ss_type=_one_of(SsType, given.get("ss_type", SsType.II), "ss_type"),
        test=_one_of(DeclaredTest, given.get("test", DeclaredTest.TUKEY), "test"),
        order=given.get("order"),
        margin=given.get("margin"),
        precision=given.get("precision"),
        error=given.get("error"),
        looks=looks,
        look=look,
        distributions=given.get("distributions", False),
        same_against_same=given.get("same_against_same", False),
        seed=given.get("seed", 1),
    )
    _check_columns(table, options, by)
    _check_figures(options)
    return replace(options, alpha=looks.level[look - 1]) if looks and look else options


def _one_of(kind: type[_Choice], value: str, option: str) -> _Choice:
    try:
        return kind(value)
    except ValueError as error:
        known = ", ".join(member.value for member in kind)
        raise UsageError(f"{option}: expected one of {known}, got {value!r}") from error


def _default_better(response: str) -> Better:
    name = response.partition("@")[0]
    known = RESPONSES.get(name) or RESPONSES.get(name.rpartition(".")[0])
    return known.better if known and known.better is not Better.NEITHER else Better.LOWER


def _check_columns(table: Columns, options: Options, by: str | None) -> None:
    named = [*options.columns, *([by] if by else [])]
    for name in named:
        if name not in table:
            raise UsageError(f"no column {name!r}; {nearest(name, table)}")
        if named.count(name) > 1:
            raise UsageError(f"column {name!r} is named twice among response, factors, block, unit, order and by")
    if not options.factors:
        raise UsageError("no factor to analyse by: name at least one column")
    for name in options.compare:
        if name not in options.factors or options.compare.count(name) > 1:
            raise UsageError(f"compare: {name!r} must be one of the factors, once; {nearest(name, options.factors)}")
    if not options.compare:
        raise UsageError("compare: name at least one factor")
    if len({len(table[name]) for name in named}) > 1:
        raise DataError("the columns differ in length")


def _check_figures(options: Options) -> None:
    if not 0 < options.alpha < 1:
        raise UsageError(f"alpha: expected a level between 0 and 1, got {options.alpha}")
    if options.min_ratio is not None and not 1 <= options.min_ratio < math.inf:
        raise UsageError(f"min_ratio: expected a factor of 1 or more, got {options.min_ratio}")
    if options.margin is not None:
        _check_margin(options.margin, options)
    if options.precision is not None:
        half_width_of(options.precision, options.scale)
    if options.unit and (options.order or options.same_against_same):
        raise UsageError("order and A/A use single runs, and runs that share a load are averaged: leave out unit")
    if (options.looks is None) != (options.look is None):
        raise UsageError("looks: name both the declared looks and which of them this is")
    if options.looks and options.look and not 1 <= options.look <= len(options.looks.runs):
        raise UsageError(f"look: expected 1 to {len(options.looks.runs)}, the declared looks, got {options.look}")


def _check_margin(margin: float, options: Options) -> None:
    if options.scale is Scale.LOG and not 1 < margin < math.inf:
        raise UsageError(f"margin: on the log scale expected a ratio above 1 (1.05: within 5 %), got {margin}")
    if options.scale is Scale.RAW and not 0 < margin < math.inf:
        raise UsageError(f"margin: expected a difference above 0 in the response's unit, got {margin}")
    if options.test is DeclaredTest.KRUSKAL_DUNN_HOLM:
        raise UsageError(
            "margin: ranks have no distances; declare tukey or games-howell to claim that groups are the same"
        )
