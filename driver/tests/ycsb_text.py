"""Parses YCSB's report: sections, their measurements in order, values as text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LINE = re.compile(r"\[([^\]]+)\], ([^,]+), (\S+)")


@dataclass(frozen=True)
class Line:
    """[section], measurement, value."""

    section: str
    measurement: str
    value: str


def lines_of(text: str) -> list[Line]:
    """Returns every line of a report in text form. Refuses any other line."""
    return [line_of(line) for line in text.splitlines()]


def line_of(line: str) -> Line:
    result = LINE.fullmatch(line)
    assert result, f"not a line of YCSB's report: {line}"
    return Line(*result.groups())


def returns_of(text: str) -> Iterator[tuple[str, str, int]]:
    """Returns section, status and the number of calls with that status."""
    for line in lines_of(text):
        if line.measurement.startswith("Return="):
            yield line.section, line.measurement.removeprefix("Return="), int(line.value)


def returned(text: str, section: str, status: str = "OK") -> int:
    """Returns how many calls of an operation had the status."""
    return sum(count for name, given, count in returns_of(text) if (name, given) == (section, status))
