"""The result of `edgejoule exec` on a terminal: a line with a bar for each command, its figures, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from edgejoule.exec.results import NAMES, Result, Row
from edgejoule.exec.verdict import half_width, share_words, verdict, wall_verdict, what
from edgejoule.findings import Cell
from edgejoule.findings.text import Unit, count, number, ratio, unit_for

PIPE_WIDTH = 120  # of the bars
UNBOUNDED = 10_000
_BAR_MIN, _LABEL_MIN = 10, 16
_FLAGS_MAX = 5
_PLACES_MAX = 6  # a mean's decimals beyond its uncertainty's, where its scatter is only rounding
#: response, its heading in two lines, whether the meter's uncertainty stands beside it
FIGURES = (
    ("energy_j", ("energy", ""), True),
    ("energy_net_j", ("energy", "above idle"), True),
    ("power_mean_w", ("mean", "power"), False),
    ("active_s", ("wall", "time"), False),
    ("cpu_s", ("CPU", "time"), False),
    ("context_switches", ("context", "switches"), False),
    ("rss_peak_mb", ("peak", "memory"), False),
    ("process_read_bytes", ("tree", "reads"), False),
    ("process_write_bytes", ("tree", "writes"), False),
    ("device_read_bytes", ("device", "reads"), False),
    ("device_write_bytes", ("device", "writes"), False),
)


@dataclass(frozen=True)
class ResultColumn:
    """A column of the result. heading: lines above the cells. cells: one for each row."""

    heading: tuple[str, ...]
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        """Characters of the widest line."""
        return max(map(len, (*self.heading, *self.cells)))


def show(out: Console, result: Result) -> None:
    """Print everything but what the study said while it ran."""
    unbounded = out.width >= UNBOUNDED  # a pipe
    width = PIPE_WIDTH if unbounded else out.width
    _show_bars(out, result, width)
    _show_figures(out, result, UNBOUNDED if unbounded else width)
    _show_phases(out, result, UNBOUNDED if unbounded else width)
    _show_notes(out, result)
    out.print()
    for sentence in filter(None, (verdict(result), wall_verdict(result))):
        out.print(Text(sentence, style="bold"), soft_wrap=out.width >= UNBOUNDED)


def _show_bars(out: Console, result: Result, width: int) -> None:
    if result.decides is None:
        return
    name = result.decides.name
    cells = [row.cells[name] for row in result.rows if name in row.cells]
    ends = [end for cell in cells for end in (cell.mean, *(cell.ci or ())) if end is not None]
    unit = unit_for(result.decides.unit, ends)
    lines = [(row, _right(row, name, unit, several=len(result.compared) > 1)) for row in result.rows]
    right = [max(len(texts[place]) for _, texts in lines) for place in range(4)]
    used = sum(right) + 2 * len([w for w in right if w])
    label = min(max(len(row.label) for row in result.rows), max(_LABEL_MIN, width - used - _BAR_MIN - 4))
    bar = max(_BAR_MIN, width - used - label - 4)
    best = result.compared[0].label if len(result.compared) > 1 else None
    out.print(Text(f"\n{_title(result)}", style="dim"), no_wrap=True, overflow="ellipsis")
    ascii_only = not (out.encoding or "").lower().startswith("utf")
    for row, texts in lines:
        cell = row.cells.get(name)
        line = Text(f"{shortened(row.label, label):<{label}}  ", style="bold" if row.label == best else "")
        low, high = (cell.ci or (cell.mean, cell.mean)) if cell and cell.mean is not None else (0.0, 0.0)
        line.append(bar_of(low or 0.0, high or 0.0, max(ends, default=0.0), bar, ascii_only=ascii_only), "cyan")
        for place, text in enumerate(texts):
            if right[place]:
                line.append(f"  {text:>{right[place]}}")
        line.rstrip()
        out.print(line, no_wrap=True, overflow="ignore", crop=False)


def _title(result: Result) -> str:
    assert result.decides is not None
    runs = sorted({row.cells[result.decides.name].n for row in result.rows if result.decides.name in row.cells})
    many = count(runs[0], "run") if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs"
    if len(result.rows) == 1:
        return f"{what(result)}: mean with 95 % interval, {many}"
    return f"{what(result)}: mean with 95 % interval, ratio to the best, {many} each"


def _right(row: Row, name: str, unit: Unit, *, several: bool) -> tuple[str, str, str, str]:
    """Returns the texts right of a bar: letters, mean, interval, ratio to the best."""
    cell = row.cells.get(name)
    if cell is None or cell.mean is None:
        return "", "no value", "", ""
    interval = f"[{unit.number(cell.ci[0])}, {unit.number(cell.ci[1])}]" if cell.ci else ""
    if row.ratio is None:
        return row.letters or "", unit.text(cell.mean), interval, "" if row.resolved else "not above 0"
    if row.ratio == 1 and row.ratio_ci is None:
        times = "best" if row.letters and several else ""
    else:
        ends = f" [{ratio(row.ratio_ci[0])}, {ratio(row.ratio_ci[1])}]" if row.ratio_ci else ""
        times = f"{ratio(row.ratio)}×{ends}"
    return row.letters or "", unit.text(cell.mean), interval, times


def bar_of(low: float, high: float, largest: float, width: int, *, ascii_only: bool = False) -> str:
    """Draws a bar: filled up to the interval, shaded inside it. The full width stands for the largest value."""
    if largest <= 0 or high <= 0:
        return " " * width
    full = min(width, round(max(low, 0.0) / largest * width))
    shaded = min(width, max(full, round(high / largest * width))) - full
    if full + shaded == 0:
        full = 1
    filled, half = ("#", "=") if ascii_only else ("█", "▒")
    return f"{filled * full}{half * shaded}".ljust(width)


def shortened(label: str, width: int) -> str:
    """Shortens a label in its middle: begin and end distinguish commands."""
    if len(label) <= width:
        return label
    tail = (width - 1) // 2
    return f"{label[: width - 1 - tail]}…{label[len(label) - tail :]}"


def _show_figures(out: Console, result: Result, width: int) -> None:
    columns = [c for name, heading, sure in FIGURES if (c := column_of(result, name, heading, uncertain=sure))]
    _show_table(out, [row.label for row in result.rows], columns, width)


def _show_phases(out: Console, result: Result, width: int) -> None:
    """Shows the phases of every command, if any has announced one."""
    rows = [(row, phase) for row in result.rows for phase in result.phases(row)]
    energy = result.response("energy_j")
    if not rows or energy is None:
        return
    phases = [phase for _, phase in rows]
    joules = _figures("J", [(p.energy_j, p.uncertainty_k2_j) for p in phases])
    columns = [
        ResultColumn(("energy", energy.method, f"{joules[0]} k = 2"), joules[1]),
        *(
            ResultColumn((*heading, unit), texts)
            for heading, stored, values in (
                (("wall", "time"), "s", [p.duration_s for p in phases]),
                (("tree", "reads"), "byte", [p.read_bytes for p in phases]),
                (("tree", "writes"), "byte", [p.write_bytes for p in phases]),
            )
            for unit, texts in [_figures(stored, [(value, None) for value in values])]
        ),
    ]
    several = len({row.label for row, _ in rows}) > 1
    labels = [f"{phase.name}, {row.label}" if several else phase.name for row, phase in rows]
    out.print(Text("\nPhases, the mean of all runs", style="dim"))
    _show_table(out, labels, columns, width)


def _show_table(out: Console, labels: Sequence[str], columns: Sequence[ResultColumn], width: int) -> None:
    """Prints the columns, in as many tables as the width needs."""
    label = min(max(map(len, labels)), max(_LABEL_MIN, width // 4))
    for group in packed(columns, width - label):
        out.print()
        for place in range(len(group[0].heading)):
            if not any(c.heading[place] for c in group):
                continue
            line = "".join(f"  {c.heading[place]:>{c.width}}" for c in group)
            out.print(Text(f"{'':<{label}}{line}", style="dim"), no_wrap=True, overflow="ignore", crop=False)
        for i, own in enumerate(labels):
            line = "".join(f"  {c.cells[i]:>{c.width}}" for c in group)
            text = f"{shortened(own, label):<{label}}{line}"
            out.print(Text(text), no_wrap=True, overflow="ignore", crop=False)


def packed(columns: Sequence[ResultColumn], width: int) -> list[list[ResultColumn]]:
    """Groups the columns so that each group fits into the width or has one column."""
    groups: list[list[ResultColumn]] = []
    left = 0
    for column in columns:
        if not groups or column.width + 2 > left:
            groups.append([])
            left = width
        groups[-1].append(column)
        left -= column.width + 2
    return groups


def column_of(result: Result, name: str, heading: tuple[str, str], *, uncertain: bool) -> ResultColumn | None:
    """Returns the figures of one response; None if no run has it. uncertain: with the meter's uncertainty."""
    response = result.response(name)
    if response is None:
        return None
    cells = [row.cells.get(name) for row in result.rows]
    pairs = [(cell.mean if cell else None, _half(cell, uncertain)) for cell in cells]
    unit, texts = _figures(response.unit, pairs)
    beside = any(half is not None for _, half in pairs)
    scale = f"{unit} {'k = 2' if uncertain else '± 95 %'}" if beside else unit
    return ResultColumn((*heading, response.method if response.is_energy else "", scale.strip()), texts)


def _figures(stored: str, pairs: Sequence[tuple[float | None, float | None]]) -> tuple[str, tuple[str, ...]]:
    """Returns the symbol of one unit for all, and every value with its uncertainty."""
    unit = unit_for(stored, [figure for pair in pairs for figure in pair])
    return unit.symbol, tuple(
        "no value" if value is None else with_half(value / unit.scale, None if half is None else half / unit.scale)
        for value, half in pairs
    )


def with_half(value: float, half: float | None) -> str:
    """Rounds the value and its uncertainty to the uncertainty's second digit: 1.77 ± 0.11.

    The value keeps two digits where the uncertainty is larger: 0.11 ± 36.
    """
    if half is None or half <= 0:
        return number(value) if half is None else f"{number(value)} ± 0"
    places = _places(half)
    own = places if value == 0 else min(max(places, _places(value)), places + _PLACES_MAX)
    rounded = round(value, own) + 0.0  # no negative zero
    return f"{rounded:,.{own}f} ± {half:,.{places}f}".replace("-", "−")


def _places(value: float) -> int:
    """Returns the decimals that show two digits of the value."""
    return max(0, 1 - math.floor(math.log10(abs(value))))


def _half(cell: Cell | None, uncertain: bool) -> float | None:
    """Returns the value after ±: the meter's uncertainty, else half the 95 % interval; None without either."""
    if cell is None or cell.mean is None:
        return None
    if uncertain:
        return cell.uncertainty_k2
    return half_width(cell.mean, cell.ci) if cell.ci else None


def _show_notes(out: Console, result: Result) -> None:
    """Shows the noise floor, the result of the budget, and every flag."""
    notes = [
        *_means_note(result),
        *_floor_note(result),
        *_look_note(result),
        *_method_note(result),
        *_run_notes(result),
        *_flag_notes(result),
    ]
    if notes:
        out.print()
    for note in notes:
        out.print(Text(note, style="yellow" if note.startswith("!") else ""), soft_wrap=out.width >= UNBOUNDED)


def _means_note(result: Result) -> Iterator[str]:
    if any(row.ratio_ci for row in result.rows):
        yield "Means are arithmetic, so amounts add up; ratios are those of geometric means."


def _floor_note(result: Result) -> Iterator[str]:
    if (floor := result.floor) is not None:
        assert result.decides is not None, "only a response that decides is compared"
        low, high = (ratio(end) for end in floor.ratio_ci)
        yield (
            f"Noise floor: {share_words(floor.share)}. The control takes {ratio(floor.ratio)}× [{low}, {high}] "
            f"the {result.decides.label} of the command that it repeats; smaller differences are noise."
        )


def _look_note(result: Result) -> Iterator[str]:
    for look in result.looks:
        if look["decided"] or look is result.looks[-1]:
            message = str(look["words"])
            yield f"{message[0].upper()}{message[1:]}."


def _method_note(result: Result) -> Iterator[str]:
    """Explains why CPU time decides where joules are modelled."""
    energy = result.response("energy_j")
    if energy is None or energy.method != "modelled" or result.decides is None or result.decides.is_energy:
        return
    least = result.findings.energy_min_ratio
    resolves = f" and resolves ratios above {ratio(least)}× only" if least else ""
    yield f"Energy is modelled{resolves}, so {NAMES.get(result.decides.name, result.decides.label)} decides."


def _run_notes(result: Result) -> Iterator[str]:
    """Explains how a run differs from one start of the command: repetitions, and the shell that starts it."""
    counts = [run.facts["repetitions"] for run in result.runs if "repetitions" in run.facts]
    if counts:
        many = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
        yield f"A short command is repeated {many} times in a run; figures are of one, process start included."
    shells = {str(s["shell"]): s for run in result.runs if (s := run.facts.get("shell"))}
    for shell, start in shells.items():
        wall, cpu = (unit_for("s", [start[key]]).text(start[key]) for key in ("start_s", "cpu_s"))
        yield (
            f"The start of {shell} is subtracted: {wall} of wall time, {cpu} of CPU time. It was measured once; no "
            "interval holds its uncertainty."
        )


def _flag_notes(result: Result) -> Iterator[str]:
    """Yields a line for each kind of flag."""
    flags = result.flags()
    for flag, runs in flags[:_FLAGS_MAX]:
        yield f"! {runs} of {count(len(result.runs), 'run')}: {flag}"
    if len(flags) > _FLAGS_MAX:
        yield f"! {count(len(flags) - _FLAGS_MAX, 'more kind')} of flags; `edgejoule show` lists them"
