"""Times the idle windows around measured work: the machine before and after it, without a database."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from edgejoule.study.context import RunContext
from edgejoule.study.run_energy import QuietWindows
from edgejoule.study.run_length import first_reading_s

T = TypeVar("T")


def between_idle_windows(context: RunContext, work: Callable[[], T]) -> tuple[T, QuietWindows]:
    """Does the work between two idle windows of timing.idle_s. Leaves the meter time for a first and a last reading."""
    lead_s = max(map(first_reading_s, context.meters))
    time.sleep(lead_s)
    start_ns = time.monotonic_ns()
    time.sleep(context.timing.idle_s)
    work_start_ns = time.monotonic_ns()
    result = work()
    work_end_ns = time.monotonic_ns()
    time.sleep(context.timing.idle_s)
    end_ns = time.monotonic_ns()
    time.sleep(lead_s)
    return result, QuietWindows((start_ns, work_start_ns), (work_end_ns, end_ns))
