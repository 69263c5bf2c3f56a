"""How a study goes, on the terminal: one line for the plan with the time left, one for the run under way."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.text import Text

from edgejoule.databases.driver import Event
from edgejoule.dictionary.responses import is_energy, label_of, unit_text
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import PlannedRun, cell_label
from edgejoule.findings.answer import duration_text
from edgejoule.findings.experiments import flag_text
from edgejoule.findings.facts import effective_responses
from edgejoule.findings.other_programs import BUSY_SHARE_MAX
from edgejoule.findings.text import count
from edgejoule.meters.sampler import LivePower
from edgejoule.store import Experiment, ResponseValue, Run
from edgejoule.study.study import Study

_STANDING = {"settle": "settling", "quiet": "open and quiet"}  # phases without progress of operations


class _TimeLeft(ProgressColumn):
    def render(self, task: Task) -> Text:
        seconds = task.fields.get("left_s")
        return Text("" if seconds is None else f"{duration_text(seconds)} left")


class StudyProgress:
    """A Watcher that draws bars on a terminal, and writes one line per run where there is none.

    method: of the meter's joules; every figure of power or energy is followed by it. causes: say why a run failed;
    False where the command's error says it. idle: there was nothing to do.
    """

    def __init__(self, console: Console, method: str, *, causes: bool = True) -> None:
        self._console, self._method, self._causes = console, method, causes
        self._bars = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), TaskProgressColumn(), _TimeLeft(),
            TextColumn("{task.fields[status]}", markup=False),
            console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self._all = self._bars.add_task("preparing", total=None, status="")
        self._now = self._bars.add_task("", total=None, status="")
        self._spec: Spec | None = None
        self._todo: list[PlannedRun] = []
        self._cost_s: dict[str, list[float]] = {}
        self._began_s = self._measured_s = self._limit_s = 0.0
        self._power_w: float | None = None
        self._done = self._runs = self._blocks = self._label_width = 0
        self.idle = False

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._bars.stop()

    def started(self, study: Study, todo: Sequence[PlannedRun], done: int, busy_share: float | None) -> None:
        """Show how much is to do."""
        self._spec, self._todo = study.spec, list(todo)
        self._label_width = max((len(planned.label()) for planned in todo), default=0)
        self._done, self._runs, self._blocks = (
            done,
            done + len(todo),
            1 + max((planned.block for planned in todo), default=0),
        )
        if done:
            self._console.print(f"resuming: {count(done, 'run')} finished, {len(todo)} to do")
        if busy_share is not None and busy_share > BUSY_SHARE_MAX:
            self._console.print(f"other programs use {busy_share:.0%} of the CPU: the figures will be noisy")
        self._bars.update(self._all, total=self._runs, completed=self._done, description="plan")

    def nothing_to_do(self, experiment: Experiment) -> None:
        """Say so, and what the experiment has."""
        self.idle = True
        runs = "the runs that can be done here" if experiment.counts.get("not_here") else "these runs"
        message = f"nothing to do: experiment {experiment.id} has {runs} already ({experiment.progress})"
        self._console.print(message, markup=False)

    def loading(self, key: str, share: float) -> None:
        """Show a load; on a pipe, one line when it is done."""
        self._bars.update(
            self._now, total=1.0, completed=share, description=f"loading {key.rsplit('-', 1)[0]}", status=""
        )
        if share == 1.0 and not self._console.is_terminal:
            self._console.print(f"loaded {key.rsplit('-', 1)[0]}", markup=False)

    def calibrating(self, cell: str) -> None:
        """Say which cell's full load is being learnt."""
        self._bars.update(self._now, total=1.0, completed=0.0, description=f"full load of {cell}", status="")

    def learning(self, cell: str) -> None:
        """Say what a federation is being shown."""
        self._bars.update(self._now, total=1.0, completed=0.0, description=f"servers learn {cell}", status="")

    def running(self, planned: PlannedRun) -> None:
        """Starts an empty second bar for a run."""
        self._began_s = time.monotonic()
        self._measured_s, self._limit_s = 0.0, float(planned.properties.get("maxexecutiontime") or 0)
        self._bars.update(self._now, total=1.0, completed=0.0, description=planned.label(), status="starting")
        self._show_plan(planned.block)

    def event(self, event: Event) -> None:
        """Move the second bar."""
        if event["event"] == "interval":
            self._measured_s += event.get("duration_ns", 0) / 1e9
            rate = f"{event['throughput_ops_s']:,.0f} ops/s"
            if self._power_w is not None:
                rate += f", {self._power_w:.2f} W {self._method}"
            share = self._share_done(event["operations_total"], event["operations_planned"])
            self._bars.update(self._now, total=1.0, completed=share, status=rate)
        elif event["event"] == "phase" and event["phase"] in _STANDING:
            self._bars.update(self._now, status=_STANDING[event["phase"]])

    def _share_done(self, operations: int, planned: int) -> float:
        """Returns how much of a run is done, by its operations or its time limit; 0 if it has neither."""
        shares = [operations / planned] if planned else []
        shares += [self._measured_s / self._limit_s] if self._limit_s else []
        return min(1.0, max(shares, default=0.0))

    def power(self, power: LivePower) -> None:
        """Stores the newest power for the next event."""
        self._power_w = power.power_w

    def interim_result(self, message: str, replications: int) -> None:
        """Shows the result of an interim analysis and removes the runs that it makes unnecessary."""
        self._console.print(message, markup=False)
        self.expect(replications)

    def expect(self, replications: int) -> None:
        """Reduces the number of replications to be made."""
        self._todo = [planned for planned in self._todo if planned.block < replications]
        self._blocks, self._runs = replications, self._done + len(self._todo)
        self._bars.update(self._all, total=self._runs)

    def ran(self, run: Run) -> None:
        """Say what a run gave and move the first bar."""
        self.count(run)
        line = self._line(run)
        wrapped = textwrap.wrap(line, self._console.width, subsequent_indent="    ", break_on_hyphens=False)
        self._console.print("\n".join(wrapped) if len(line) > self._console.width else line, markup=False)

    def _line(self, run: Run) -> str:
        """Returns a run in one line that fits the width: the flag is shortened, then the second response left out, then
        the cell shortened.
        """
        place = f"{self._done:>{len(str(self._runs))}}/{self._runs}"
        label = f"{cell_label(run.levels):<{self._label_width}}"
        if run.status == "failed":
            return f"{place}  {label}  FAILED{f': {run.cause}' if self._causes else ''}"
        results, flag = self._results(run), flag_text(run.flags)
        for shown in (
            [*results, flag],
            [*results, "flagged" if flag else ""],
            [*results[:1], "flagged" if flag else ""],
        ):
            line = "  ".join([place, label, *shown]).rstrip()
            if len(line) <= self._console.width:
                return line
        rest = "  ".join(shown).rstrip()
        room = max(0, self._console.width - len(place) - len(rest) - 5)
        return f"{place}  {label[:room]}…  {rest}"

    def count(self, run: Run) -> None:
        """Move the first bar."""
        self._done += 1
        self._todo.pop(0)
        self._cost_s.setdefault(cell_label(run.levels), []).append(time.monotonic() - self._began_s)
        self._show_plan(run.block)

    def _show_plan(self, block: int) -> None:
        self._bars.update(
            self._all,
            completed=self._done,
            description=f"block {block + 1} of {self._blocks}, run {self._done} of {self._runs}",
            left_s=self._left_s(),
        )

    def _left_s(self) -> float | None:
        """Estimates the time left from the mean cost of the same cell if it has run, else of all runs."""
        seen = [cost for costs in self._cost_s.values() for cost in costs]
        if not seen:
            return None
        overall = sum(seen) / len(seen)
        costs = (self._cost_s.get(p.label()) or [overall] for p in self._todo)
        return sum(sum(c) / len(c) for c in costs)

    def _results(self, run: Run) -> list[str]:
        """Returns the first two responses, and how many executions form the run."""
        names = effective_responses(self._spec, [run])[:2] if self._spec else []
        parts = [_response_text(response) for name in names for response in run.responses if response.name == name]
        for what in ("executions", "repetitions"):
            if what in run.facts:
                parts.append(f"k = {run.facts[what]} {what}")
        return parts


def _response_text(response: ResponseValue) -> str:
    if response.value is None:
        return f"{response.name} missing ({response.missing_reason})"
    value = f"{response.value:,.0f}" if response.value >= 1000 else f"{response.value:#.4g}"
    unit = unit_text(response.unit) + ("/op" if response.name.endswith("_per_op_uj") else "")
    qualifier = response.method if is_energy(response.name) else "" if "/" in unit else label_of(response.name)
    if unit == "byte" and qualifier.startswith("bytes "):
        unit = ""
    return " ".join([f"{value:>7}", *filter(None, (unit, qualifier))])
