"""What two stages within a budget promise, simulated with the product's own decisions and comparison.

Three lengths of a run under 60 s: short (the spread decides), middle (the budget caps the replications), long (not even
ten blocks fit). Time follows the value itself, which is the worst case: a slow first block takes time from the others.
Beside the promise stands the practice that breaks it. Seeds are printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from scipy import special

from edgejoule.experiment.model import Spec
from edgejoule.findings import ResponseFinding
from edgejoule.findings.compare import SequentialPlan, respond
from edgejoule.findings.design import design_of
from edgejoule.stats import aa
from edgejoule.store import ResponseValue, Run
from edgejoule.study import sequential

STUDIES = 2000
OVERHEAD_S = 1.0  # idle windows of a run
LENGTHS = {"short": (0.3, 0.1), "middle": (1.5, 0.2), "long": (9.0, 0.1)}  # seconds of a run, its spread
TRUE_MEAN = 1.0


def spec(commands: int) -> Spec:
    return Spec.model_validate({
        "name": "s", "question": "?", "factors": {"workload": ["workloada", "workloadb"][:commands]},
        "fixed": {"database": "sqlite", "recordcount": 10, "operationcount": 10},
        "design": {
            "replications": 500,
            "sequential": {"kind": "stein", "first": 10, "precision": 1.05, "budget_s": 60.0},
        },
        "analysis": {"responses": ["active_s"]},
    })  # fmt: skip


@pytest.fixture(autouse=True)
def _without_random_halves() -> Iterator[None]:
    """The A/A comparison within each analysis costs more than all else, and decides nothing here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aa, "_SPLITS", 1)
        yield


def blocks_of(design: Spec, rng: np.random.Generator, length_s: float, sd: float) -> Iterator[list[Run]]:
    """Blocks without end, all commands alike."""
    levels = design.factors["workload"]
    for block in range(10**6):
        values = TRUE_MEAN * np.exp(rng.normal(0, sd, len(levels)))
        yield [
            Run(
                block * len(levels) + i, block, {"workload": level}, "finished",
                responses=(ResponseValue("active_s", float(value), "s", "timed"),),
                facts={"took_s": OVERHEAD_S + length_s * float(value)},
            )
            for i, (level, value) in enumerate(zip(levels, values, strict=True))
        ]  # fmt: skip


def response(design: Spec, runs: Sequence[Run], blocks: int) -> ResponseFinding:
    plan = SequentialPlan.of(design, 0, blocks)
    result = respond("active_s", runs, design_of(design), design.analysis, None, plan)
    assert result is not None
    return result


def study(design: Spec, rng: np.random.Generator, length_s: float, sd: float) -> ResponseFinding:
    """The blocks and looks of one study, as edgejoule.study.study runs them."""
    runs: list[Run] = []
    noted, total = 0, 500
    for made, block in enumerate(blocks_of(design, rng, length_s, sd), 1):
        runs += block
        if (due := sequential.look_due(design, made, noted)) is not None:
            several = len(block) > 1 and due == 2
            first = response(design, runs, made) if several else None
            taken = (
                sequential.budget_look(design, runs) if due == 1 else sequential.stein_look(design, runs, first, due)
            )
            noted, total = due, taken.total
        if made >= total:
            return response(design, runs, made)
    raise AssertionError("the blocks have no end")


def share_covered(seed: int, length: str) -> float:
    rng, design, covered, made = np.random.default_rng(seed), spec(1), 0, []
    for _ in range(STUDIES):
        (cell,) = study(design, rng, *LENGTHS[length]).cells
        assert cell.ci is not None
        covered += cell.ci[0] <= TRUE_MEAN <= cell.ci[1]
        made.append(cell.n)
    low, middle, high = np.percentile(made, [5, 50, 95])
    print(f"seed {seed}, {length}: covers {100 * covered / STUDIES:.2f} %, runs {middle:g} ({low:g} to {high:g})")
    return covered / STUDIES


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "length"), [(21, "short"), (22, "middle"), (23, "long")])
def test_the_interval_covers_at_every_length(seed: int, length: str) -> None:
    assert 0.94 <= share_covered(seed, length) <= 0.97


def share_different(seed: int, length: str) -> float:
    rng, design, different = np.random.default_rng(seed), spec(2), 0
    for _ in range(STUDIES):
        (ranking,) = study(design, rng, *LENGTHS[length]).rankings
        different += ranking.decided
    print(f"seed {seed}, {length}: the same command is called different in {100 * different / STUDIES:.2f} %")
    return different / STUDIES


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "length"), [(31, "short"), (32, "middle"), (33, "long")])
def test_a_command_against_itself_is_called_different_as_often_as_declared(seed: int, length: str) -> None:
    assert 0.04 <= share_different(seed, length) <= 0.06


@pytest.mark.slow
def test_with_the_spread_of_all_runs_the_same_command_is_called_different_too_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = SequentialPlan.of
    monkeypatch.setattr(SequentialPlan, "of", lambda *a: SequentialPlan(precision=of(*a).precision))
    assert share_different(31, "short") > 0.06


@pytest.mark.slow
def test_stopping_at_a_narrow_interval_does_not_cover() -> None:
    rng, covered = np.random.default_rng(24), 0
    for _ in range(STUDIES):
        values = list(rng.normal(0, 0.1, 3))
        while (reach := _reach(values)) > math.log(1.05):
            values.append(float(rng.normal(0, 0.1)))
        covered += abs(float(np.mean(values))) <= reach
    print(f"seed 24: stopping at a narrow interval covers {100 * covered / STUDIES:.2f} %")
    assert covered / STUDIES < 0.94


def _reach(values: Sequence[float]) -> float:
    n = len(values)
    return float(special.stdtrit(n - 1, 0.975)) * float(np.std(values, ddof=1)) / math.sqrt(n)


def test_a_study_of_a_short_a_middle_and_a_long_command_ends_as_the_budget_says() -> None:
    rng = np.random.default_rng(25)
    runs = {length: study(spec(1), rng, *LENGTHS[length]).cells[0].n for length in LENGTHS}
    assert 10 <= runs["short"] <= 46
    assert 20 <= runs["middle"] <= 28
    assert 5 <= runs["long"] <= 7
