"""The Python API: results of a store as pandas data frames. Read-only.

Figures are those of `edgejoule report`: means, intervals and numbers of runs come from its findings.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from edgejoule.dictionary.responses import is_energy, nearest
from edgejoule.errors import DataError, UsageError
from edgejoule.experiment.model import Level
from edgejoule.extras import install_command
from edgejoule.findings import Findings, ResponseFinding, find
from edgejoule.store import Experiment, Run, Store

if TYPE_CHECKING:
    import pandas as pd

_STATUSES = ("finished", "failed", "planned", "not_here")
_INTERVAL = ("n", "mean", "ci95_low", "ci95_high")


def open_store(path: str | Path | None = None) -> ResultStore:
    """Opens a store for reading. path: default as for the command line: $EDGEJOULE_STORE, else results/store.db.

    Raises ImportError without pandas, StoreError if there is no store or it cannot be read.
    """
    try:
        import pandas  # noqa: F401 - reported here, before the first data frame
    except ImportError as error:
        raise ImportError(f"edgejoule.open_store needs pandas: {install_command('pandas')}") from error
    return ResultStore(Path(path or os.environ.get("EDGEJOULE_STORE") or "results/store.db"))


class ResultStore:
    """The experiments of a store. A context manager; used by one thread."""

    def __init__(self, path: Path) -> None:
        self._store = Store.open(path, read_only=True)
        self.path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """May be called twice."""
        self._store.close()

    def experiments(self) -> pd.DataFrame:
        """One row per experiment, the oldest first, with the number of its runs by status. begun: in UTC."""
        import pandas as pd

        stored = self._store.experiments()
        return pd.DataFrame({
            "id": [e.id for e in stored],
            "name": [e.name for e in stored],
            "question": [e.question for e in stored],
            "begun": pd.to_datetime([e.created_realtime_ns for e in stored], unit="ns", utc=True),
            **{status: [e.counts.get(status, 0) for e in stored] for status in _STATUSES},
            "energy": [e.energy_words for e in stored],
        })  # fmt: skip

    def experiment(self, which: str | int = "latest") -> ExperimentResults:
        """An experiment by id, by name, or the latest. Raises UsageError for an unknown name or one of several."""
        return ExperimentResults(self._store, self._store.find(str(which)))


class ExperimentResults:
    """The results of one experiment. They are read when they are asked for."""

    def __init__(self, store: Store, experiment: Experiment) -> None:
        self._store, self._experiment = store, experiment
        self.id, self.name, self.question = experiment.id, experiment.name, experiment.question
        self.factors: Mapping[str, Sequence[Level]] = experiment.spec.factors
        self._declared: Findings | None = None
        self._further: list[ResponseFinding] = []  # that the experiment does not declare

    def runs(self) -> pd.DataFrame:
        """One row per finished run: run, block, factors, flags, every response; NaN for a missing value.

        Of several attempts at a run the one that counts. flags: texts joined by "; ", empty for a run without.
        attrs["units"]: response -> unit, for an energy or power with its method, "J modelled". attrs["experiment"].
        Raises UsageError for a factor with the name of another column.
        """
        import pandas as pd

        runs = [run for run in self._store.runs(self.id) if run.status == "finished"]
        units = self._units(runs)
        columns: dict[str, list[Any]] = {
            "run": [run.run_index + 1 for run in runs],
            "block": [run.block + 1 for run in runs],
        }
        others: dict[str, list[Any]] = {"flags": ["; ".join(run.flags) for run in runs]}
        for name in units:
            others[name] = [math.nan if (value := run.value(name)) is None else value for run in runs]
        if clash := sorted(set(self.factors) & {*columns, *others}):
            raise UsageError(f"a factor has the name of a column: {', '.join(clash)}")
        columns |= {name: [run.levels[name] for run in runs] for name in self.factors}
        frame = pd.DataFrame({**columns, **others})
        frame.attrs |= {"units": units, "experiment": self.name}
        return frame

    def means(self, response: str, by: str | Sequence[str] | None = None) -> pd.DataFrame:
        """Mean, 95 % interval and number of runs, as in the report: one row per cell, or per level of a factor.

        by: a factor, whose levels are averaged over the other factors as the report's comparison does. Where the
        experiment has analysis.by, each of its levels is analysed by itself and has its own rows. Default: all factors.
        On the log scale (attrs["scale"]) means are geometric. An interval is NaN without an error term; attrs["notes"]
        says why. attrs["units"] as in `runs`; the interval of a modelled energy is that of the replications alone.
        Raises UsageError for an unknown response or factor, DataError where the report has no such means.
        """
        import pandas as pd

        finding = self._finding(response)
        wanted = [by] if isinstance(by, str) else list(self.factors if by is None else by)
        for name in wanted:
            if name not in self.factors:
                raise UsageError(f"no factor {name!r} in {self.name}; {nearest(name, self.factors)}")
        rows = _cells(finding) if set(wanted) == set(self.factors) else self._margins(finding, wanted)
        in_order = [name for name in self.factors if any(name in levels for levels, *_ in rows)]
        rows.sort(key=lambda row: [self.factors[name].index(row[0][name]) for name in in_order])
        table = [[*(levels[name] for name in in_order), *figures] for levels, *figures in rows]
        frame = pd.DataFrame(table, columns=[*in_order, *_INTERVAL])
        unit = f"{finding.unit} {finding.method}" if finding.is_energy else finding.unit
        frame.attrs |= {
            "units": dict.fromkeys(_INTERVAL[1:], unit),
            "experiment": self.name,
            "response": response,
            "scale": finding.scale,
            "notes": list(dict.fromkeys([*finding.notes, *(part.reason for part in finding.parts if part.reason)])),
        }
        return frame

    def _units(self, runs: Sequence[Run]) -> dict[str, str]:
        """Response -> unit, in the dictionary's order, with the methods of an energy."""
        methods: dict[str, dict[str, None]] = {}
        units: dict[str, str] = {}
        for run in runs:
            for value in run.responses:
                units[value.name] = value.unit
                methods.setdefault(value.name, {})[value.method] = None
        known = self._experiment.spec.known_responses()
        names = [*(name for name in known if name in units), *(name for name in units if name not in set(known))]
        return {n: f"{units[n]} {' and '.join(methods[n])}" if is_energy(n) else units[n] for n in names}

    def _finding(self, name: str) -> ResponseFinding:
        """The response as the report analyses it, or would if the experiment declared it."""
        units = self._units([run for run in self._store.runs(self.id) if run.status == "finished"])
        if name not in units:
            raise UsageError(f"no response {name!r} in {self.name}; there are: {', '.join(units) or 'none'}")
        if self._declared is None:
            self._declared = find(self._store, self._experiment)
        for analysed in (*self._declared.responses, *self._further):
            if analysed.name == name:
                return analysed
        spec = self._experiment.spec
        analysis = spec.analysis.model_copy(update={"responses": [*spec.analysis.responses, name]})
        asked = replace(self._experiment, spec=spec.model_copy(update={"analysis": analysis}))
        self._further.append(next(one for one in find(self._store, asked).responses if one.name == name))
        return self._further[-1]

    def _margins(self, finding: ResponseFinding, wanted: Sequence[str]) -> list[_Row]:
        by = self._experiment.spec.analysis.by
        factors = [name for name in wanted if name != by]
        if len(factors) != 1:
            each = f", each with or without {by!r}" if by else ""
            possible = ", ".join(repr(name) for name in self.factors if name != by)
            raise UsageError(
                f"by = {wanted}: the report has means of all factors together, or of one: {possible}{each}"
            )
        rows: list[_Row] = []
        for part in finding.parts:
            margin = part.margins.get(factors[0])
            if margin is None:
                reason = part.reason or f"{factors[0]} has no marginal means; some cells have no value"
                raise DataError(f"{finding.name} by {factors[0]}: {reason}")
            for group in margin.groups:
                level = next(one for one in self.factors[factors[0]] if str(one) == group.levels[factors[0]])
                rows.append(({**part.where, factors[0]: level}, group.n, group.mean, *group.ci95))
        return rows


_Row = tuple[Mapping[str, Level], int, float, float, float]  # levels, n, mean, ends of the interval


def _cells(finding: ResponseFinding) -> list[_Row]:
    unknown = (math.nan, math.nan)
    return [
        (cell.levels, cell.n, math.nan if cell.mean is None else cell.mean, *(cell.ci or unknown))
        for cell in finding.cells
        if cell.applies
    ]
