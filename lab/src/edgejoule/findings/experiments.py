"""Tables of a store: the experiments, and the runs of one experiment with their responses."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Sequence

from edgejoule.dictionary.responses import is_energy, unit_text
from edgejoule.findings.facts import effective_responses
from edgejoule.findings.run_tables import value_text
from edgejoule.findings.table import Table
from edgejoule.store import Experiment, Run

_FLAG_MAX = 32
_HEADINGS = {"not_here": "not here", "planned": "left"}
_OTHERS = "other programs"
_SHORT = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"other programs took ([\d.]+) ?% of the CPU", r"other programs \1 % CPU"),
        (r"other programs (read|wrote) ([\d.,]+) MB", r"other programs \1 \2 MB"),
        (r"the driver itself took ([\d.]+) ?% of the CPU", r"driver \1 % CPU"),
        (r"the board was held back: (.+)", r"board: \1"),
        (r"the processor was held back", "processor too hot"),
        (r"no energy:", "no energy"),
    )
)


def table(experiments: Sequence[Experiment], notes: Sequence[int]) -> Table:
    """Returns a row per experiment with the number of its runs by status; columns of runs that are not here and of
    remarks only if one has some.

    notes: the number of notes of each experiment, those on its runs included.
    """
    noted, absent = any(notes), any(e.counts.get("not_here") for e in experiments)
    statuses = ("finished", "failed", *(["not_here"] if absent else []), "planned")
    rows = tuple(
        (
            str(e.id), e.name, e.begun, *(str(e.counts.get(s, 0)) for s in statuses),
            *([notes_text(count)] if noted else []), e.question,
        )
        for e, count in zip(experiments, notes, strict=True)
    )  # fmt: skip
    headings = (*(_HEADINGS.get(status, status) for status in statuses), *(["remark"] if noted else []))
    numeric = (True, False, False, *[True] * len(statuses), *([False] if noted else []), False)
    columns = ("id", "name", "begun", *headings, "question")
    return Table("experiments", columns, numeric, rows)


def in_lines(experiment: Experiment, notes: int) -> tuple[str, str]:
    """Returns an experiment's row as two lines for a narrow terminal: what is stored, and the question."""
    remark = f"; {notes_text(notes)}" if notes else ""
    return f"{experiment.name}, {experiment.begun}: {experiment.progress}{remark}", experiment.question


def notes_text(number: int) -> str:
    """Returns the mark of notes: note, 2 notes; "" for none."""
    return "" if number == 0 else "note" if number == 1 else f"{number} notes"


def runs(experiment: Experiment, runs: Sequence[Run], noted: Collection[int] = ()) -> Table:
    """Returns a row per run with the effective responses; a column of remarks only if a run failed, waits, is flagged,
    is set aside or has a note. A narrow terminal omits responses, the last of them first, then blocks and remarks.
    noted: indices of runs with a note.
    """
    spec = experiment.spec
    names, known, factors = effective_responses(spec, runs), spec.known_responses(), list(spec.factors)
    method = next((r.method for run in runs for r in run.responses if is_energy(r.name)), "")
    units = [f"{known[n].unit} {method}" if known[n].is_energy else unit_text(known[n].unit) for n in names]
    headings = [f"{known[name].label}\n{unit}".rstrip() for name, unit in zip(names, units, strict=True)]
    remarks = [remark(run, noted=run.run_index in noted) for run in runs]
    plain = not any(remarks)
    rows = []
    for run, text in zip(runs, remarks, strict=True):
        values = {r.name: r for r in run.responses}
        values_shown = (value_text(values[name]) if name in values else "-" for name in names)
        head = (str(run.run_index + 1), str(run.block + 1), *(str(level) for level in run.levels.values()))
        rows.append((*head, *values_shown, *([] if plain else [text])))
    columns = ("run", "block", *factors, *headings, *([] if plain else ["remark"]))
    numeric = (True, True, *[False] * len(factors), *[True] * len(names), *([] if plain else [False]))
    first = 2 + len(factors)
    optional = (*range(first + len(names) - 1, first, -1), 1, *([] if plain else [len(columns) - 1]))
    return Table("runs", columns, numeric, tuple(rows), optional=optional)


LOAD_FLAG = "load: "  # begins a flag about the load that was made for a run


def remark(run: Run, *, noted: bool = False) -> str:
    """Returns what is special about a run in a few words; "" if nothing is."""
    status = [] if run.status == "finished" else [run.status.replace("_", " ")]
    aside, note = "set aside" if run.set_aside else "", "note" if noted else ""
    return "; ".join(filter(None, [*status, aside, flag_text(run.flags), note]))


def flag_text(flags: Sequence[str]) -> str:
    """Returns flags in a few words: one of them, and the number of the others; "" if there is none. The flags about
    other programs count as one.
    """
    if not flags:
        return ""
    shorts = [_short(flag) for flag in flags]
    first = next((short for short in shorts if short.startswith(_OTHERS)), shorts[0])
    more = len({short for short in shorts if not short.startswith(_OTHERS)} - {first})
    return f"{first}, {more} more" if more else first


def _short(flag: str) -> str:
    """Returns a flag in a few words: its first clause in at most _FLAG_MAX characters."""
    if flag.startswith(LOAD_FLAG):
        return f"{LOAD_FLAG}{_short(flag.removeprefix(LOAD_FLAG))}"
    for pattern, text in _SHORT:
        if match := pattern.match(flag):
            return match.expand(text)
    return textwrap.shorten(re.split(r"[:;] ", flag)[0], _FLAG_MAX, placeholder=" …")
