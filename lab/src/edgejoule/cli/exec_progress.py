"""How `edgejoule exec` goes, on the terminal: bars that leave nothing behind, for the result says it all."""

from __future__ import annotations

import time

from rich.console import Console

from edgejoule.cli.progress import StudyProgress
from edgejoule.experiment.model import Spec
from edgejoule.meters.base import Meter
from edgejoule.store import Run


class ExecProgress(StudyProgress):
    """The bars without a line for each run; until the number of runs is known, against the budget."""

    def __init__(self, out: Console, meter: Meter, spec: Spec) -> None:
        super().__init__(out, str(meter.method), causes=False)
        declared = spec.design.sequential
        self._budget_s = declared.budget_s if declared else None
        self._start_s = time.monotonic()

    def interim_result(self, message: str, replications: int) -> None:
        """Updates the number of runs; the result reports the decision."""
        if replications < self._blocks:
            self._budget_s = None
        self.expect(replications)

    def ran(self, run: Run) -> None:
        """Move the bar."""
        self.count(run)

    def _show_plan(self, block: int) -> None:
        if self._budget_s is None:
            super()._show_plan(block)
            return
        used_s = time.monotonic() - self._start_s
        self._bars.update(
            self._all,
            total=self._budget_s,
            completed=min(used_s, self._budget_s),
            description=f"block {block + 1}, run {self._done + 1}",
            left_s=max(0.0, self._budget_s - used_s),
        )
