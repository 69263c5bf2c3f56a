"""Formats numbers for output, without exponents such as 1.7e+11."""

from __future__ import annotations

import math

_PLAIN = (1e-12, 1e15)  # sizes that plain digits show well
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def figure(value: float | None) -> str:
    """Formats four significant digits, and all digits of a number from 1,000; empty for None."""
    if value is None:
        return ""
    if 999.95 <= abs(value) < _PLAIN[1]:
        return f"{value:,.0f}"
    if 1e-4 <= abs(value) < 999.95:
        return f"{value:#.4g}"
    return plain(value, 4) if value else "0.000"


def plain(value: float, digits: int) -> str:
    """Formats `digits` significant digits without zeros at the end: 0.0000123, 71.2, 39,500, 2×10¹⁸."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = math.floor(math.log10(abs(rounded)))
    if not _PLAIN[0] <= abs(rounded) < _PLAIN[1]:
        return f"{rounded / 10.0**exponent:.{digits}g}×{power_of_ten(exponent)}"
    decimals = digits - 1 - exponent
    return f"{rounded:,.{decimals}f}".rstrip("0").rstrip(".") if decimals > 0 else f"{rounded:,.0f}"


def plus_minus(value: float, uncertainty: float) -> str:
    """Formats a value and its uncertainty, which has two significant digits and sets the decimals: 6.4 ± 3.2."""
    if not uncertainty or not _PLAIN[0] <= abs(uncertainty) < _PLAIN[1]:
        return f"{plain(value, 4)} ± {plain(uncertainty, 2)}"
    decimals = max(0, 1 - math.floor(math.log10(float(f"{uncertainty:.1e}"))))
    return f"{value:z,.{decimals}f} ± {uncertainty:,.{decimals}f}"


def power_of_ten(exponent: int) -> str:
    """Formats a power of ten: 10⁹."""
    return f"10{str(exponent).translate(_RAISED)}"


def p_value(p: float | None) -> str:
    """Formats p with four decimals, or as "< 0.0001"; empty for None."""
    if p is None:
        return ""
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def p_text(p: float | None) -> str:
    """Formats p in a sentence: p = 0.0123, p < 0.0001, no p."""
    if p is None:
        return "no p"
    value = p_value(p)
    return f"p {value}" if value.startswith("<") else f"p = {value}"
