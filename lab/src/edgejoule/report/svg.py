"""SVG by hand: elements, axes, ticks. Colours are CSS classes (s0..s7), so a figure follows light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

COLOURS = 8


def tag(name: str, *children: Markup | str, **attributes: object) -> Markup:
    """One element; class_ and names with _ become class and names with -. None leaves an attribute out."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_short(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(children)
    return Markup(f"<{name}{attribute_text}/>") if not children else Markup(f"<{name}{attribute_text}>{inner}</{name}>")


def _short(value: object) -> object:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def figure(width: float, height: float, label: str, *children: Markup) -> Markup:
    """A drawing that scales with its column; label is what a screen reader says."""
    return tag("svg", *children, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=label, class_="figure")


def text(x: float, y: float, content: str, class_: str = "", anchor: str = "start") -> Markup:
    """Text with its baseline at y."""
    return tag("text", content, x=x, y=y, class_=class_ or None, text_anchor=None if anchor == "start" else anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Sequence[tuple[float, float]], class_: str) -> Markup:
    """A polyline as a path."""
    steps = "".join(f"{'M' if i == 0 else 'L'}{_short(float(x))},{_short(float(y))}" for i, (x, y) in enumerate(points))
    return tag("path", d=steps, class_=class_)


@dataclass(frozen=True)
class Axis:
    """From data to pixels, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        return self.start + self._share(value) * (self.end - self.start)

    def _share(self, value: float) -> float:
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def linear_ticks(low: float, high: float, wanted: int = 4) -> list[float]:
    """Round values within low..high, about that many."""
    raw = (high - low) / max(wanted, 1)
    if not raw > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next((m for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999), 10)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Powers of ten, with 2 and 5 between where there is room."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for marks in ((1, 2, 5), (1, 3), (1,)):
        ticks = [m * 10.0**d for d in decades for m in marks if low * 0.999 <= m * 10.0**d <= high * 1.001]
        if len(ticks) <= wanted:
            return ticks
    stride = math.ceil(len(ticks) / wanted)
    return ticks[::stride]
