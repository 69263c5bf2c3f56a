"""Welch, Games-Howell, Kruskal-Wallis, Dunn, split plots and lines: R's documented data sets, and random designs."""

from __future__ import annotations

import csv
import itertools
import json
import math
import random
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from edgejoule.stats import AnalysisResult, Regression, analyse, anova, read_table, regression
from edgejoule.stats.estimates import Estimates
from edgejoule.stats.factor import Factor
from edgejoule.stats.hsu import one_sided_dunnett

DATA = Path(__file__).parent / "data"
GOLDEN = json.loads((DATA / "golden_tests.json").read_text())
RELATIVE = 1e-6
P_ABSOLUTE = 1e-9  # what R's ptukey and its quadrature resolve

Columns = dict[str, list[object]]


def load(name: str, *numbers: str) -> Columns:
    table = read_table(DATA / f"{name}.csv")
    return {c: list(table.numbers(c) if c in numbers else table.levels(c)) for c in table.columns}


def wrong(actual: dict[str, float | None], expected: dict[str, float]) -> list[str]:
    """Figures that are not R's. p and limits are compared on the scale of their resolution."""
    assert expected.keys() == actual.keys(), sorted(expected.keys() ^ actual.keys())
    bad = []
    for key, want in expected.items():
        got = actual[key]
        kind = key.partition("|")[0].rpartition("_")[2]
        floor = P_ABSOLUTE if kind == "p" else 1e-6 if kind in ("low", "high", "diff", "cliff") else 0.0
        if got is None or not math.isclose(got, want, rel_tol=RELATIVE, abs_tol=floor):
            bad.append(f"{key}: {got} is not {want}")
    return bad


def omnibus(analysis: AnalysisResult) -> dict[str, float | None]:
    test = analysis.omnibus
    assert test is not None
    if test.df2 is None:
        return {"H": test.statistic, "df": test.df1, "p": test.p}
    return {"F": test.statistic, "df1": test.df1, "df2": test.df2, "p": test.p}


def pair_figures(analysis: AnalysisResult, golden: dict[str, dict[str, float]]) -> list[str]:
    """Returns the differences between pairs in either order."""
    ours = {(",".join(p.a.values()), ",".join(p.b.values())): p for p in analysis.pairs}
    assert len(ours) == len(golden)
    bad = []
    for name, expected in golden.items():
        a, b = name.split("|")
        sign, pair = (1, ours[b, a]) if (b, a) in ours else (-1, ours[a, b])
        figures = {"diff": sign * pair.difference, "df": pair.df, "z": sign * (pair.statistic or 0.0), "p": pair.p_adj}
        bad += [f"{name} {text}" for text in wrong({key: figures[key] for key in expected}, expected)]
    return bad


def test_welch_and_games_howell_are_as_r_computes_them() -> None:
    growth = analyse(load("PlantGrowth", "weight"), "weight", ["group"], scale="raw", test="games-howell")
    breaks = analyse(load("warpbreaks", "breaks"), "breaks", ["wool", "tension"], scale="raw", test="games-howell")
    for analysis, golden in ((growth, GOLDEN["PlantGrowth"]), (breaks, GOLDEN["warpbreaks"])):
        assert wrong(omnibus(analysis), golden["welch"]) == []
        assert pair_figures(analysis, golden["games_howell"]) == []


def test_kruskal_wallis_and_dunn_are_as_r_computes_them_with_ties_and_unequal_groups() -> None:
    for name, response, factor in (("InsectSprays", "count", "spray"), ("airquality", "ozone", "month")):
        result = analyse(load(name, response), response, [factor], scale="raw", test="kruskal-dunn-holm")
        assert wrong(omnibus(result), GOLDEN[name]["kruskal"]) == []
        assert pair_figures(result, GOLDEN[name]["dunn"]) == []


def test_the_documented_rounding_of_the_help_pages() -> None:
    air = analyse(load("airquality", "ozone"), "ozone", ["month"], scale="raw", test="kruskal-dunn-holm").omnibus
    assert air is not None
    assert (round(air.statistic, 3), air.df1, round(air.p * 1e6, 3)) == (29.267, 4, 6.901)


def test_mutant_without_the_correction_for_ties_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgejoule.stats.ranks._rank_variance", lambda y: y.size * (y.size + 1) / 12)
    result = analyse(load("InsectSprays", "count"), "count", ["spray"], scale="raw", test="kruskal-dunn-holm")
    assert wrong(omnibus(result), GOLDEN["InsectSprays"]["kruskal"])
    assert pair_figures(result, GOLDEN["InsectSprays"]["dunn"])


def test_mutant_with_bonferroni_for_holm_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgejoule.stats.ranks.holm", lambda p: np.minimum(p * p.size, 1.0))
    result = analyse(load("InsectSprays", "count"), "count", ["spray"], scale="raw", test="kruskal-dunn-holm")
    assert pair_figures(result, GOLDEN["InsectSprays"]["dunn"])


def test_mutant_with_one_variance_for_all_is_caught() -> None:
    result = analyse(load("warpbreaks", "breaks"), "breaks", ["wool", "tension"], scale="raw", test="tukey")
    assert pair_figures(result, GOLDEN["warpbreaks"]["games_howell"])


def strata(analysis: AnalysisResult, between: str) -> dict[str, dict[str, float | None]]:
    """Our table under R's names; a residual has neither F nor p."""
    names = {analysis.anova.residual.source: "Residuals"}
    assert analysis.anova.between is not None
    names[analysis.anova.between.source] = "Residuals"
    result = {}
    for row in (*analysis.anova.rows, analysis.anova.between, analysis.anova.residual):
        above = row is analysis.anova.between or row.error == analysis.anova.between.source
        key = f"{between if above else 'Within'}|{names.get(row.source, row.source)}"
        result[key] = {"df": row.df, "ss": row.ss, "F": row.f, "p": row.p}
    return result


def wrong_strata(actual: dict[str, dict[str, float | None]], golden: dict[str, dict[str, float | None]]) -> list[str]:
    bad = []
    for key, expected in golden.items():
        given = {name: value for name, value in expected.items() if value is not None}
        bad += [f"{key} {text}" for text in wrong({name: actual[key][name] for name in given}, given)]
    return bad


def co2(**options: object) -> AnalysisResult:
    factors = ["origin", "treatment", "conc"]
    return analyse(load("CO2", "uptake"), "uptake", factors, scale="raw", unit="plant", **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("ss_type", ["I", "II", "III"])
def test_co2_uptake_with_plants_as_units_is_as_r_prints_it(ss_type: str) -> None:
    assert wrong_strata(strata(co2(ss_type=ss_type), "plant"), GOLDEN["CO2"]) == []


def test_the_oats_of_yates_are_as_r_and_the_textbooks_print_them() -> None:
    table = load("oats", "yield")
    result = analyse(table, "yield", ["nitrogen", "variety"], scale="raw", unit="plot", block="block")
    golden = {key: row for key, row in GOLDEN["oats"].items() if key != "block|Residuals"}
    assert set(strata(result, "block:variety")) == {*golden, "block:variety|block"}
    ours = strata(result, "block:variety")
    swapped = {key.replace("nitrogen:variety", "variety:nitrogen"): key for key in golden}
    renamed = {swapped.get(key, key): row for key, row in ours.items()}
    assert wrong_strata(renamed, golden) == []
    assert round(ours["block:variety|block"]["ss"] or 0) == 15875
    assert [round(ours[key]["F"] or 0, 3) for key in ("block:variety|variety", "Within|nitrogen")] == [1.485, 37.686]


def test_npk_with_blocks_is_rs_stratum_within_blocks() -> None:
    table = load("npk", "yield")
    factors = [Factor.of(name, table[name]) for name in "NPK"]
    result = anova(np.array(table["yield"], dtype=float), factors, block=Factor.of("block", table["block"]))
    for row in result.rows:
        if row.source not in ("block", "N:P:K"):
            golden = GOLDEN["npk"][f"Within|{row.source}"]
            assert wrong({"df": row.df, "ss": row.ss, "F": row.f, "p": row.p}, golden) == []
    assert next(row for row in result.rows if row.source == "N:P:K").f is None, "it is confounded with the blocks"


def test_mutant_that_takes_repetitions_for_replications_is_caught() -> None:
    naive = analyse(load("CO2", "uptake"), "uptake", ["origin", "treatment", "conc"], scale="raw")
    rows = {row.source: row for row in naive.anova.rows}
    golden = GOLDEN["CO2"]["plant|origin"]
    assert wrong({"F": rows["origin"].f}, {"F": golden["F"]})


def lines_of(regression: Regression) -> dict[str, dict[str, float | None]]:
    names = {
        "equal slopes": "slopes",
        "equal intercepts, whatever the slopes": "free",
        "equal intercepts of parallel lines": "parallel",
        "one common line": "one",
    }
    lines = {}
    for line in regression.lines:
        assert line.slope_ci is not None
        assert line.intercept_ci is not None
        lines[",".join(line.levels.values())] = {
            "intercept": line.intercept, "slope": line.slope, "r2": line.r2,
            "slope_low": line.slope_ci[0], "slope_high": line.slope_ci[1],
            "intercept_low": line.intercept_ci[0], "intercept_high": line.intercept_ci[1],
        }  # fmt: skip
    tests = {f"{names[t.name]}_{kind}": value for t in regression.tests for kind, value in (("F", t.f), ("p", t.p))}
    return {**lines, "tests": tests}


def iris(**changes: object) -> Regression:
    return regression(load("iris", "petal", "sepal"), "sepal", "petal", ["species"], **changes)  # type: ignore[arg-type]


def test_lines_per_species_are_as_r_fits_them() -> None:
    result = lines_of(iris())
    for group, expected in GOLDEN["iris"].items():
        assert wrong(result[group], expected) == []


def test_mutant_that_forgets_a_df_of_a_line_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy import special

    from edgejoule.stats import regression as module

    real = special.stdtrit
    function = regression.__globals__["special"]
    assert module is regression
    monkeypatch.setattr(function, "stdtrit", lambda df, p: real(df + 1, p))
    assert wrong(lines_of(iris())["setosa"], GOLDEN["iris"]["setosa"])


# Random designs, answered by R during the test.


@dataclass(frozen=True)
class Design:
    """The input of R and of edgejoule; the name contains kind and seed."""

    name: str
    columns: Columns

    def write(self, folder: Path) -> Path:
        with (folder / self.name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(zip(*self.columns.values(), strict=True))
        return folder / self.name


def groups_design(seed: int, *, balanced: bool, ties: bool) -> Design:
    rng = random.Random(seed)
    columns: Columns = {"g": [], "y": []}
    for group in range(rng.randint(2, 6)):
        mean, sd = rng.gauss(5, 1), rng.choice([0.3, 1.0, 3.0]) * (5 if ties else 1)
        for _ in range(8 if balanced else rng.randint(3, 14)):
            value = rng.gauss(mean, sd)
            columns["g"].append(f"G{group}")
            columns["y"].append(round(value, 0 if ties else 9))
    return Design(f"groups-seed{seed}-{'balanced' if balanced else 'unbalanced'}{'-ties' * ties}", columns)


def lines_design(seed: int) -> Design:
    rng = random.Random(seed)
    columns: Columns = {"g": [], "x": [], "y": []}
    for group in range(rng.randint(2, 5)):
        slope, intercept = rng.gauss(3, 0.4), rng.gauss(0, 2)
        for _ in range(rng.randint(4, 20)):
            x = rng.uniform(10, 1000)
            columns["g"].append(f"G{group}")
            columns["x"].append(round(x, 6))
            columns["y"].append(round(intercept + slope * x + rng.gauss(0, 100), 6))
    return Design(f"lines-seed{seed}", columns)


def plots_design(seed: int, *, kind: str) -> Design:
    """kind: balanced; loads: unequal numbers of loads; holes: some loads lack some cells, and repetitions vary."""
    rng = random.Random(seed)
    levels_b = rng.randint(2, 4)
    columns: Columns = {"a": [], "b": [], "load": [], "y": []}
    for a in range(rng.randint(2, 4)):
        for copy in range(4 if kind == "balanced" else rng.randint(3, 6)):
            luck = rng.gauss(0, 1)
            for b in range(levels_b):
                hole = kind == "holes" and copy > 0 and rng.random() < 0.2
                for _ in range(0 if hole else rng.randint(1, 4) if kind == "holes" else 3):
                    columns["a"].append(f"A{a}")
                    columns["b"].append(f"B{b}")
                    columns["load"].append(f"A{a}-{copy}")
                    columns["y"].append(round(10 + 0.3 * a + 0.4 * b + luck + rng.gauss(0, 0.5), 9))
    return Design(f"plots-seed{seed}-{kind}", columns)


def designs() -> list[Design]:
    seeds = itertools.count(20_261)
    made = [
        groups_design(next(seeds), balanced=balanced, ties=ties)
        for balanced, ties, _ in itertools.product([True, False], [False, True], range(5))
    ]
    made += [lines_design(next(seeds)) for _ in range(10)]
    made += [plots_design(next(seeds), kind=kind) for kind in ("balanced", "loads", "holes") for _ in range(8)]
    return made


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Design, dict[str, float]]]:
    assert shutil.which("Rscript") is not None, "R is not installed: tools/packages test-all"
    folder, made = tmp_path_factory.mktemp("designs"), designs()
    done = subprocess.run(
        ["Rscript", str(DATA / "oracle_tests.R"), *(str(design.write(folder)) for design in made)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers: dict[str, dict[str, float]] = {}
    for line in done.stdout.splitlines():
        name, key, value = line.split("\t")
        answers.setdefault(name, {})[key] = float(value)
    return [(design, answers[design.name]) for design in made]


def of_kind(answered: list[tuple[Design, dict[str, float]]], kind: str) -> Iterator[tuple[Design, dict[str, float]]]:
    return ((design, answers) for design, answers in answered if design.name.startswith(kind))


def group_figures(design: Design, margin: float = 0.8) -> dict[str, float | None]:
    welch = analyse(design.columns, "y", ["g"], scale="raw", test="games-howell", margin=margin)
    ranks = analyse(design.columns, "y", ["g"], scale="raw", test="kruskal-dunn-holm")
    tukey = analyse(design.columns, "y", ["g"], scale="raw")
    assert welch.omnibus is not None
    assert ranks.omnibus is not None
    result: dict[str, float | None] = {
        "welch_F": welch.omnibus.statistic, "welch_df2": welch.omnibus.df2, "welch_p": welch.omnibus.p,
        "kruskal_H": ranks.omnibus.statistic, "kruskal_p": ranks.omnibus.p,
    }  # fmt: skip
    for pair in welch.pairs:
        (a,), (b,) = pair.a.values(), pair.b.values()
        low, high = pair.ci or (math.nan, math.nan)
        sign, (a, b) = (1, (a, b)) if a < b else (-1, (b, a))
        low, high = sorted((sign * low, sign * high))
        key = f"{a}|{b}"
        result |= {f"gh_df|{key}": pair.df, f"gh_p|{key}": pair.p_adj, f"gh_low|{key}": low, f"gh_high|{key}": high}
        result |= {f"tost_p|{key}": pair.p_equivalent, f"hedges|{key}": sign * (pair.effect or 0.0)}
    for pair in ranks.pairs:
        (a,), (b,) = pair.a.values(), pair.b.values()
        sign, (a, b) = (1, (a, b)) if a < b else (-1, (b, a))
        result |= {f"dunn_p|{a}|{b}": pair.p_adj, f"cliff|{a}|{b}": sign * (pair.effect or 0.0)}
    for group in welch.groups:
        (name,) = group.levels.values()
        others = np.array([g.n for g in welch.groups if g is not group])
        result |= {f"own_low|{name}": group.ci95[0], f"own_high|{name}": group.ci95[1]}
        result[f"dunnett|{name}"] = one_sided_dunnett(np.sqrt(others / (others + group.n)), tukey.anova.error_df, 0.05)
    return result


@pytest.mark.r
def test_random_groups_are_as_r_computes_them(answered: list[tuple[Design, dict[str, float]]]) -> None:
    count = 0
    for design, answers in of_kind(answered, "groups"):
        result = group_figures(design)
        if len(set(design.columns["g"])) == 2:  # a single comparison has no correlation; R's l is no matter
            assert math.isclose(result["dunnett|G0"] or 0.0, answers["dunnett|G0"], rel_tol=RELATIVE)
        assert wrong(result, answers) == [], design.name
        count += len(result)
    print(f"{count} figures of groups are R's")


@pytest.mark.r
def test_mutant_margin_and_mutant_df_are_caught_on_random_groups(
    answered: list[tuple[Design, dict[str, float]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = list(of_kind(answered, "groups"))
    assert any("tost" in text for d, known in every for text in wrong(group_figures(d, margin=0.81), known))
    design, answers = every[0]
    real = Estimates.__init__

    def pooled_df(self: Estimates, *arguments: object, **fields: object) -> None:
        real(self, *arguments, **fields)  # type: ignore[arg-type]
        object.__setattr__(self, "pair_df", np.full_like(self.pair_df, float(self.df.sum())))

    monkeypatch.setattr(Estimates, "__init__", pooled_df)
    assert any(text.startswith("gh_p") for text in wrong(group_figures(design), answers))


def line_figures(design: Design) -> dict[str, float | None]:
    fitted = regression(design.columns, "y", "x", ["g"])
    result: dict[str, float | None] = {}
    for line in fitted.lines:
        (name,) = line.levels.values()
        assert line.slope_ci is not None
        assert line.intercept_ci is not None
        result |= {f"slope|{name}": line.slope, f"intercept|{name}": line.intercept, f"r2|{name}": line.r2}
        result |= {f"slope_low|{name}": line.slope_ci[0], f"slope_high|{name}": line.slope_ci[1]}
        result |= {f"intercept_low|{name}": line.intercept_ci[0], f"intercept_high|{name}": line.intercept_ci[1]}
    for test in fitted.tests:
        result |= {f"F|{test.name}": test.f, f"p|{test.name}": test.p, f"df2|{test.name}": test.df2}
    return result


@pytest.mark.r
def test_random_lines_are_as_r_fits_them(answered: list[tuple[Design, dict[str, float]]]) -> None:
    for design, answers in of_kind(answered, "lines"):
        assert wrong(line_figures(design), answers) == [], design.name


def plot_figures(design: Design) -> dict[str, float | None]:
    result = analyse(design.columns, "y", ["a", "b"], scale="raw", unit="load")
    rows = {row.source: row for row in result.anova.rows}
    between = result.anova.between
    assert between is not None
    per_load = len(set(map(str, design.columns["b"])))
    figures: dict[str, float | None] = {f"{name}|F": row.f for name, row in rows.items()}
    figures |= {f"{name}|p": row.p for name, row in rows.items()}
    figures |= {"ms_within": result.anova.error_ms, "df_within": result.anova.error_df}
    figures |= {"ms_between": (between.ms or 0.0) / per_load, "df_between": between.df}
    if "holes" not in design.name:
        figures |= {f"aov|{name}|F": row.f for name, row in rows.items()} | {"aov|ss_between": between.ss}
    for pair in result.pairs:
        a, b = ",".join(pair.a.values()), ",".join(pair.b.values())
        for sign, first, second in ((1, a, b), (-1, b, a)):
            figures[f"diff|{first}|{second}"] = sign * pair.difference
            figures |= {f"df|{first}|{second}": pair.df, f"p|{first}|{second}": pair.p_adj}
    return figures


@pytest.mark.r
def test_random_split_plots_are_as_r_computes_them(answered: list[tuple[Design, dict[str, float]]]) -> None:
    count = 0
    for design, answers in of_kind(answered, "plots"):
        result = plot_figures(design)
        assert wrong(result, answers) == [], design.name
        count += len(result)
    print(f"{count} figures of split plots are R's")


@pytest.mark.r
def test_mutant_that_gives_every_pair_the_df_within_loads_is_caught(
    answered: list[tuple[Design, dict[str, float]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    design, answers = next(of_kind(answered, "plots"))
    monkeypatch.setattr(
        "edgejoule.stats.split_plot.SplitPlot._satterthwaite",
        lambda self, between, within: np.full(np.shape(between), float(self.df_within)),
    )
    assert any(text.startswith("df|") for text in wrong(plot_figures(design), answers))
