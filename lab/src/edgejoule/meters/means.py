"""Means over a fixed number of consecutive samples: a fast stream becomes interval means at a rate worth keeping.

Samples carry their number in the stream, so that lost ones are known. A mean of which a sample is missing is missing:
what was lost is not known, and a mean of the rest would be a guess.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


class Means:
    """Windows of `length` samples: window w has the samples from w x length on, up to (w + 1) x length."""

    def __init__(self, length: int) -> None:
        assert length >= 1, "a window has a sample"
        self._length = length
        self._numbers: _Ints = np.empty(0, np.int64)
        self._values: _Floats = np.empty(0, np.float64)
        self._last_window: int | None = None  # the last window that was given out

    def add(self, numbers: _Ints, values: _Floats) -> tuple[_Ints, _Floats]:
        """Take samples (numbers increase) and give the windows that are over: (w,), and mean or NaN.

        A window is over when a sample of a later one has come. Of windows without any sample only the last of a row
        is given, as missing.
        """
        numbers, values = np.concatenate([self._numbers, numbers]), np.concatenate([self._values, values])
        window = numbers // self._length
        if not len(window):
            return np.empty(0, np.int64), np.empty(0)
        whole = int(np.searchsorted(window, window[-1]))
        full_last = len(numbers) - whole == self._length  # the newest window is complete already
        end = len(numbers) if full_last else whole
        self._numbers, self._values = numbers[end:], values[end:]
        return self._closed(window[:end], values[:end])

    def _closed(self, window: _Ints, values: _Floats) -> tuple[_Ints, _Floats]:
        if not len(window):
            return np.empty(0, np.int64), np.empty(0)
        begin = np.flatnonzero(np.diff(window, prepend=window[0] - 1))
        result, count = window[begin], np.diff(begin, append=len(window))
        means = np.where(count == self._length, np.add.reduceat(values, begin) / self._length, np.nan)
        if self._last_window is None and count[0] < self._length:  # sampling began inside it
            result, means = result[1:], means[1:]
            self._last_window = int(window[0])
        return self._with_holes(result, means)

    def _with_holes(self, counts: _Ints, means: _Floats) -> tuple[_Ints, _Floats]:
        if not len(counts):
            return counts, means
        holes = (
            counts[np.diff(counts, prepend=counts[0] - 1 if self._last_window is None else self._last_window) > 1] - 1
        )
        self._last_window = int(counts[-1])
        if not len(holes):
            return counts, means
        merged = np.concatenate([counts, holes])
        order = np.argsort(merged, kind="stable")
        return merged[order], np.concatenate([means, np.full(len(holes), np.nan)])[order]
