"""The lines of a child process, with real processes."""

from __future__ import annotations

import subprocess
import time

from edgejoule.machine.child_lines import ChildLines


def child(script: str) -> subprocess.Popen[str]:
    return subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_lines_come_in_order_and_the_other_stream_is_kept() -> None:
    with child("echo a; echo beside >&2; echo b") as process:
        with ChildLines(process, process.stdout, process.stderr, 60) as lines:
            assert list(lines) == ["a\n", "b\n"]
            assert process.wait() == 0
        assert lines.other_text() == "beside\n"
    assert not lines.late


def test_a_full_other_stream_does_not_block_the_child() -> None:
    with child("head -c 1000000 /dev/zero >&2; echo end") as process:
        with ChildLines(process, process.stdout, process.stderr, 60) as lines:
            assert list(lines) == ["end\n"]
            assert process.wait() == 0
        assert len(lines.other_text()) == 1_000_000


def test_a_child_that_is_late_is_killed_also_when_it_has_closed_its_stream() -> None:
    begin = time.monotonic()
    with child("exec sleep 600 >&- 2>&-") as process, ChildLines(process, process.stdout, process.stderr, 0.2) as lines:
        assert list(lines) == []
        assert process.wait() != 0
    assert lines.late
    assert time.monotonic() - begin < 60
