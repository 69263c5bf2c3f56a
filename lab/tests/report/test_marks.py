"""Marks of a database's own work on a power trace: as many as a page can distinguish."""

from __future__ import annotations

from edgejoule.report.traces import MARKS_ACROSS, BackgroundWork, apart


def checkpoints(*starts_s: float) -> list[BackgroundWork]:
    return [BackgroundWork(start, 0.01, "checkpoint", "passive") for start in starts_s]


def test_marks_that_lie_apart_are_all_there_as_they_were() -> None:
    marks = checkpoints(0.0, 1.0, 2.0)
    assert apart(marks, 0.5) == marks


def test_marks_of_one_kind_that_begin_together_are_one_with_their_number() -> None:
    (one, alone) = apart(checkpoints(1.0, 1.1, 1.2, 5.0), 0.5)
    assert (one.start_s, one.length_s, one.kind, one.detail) == (1.0, 0.21, "checkpoint", "3 within 0.21 s")
    assert alone.detail == "passive"


def test_marks_of_different_kinds_are_never_one() -> None:
    flush = BackgroundWork(1.05, None, "flush", "a memtable")
    assert [m.kind for m in apart([*checkpoints(1.0, 1.1), flush], 0.5)] == ["checkpoint", "flush"]


def test_a_thousand_checkpoints_are_no_more_marks_than_a_page_has_room_for() -> None:
    marks = checkpoints(*(i / 1000 for i in range(1000)))
    result = apart(marks, 1.0 / MARKS_ACROSS)
    assert 100 <= len(result) <= MARKS_ACROSS
    assert sum(int(m.detail.split()[0]) if "within" in m.detail else 1 for m in result) == 1000
