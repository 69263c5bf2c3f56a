"""The recorder of a run: a short run is written once, a long one as it goes; a write that fails is reported."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest
from emulated_meter import SteadyMeter

from edgejoule.errors import StoreError
from edgejoule.meters.base import Domain
from edgejoule.meters.sampler import Sampler
from edgejoule.store import TraceRecorder, recorder
from edgejoule.store.traces import RunTraces

from .test_traces import database


def sampler() -> Sampler:
    return Sampler(SteadyMeter("a", Domain.BOARD, 5.0))


def readings(connection: sqlite3.Connection) -> int:
    return sum(len(stored.whole()) for stored in RunTraces(connection, 1).stored())


def test_a_short_run_is_written_once_by_the_connection_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, statements = database(tmp_path / "store.db"), []
    monkeypatch.setattr(recorder.sqlite3, "connect", lambda *_, **__: pytest.fail("another connection"))
    connection.set_trace_callback(statements.append)
    with TraceRecorder(tmp_path / "store.db", 1, [running := sampler()], connection) as recording, running:
        time.sleep(0.15)
    assert readings(connection) >= 10
    assert statements.count("COMMIT") == 1
    assert recording.cpu_s > 0


def test_a_long_run_is_written_as_it_goes_and_holds_every_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "FIRST_WRITE_S", 0.05)
    monkeypatch.setattr(recorder, "WRITE_INTERVAL_S", 0.05)
    connection, meter = database(tmp_path / "store.db"), SteadyMeter("a", Domain.BOARD, 5.0)
    running = Sampler(meter)
    with TraceRecorder(tmp_path / "store.db", 1, [running], connection), running:
        end_s = time.monotonic() + 20
        while not readings(connection):
            assert time.monotonic() < end_s, "nothing is written while the run is under way"
            time.sleep(0.02)
        early = readings(connection)
        time.sleep(0.1)
    assert early < readings(connection) == meter.readings


@pytest.mark.parametrize("first_write_s", [0.0, 10.0])
def test_a_write_that_fails_is_reported_and_leaves_the_connection_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_write_s: float
) -> None:
    monkeypatch.setattr(recorder, "FIRST_WRITE_S", first_write_s)
    connection = database(tmp_path / "store.db")
    connection.execute("DROP TABLE readings")
    recording = TraceRecorder(tmp_path / "store.db", 1, [running := sampler()], connection)
    with pytest.raises(StoreError, match="the traces cannot be written: no such table"), recording, running:
        time.sleep(0.1)
    assert not connection.in_transaction


def test_what_was_sampled_before_the_run_failed_is_kept(tmp_path: Path) -> None:
    connection = database(tmp_path / "store.db")

    def run() -> None:
        with TraceRecorder(tmp_path / "store.db", 1, [running := sampler()]), running:
            time.sleep(0.1)
            raise RuntimeError("the driver is gone")

    with pytest.raises(RuntimeError, match="the driver is gone"):
        run()
    assert readings(connection) >= 5
