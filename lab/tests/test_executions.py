"""What executions of the driver add up to."""

import pytest

from edgejoule.study.driver_figures import driver_responses
from edgejoule.study.executions import Execution, _of_database, totals_of


def end_event(components: dict[str, dict[str, int]], **writes: int) -> dict[str, object]:
    """The part of the driver's end event with syncs and writes."""
    latencies = [
        {"operation": operation, "measure": "service", "returns": {"OK": count, "BUSY": 50}}
        for operation, count in writes.items()
    ]
    return {"components": components, "latencies": latencies, "database_stats": {}}


def test_syncs_are_reported_for_each_write_that_succeeded() -> None:
    first = end_event({"wal": {"syncs": 30}, "checkpoint": {"syncs": 10, "count": 2}}, UPDATE=70, INSERT=10, READ=900)
    second = end_event({"wal": {"syncs": 60}, "checkpoint": {"syncs": 0}}, UPDATE=20)
    assert _of_database([first, second])["syncs_per_write"] == pytest.approx(1.0)


@pytest.mark.parametrize("end", [end_event({"wal": {"count": 3}}, UPDATE=70), end_event({"wal": {"syncs": 3}}, READ=9)])
def test_syncs_are_not_reported_where_the_database_does_not_count_them_or_nothing_was_written(end) -> None:
    assert "syncs_per_write" not in _of_database([end])


def execution(io: dict[str, int] | None, device_flushes: int | None = 6) -> Execution:
    """Adds the driver's events with requests."""
    usage = {"device_reads": 2, "device_writes": 20, "device_flushes": device_flushes, "device_write_bytes": 6000}
    usage |= dict.fromkeys(("cpu_user_ns", "cpu_system_ns", "process_write_bytes"), 3000)
    end = {
        "operations": 10, "failures": 0, "failure_causes": [], "longest_gap_ns": 0, "longest_gap_start_ns": 0,
        "incidents": [], "payload_read_bytes": 0, "payload_write_bytes": 1000, "read_before_write": 0,
        "rss_peak_bytes": 0, "data_bytes": 0, "latencies": [], "components": {}, "database_stats": {},
        "driver_share": None,
    } | ({} if io is None else {"io": io})  # fmt: skip
    active_end = {"monotonic_ns": 10**9, "active_start_ns": 0}
    return Execution({}, active_end, {"monotonic_ns": 2 * 10**9, "usage": usage}, end)


IO = {"reads": 5, "writes": 30, "flushes": 10, "read_bytes": 2560, "write_bytes": 4000}


def responses_of(*executions: Execution) -> dict[str, float | None]:
    return {value.name: value.value for value in driver_responses(totals_of(executions))}


def test_requests_at_the_databases_seam_and_of_the_whole_device_stand_beside_each_other() -> None:
    result = responses_of(execution(IO), execution({**IO, "writes": 50}))
    assert result["io_writes_per_op"] == pytest.approx(4.0)
    assert result["device_writes_per_op"] == pytest.approx(2.0)
    assert (result["io_reads_per_op"], result["io_flushes_per_op"]) == (0.5, 1.0)
    assert (result["device_reads_per_op"], result["device_flushes_per_op"]) == (0.2, 0.6)
    assert (result["io_read_bytes_per_op"], result["io_write_bytes_per_op"]) == (256, 400)
    assert (result["write_amplification"], result["device_write_amplification"]) == (3.0, 6.0)
    assert (result["process_write_bytes_per_op"], result["device_write_bytes_per_op"]) == (300, 600)


def test_a_database_without_a_seam_reports_no_io_requests() -> None:
    for result in (responses_of(execution(None)), responses_of(execution(IO), execution(None))):
        assert not [name for name in result if name.startswith("io_")]
        assert result["device_writes_per_op"] == 2.0


def test_flushes_that_the_kernel_does_not_count_are_missing_and_not_zero() -> None:
    assert responses_of(execution(IO, device_flushes=None))["device_flushes_per_op"] is None
