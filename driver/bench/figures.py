"""Figures of several rounds, and their tables."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass
class Figure:
    """A figure, measured once per round."""

    values: list[float] = field(default_factory=list)

    def add(self, value: float | None) -> None:
        """Adds the figure of a round; None, a failed reading, is left out."""
        if value is not None:
            self.values.append(value)

    @property
    def median(self) -> float | None:
        """The median; None if no round gave a figure."""
        return statistics.median(self.values) if self.values else None

    def shown(self, unit: float = 1, digits: int = 0) -> str:
        """Returns the median in the unit, `-` if there is none."""
        return "-" if self.median is None else f"{self.median / unit:.{digits}f}"

    def spread(self, unit: float = 1, digits: int = 0) -> str:
        """Returns [minimum, maximum] in the unit."""
        if not self.values:
            return "-"
        return f"[{min(self.values) / unit:.{digits}f}, {max(self.values) / unit:.{digits}f}]"


def ratio(figure: Figure, ours: Figure) -> str:
    """Returns this figure divided by ours."""
    if figure is ours or figure.median is None or not ours.median:
        return ""
    return f"{figure.median / ours.median:.1f}x"


@dataclass(frozen=True)
class Bar:
    """The required value of one of our figures, and whether it is met."""

    name: str
    unit: str
    most: float
    measured: float | None

    @property
    def verdict(self) -> str:
        """The verdict in one or two words."""
        if self.measured is None:
            return "not measured"
        return "met" if self.measured <= self.most else "MISSED"

    def __str__(self) -> str:
        measured = "-" if self.measured is None else f"{self.measured:.1f}"
        return f"{self.name}: {measured} {self.unit} (bar <= {self.most:g}): {self.verdict}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int) -> str:
    """Formats rows in columns: the first `left` columns are aligned to the left, the others to the right."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
