"""Letters say exactly which groups differ, for any pattern of differences and beyond 26 letters."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from edgejoule.stats import compact_letters, letters, split_letters
from edgejoule.stats.letters import letter_symbol

Matrix = NDArray[np.bool_]
Column = frozenset[int]


def random_matrix(rng: random.Random, count: int, density: float) -> Matrix:
    differ = np.zeros((count, count), dtype=bool)
    for i in range(count):
        for j in range(i):
            differ[i, j] = differ[j, i] = rng.random() < density
    return differ


def sliding_window(count: int, reach: int) -> Matrix:
    """Equally spaced means: groups further apart than `reach` differ. Needs count - reach letters."""
    place = np.arange(count)
    return np.asarray(np.abs(place[:, None] - place[None, :]) > reach)


def faults(differ: Matrix, letters: Sequence[str]) -> list[str]:
    symbols = [set(split_letters(text)) for text in letters]
    wrong = [f"group {i} has no letter" for i, own in enumerate(symbols) if not own]
    for i in range(len(differ)):
        for j in range(i):
            if bool(symbols[i] & symbols[j]) == bool(differ[i, j]):
                wrong.append(f"groups {j} and {i}: {letters[j]} and {letters[i]}, differ = {differ[i, j]}")
    return wrong


def surplus(differ: Matrix, letters: Sequence[str]) -> list[str]:
    """Letters that could go without losing a statement."""
    every = {symbol for text in letters for symbol in split_letters(text)}
    return [
        symbol
        for symbol in every
        if not faults(differ, ["".join(s for s in split_letters(text) if s != symbol) for text in letters])
    ]


def test_letters_are_valid_on_1000_random_matrices() -> None:
    most = 0
    for seed in range(1000):
        rng = random.Random(seed)
        differ = random_matrix(rng, rng.randint(1, 14), rng.choice([0.1, 0.3, 0.5, 0.7, 0.9]))
        order = rng.sample(range(len(differ)), len(differ))
        result = compact_letters(differ, order)
        assert faults(differ, result) == [], f"seed {seed}"
        assert surplus(differ, result) == [], f"seed {seed}"
        most = max(most, len({symbol for text in result for symbol in split_letters(text)}))
    assert most > 10


@pytest.mark.parametrize("count", [28, 54, 60, 130])
def test_letters_are_valid_beyond_26(count: int) -> None:
    differ = sliding_window(count, 1)
    result = compact_letters(differ)
    assert faults(differ, result) == []
    assert len({symbol for text in result for symbol in split_letters(text)}) == count - 1


@pytest.mark.parametrize("seed", range(5))
def test_letters_are_valid_on_dense_matrices_that_need_more_than_26(seed: int) -> None:
    differ = random_matrix(random.Random(seed), 24, 0.5)
    result = compact_letters(differ)
    assert faults(differ, result) == []
    assert len({symbol for text in result for symbol in split_letters(text)}) > 26


@given(st.lists(st.integers(min_value=0, max_value=400), min_size=1, max_size=8))
def test_a_string_of_symbols_reads_in_one_way(indices: list[int]) -> None:
    symbols = [letter_symbol(index) for index in indices]
    assert split_letters("".join(symbols)) == symbols


def test_symbols_never_repeat() -> None:
    assert len({letter_symbol(index) for index in range(1000)}) == 1000


def test_the_first_letter_goes_to_the_best_group() -> None:
    differ = sliding_window(3, 1)
    assert compact_letters(differ, [0, 1, 2]) == ["a", "ab", "b"]
    assert compact_letters(differ, [2, 1, 0]) == ["b", "ab", "a"]


def test_groups_that_all_agree_share_one_letter_and_groups_that_all_differ_have_their_own() -> None:
    assert compact_letters(np.zeros((4, 4), dtype=bool)) == ["a"] * 4
    assert compact_letters(~np.eye(4, dtype=bool)) == ["a", "b", "c", "d"]


def test_an_order_that_forgets_a_group_is_refused() -> None:
    with pytest.raises(ValueError, match="each of 3 groups once"):
        compact_letters(np.zeros((3, 3), dtype=bool), [0, 1])


def _insert_one_half(columns: Sequence[Column], i: int, j: int) -> list[Column]:
    return [column - {i} if i in column and j in column else column for column in columns]


def _insert_nothing(columns: Sequence[Column], i: int, j: int) -> list[Column]:
    return list(columns)


def _insert_without_both(columns: Sequence[Column], i: int, j: int) -> list[Column]:
    return [column - {i, j} if i in column and j in column else column for column in columns]


def _absorb_the_larger(columns: Sequence[Column]) -> list[Column]:
    return [c for c in set(columns) if c and not any(c > other for other in columns)]


def _sweep_too_much(columns: Sequence[Column]) -> list[Column]:
    swept = list(columns)
    for index in range(len(swept)):
        for group in sorted(swept[index]):
            if any(group in column for at, column in enumerate(swept) if at != index):
                swept[index] -= {group}
    return swept


@pytest.mark.parametrize(
    ("step", "mutant"),
    [
        ("_insert", _insert_one_half),
        ("_insert", _insert_nothing),
        ("_insert", _insert_without_both),
        ("_absorb", _absorb_the_larger),
        ("_sweep", _sweep_too_much),
        ("_sweep", list),
    ],
)
def test_mutants_are_caught(monkeypatch: pytest.MonkeyPatch, step: str, mutant: Callable[..., list[Column]]) -> None:
    """Validity catches wrong steps; a letter too many catches a sweep left out, which stays valid."""
    monkeypatch.setattr(letters, step, mutant)
    caught = False
    for seed in range(60):
        rng = random.Random(seed)
        differ = random_matrix(rng, 6, 0.4)
        result = compact_letters(differ)
        caught = caught or bool(faults(differ, result) or surplus(differ, result))
    assert caught
