"""YCSB's report as what reads it sees it: sections, their measurements in order, values as they are written."""

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
    """Every line of a report in text form; a line that is none is refused."""
    return [line_of(line) for line in text.splitlines()]


def line_of(line: str) -> Line:
    found = LINE.fullmatch(line)
    assert found, f"not a line of YCSB's report: {line}"
    return Line(*found.groups())


def returns_of(text: str) -> Iterator[tuple[str, str, int]]:
    """Section, status, how many calls returned it."""
    for line in lines_of(text):
        if line.measurement.startswith("Return="):
            yield line.section, line.measurement.removeprefix("Return="), int(line.value)


def returned(text: str, section: str, status: str = "OK") -> int:
    """How many calls of an operation returned the status."""
    return sum(count for name, given, count in returns_of(text) if (name, given) == (section, status))
