"""R is the oracle: its own data sets with stored results, and random designs answered by R during the test."""

from __future__ import annotations

import csv
import itertools
import json
import math
import random
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgejoule.stats import AnalysisResult, SsType, analyse, read_table
from edgejoule.stats import analyse as analyse_function
from edgejoule.stats.anova import Anova, anova

DATA = Path(__file__).parent / "data"
GOLDEN = json.loads((DATA / "golden.json").read_text())
RELATIVE = 1e-6
# The error of R's ptukey on small p; test_studentized_range compares with scipy to 1e-11.
P_ABSOLUTE = 1e-9


def close(got: float | None, expected: float, absolute: float = 0.0) -> bool:
    return got is not None and math.isclose(got, expected, rel_tol=RELATIVE, abs_tol=absolute)


def load(name: str, response: str, *factors: str) -> dict[str, list[object]]:
    table = read_table(DATA / f"{name}.csv")
    columns: dict[str, list[object]] = {response: list(table.numbers(response))}
    return columns | {factor: list(table.levels(factor)) for factor in factors}


def warpbreaks(**options: object) -> AnalysisResult:
    columns = load("warpbreaks", "breaks", "wool", "tension")
    return analyse(columns, "breaks", ["wool", "tension"], scale="raw", **options)  # type: ignore[call-overload, no-any-return]


def wrong_anova_rows(analysis: AnalysisResult, golden: dict[str, dict[str, float | None]]) -> list[str]:
    """Figures of the ANOVA table that are not R's."""
    wrong = []
    ours = {"Residuals": analysis.anova.residual, **{row.source: row for row in analysis.anova.rows}}
    assert set(ours) == set(golden)
    for source, expected in golden.items():
        row = ours[source]
        for key, value in (("df", row.df), ("ss", row.ss), ("ms", row.ms), ("F", row.f), ("p", row.p)):
            want = expected[key]
            if not (value is None if want is None else close(value, want)):
                wrong.append(f"{source} {key}: {value} is not {want}")
    return wrong


def wrong_pairs(analysis: AnalysisResult, golden: dict[str, dict[str, float]]) -> list[str]:
    """Figures of the Tukey table that are not R's, whichever way round a pair is written."""
    wrong = []
    ours = {(":".join(pair.a.values()), ":".join(pair.b.values())): pair for pair in analysis.pairs}
    assert len(ours) == len(golden)
    for name, expected in golden.items():
        a, b = name.split("-")
        sign, pair = (1, ours[a, b]) if (a, b) in ours else (-1, ours[b, a])
        limits = sorted(sign * limit for limit in pair.ci)
        figures = {"diff": sign * pair.difference, "lwr": limits[0], "upr": limits[1], "p_adj": pair.p_adj}
        wrong += [
            f"{name} {key}: {got} is not {expected[key]}"
            for key, got in figures.items()
            if not close(got, expected[key])
        ]
    return wrong


def test_plant_growth_is_as_r_prints_it() -> None:
    analysis = analyse(load("PlantGrowth", "weight", "group"), "weight", ["group"], scale="raw")
    golden = GOLDEN["PlantGrowth"]
    assert wrong_anova_rows(analysis, golden["anova"]) == []
    assert wrong_pairs(analysis, golden["tukey_group"]) == []
    assert close(analysis.diagnostics.shapiro_wilk.p, golden["shapiro"]["p"])


def test_plant_growth_is_as_the_documentation_rounds_it() -> None:
    analysis = analyse(load("PlantGrowth", "weight", "group"), "weight", ["group"], scale="raw", better="higher")
    row = analysis.anova.rows[0]
    assert row.f is not None
    assert row.p is not None
    assert (row.df, round(row.f, 3), round(row.p, 4)) == (2, 4.846, 0.0159)
    assert [(group.levels["group"], group.letters) for group in analysis.groups] == [
        ("trt2", "a"),
        ("ctrl", "ab"),
        ("trt1", "b"),
    ]


@pytest.mark.parametrize("compare", [["wool"], ["tension"], ["wool", "tension"]])
def test_warpbreaks_is_as_r_prints_it(compare: list[str]) -> None:
    analysis = warpbreaks(compare=compare)
    golden = GOLDEN["warpbreaks"]
    assert wrong_anova_rows(analysis, golden["anova"]) == []
    assert wrong_pairs(analysis, golden["tukey_" + ":".join(compare)]) == []
    assert close(analysis.diagnostics.shapiro_wilk.statistic, golden["shapiro"]["statistic"])


def test_mutant_with_the_error_of_a_one_way_model_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_way_error(y: object, factors: object, **options: object) -> Anova:
        one_way = anova(y, [factors[1]])  # type: ignore[arg-type, index]
        return replace(anova(y, factors, **options), error_ms=one_way.error_ms, error_df=one_way.error_df)  # type: ignore[arg-type]

    monkeypatch.setitem(analyse_function.__globals__, "anova", one_way_error)
    assert wrong_pairs(warpbreaks(compare=["tension"]), GOLDEN["warpbreaks"]["tukey_tension"])


@pytest.mark.parametrize("off", [-1, 1])
def test_mutant_with_error_df_off_by_one_is_caught(monkeypatch: pytest.MonkeyPatch, off: int) -> None:
    def shifted(*arguments: object, **options: object) -> Anova:
        table = anova(*arguments, **options)  # type: ignore[arg-type]
        return replace(table, error_df=table.error_df + off)

    monkeypatch.setitem(analyse_function.__globals__, "anova", shifted)
    assert wrong_pairs(warpbreaks(), GOLDEN["warpbreaks"]["tukey_wool:tension"])


class Design:
    """A random design: the input of R and of `analyse`. The name contains the seed."""

    def __init__(self, seed: int, levels: tuple[int, ...], *, balanced: bool, blocked: bool, holes: int = 0) -> None:
        marks = ["balanced" if balanced else "unbalanced", *["block"] * blocked, *[f"holes{holes}"] * (holes > 0)]
        self.name = "-".join([f"seed{seed}", "x".join(map(str, levels)), *marks])
        self.balanced, self.blocked, self.holes = balanced, blocked, holes
        self.factors = [f"f{index + 1}" for index in range(len(levels))]
        rng = random.Random(seed)
        cells = list(itertools.product(*(range(count) for count in levels)))
        effect = {cell: rng.gauss(0, 1) for cell in cells}
        dropped = set(rng.sample(cells, holes))
        self.rows: list[dict[str, object]] = []
        for cell in cells:
            for block in range(4):
                if cell in dropped or (not balanced and block > 1 and rng.random() < 0.45):
                    continue
                row: dict[str, object] = {"y": 10 + effect[cell] + 0.3 * block * blocked + rng.gauss(0, 0.7)}
                row |= {factor: f"L{level}" for factor, level in zip(self.factors, cell, strict=True)}
                self.rows.append(row | ({"block": f"b{block}"} if blocked else {}))

    def columns(self) -> dict[str, list[object]]:
        return {name: [row[name] for row in self.rows] for name in self.rows[0]}

    def analyse(self, ss_type: SsType) -> AnalysisResult:
        block = "block" if self.blocked else None
        return analyse(self.columns(), "y", self.factors, scale="raw", block=block, ss_type=ss_type)

    def write(self, folder: Path) -> Path:
        with (folder / self.name).open("w", newline="") as file:
            writer = csv.DictWriter(file, list(self.rows[0]))
            writer.writeheader()
            writer.writerows(self.rows)
        return folder / self.name


def designs() -> list[Design]:
    made = []
    seeds = itertools.count(20_260)
    for levels, balanced, blocked in itertools.product(
        [(4,), (3, 3), (2, 4), (2, 3, 2), (3, 2, 4)], [True, False], [False, True]
    ):
        made += [Design(next(seeds), levels, balanced=balanced, blocked=blocked) for _ in range(3)]
    made += [Design(next(seeds), (3, 4), balanced=False, blocked=blocked, holes=2) for blocked in (False, True)]
    return made


def answers_of_r(designs: list[Design], folder: Path) -> dict[str, dict[str, float]]:
    paths = [str(design.write(folder)) for design in designs]
    done = subprocess.run(
        ["Rscript", str(DATA / "oracle.R"), *paths], capture_output=True, text=True, check=True, timeout=300
    )
    answers: dict[str, dict[str, float]] = {}
    for line in done.stdout.splitlines():
        design, key, value = line.split("\t")
        answers.setdefault(design, {})[key] = float(value) if value != "NA" else math.nan
    return answers


def figures(analysis: AnalysisResult, ss_type: SsType, design: Design) -> Iterator[tuple[str, float | None]]:
    """Our figures under the oracle's keys."""
    for row in analysis.anova.rows:
        key = f"{ss_type}|{row.source}"
        yield f"{key}|ss", row.ss
        yield f"{key}|F", row.f
        if ss_type is not SsType.III:
            yield f"{key}|df", row.df
            yield f"{key}|p", row.p
    yield "error_ss", analysis.anova.residual.ss
    yield "error_df", analysis.anova.error_df
    for group in analysis.groups:
        name = ",".join(group.levels.values())
        yield f"mean|{name}", group.mean
        yield f"low|{name}", group.ci95[0]
        yield f"high|{name}", group.ci95[1]
    for pair in analysis.pairs:
        name = f"pair|{','.join(pair.a.values())}|{','.join(pair.b.values())}"
        yield f"{name}|diff", pair.difference
        yield f"{name}|low", pair.ci[0]
        yield f"{name}|high", pair.ci[1]
        yield f"{name}|p", pair.p_adj
    for check in ("shapiro_wilk", "brown_forsythe"):
        result = getattr(analysis.diagnostics, check)
        yield f"{check.removesuffix('_wilk')}_statistic", result.statistic
        yield f"{check.removesuffix('_wilk')}_p", result.p


def errors(analysis: AnalysisResult, ss_type: SsType, design: Design, answers: dict[str, float]) -> dict[str, float]:
    """Relative error of every figure; p values and limits near 0 are measured against what they can resolve.

    A limit is compared on the scale of the residual sd, for it may pass through 0; a p below P_ABSOLUTE is equal to
    any other such.
    """
    sd = math.sqrt(analysis.anova.error_ms)
    result = {}
    for key, got in figures(analysis, ss_type, design):
        expected = answers[key]
        if got is None:
            result[key] = 0.0 if math.isnan(expected) else math.inf
            continue
        kind = key.rsplit("|", 1)[-1]
        scale = abs(expected)
        if kind in ("diff", "low", "high"):
            scale = max(scale, sd)
        if kind == "p" or key.endswith("_p"):
            scale = max(scale, P_ABSOLUTE / RELATIVE)
        result[key] = abs(got - expected) / scale if scale else float(got != expected)
    return result


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Design, dict[str, float]]]:
    assert shutil.which("Rscript") is not None, "R is not installed: tools/packages test-all"
    made = designs()
    answers = answers_of_r(made, tmp_path_factory.mktemp("designs"))
    return [(design, answers[design.name]) for design in made]


@pytest.mark.r
@pytest.mark.parametrize("ss_type", list(SsType))
def test_random_designs_are_as_r_computes_them(
    answered: list[tuple[Design, dict[str, float]]], ss_type: SsType
) -> None:
    worst, figures_compared = ("", 0.0), 0
    for design, answers in answered:
        if design.holes and ss_type is SsType.III:
            continue
        result = errors(design.analyse(ss_type), ss_type, design, answers)
        key = max(result, key=result.__getitem__)
        worst = max(worst, (f"{design.name} {key}", result[key]), key=lambda item: item[1])
        figures_compared += len(result)
    print(f"type {ss_type}: {figures_compared} figures of {len(answered)} designs, worst relative error {worst}")
    assert worst[1] <= RELATIVE


@pytest.mark.r
def test_mutant_with_type_i_for_type_ii_is_caught_on_every_unbalanced_design(
    answered: list[tuple[Design, dict[str, float]]],
) -> None:
    unbalanced = [(d, a) for d, a in answered if not d.balanced and len(d.factors) > 1]
    for design, answers in unbalanced:
        mutant = {key.replace("I|", "II|", 1): value for key, value in answers.items() if key.startswith("I|")}
        result = errors(design.analyse(SsType.II), SsType.II, design, answers | mutant)
        assert max(result.values()) > RELATIVE, design.name


@pytest.mark.r
def test_means_adjusted_for_blocks_differ_from_plain_means_where_runs_are_missing(
    answered: list[tuple[Design, dict[str, float]]],
) -> None:
    design = next(d for d, _ in answered if d.blocked and not d.balanced)
    groups = design.analyse(SsType.II).groups
    assert not np.allclose([g.mean for g in groups], [g.mean_arithmetic for g in groups], rtol=RELATIVE)
