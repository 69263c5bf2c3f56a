"""Numbers for readers: plain digits, never an exponent such as 1.7e+11."""

from __future__ import annotations

import random
import re

import pytest

from edgejoule.findings.text import number
from edgejoule.stats.figures import figure, plain, plus_minus, power_of_ten


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0, 4, "0"),
        (148.0, 4, "148"),
        (0.5, 4, "0.5"),
        (71.249, 3, "71.2"),
        (39_512.0, 3, "39,500"),
        (999.96, 4, "1,000"),
        (1.738e11, 4, "173,800,000,000"),
        (-2.85e-5, 3, "-0.0000285"),
        (2e18, 3, "2×10¹⁸"),
        (1.25e-15, 3, "1.25×10⁻¹⁵"),
    ],
)
def test_a_number_has_plain_digits(value: float, digits: int, text: str) -> None:
    assert plain(value, digits) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (0.0, "0.000"),
        (10.0, "10.00"),
        (999.94, "999.9"),
        (999.96, "1,000"),
        (2034.4, "2,034"),
        (1.2e9, "1,200,000,000"),
        (5.57e-5, "0.0000557"),
    ],
)
def test_a_figure_of_an_analysis_has_plain_digits(value: float | None, text: str) -> None:
    assert figure(value) == text


@pytest.mark.parametrize(
    ("value", "uncertainty", "text"),
    [
        (3.896, 1.948, "3.9 ± 1.9"),
        (-0.0000285, 0.0095, "0.0000 ± 0.0095"),
        (15_310.0, 765.5, "15,310 ± 766"),
        (1.0, 0.0, "1 ± 0"),
        (99.97, 9.96, "100 ± 10"),
    ],
)
def test_an_uncertainty_sets_the_decimals_of_its_value(value: float, uncertainty: float, text: str) -> None:
    assert plus_minus(value, uncertainty) == text


def test_no_number_of_a_reader_has_an_exponent_of_a_computer() -> None:
    seed = 20261125
    print(f"seed {seed}")
    numbers = random.Random(seed)
    for _ in range(2000):
        value = numbers.uniform(-1, 1) * 10.0 ** numbers.randint(-20, 20)
        texts = (figure(value), plain(value, 3), plus_minus(value, abs(value) / 7), number(value))
        assert not [text for text in texts if re.search("[eE]", text)], value


def test_a_power_of_ten_is_raised() -> None:
    assert (power_of_ten(9), power_of_ten(-12)) == ("10⁹", "10⁻¹²")
