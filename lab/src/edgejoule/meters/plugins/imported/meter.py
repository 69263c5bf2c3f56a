"""A file that another program is writing, followed while a study runs: every line that comes is a reading."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from collections.abc import Mapping as Facts
from pathlib import Path
from typing import Any

import numpy as np

from edgejoule.errors import DataError, UsageError
from edgejoule.meters.base import Availability, Block, Channel, Clock, Domain, Method, Sample, ValueKind
from edgejoule.meters.plugins.imported.columns import Mapping, TraceColumn, guess
from edgejoule.meters.plugins.imported.read import TraceLayout, first_cells, read_rows, split
from edgejoule.meters.plugins.imported.trace import METER
from edgejoule.meters.quantities import Role

CHANNEL = "recorded"
_FIX = 'trace = { file = "log.csv", gain_rel = 0.0058, offset_w = 0.003, interval_s = 0.1 }'
_READ_MAX = 1 << 24


class FollowedTrace:
    """file: CSV with a header, that grows. gain_rel, offset_w: of what records (k=1). interval_s: between its lines.

    delay_s_max: how long a line may take from its reading to the file. time, power, voltage, current, energy: columns
    as 'NAME' or 'NAME:UNIT', by default from the header. read_from, clock_ns: the transport.
    """

    name = METER
    method = Method.MEASURED

    def __init__(
        self,
        file: str | None = None,
        gain_rel: float | None = None,
        offset_w: float | None = None,
        interval_s: float | None = None,
        delay_s_max: float = 1.0,
        domain: str = "board",
        mean: bool = False,
        voltage_v: float | None = None,
        read_from: Callable[[Path, int], bytes] | None = None,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        **columns: str,
    ) -> None:
        self._path = None if file is None else Path(file)
        self._stated = _stated(columns, voltage_v)
        if domain not in list(Domain):
            raise UsageError(f"trace: domain is one of {', '.join(Domain)}, not {domain!r}")
        self.domain = Domain(domain)
        self._accuracy = gain_rel, offset_w, interval_s
        self._delay_s_max, self._mean = delay_s_max, mean
        self._read_from, self._clock_ns = read_from or _read_from, clock_ns
        self.poll_interval_s = min(max(0.1, interval_s or 0.25), 1.0)
        self._layout: TraceLayout | None = None
        self._mapping: Mapping | None = None
        self._place, self._rest, self._last_ns = 0, "", -1

    def probe(self) -> Availability:
        """Available when a file and its recorder's accuracy are named and its header names the columns."""
        if self._path is None:
            return Availability(False, "no file of another recorder is named", _FIX)
        if None in self._accuracy:
            return Availability(False, f"{self._path}: gain_rel, offset_w and interval_s must be stated", _FIX)
        try:
            self._mapped()
        except (UsageError, OSError) as error:
            return Availability(False, str(error), "let the recorder write its header first")
        return Availability(True, f"{self._path}, as another program writes it")

    def describe(self) -> str:
        """Returns the description of the quantity."""
        return f"the {self.domain}'s supply as another program records it in {self._path or 'a file'}"

    def facts(self) -> Facts[str, Sequence[str]]:
        """Which file."""
        return {"trace": [str(self._path)]} if self._path else {}

    def channels(self) -> Sequence[Channel]:
        """One channel, known after open()."""
        gain_rel, offset_w, interval_s = self._accuracy
        total = self._mapping is not None and Role.ENERGY in self._mapping.roles
        power = ValueKind.INTERVAL_MEAN if self._mean or (self._mapping and self._mapping.mean) else ValueKind.INSTANT
        return [
            Channel(
                meter=self.name,
                name=CHANNEL,
                domain=self.domain,
                kind=ValueKind.ACCUMULATOR if total else power,
                method=self.method,
                gain_rel=gain_rel or 0.0,
                offset_w=offset_w or 0.0,
                resolution=0.0,
                clock=Clock.DEVICE,
                interval_s=interval_s,
                delay_s_max=self._delay_s_max,
            )
        ]

    def open(self) -> None:
        """Read the header and go to the file's end. Raises MeterError with the fix."""
        self.probe().demand(self.name)
        self._layout, self._mapping, read = self._mapped()
        self._place, self._rest, self._last_ns = read, "", -1

    def poll(self) -> Sequence[Sample | Block]:
        """The lines that have come since."""
        if self._path is None or self._layout is None or self._mapping is None:
            return []
        try:
            data = self._read_from(self._path, self._place)
        except OSError:
            return []  # nothing new can be read: the time shows as a gap
        now_ns = self._clock_ns()
        self._place += len(data)
        *lines, self._rest = (self._rest + data.decode("utf-8", "replace")).split("\n")
        rows = [row for line in lines if line.strip() for row in self._row(line)]
        later = [row for row in rows if row[0] > self._last_ns]
        if not later:
            return []
        t_ns, value = (np.array(column) for column in zip(*later, strict=True))
        keep = np.concatenate([[True], t_ns[1:] > np.maximum.accumulate(t_ns)[:-1]])
        self._last_ns = int(t_ns[keep][-1])
        missing = {int(i): "the line has no number" for i in np.flatnonzero(np.isnan(value[keep]))}
        return [Block(CHANNEL, t_ns[keep].astype(np.int64), value[keep].astype(np.float64), now_ns, missing)]

    def close(self) -> None:
        """Nothing is held open."""
        self._layout = None

    def _mapped(self) -> tuple[TraceLayout, Mapping, int]:
        """The layout, the columns, and how many bytes there are up to the end of the last whole line."""
        assert self._path is not None
        data = self._read_from(self._path, 0)
        whole = data[: data.rfind(b"\n") + 1]
        layout, body = split(self._path, whole.decode("utf-8", "replace").removeprefix("\ufeff"))
        return layout, guess(layout.header, self._stated, first_cells(layout, body), live=True), len(whole)

    def _row(self, line: str) -> list[tuple[int, float]]:
        """Time and value of a line; nothing for one without a time."""
        assert self._path is not None
        assert self._layout is not None
        assert self._mapping is not None
        try:
            rows = read_rows(self._path, self._layout, self._mapping, line + "\n")
        except (DataError, IndexError, ValueError):
            return []
        return [(int(t), float(v)) for t, v in zip(rows.time_ns, rows.value, strict=True)]


def _stated(columns: Facts[str, Any], voltage_v: float | None) -> Mapping:
    known = ("time", "power", "voltage", "current", "energy")
    for name in columns:
        if name not in known:
            raise UsageError(f"trace: no option is called {name!r}; columns: {', '.join(known)}")
    named = {}
    for role, text in columns.items():
        name, mark, unit = str(text).rpartition(":")
        named[role] = TraceColumn(name, unit) if mark else TraceColumn(str(text))
    time_column = named.pop("time", None)
    return Mapping(time_column, {Role(name): column for name, column in named.items()}, voltage_v)


def _read_from(path: Path, place: int) -> bytes:
    with path.open("rb") as file:
        file.seek(place)
        return file.read(_READ_MAX)
