"""A factor of a design: name, levels and the level of each observation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import require
from edgejoule.stats.scale import FloatArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Factor:
    """codes[i]: the index in `levels` of observation i. levels: in the order of first appearance."""

    name: str
    levels: tuple[str, ...]
    codes: IntArray

    def __post_init__(self) -> None:
        require(self.codes.ndim == 1, f"{self.name}: one level per observation")
        known = self.codes.size == 0 or (self.codes.min() >= 0 and self.codes.max() < len(self.levels))
        require(bool(known), f"{self.name}: a code without a level")

    @classmethod
    def of(cls, name: str, values: Sequence[object]) -> Factor:
        """Builds a factor from one level per observation. Levels are compared as text."""
        index: dict[str, int] = {}
        codes = [index.setdefault(str(value), len(index)) for value in values]
        return cls(name, tuple(index), np.asarray(codes, dtype=np.int64))

    def contrasts(self) -> FloatArray:
        """Returns sum-to-zero coding, observations x (levels - 1): effects are deviations from the levels' mean."""
        count = len(self.levels)
        coding = np.vstack([np.eye(count - 1), -np.ones((1, count - 1))])
        return np.asarray(coding[self.codes], dtype=np.float64)


def require_observations(y: FloatArray, factors: Sequence[Factor]) -> None:
    """ProgrammingError unless y has one finite value per observation, and each factor one level."""
    require(y.ndim == 1 and bool(np.isfinite(y).all()), "the response is one finite number per observation")
    for factor in factors:
        require(factor.codes.shape == y.shape, f"{factor.name}: {factor.codes.size} levels of {y.size} observations")


def interaction_columns(factors: Sequence[Factor]) -> FloatArray:
    """Returns the contrast columns of the interaction of `factors`; for a single factor, of its main effect."""
    return reduce(
        lambda left, right: np.einsum("ni,nj->nij", left, right).reshape(len(left), -1),
        (factor.contrasts() for factor in factors),
    )


def combinations_of(factors: Sequence[Factor]) -> tuple[IntArray, IntArray]:
    """Returns the observed combinations of levels as codes (combinations x factors, in the levels' order), and the
    index of each observation's combination.
    """
    sizes = [len(factor.levels) for factor in factors]
    numbered = np.ravel_multi_index([factor.codes for factor in factors], sizes)
    unique, inverse = np.unique(numbered, return_inverse=True)
    codes = np.column_stack(np.unravel_index(unique, sizes))
    return np.asarray(codes, dtype=np.int64), np.asarray(inverse, dtype=np.int64).reshape(-1)


def cells_of(factors: Sequence[Factor]) -> tuple[list[tuple[str, ...]], IntArray]:
    """Returns the observed combinations of levels, in the levels' order, and the index of each observation's cell."""
    codes, inverse = combinations_of(factors)
    return [tuple(factor.levels[code] for factor, code in zip(factors, row, strict=True)) for row in codes], inverse
