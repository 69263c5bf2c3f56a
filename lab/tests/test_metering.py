"""Several meters in one run: the first one's joules count, the others check it; everything is stored as it comes."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from emulated_meter import SteadyMeter

from edgejoule.energy import Energy, domain_energy
from edgejoule.errors import MeterError
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import make_plan
from edgejoule.meters.base import Domain, Method
from edgejoule.store import Intervals, Store
from edgejoule.study.metering import Metering, checked, disagreement


@pytest.fixture
def store(tmp_path: Path):
    spec = Spec.model_validate(
        tomllib.loads('name = "s"\nquestion = "?"\n[factors]\ndatabase = ["noop"]\n[fixed]\nworkload = "workloada"')
    )
    with Store.open(tmp_path / "store.db", create=True) as opened:
        opened.create_experiment(spec, "", make_plan(spec), energy_words="", energy_min_ratio=None, environment={})
        yield opened


def metered(store: Store, meters: Sequence[SteadyMeter], seconds: float = 0.4):
    heard = []
    with Metering(store, 1, meters, heard.append).during(0) as result:
        begin_ns = time.monotonic_ns()
        time.sleep(seconds)
        end_ns = time.monotonic_ns()
        time.sleep(0.05)
    return result, Intervals(begin_ns, end_ns, end_ns, True), heard


def test_each_meters_joules_its_budget_and_its_cost_are_kept_and_the_first_ones_readings_are_the_runs(
    store: Store,
) -> None:
    result, intervals, heard = metered(store, [SteadyMeter("a", Domain.BOARD, 5.0), SteadyMeter("b", Domain.WALL, 6.0)])
    facts, flags = checked(result, intervals)
    assert not [flag for flag in flags if "disagree" in flag]
    first, second = facts["meters"]
    seconds = (intervals.settled_end_ns - intervals.active_start_ns) / 1e9
    assert first["energy"]["settled_j"] == pytest.approx(5.0 * seconds, rel=1e-6)
    assert second["energy"]["settled_j"] == pytest.approx(6.0 * seconds, rel=1e-6)
    assert first["energy"]["budget_j"]["gain"] == pytest.approx(0.01 * 5.0 * seconds, rel=1e-6)
    assert first["sampling"]["polls"] >= 2
    assert all(len(each.whole()) >= 40 for each in store.readings(1)), "0.4 s, a reading every 10 ms"
    assert 0 < first["sampling"]["core_share"] < 1
    assert facts["recording_cpu_s"] > 0
    assert {each.channel.meter for each in result.primary} == {"a"}
    assert {each.channel.meter for each in store.readings(1)} == {"a", "b"}
    assert all(live.power_w == 5.0 for live in heard)


def test_an_energy_that_is_known_already_changes_nothing(store: Store) -> None:
    result, intervals, _ = metered(
        store, [SteadyMeter("a", Domain.BOARD, 5.0), SteadyMeter("b", Domain.WALL, 6.0)], 0.1
    )
    known = domain_energy(result.primary, intervals.active_start_ns, intervals.settled_end_ns)
    assert checked(result, intervals, known) == checked(result, intervals)


class HeldUp(SteadyMeter):
    """Every poll comes late, as on a busy machine. forgets: it has the newest reading only."""

    forgets = False

    def poll(self):
        time.sleep(0.05)
        (block,) = super().poll()
        return [replace(block, t_ns=block.t_ns[-1:], value=block.value[-1:])] if self.forgets else [block]


def test_late_polls_cost_a_meter_with_a_memory_nothing_and_one_without_its_joules(store: Store) -> None:
    kept, lost = HeldUp("a", Domain.BOARD, 5.0), HeldUp("b", Domain.WALL, 5.0)
    lost.forgets = True
    result, intervals, _ = metered(store, [kept, lost])
    first, second = (meter["energy"] for meter in checked(result, intervals)[0]["meters"])
    assert first["settled_j"] == pytest.approx(
        5.0 * (intervals.settled_end_ns - intervals.active_start_ns) / 1e9, rel=1e-6
    )
    assert second["settled_j"] is None
    assert "of the interval has no reading" in second["missing_reason"]


def test_two_meters_of_one_domain_that_differ_beyond_their_uncertainties_are_flagged(store: Store) -> None:
    result, intervals, _ = metered(store, [SteadyMeter("a", Domain.BOARD, 5.0), SteadyMeter("b", Domain.BOARD, 5.5)])
    assert any("meters disagree: a says" in flag for flag in checked(result, intervals)[1])


def test_a_second_try_of_a_run_leaves_nothing_of_the_first(store: Store) -> None:
    metered(store, [SteadyMeter("a", Domain.BOARD, 5.0), SteadyMeter("b", Domain.WALL, 6.0)])
    metered(store, [SteadyMeter("c", Domain.BOARD, 5.0)])
    assert [each.channel.meter for each in store.readings(1)] == ["c"]


def test_a_meter_that_breaks_off_ends_the_run_and_what_it_said_is_kept(store: Store) -> None:
    meter = SteadyMeter("a", Domain.BOARD, 5.0)

    def measure() -> None:
        with Metering(store, 1, [meter], lambda _: None).during(0):
            while meter.readings < 10:
                time.sleep(0.001)
            meter.breaks = True

    with pytest.raises(MeterError, match="cable gone"):
        measure()
    (kept,) = store.readings(1)
    assert len(kept.whole()) >= 10


def energy_of(domain: Domain, joules: float | None, uncertainty_j: float = 0.1) -> Energy:
    reason = "gone" if joules is None else None
    kept = None if joules is None else uncertainty_j
    return Energy(joules, Method.MEASURED, domain, 0, 10**9, kept, 1.0, missing_reason=reason)


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (energy_of(Domain.BOARD, 5.0), energy_of(Domain.BOARD, 5.1), None),
        (energy_of(Domain.BOARD, 5.0), energy_of(Domain.BOARD, 5.2), "together uncertain by 0.14 J"),
        (energy_of(Domain.WALL, 5.0), energy_of(Domain.BOARD, 4.0), None),
        (energy_of(Domain.WALL, 4.0), energy_of(Domain.BOARD, 5.0), "the board is inside the wall"),
        (energy_of(Domain.PACKAGE, 9.0), energy_of(Domain.WALL, 5.0), "the package is inside the wall"),
        (energy_of(Domain.RAIL, 9.0), energy_of(Domain.WALL, 5.0), None),  # which rail is not known
        (energy_of(Domain.WALL, None), energy_of(Domain.WALL, 5.0), None),
    ],
)
def test_disagreement_is_reported_where_both_cannot_be_right(one: Energy, other: Energy, message: str | None) -> None:
    for pair in ((one, other), (other, one)):
        result = disagreement("x", pair[0], "y", pair[1])
        assert (result is None) if message is None else (message in (result or ""))


def test_mutant_that_takes_no_uncertainty_into_account_is_detected() -> None:
    sure = [replace(energy_of(Domain.BOARD, j), uncertainty_k2_j=0.0) for j in (5.0, 5.1)]
    assert disagreement("x", sure[0], "y", sure[1]) is not None
