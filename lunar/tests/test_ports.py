"""The firmware of the emulated boards under QEMU prints the same lines as the host."""

import re
import subprocess
from functools import cache

import call_table
import pytest
from boards import BOARDS, REPOSITORY, TIMEOUT_S, board_prints

HOST = REPOSITORY / "build" / "bin" / "lunar-portable-host"

pytestmark = pytest.mark.qemu
on_every_board = pytest.mark.parametrize("board", list(BOARDS))


@cache
def host_prints() -> str:
    return subprocess.run([HOST], capture_output=True, text=True, timeout=TIMEOUT_S, check=True).stdout


@on_every_board
def test_prints_the_hosts_lines_byte_by_byte(board: str) -> None:
    host = host_prints()
    assert "not ok" not in host
    assert "ok 1 - formats_and_mounts_an_empty_volume" in host
    assert "100/0 skew 0.5" in host
    assert board_prints(board, "sql")[: len(host)] == host


@on_every_board
def test_passes_without_any_module_over_a_legacy_disk_that_is_polled(board: str) -> None:
    printed = board_prints(board, "basic", "legacy")
    assert "not ok" not in printed
    assert re.search(r"^# (\d+) of \1 tests passed$", printed, re.MULTILINE)
    assert printed.endswith("== done\n")


@on_every_board
def test_counts_instructions_and_not_the_disks_waits(board: str) -> None:
    over_ram = board_prints(board, "sql").split("== YCSB over RAM")[1]
    counts = [int(n) for n in re.findall(r"^(?:load|\d+/\d+ skew [0-9.]+) +\d+ +(\d+)$", over_ram, re.MULTILINE)]
    assert len(counts) == 26
    assert all(1_000 < count < 1_000_000 for count in counts)


@pytest.mark.parametrize(
    ("figure", "stated"),
    [
        ("deepest stack", "At most {:,} bytes on RV64, {:,} on a Cortex-M3 (basic build)"),
        ("together", "| RAM | {:,} bytes on RV64, {:,} on a Cortex-M3 (basic build: stack, handle, table, buffer) |"),
    ],
)
def test_the_readme_states_the_ram_of_the_boards(figure: str, stated: str) -> None:
    printed = [int(re.search(rf"^{figure} +(\d+)$", board_prints(board, "basic"), re.MULTILINE)[1]) for board in BOARDS]
    assert stated.format(*printed) in (REPOSITORY / "lunar/README.md").read_text()


def test_the_guide_states_what_each_call_costs() -> None:
    """Within 5 %, or one in the last digit: `python lunar/bench/call_table.py` writes the table."""
    stated, measured = call_table.stated().splitlines(), call_table.measured().splitlines()
    assert [row.split("|")[1] for row in stated] == [row.split("|")[1] for row in measured]
    for is_stated, is_measured in zip(stated, measured, strict=True):
        figures = [call_table.numbers(row.split("|", 2)[2]) for row in (is_stated, is_measured)]
        assert figures[0] == pytest.approx(figures[1], rel=0.05, abs=0.1), is_measured
