"""Energy above a baseline: the mean power of quiet windows before and after a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgejoule.energy.figures import RECTANGULAR, Baseline, BudgetLine, Energy, k2, merged_lines
from edgejoule.energy.integral import domain_energy
from edgejoule.energy.readings import Readings
from edgejoule.errors import DataError
from edgejoule.meters.base import Domain


def baseline(traces: Sequence[Readings], t0_ns: int, t1_ns: int, domain: Domain | None = None) -> Baseline:
    """Mean power over a quiet window. Raises DataError when the window has no energy."""
    source = domain_energy(traces, t0_ns, t1_ns, domain)
    if source.power_mean_w is None:
        raise DataError(f"no baseline: {source.missing_reason}")
    return Baseline(source.power_mean_w, source)


def interpolated_baseline(before: Baseline, after: Baseline, t0_ns: int, t1_ns: int) -> Baseline:
    """The baseline of a run from t0_ns to t1_ns, on the straight line between a quiet window before and one after it.

    The mean of a straight line over the run is its value in the run's middle; the windows' powers count as those of
    their middles. Each window's budget counts with the window's weight; common lines (gain, offset, model) add up, the
    others in squares. Half the difference of the two powers is the half width of a line "baseline drift": nothing says
    that the line was straight. Raises DataError when a window reaches into the run, or the windows are of different
    domains or methods.
    """
    first, last = before.source, after.source
    if first.domain is not last.domain or first.method is not last.method:
        raise DataError(
            f"baselines of {first.domain} ({first.method}) and {last.domain} ({last.method}) have no middle"
        )
    if not first.end_ns <= t0_ns < t1_ns <= last.start_ns:
        raise DataError("a quiet window reaches into the run: one has to end before it begins, the other begin after")
    begin_ns, middle_ns, end_ns = _middle_ns(first), (t0_ns + t1_ns) / 2, _middle_ns(last)
    weight = (middle_ns - begin_ns) / (end_ns - begin_ns)
    duration_s = (t1_ns - t0_ns) / 1e9
    parts = [
        replace(line, value_j=line.value_j / source.duration_s * share * duration_s)
        for source, share in ((first, 1 - weight), (last, weight))
        for line in source.budget
    ]
    drift = BudgetLine("baseline drift", abs(after.power_w - before.power_w) / 2 * duration_s * RECTANGULAR)
    lines = merged_lines([*parts, *([drift] if drift.value_j > 0 else [])])
    power_w = before.power_w + weight * (after.power_w - before.power_w)
    source = replace(
        first,
        energy_j=power_w * duration_s,
        start_ns=t0_ns,
        end_ns=t1_ns,
        uncertainty_k2_j=k2(lines),
        coverage=min(first.coverage, last.coverage),
        gaps=(*first.gaps, *last.gaps),
        notes=tuple(dict.fromkeys((*first.notes, *last.notes))),
        budget=lines,
    )
    return Baseline(power_w, source)


def _middle_ns(source: Energy) -> float:
    return (source.start_ns + source.end_ns) / 2


def net_energy(gross: Energy, quiet: Baseline) -> Energy:
    """Gross energy less the baseline over the same time. May be negative: it is not clamped.

    The common lines (gain, offset, model) of both are the same error and subtract, the others add in squares.
    """
    if gross.domain is not quiet.source.domain or gross.method is not quiet.source.method:
        raise DataError(f"baseline of {quiet.source.domain} ({quiet.source.method}), energy of {gross.domain}")
    if gross.energy_j is None:
        return gross
    scale = gross.duration_s / quiet.source.duration_s
    quiet_lines = [replace(line, value_j=line.value_j * scale) for line in quiet.source.budget]
    lines = merged_lines([*gross.budget, *(replace(x, value_j=-x.value_j) for x in quiet_lines)])
    notes = tuple(dict.fromkeys((*gross.notes, *(f"baseline: {note}" for note in quiet.source.notes))))
    return replace(
        gross,
        energy_j=gross.energy_j - quiet.power_w * gross.duration_s,
        budget=lines,
        uncertainty_k2_j=k2(lines),
        notes=notes,
    )
