"""A run with flagged conditions is repeated beside the first attempt, and no attempt is chosen by its result."""

from __future__ import annotations

import dataclasses
import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

from edgejoule.cli.main import main
from edgejoule.errors import StoreError
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import make_plan
from edgejoule.findings import find
from edgejoule.machine import environment
from edgejoule.store import ResponseValue, Run, RunData, Store
from edgejoule.store.catalogue import counting
from edgejoule.study.other_programs import OtherPrograms

SCHEMA = Path(__file__).resolve().parents[3] / "schemas" / "run-record.schema.json"
WARM = "the processor was held back 2 times by its temperature"


def seed() -> int:
    chosen = int(os.environ.get("EDGEJOULE_TEST_SEED") or random.SystemRandom().randrange(2**32))
    print(f"EDGEJOULE_TEST_SEED={chosen}")
    return chosen


def attempt(number: int, value: float, *conditions: str, status: str = "finished") -> Run:
    responses = (ResponseValue("energy_j", value, "J", "counted", 0.1),) if status == "finished" else ()
    facts = {"conditions": list(conditions)}
    return Run(0, 0, {"database": "sqlite"}, status, flags=conditions, responses=responses, facts=facts, attempt=number)


def test_the_first_attempt_with_its_conditions_in_order_counts() -> None:
    first, second, third = attempt(0, 1, WARM), attempt(1, 2), attempt(2, 3)
    assert counting([first]) is first
    assert counting([first, second, third]) is second
    assert counting([first, attempt(1, 2, WARM)]) is first
    assert counting([first, attempt(1, 0, status="failed"), third]) is third


def bias(choose: Callable[[Sequence[Run]], Run]) -> float:
    """By how many standard errors the mean of what counts lies off the truth, when conditions have no effect."""
    rng = np.random.default_rng(seed())
    chosen = []
    for _ in range(4000):
        attempts = [attempt(0, rng.normal(10, 1), *([WARM] if rng.random() < 0.5 else []))]
        while attempts[-1].conditions or len(attempts) < 2:  # some are repeated more often than they need be
            attempts.append(attempt(len(attempts), rng.normal(10, 1), *([WARM] if rng.random() < 0.5 else [])))
        chosen.append(choose(attempts).value("energy_j"))
    return float((np.mean(chosen) - 10) / (np.std(chosen) / np.sqrt(len(chosen))))


def test_what_counts_is_not_chosen_for_its_response() -> None:
    assert abs(bias(counting)) < 4


def in_order(attempts: Sequence[Run]) -> list[Run]:
    return [one for one in attempts if not one.conditions]


@pytest.mark.parametrize(
    "mutant",
    [
        lambda attempts: min(in_order(attempts), key=lambda one: one.value("energy_j")),
        lambda attempts: min(attempts, key=lambda one: one.value("energy_j")),
    ],
    ids=["the least of those in order", "the least of all"],
)
def test_a_mutant_that_uses_the_response_is_detected(mutant) -> None:
    assert abs(bias(mutant)) > 4


def small_store(path: Path) -> tuple[Store, int]:
    spec = Spec.model_validate({
        "name": "small", "question": "?", "factors": {"database": ["sqlite", "leveldb"], "workload": ["workloadc"]},
        "design": {"replications": 3},
    })  # fmt: skip
    store = Store.open(path, create=True)
    plan = make_plan(spec)
    number = store.create_experiment(spec, "", plan, energy_words="counted", energy_min_ratio=None, environment={})
    for planned in plan:
        warm = [WARM] if planned.index == 2 else []
        run = dataclasses.replace(attempt(0, 10 + planned.index, *warm), run_index=planned.index, block=planned.block)
        store.record(number, dataclasses.replace(run, levels=planned.levels), RunData())
    return store, number


def repeat(store: Store, number: int, value: float) -> None:
    store.again(number, 2)
    block = store.runs(number)[2].block
    store.record(number, dataclasses.replace(attempt(0, value), run_index=2, block=block), RunData())


def test_both_attempts_are_kept_and_one_counts(tmp_path: Path) -> None:
    store, number = small_store(tmp_path / "s.db")
    repeat(store, number, 99.0)
    kept = [run for run in store.attempts(number) if run.run_index == 2]
    assert [(run.attempt, run.set_aside, run.value("energy_j")) for run in kept] == [(0, True, 12.0), (1, False, 99.0)]
    assert kept[1].levels == kept[0].levels
    assert [run.value("energy_j") for run in store.runs(number)] == [10, 11, 99, 13, 14, 15]
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    for run in kept:
        validator.validate(run.record("small"))
    assert store.find().finished


def test_an_attempt_that_was_cut_off_changes_nothing_and_is_taken_up_again(tmp_path: Path) -> None:
    store, number = small_store(tmp_path / "s.db")
    before = store.attempts(number)
    store.again(number, 2)
    assert store.attempts(number) == before
    assert store.find().finished
    assert store.unfinished(store.find().spec) is None
    repeat(store, number, 99.0)
    assert [run.attempt for run in store.attempts(number) if run.run_index == 2] == [0, 1]


def test_only_a_finished_run_is_repeated(tmp_path: Path) -> None:
    store, number = small_store(tmp_path / "s.db")
    with pytest.raises(StoreError, match="no first attempt"):
        store.again(number, 77)


def test_findings_and_report_count_one_attempt_and_show_both(tmp_path: Path) -> None:
    store, number = small_store(tmp_path / "s.db")
    repeat(store, number, 99.0)
    result = find(store, store.find())
    assert [run.number for run in result.runs].count(3) == 2
    assert [run.circumstances for run in result.runs if run.number == 3] == [
        "attempt 1, set aside: another one counts", "attempt 2, counts",
    ]  # fmt: skip
    assert sum(cell.n for cell in result.response("energy_j").cells) == 6
    assert any("the first attempt whose conditions were in order counts" in caveat for caveat in result.caveats)


SPEC = """
name = "warm"
question = "?"
[factors]
database = ["noop"]
threads = [1, 2]
[fixed]
workload = "workloadc"
recordcount = 100
operationcount = 200000
durability = "none"
[design]
replications = 1
[timing]
idle_s = 0.2
[meter]
run_s_min = 0
prefer = ["board-profile"]
[analysis]
responses = ["throughput_ops_s"]
"""


def invoke(folder: Path, command: str, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, [command, *arguments, "--store", str(folder / "s.db")])
    return done.exit_code, done.output


def test_a_study_repeats_what_was_flagged_for_its_conditions_and_nothing_else(tmp_path: Path, monkeypatch) -> None:
    spec = tmp_path / "warm.toml"
    spec.write_text(SPEC)
    held = iter([[], [WARM]])
    monkeypatch.setattr(environment, "throttling", lambda before, after: next(held, []))
    monkeypatch.setattr(OtherPrograms, "flags", lambda self: [])  # other tests run beside this one
    assert invoke(tmp_path, "run", str(spec))[0] == 3
    assert invoke(tmp_path, "run", str(spec), "--resume", "--rerun-flagged")[0] == 2
    code, output = invoke(tmp_path, "run", str(spec), "--rerun-flagged")
    assert code == 3, output  # the driver's share of noop is no matter of conditions
    with Store.open(tmp_path / "s.db") as store:
        (experiment,) = store.experiments()
        attempts = store.attempts(experiment.id)
        assert [run.conditions for run in store.runs(experiment.id)] == [(), ()]
    assert [(run.attempt, run.set_aside) for run in attempts if run.attempt or run.set_aside] == [(0, True), (1, False)]
    code, output = invoke(tmp_path, "run", str(spec), "--rerun-flagged")
    assert (code, "no run of experiment 1 is flagged" in output) == (2, True), output
    assert len(invoke(tmp_path, "export", "--jsonl")[1].splitlines()) == 3
    assert len(invoke(tmp_path, "export", "--csv")[1].splitlines()) == 1 + 2
    assert "attempt,set_aside" in invoke(tmp_path, "export", "--csv", "--attempts")[1]
    assert "set aside" in invoke(tmp_path, "show")[1].replace("\n", " ")


def test_a_design_in_which_runs_are_not_independent_is_refused(tmp_path: Path) -> None:
    spec = tmp_path / "warm.toml"
    spec.write_text(SPEC.replace("replications = 1", 'replications = 1\nload = "block"'))
    code, output = invoke(tmp_path, "run", str(spec), "--rerun-flagged")
    assert (code, "only a design of independent runs" in output) == (2, True), output
