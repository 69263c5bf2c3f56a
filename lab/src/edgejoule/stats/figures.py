"""Numbers for people."""

from __future__ import annotations


def figure(value: float | None) -> str:
    """Four significant digits, without an exponent where that stays readable; empty for None."""
    if value is None:
        return ""
    if 9999.5 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    if value == 0 or 1e-4 <= abs(value) < 9999.5:
        return f"{value:#.4g}".rstrip(".")
    return f"{value:.3e}"


def p_value(p: float | None) -> str:
    """Four decimals, "< 0.0001" below them; empty for None."""
    if p is None:
        return ""
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"
