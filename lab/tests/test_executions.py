"""What executions of the driver add up to."""

from dataclasses import replace

import pytest
from hdrh.histogram import HdrHistogram

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
    usage = {
        "device_read_bytes": 500,
        "device_reads": 2,
        "device_writes": 20,
        "device_flushes": device_flushes,
        "device_write_bytes": 6000,
    }
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
    assert result["device_bytes"] == 500 + 6000


def test_the_cores_in_use_are_cpu_time_by_time() -> None:
    busy = execution(IO)
    busy.settled["usage"] |= {"cpu_user_ns": 2_000_000_000, "cpu_system_ns": 1_000_000_000}
    assert responses_of(busy, busy)["cpu_cores"] == pytest.approx(1.5)


def latency(operation: str, values_us: list[int]) -> dict[str, object]:
    """An entry of the driver's end event, as the driver writes it."""
    hdr = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values_us:
        hdr.record_value(value * 1000)
    names = {50.0: "p50_ns", 95.0: "p95_ns", 99.0: "p99_ns", 99.9: "p999_ns"}
    percentiles = {name: hdr.get_value_at_percentile(p) for p, name in names.items()}
    return {
        "operation": operation, "measure": "service", "count": len(values_us), "hdr": hdr.encode().decode(),
        "mean_ns": sum(values_us) * 1000 / max(1, len(values_us)), "returns": {"OK": len(values_us)}, **percentiles,
    }  # fmt: skip


def with_latencies(*latencies: dict[str, object]) -> Execution:
    result = execution(IO)
    return replace(result, end={**result.end, "latencies": list(latencies)})


def test_the_latency_of_all_operations_joins_reads_and_updates_of_all_executions() -> None:
    first = with_latencies(latency("READ", [10] * 97), latency("UPDATE", [100]), latency("INSERT", []))
    second = with_latencies(latency("UPDATE", [1000] * 2))
    result = responses_of(first, second)
    assert result["latency_us_mean"] == pytest.approx((10 * 97 + 100 + 2000) / 100)
    assert result["latency_us_p50"] == pytest.approx(10, rel=0.002)
    assert result["latency_us_p99"] == pytest.approx(1000, rel=0.002)
    assert result["update_latency_us_mean"] == pytest.approx(700)


def test_the_latency_of_the_only_operation_is_that_of_all() -> None:
    result = responses_of(with_latencies(latency("READ", [10, 30])))
    assert result["latency_us_p99"] == result["read_latency_us_p99"]
    assert result["latency_us_mean"] == pytest.approx(20)


def test_with_read_modify_writes_all_operations_have_no_latency() -> None:
    parts = [latency(name, [10]) for name in ("READ", "UPDATE", "READ-MODIFY-WRITE")]
    assert "latency_us_mean" not in responses_of(with_latencies(*parts))


def test_a_database_without_a_seam_reports_no_io_requests() -> None:
    for result in (responses_of(execution(None)), responses_of(execution(IO), execution(None))):
        assert not [name for name in result if name.startswith("io_")]
        assert result["device_writes_per_op"] == 2.0


def test_flushes_that_the_kernel_does_not_count_are_missing_and_not_zero() -> None:
    assert responses_of(execution(IO, device_flushes=None))["device_flushes_per_op"] is None
