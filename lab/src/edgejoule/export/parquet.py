"""Runs and power samples as Parquet files, by pyarrow, which is an optional package.

Every column's metadata describes it; one with a response its unit and its method, one with samples has both
beside it, row by row. A missing value is null. Samples are written channel by channel, so that no more than one
channel of one run is in memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from edgejoule.errors import DataError, StoreError, UsageError
from edgejoule.export.runs_table import RunsColumn
from edgejoule.extras import install_command
from edgejoule.meters.clocks import ClockRelation
from edgejoule.meters.trace import Trace
from edgejoule.output_files import whole_file
from edgejoule.store import Experiment, Run, Store, StoredTrace
from edgejoule.unusable_files import reason
from edgejoule.version import __version__

ROWS_MAX = 1 << 20  # in memory as arrays, and in one row group

#: Column of the samples -> its description.
_SAMPLES = {
    "run": "number of the run, from 1",
    "attempt": "number of the attempt at the run, from 1",
    "meter": "the meter",
    "channel": "the meter's channel",
    "domain": "what the channel covers",
    "kind": "what a value is: instant, interval_mean (since the sample before) or accumulator (running total)",
    "unit": "of the value: W or J",
    "method": "of the value: measured, counted or modelled",
    "clock": "whose clock t_ns is on",
    "t_ns": "when, in ns on that clock",
    "time_s": "when, in s on this host's clock from the run's first operation; null where that is not known",
    "value": "power or energy, see unit and method; null where the reading failed",
    "missing_reason": "why there is no value",
}


def write_runs(columns: Sequence[RunsColumn], experiment: Experiment, target: Path) -> None:
    """Write the table of runs; whole, or what was there stays. Raises UsageError without pyarrow, StoreError."""
    pa = _pyarrow()
    fields = [pa.field(c.name, _arrow_type(pa, c.kind), metadata=_described(c)) for c in columns]
    arrays = [pa.array(column.cells, field.type) for column, field in zip(columns, fields, strict=True)]
    with _whole(target) as file:
        table = pa.table(arrays, schema=pa.schema(fields, _head(experiment)))
        pa.parquet.write_table(table, file, compression="zstd")


def write_samples(store: Store, experiment: Experiment, runs: Sequence[Run], target: Path) -> None:
    """Write what the meters said in these runs, a row for each sample; otherwise as write_runs."""
    pa = _pyarrow()
    schema = _samples_schema(pa, experiment)
    with _whole(target) as file, pa.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for run in runs:
            for stored in [] if run.id is None else store.readings(run.id):
                for columns in _sample_columns(pa, run, stored):
                    writer.write_batch(pa.record_batch([columns[name] for name in _SAMPLES], schema=schema))


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError(
            f"--parquet: pyarrow is missing: {install_command('parquet')}; --csv, --jsonl and --samples need nothing"
        ) from None
    return pyarrow


def _arrow_type(pa: Any, kind: type) -> Any:
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string(), tuple: pa.list_(pa.string())}
    return types[kind]


def _described(column: RunsColumn) -> dict[str, str]:
    described = {"description": column.description, "unit": column.unit, "method": column.method}
    return {key: text for key, text in described.items() if text is not None}


def _head(experiment: Experiment) -> dict[str, str]:
    return {
        "experiment": experiment.name,
        "question": experiment.question,
        "energy": experiment.energy_words,
        "edgejoule": __version__,
    }


def _samples_schema(pa: Any, experiment: Experiment) -> Any:
    numbers = {"run": pa.int64(), "attempt": pa.int64(), "t_ns": pa.int64(), "time_s": pa.float64()}
    types = {**numbers, "value": pa.float64(), "missing_reason": pa.string()}
    word = pa.dictionary(pa.int32(), pa.string())
    fields = [
        pa.field(n, types.get(n, word), metadata={"description": description}) for n, description in _SAMPLES.items()
    ]
    return pa.schema(fields, _head(experiment))


def _sample_columns(pa: Any, run: Run, stored: StoredTrace) -> Iterator[dict[str, Any]]:
    """The channel's samples, in pieces of at most ROWS_MAX."""
    trace, relation = stored.whole(), _relation(stored)
    for begin in range(0, len(trace), ROWS_MAX):
        t_ns, value = trace.t_ns[begin : begin + ROWS_MAX], trace.value[begin : begin + ROWS_MAX]
        count = len(t_ns)
        channel = trace.channel
        texts = {
            "meter": channel.meter, "channel": channel.name, "domain": channel.domain, "kind": channel.kind,
            "unit": channel.unit, "method": channel.method, "clock": channel.clock,
        }  # fmt: skip
        yield {
            **{name: _repeated(pa, str(word), count) for name, word in texts.items()},
            "run": pa.array(np.full(count, run.run_index + 1)),
            "attempt": pa.array(np.full(count, run.attempt + 1)),
            "t_ns": pa.array(t_ns),
            "time_s": _times_s(pa, run, trace, relation, slice(begin, begin + count)),
            "value": pa.array(value, mask=np.isnan(value)),
            "missing_reason": pa.array([trace.reasons.get(begin + i) for i in range(count)], pa.string()),
        }


def _relation(stored: StoredTrace) -> ClockRelation | bool:
    """How the channel's times become the host's; True where they are already, False where that is unknown."""
    try:
        return stored.on_host_clock()[1] or True
    except DataError:
        return False


def _times_s(pa: Any, run: Run, trace: Trace, relation: ClockRelation | bool, part: slice) -> Any:
    t_ns = trace.t_ns[part]
    if run.intervals is None or relation is False:
        return pa.nulls(len(t_ns), pa.float64())
    here_ns = t_ns if relation is True else relation.to_host_ns(t_ns)
    return pa.array((here_ns - run.intervals.active_start_ns) / 1e9)


def _repeated(pa: Any, word: str, count: int) -> Any:
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([word], pa.string()))


@contextlib.contextmanager
def _whole(target: Path) -> Iterator[IO[bytes]]:
    """A file that takes the target's place when it is complete."""
    try:
        with whole_file(target) as file:
            yield file
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {reason(error, target)}") from error
