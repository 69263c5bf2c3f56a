"""How long a database stands open and quiet, the driver's options, and its events about it."""

from __future__ import annotations

from typing import Any

import pytest

from edgejoule.databases.driver import quiet_arguments
from edgejoule.errors import UsageError
from edgejoule.experiment.model import Spec, Timing
from edgejoule.meters.base import Method
from edgejoule.study.open_baseline import check_responses, open_database, quiet_s

SECOND = 1_000_000_000


def quiet_end(place: str, begin_s: float, end_s: float, **changes: Any) -> dict[str, Any]:
    times = {"monotonic_ns": round(end_s * SECOND), "quiet_start_ns": round(begin_s * SECOND)}
    return {"event": "quiet_end", **times, "place": place, "settled": True, "cpu_ns": 100_000, **changes}


BOTH = [quiet_end("before", 10, 11), quiet_end("after", 20, 21)]


def compaction(begin_s: float, duration_s: float | None) -> dict[str, Any]:
    duration_ns = None if duration_s is None else round(duration_s * SECOND)
    return {
        "event": "database",
        "monotonic_ns": round(begin_s * SECOND),
        "kind": "compaction",
        "duration_ns": duration_ns,
    }


@pytest.mark.parametrize(
    ("timing", "method", "seconds"),
    [
        (Timing(idle_s=0.7), Method.MEASURED, 0.7),
        (Timing(idle_s=0.7), Method.COUNTED, 0.7),
        (Timing(idle_s=0.7), Method.MODELLED, 0.0),
        (Timing(quiet_s=3), Method.MODELLED, 3.0),
        (Timing(quiet_s=3), Method.MEASURED, 3.0),
        (Timing(quiet_s=0), Method.MEASURED, 0.0),
    ],
)
def test_it_is_as_long_as_idle_with_a_meter_and_nothing_with_a_model(
    timing: Timing, method: Method, seconds: float
) -> None:
    assert quiet_s(timing, method) == seconds


def spec(**timing: float) -> Spec:
    table = {"name": "q", "question": "?", "factors": {"database": ["noop"], "workload": ["workloada"]}}
    return Spec.model_validate(
        table | {"timing": timing, "analysis": {"responses": ["throughput_ops_s", "energy_net_quiet_j"]}}
    )


def test_a_declared_response_that_no_run_could_have_is_refused_with_the_remedy() -> None:
    check_responses(spec(), Method.MEASURED)
    check_responses(spec(quiet_s=1.0), Method.MODELLED)
    for declared, method in ((spec(), Method.MODELLED), (spec(quiet_s=0.0), Method.MEASURED)):
        with pytest.raises(UsageError, match=r"energy_net_quiet_j would be missing in every run.*set timing.quiet_s"):
            check_responses(declared, method)


def test_of_several_executions_the_first_stands_still_before_and_the_last_after() -> None:
    assert quiet_arguments(0.5, first=True, last=True) == ["--quiet-before-s", "0.5", "--quiet-after-s", "0.5"]
    assert quiet_arguments(0.5, first=True, last=False) == ["--quiet-before-s", "0.5"]
    assert quiet_arguments(0.5, first=False, last=False) == []
    assert quiet_arguments(0.5, first=False, last=True) == ["--quiet-after-s", "0.5"]
    assert quiet_arguments(0.0, first=True, last=True) == []


def test_the_windows_are_those_of_the_driver() -> None:
    result = open_database(BOTH, Timing(), Method.MEASURED)
    assert result.windows.before == (10 * SECOND, 11 * SECOND)
    assert result.windows.after == (20 * SECOND, 21 * SECOND)
    assert result.windows.refusal is None
    assert result.facts == {"core_share": 0.0001}
    assert result.doubts == ()


@pytest.mark.parametrize(
    ("timing", "method", "reason"),
    [
        (Timing(), Method.MODELLED, "modelled joules have one only where timing.quiet_s asks"),
        (Timing(quiet_s=0), Method.MEASURED, "timing.quiet_s is 0"),
        (Timing(idle_s=0), Method.MEASURED, "timing.idle_s is 0"),
    ],
)
def test_without_windows_the_reason_is_reported(timing: Timing, method: Method, reason: str) -> None:
    result = open_database([], timing, method)
    assert reason in (result.windows.refusal or "")
    assert open_database(BOTH[:1], timing, method).windows.refusal, "one window alone is no baseline"


@pytest.mark.parametrize(
    ("work", "doubtful"),
    [
        (compaction(10.5, 0.1), True),
        (compaction(9.5, 1.0), True),
        (compaction(19.0, 30.0), True),
        (compaction(20.5, None), True),
        (compaction(11.0, 9.0), False),
        (compaction(9.0, 1.0), False),
        (compaction(21.0, None), False),
    ],
)
def test_a_database_that_works_while_it_is_to_be_quiet_is_reported(work: dict[str, Any], doubtful: bool) -> None:
    doubts = open_database([*BOTH, work], Timing(), Method.MEASURED).doubts
    assert bool(doubts) == doubtful
    assert not doubtful or "compaction" in doubts[0]


def test_a_database_that_had_not_settled_is_reported() -> None:
    events = [quiet_end("before", 10, 11, settled=False), BOTH[1]]
    assert "had not settled" in open_database(events, Timing(), Method.MEASURED).doubts[0]
