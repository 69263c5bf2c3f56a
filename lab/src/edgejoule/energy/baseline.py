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


def interpolated_baseline(before: Baseline, after: Baseline) -> Baseline:
    """The baseline halfway between a quiet window before and one after the run.

    Each window's budget counts by half; common lines (gain, offset, model) add up, the others in squares. Half the
    difference of the two powers is the half width of a line "baseline drift". Raises DataError when the windows overlap
    or are of different domains or methods.
    """
    first, last = before.source, after.source
    if first.domain is not last.domain or first.method is not last.method:
        raise DataError(
            f"baselines of {first.domain} ({first.method}) and {last.domain} ({last.method}) have no middle"
        )
    if last.start_ns < first.end_ns:
        raise DataError("the quiet window after the run begins before the one before it ends")
    span_s = (last.end_ns - first.start_ns) / 1e9
    halves = [
        replace(line, value_j=line.value_j / source.duration_s / 2 * span_s)
        for source in (first, last)
        for line in source.budget
    ]
    drift = BudgetLine("baseline drift", abs(after.power_w - before.power_w) / 2 * span_s * RECTANGULAR)
    lines = merged_lines([*halves, *([drift] if drift.value_j > 0 else [])])
    power_w = (before.power_w + after.power_w) / 2
    source = replace(
        first,
        energy_j=power_w * span_s,
        end_ns=last.end_ns,
        uncertainty_k2_j=k2(lines),
        coverage=min(first.coverage, last.coverage),
        gaps=(*first.gaps, *last.gaps),
        notes=tuple(dict.fromkeys((*first.notes, *last.notes))),
        budget=lines,
    )
    return Baseline(power_w, source)


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
