"""Formats numbers for output."""

from __future__ import annotations


def figure(value: float | None) -> str:
    """Formats four significant digits, with an exponent only below 1e-4 and from 1e9; empty for None."""
    if value is None:
        return ""
    if 9999.5 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    if value == 0 or 1e-4 <= abs(value) < 9999.5:
        return f"{value:#.4g}".rstrip(".")
    return f"{value:.3e}"


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
