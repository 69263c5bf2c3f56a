"""YCSB's distributions reimplemented in numpy, with parameters for mutants beyond the driver's properties."""

import numpy as np
from numpy.typing import NDArray

THETA = 0.99
SCRAMBLED_RANKS = 10_000_000_001
SCRAMBLED_ZETA = 26.46902820178302
FNV_OFFSET = 0xCBF29CE484222325
FNV_PRIME = 0x100000001B3

Numbers = NDArray[np.int64]


def counts(numbers: Numbers, prefix: str = "") -> dict[str, int]:
    """Returns how often each number occurs, as cells of a sample."""
    values, times = np.unique(numbers, return_counts=True)
    return {f"{prefix}{value}": int(count) for value, count in zip(values, times, strict=True)}


def ranks(
    u: NDArray[np.float64],
    items: Numbers | int,
    zeta: NDArray[np.float64] | float,
    eta_items: Numbers | int,
    theta: float = THETA,
) -> Numbers:
    """Draws ranks by inversion after Gray et al. (SIGMOD 1994). eta_items: the number of items inside eta."""
    two = 1 + 0.5**theta
    eta = (1 - (2 / np.asarray(eta_items, dtype=float)) ** (1 - theta)) / (1 - two / zeta)
    beyond = (items * (eta * u - eta + 1) ** (1 / (1 - theta))).astype(np.int64)
    return np.where(u * zeta < 1, 0, np.where(u * zeta < two, 1, beyond))


def fnv(numbers: Numbers, offset: int = FNV_OFFSET, absolute: bool = True) -> Numbers:
    """Hashes by FNV-1a 64 over eight bytes, low byte first; then Java's Math.abs, or the unsigned bits halved."""
    hashes = np.full(len(numbers), offset, dtype=np.uint64)
    rest = numbers.astype(np.uint64)
    for _ in range(8):
        hashes = (hashes ^ (rest & np.uint64(0xFF))) * np.uint64(FNV_PRIME)
        rest >>= np.uint64(8)
    return np.abs(hashes.astype(np.int64)) if absolute else (hashes >> np.uint64(1)).astype(np.int64)


def latest_ages(records: int, operations: int, insert_share: float, eta_of_now: bool, seed: int) -> Numbers:
    """Returns the ages of keys read while a share of the operations inserts. eta_of_now: the mutant with a corrected
    eta.
    """
    random = np.random.default_rng(seed)
    inserts = random.random(operations) < insert_share
    newest = (records - 1 + np.cumsum(inserts) - inserts)[~inserts]
    sums = np.cumsum(np.arange(1, newest.max() + 1, dtype=float) ** -THETA)
    return ranks(random.random(len(newest)), newest, sums[newest - 1], newest if eta_of_now else records - 1)


def scrambled_keys(
    records: int,
    operations: int,
    insert_share: float,
    seed: int,
    reserve: float = 2,
    offset: int = FNV_OFFSET,
    absolute: bool = True,
) -> Numbers:
    """Returns keys read with requestdistribution=zipfian. reserve: key space for inserts per expected insert."""
    random = np.random.default_rng(seed)
    inserts = random.random(operations) < insert_share
    end = (records + np.cumsum(inserts) - inserts)[~inserts]
    space = records + int(operations * insert_share * reserve) + 1
    keys = np.full(len(end), space, dtype=np.int64)
    while (again := keys >= end).any():
        drawn = ranks(random.random(int(again.sum())), SCRAMBLED_RANKS, SCRAMBLED_ZETA, SCRAMBLED_RANKS)
        keys[again] = fnv(drawn, offset, absolute) % space
    return keys
