"""What executions of the driver add up to."""

import pytest

from edgejoule.executions import _of_database


def end_event(components: dict[str, dict[str, int]], **writes: int) -> dict[str, object]:
    """The part of the driver's end event that tells syncs and writes."""
    latencies = [
        {"operation": operation, "measure": "service", "returns": {"OK": count, "BUSY": 50}}
        for operation, count in writes.items()
    ]
    return {"components": components, "latencies": latencies, "database_stats": {}}


def test_syncs_are_told_for_each_write_that_succeeded() -> None:
    first = end_event({"wal": {"syncs": 30}, "checkpoint": {"syncs": 10, "count": 2}}, UPDATE=70, INSERT=10, READ=900)
    second = end_event({"wal": {"syncs": 60}, "checkpoint": {"syncs": 0}}, UPDATE=20)
    assert _of_database([first, second])["syncs_per_write"] == pytest.approx(1.0)


@pytest.mark.parametrize("end", [end_event({"wal": {"count": 3}}, UPDATE=70), end_event({"wal": {"syncs": 3}}, READ=9)])
def test_syncs_are_not_told_where_the_database_does_not_tell_them_or_nothing_was_written(end) -> None:
    assert "syncs_per_write" not in _of_database([end])
