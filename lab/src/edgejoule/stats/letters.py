"""Compact letter display: two groups share a letter exactly when they do not differ.

Source: H.-P. Piepho, An algorithm for a letter-based representation of all-pairwise comparisons, Journal of
Computational and Graphical Statistics 13 (2004), insert-absorb-sweep. Own implementation.

Symbols are a..z, then A..Z, then these with a number: a2, b2, ..., Z2, a3, ... A letter and the digits after it are
one symbol, so a string of symbols is unambiguous; `split_letters` parses it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
_Column = frozenset[int]  # the groups that carry one letter


def compact_letters(differ: BoolArray, order: Sequence[int] | None = None) -> list[str]:
    """Returns the letters of each group, by group index.

    differ: symmetric; differ[i, j] means that groups i and j differ; the diagonal is ignored. order: the groups from
    best to worst (default: as given); the best gets the first letter.
    """
    count = len(differ)
    order = list(range(count)) if order is None else list(order)
    if sorted(order) != list(range(count)):
        raise ValueError(f"order must name each of {count} groups once, got {order}")
    pairs = [(i, j) for rank, i in enumerate(order) for j in order[rank + 1 :] if differ[i, j]]
    everyone: list[_Column] = [frozenset(range(count))]
    columns = reduce(lambda kept, pair: _absorb(_insert(kept, *pair)), pairs, everyone)
    columns = _absorb(_sweep(columns))
    place = {group: rank for rank, group in enumerate(order)}
    columns.sort(key=lambda column: sorted(place[group] for group in column))
    return [
        "".join(letter_symbol(index) for index, column in enumerate(columns) if group in column)
        for group in range(count)
    ]


def letter_symbol(index: int) -> str:
    """Returns the symbol of the letter with this index, from 0."""
    number, letter = divmod(index, len(string.ascii_letters))
    return string.ascii_letters[letter] + (str(number + 1) if number else "")


def split_letters(letters: str) -> list[str]:
    """Splits one group's letters into symbols."""
    return re.findall(r"[A-Za-z]\d*", letters)


def _insert(columns: Sequence[_Column], i: int, j: int) -> list[_Column]:
    """Splits every column that contains both i and j."""
    split: list[_Column] = []
    for column in columns:
        split += [column - {i}, column - {j}] if i in column and j in column else [column]
    return split


def _absorb(columns: Sequence[_Column]) -> list[_Column]:
    """Drops columns that are subsets of another."""
    kept: list[_Column] = []
    for column in sorted(set(columns), key=len, reverse=True):
        if column and not any(column <= other for other in kept):
            kept.append(column)
    return kept


def _sweep(columns: Sequence[_Column]) -> list[_Column]:
    """Removes a letter from a group if the group's other letters cover all groups that share it."""
    swept = list(columns)
    for index in range(len(swept)):
        for group in sorted(swept[index]):
            others = [column for at, column in enumerate(swept) if at != index and group in column]
            if others and swept[index] <= frozenset().union(*others):
                swept[index] -= {group}
    return swept
