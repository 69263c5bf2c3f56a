"""Means of the cells of a design under the full factorial model with additive blocks.

Without blocks a mean is the cell's arithmetic mean. With blocks it is adjusted to the average block, so that a run
missing from a slow block does not favour its cell; on complete blocks both agree. Source: S. R. Searle, F. M. Speed,
G. A. Milliken, The American Statistician 34 (1980), population (least-squares) means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgejoule.errors import DataError
from edgejoule.stats.factor import Factor, IntArray, cells_of, require_observations
from edgejoule.stats.scale import FloatArray


@dataclass(frozen=True)
class CellMeans:
    """One mean per cell. covariance: in units of the error mean square (1/n on the diagonal without blocks).
    member[i]: the cell of observation i.
    """

    names: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    member: IntArray
    n: IntArray
    mean: FloatArray
    covariance: FloatArray
    residuals: FloatArray


def cell_means(y: FloatArray, factors: Sequence[Factor], *, block: Factor | None = None) -> CellMeans:
    """Returns the means of all observed cells. Raises DataError if the block is confounded with the factors."""
    require_observations(y, [*factors, *([block] if block else [])])
    cells, member = cells_of(factors)
    counts = np.bincount(member).astype(np.int64)
    centre = float(y.mean())
    if block is None:
        mean = np.bincount(member, weights=y - centre) / counts + centre
        covariance = np.diag(1.0 / counts)
        residuals = y - mean[member]
    else:
        mean, covariance, residuals = _adjusted(y - centre, member, len(cells), block)
        mean = mean + centre
    names = tuple(factor.name for factor in factors)
    return CellMeans(names, tuple(cells), member, counts, mean, covariance, residuals)


def _adjusted(
    y: FloatArray, member: IntArray, cell_count: int, block: Factor
) -> tuple[FloatArray, FloatArray, FloatArray]:
    columns = np.hstack([np.eye(cell_count)[member], block.contrasts()])
    if np.linalg.matrix_rank(columns) < columns.shape[1]:
        raise DataError(
            f"block {block.name} is confounded with the factors: some cells never share a block with the others, "
            "so their means cannot be compared; analyse without the block"
        )
    q, r = np.linalg.qr(columns)
    inverse = np.linalg.inv(r)
    estimate = inverse @ (q.T @ y)
    covariance = (inverse @ inverse.T)[:cell_count, :cell_count]
    return estimate[:cell_count], covariance, y - columns @ estimate


@dataclass(frozen=True)
class Margin:
    """Groups of cells. weights: groups x cells, average the cells' means. member[i]: the group of observation i."""

    names: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    member: IntArray
    weights: FloatArray


def margin_of(full: CellMeans, factors: Sequence[Factor], chosen: Sequence[str]) -> Margin:
    """Returns the cells of the factors `chosen`, each the unweighted average over the levels of the other factors.

    Raises DataError if a cell of the design has no data, because the averages do not exist then.
    """
    if tuple(chosen) == full.names:
        return Margin(full.names, full.cells, full.member, np.eye(len(full.cells)))
    possible = math.prod(len(factor.levels) for factor in factors)
    if len(full.cells) < possible:
        raise DataError(
            f"means of {', '.join(chosen)} average over all other factors, but {possible - len(full.cells)} of "
            f"{possible} cells have no data; compare all cells, or leave the sparse factor out"
        )
    by_name = {factor.name: factor for factor in factors}
    cells, member = cells_of([by_name[name] for name in chosen])
    position = [full.names.index(name) for name in chosen]
    weights = np.zeros((len(cells), len(full.cells)))
    for column, cell in enumerate(full.cells):
        weights[cells.index(tuple(cell[k] for k in position)), column] = 1.0
    weights /= weights.sum(axis=1, keepdims=True)
    return Margin(tuple(chosen), tuple(cells), member, weights)


def marginal_means(full: CellMeans, margin: Margin) -> CellMeans:
    """Returns the means of the groups of a margin."""
    return CellMeans(
        names=margin.names,
        cells=margin.cells,
        member=margin.member,
        n=np.bincount(margin.member).astype(np.int64),
        mean=margin.weights @ full.mean,
        covariance=margin.weights @ full.covariance @ margin.weights.T,
        residuals=full.residuals,
    )
