"""A factor of a design: its name, its levels and the level of every observation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from edgejoule.stats.scale import FloatArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Factor:
    """codes[i] is the index in `levels` of observation i; levels keep the order in which they first appear."""

    name: str
    levels: tuple[str, ...]
    codes: IntArray

    @classmethod
    def of(cls, name: str, values: Sequence[object]) -> Factor:
        """A factor from one level per observation; levels are compared as text."""
        index: dict[str, int] = {}
        codes = [index.setdefault(str(value), len(index)) for value in values]
        return cls(name, tuple(index), np.asarray(codes, dtype=np.int64))

    def contrasts(self) -> FloatArray:
        """Sum-to-zero coding, observations x (levels - 1): effects are deviations from the mean of the levels."""
        count = len(self.levels)
        coding = np.vstack([np.eye(count - 1), -np.ones((1, count - 1))])
        return np.asarray(coding[self.codes], dtype=np.float64)


def interaction_columns(factors: Sequence[Factor]) -> FloatArray:
    """The contrast columns of the interaction of `factors` (of the main effect when there is one)."""
    return reduce(
        lambda left, right: np.einsum("ni,nj->nij", left, right).reshape(len(left), -1),
        (factor.contrasts() for factor in factors),
    )


def combinations_of(factors: Sequence[Factor]) -> tuple[IntArray, IntArray]:
    """The observed combinations of levels as codes, combinations x factors, in the levels' order; and the one of every
    observation.
    """
    sizes = [len(factor.levels) for factor in factors]
    numbered = np.ravel_multi_index([factor.codes for factor in factors], sizes)
    unique, inverse = np.unique(numbered, return_inverse=True)
    codes = np.column_stack(np.unravel_index(unique, sizes))
    return np.asarray(codes, dtype=np.int64), np.asarray(inverse, dtype=np.int64).reshape(-1)


def cells_of(factors: Sequence[Factor]) -> tuple[list[tuple[str, ...]], IntArray]:
    """The observed combinations of levels, ordered by the levels' order, and the cell of every observation."""
    codes, inverse = combinations_of(factors)
    return [tuple(factor.levels[code] for factor, code in zip(factors, row, strict=True)) for row in codes], inverse
