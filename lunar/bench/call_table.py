"""What each call costs, as the table in docs/GUIDE.md: requests by buffer, and the stack on the emulated boards.

Usage: call_table.py writes the table into the page. It needs lunar-bench, and firmware and QEMU as `make test-qemu` has
them. test_ports.py compares the page with the measurement.
"""

import json
import re
import subprocess
import sys

from boards import BOARDS, REPOSITORY, stacks

GUIDE = REPOSITORY / "lunar" / "docs" / "GUIDE.md"
PROGRAM = REPOSITORY / "build" / "bin" / "lunar-bench"
BUFFERS = (2664, 4096, 16384)
RING, TABLE, HASH = "--ring", "", "--hash"
# The row of the page, the table, and the name of the call in both measurements.
ROWS = (
    ("insert into a ring table, which removes a row", RING, "insert"),
    ("insert", TABLE, "insert"),
    ("update at random", TABLE, "update"),
    ("get at random", TABLE, "get"),
    ("remove", TABLE, "remove"),
    ("`lunar_cursor_next`", TABLE, "cursor"),
    ("`lunar_compact`, 16 rows", TABLE, "compact"),
    ("mount after a power cut", TABLE, "mount"),
    ("`lunar_check`", TABLE, "check"),
    ("`lunar_index_create`, tree", TABLE, "index create"),
    ("`lunar_repair`", TABLE, "repair"),
    ("`lunar_truncate`", TABLE, "truncate"),
    ("`lunar_truncate`, hash", HASH, "truncate"),
    ("drop", TABLE, "drop"),
    ("format", TABLE, "format"),
)
HEAD = "| call | " + " | ".join(f"{size:,}" for size in BUFFERS) + " | stack |\n|---|---|---|---|---|\n"


def requests_of(call: dict[str, dict[str, float]]) -> str:
    """Reads, writes, flushes as means, and the most requests of one call; of a single call its requests."""
    kinds = ("reads", "writes", "flushes")
    if call["calls"] == 1:
        return ", ".join(f"{call[kind]['most']:,}" for kind in kinds)
    return ", ".join(f"{call[kind]['mean']:,.1f}" for kind in kinds) + f" ({call['requests']['most']:,})"


def measured() -> str:
    """The table as Markdown."""
    readings = {}
    for options in (RING, TABLE, HASH):
        for size in BUFFERS:
            command = [PROGRAM, "calls", *options.split(), "--buffer-bytes", str(size)]
            run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
            readings[options, size] = json.loads(run.stdout)
    of_boards = [stacks(board, "sql") for board in BOARDS]
    rows = []
    for label, options, call in ROWS:
        cells = [requests_of(readings[options, size][call]) for size in BUFFERS]
        cells.append(", ".join(f"{stack[call]:,}" for stack in of_boards))
        rows.append(f"| {label} | {' | '.join(cells)} |\n")
    return HEAD + "".join(rows)


def stated() -> str:
    """The table of the page."""
    page = GUIDE.read_text()
    begin = page.index(HEAD.splitlines()[0])
    return page[begin : page.index("\n\n", begin) + 1]


def numbers(row: str) -> list[float]:
    """The figures of a table's row, behind its first cell."""
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\d(?:\.\d)?|\d(?:\.\d)?", row)]


def main() -> int:
    """Writes the table into the page."""
    GUIDE.write_text(GUIDE.read_text().replace(stated(), measured()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
