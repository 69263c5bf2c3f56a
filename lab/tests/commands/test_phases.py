"""Phases of a command: from marks to stretches with joules, seconds and bytes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgejoule.commands.phases import late_names, phase_events, phase_facts, phase_flags, phases
from edgejoule.commands.supervisor import PhaseMark, Repetition, Supervised
from edgejoule.errors import CommandError
from edgejoule.meters.base import Channel, Domain, Method, ValueKind
from edgejoule.meters.trace import Trace

from .supervised import command, python

S = 1_000_000_000


def repetition(*marks: PhaseMark, start_ns: int = 0, end_ns: int = 10 * S, written: int | None = 1000) -> Repetition:
    return Repetition(start_ns, end_ns, 0, None, 0.0, 0.0, 0, 0, 0, 0, written, 0, marks)


def mark(at_s: float, name: str, written: int | None = 0) -> PhaseMark:
    return PhaseMark(int(at_s * S), name, 0, written)


def test_a_phase_lasts_until_the_next_one_or_the_end() -> None:
    result = phases(repetition(mark(1, "load", 100), mark(4, "query", 700)))
    assert [(p.name, p.start_ns, p.end_ns) for p in result] == [("load", S, 4 * S), ("query", 4 * S, 10 * S)]
    assert [p.write_bytes for p in result] == [600, 300]


def test_an_empty_name_ends_a_phase_without_a_next_one() -> None:
    result = phases(repetition(mark(1, "load"), mark(4, ""), mark(6, "query")))
    assert [(p.name, p.start_ns, p.end_ns) for p in result] == [("load", S, 4 * S), ("query", 6 * S, 10 * S)]


def test_bytes_that_were_not_read_are_missing() -> None:
    (phase,) = phases(repetition(mark(1, "load", None)))
    assert phase.write_bytes is None
    (phase,) = phases(repetition(mark(1, "load", 5), written=None))
    assert phase.write_bytes is None


def test_a_name_that_arrives_after_the_end_is_in_no_phase_and_flagged() -> None:
    late = [repetition(mark(1, "load"), mark(10.5, "query"))]
    assert [p.name for p in phases(late[0])] == ["load"]
    assert late_names(late) == ["query"]
    assert "does it buffer its output" in phase_flags(late)[0]
    assert not phase_flags([repetition(mark(1, "load"))])


def power_trace() -> Trace:
    """1 W in the first five seconds, then 3 W."""
    channel = Channel("bench", "wall", Domain.WALL, ValueKind.INTERVAL_MEAN, Method.MEASURED, 0.01, 0.0, 0.001)
    t_ns = np.arange(0, 20 * S + 1, S // 10)
    return Trace(channel, t_ns, np.where(t_ns <= 5 * S, 1.0, 3.0), 0.1)


def test_joules_seconds_and_bytes_are_those_of_one_repetition() -> None:
    twice = [
        repetition(mark(1, "load", 100), mark(4, "query", 700)),
        repetition(mark(11, "load", 0), mark(12, "query", 500), mark(13, "load", 600), start_ns=10 * S, end_ns=14 * S),
    ]
    load, query = phase_facts(twice, [power_trace()])
    assert (load["name"], load["count"], load["duration_s"]) == ("load", 3, (3 + 1 + 1) / 2)
    assert load["energy_j"] == pytest.approx((3 * 1 + 1 * 3 + 1 * 3) / 2, rel=0.05)
    assert load["write_bytes"] == (600 + 500 + 400) / 2
    assert (query["name"], query["duration_s"], query["method"]) == ("query", 3.5, "measured")
    assert query["energy_j"] == pytest.approx((1 * 1 + 5 * 3 + 1 * 3) / 2, rel=0.05)
    assert query["uncertainty_k2_j"] > 0


def test_a_phase_without_readings_has_no_joules_and_reports_why() -> None:
    (fact,) = phase_facts([repetition(mark(21, "late"), end_ns=22 * S)], [power_trace()])
    assert fact["energy_j"] is None
    assert fact["missing_reason"]


def test_events_hold_beginning_and_length() -> None:
    assert phase_events([repetition(mark(1, "load"))]) == [
        {"event": "command_phase", "monotonic_ns": S, "duration_ns": 9 * S, "name": "load"}
    ]


def test_names_written_to_the_fifo_are_phases(tmp_path: Path) -> None:
    shell = (
        'echo first >> "$EDGEJOULE_MARKS"; dd if=/dev/zero of=x bs=64k count=4 status=none; sleep 0.1; '
        'echo second >> "$EDGEJOULE_MARKS"; sleep 0.1; printf "Größe\\n\\n" >> "$EDGEJOULE_MARKS"'
    )
    for one in Supervised(command(tmp_path, "sh", "-c", shell), timeout_s=60, repeat=2).run():
        names = [m.name for m in one.marks]
        assert names == ["first", "second", "Größe", ""]
        first, second = phases(one)[:2]
        assert one.start_ns <= first.start_ns < first.end_ns == second.start_ns < second.end_ns <= one.end_ns
        assert first.write_bytes is None or first.write_bytes >= 0


@pytest.mark.parametrize(
    ("pattern", "names"), [(r"^== (\w+)", ["load", "query"]), (r"^== \w+", ["== load", "== query"])]
)
def test_lines_of_the_output_that_match_are_phases(tmp_path: Path, pattern: str, names: list[str]) -> None:
    code = (
        "import time\n"
        "for name in ('== load', 'not a phase', '== query', 'end without newline'):\n"
        "    print(name, end='' if 'without' in name else '\\n', flush=True); time.sleep(0.05)\n"
    )
    (one,) = Supervised(python(tmp_path, code), timeout_s=60, phase=re.compile(pattern)).run()
    assert [p.name for p in phases(one)] == names
    assert (tmp_path / "output").read_text() == "== load\nnot a phase\n== query\nend without newline"


def test_no_name_is_lost_where_a_program_buffers_its_output(tmp_path: Path) -> None:
    """Python writes to a pipe when it ends: the names come just before its end or after it."""
    code = "import time\nprint('== load'); time.sleep(0.05); print('== query')"
    (one,) = Supervised(python(tmp_path, code), timeout_s=60, phase=re.compile("^== (.*)")).run()
    assert [m.name for m in one.marks] == ["load", "query"]


def test_output_that_cannot_be_written_is_an_error_and_blocks_nobody(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    printing = replace(command(tmp_path, "sh", "-c", "head -c 1000000 /dev/zero"), output=full)
    with pytest.raises(CommandError, match="output of sh cannot be written"):
        Supervised(printing, timeout_s=60, phase=re.compile("x")).run()
