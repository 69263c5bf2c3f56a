"""Tables of a store: the experiments, and the runs of one experiment with their responses."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from edgejoule.dictionary.responses import is_energy, unit_text
from edgejoule.findings.facts import effective_responses
from edgejoule.findings.run_tables import value_text
from edgejoule.findings.table import Table
from edgejoule.store import Experiment, Run

_FLAG_MAX = 32
_OTHER_PROGRAMS = re.compile(
    r"other programs (?:took (?P<share>[\d.]+) % of the CPU|(?P<verb>read|wrote) (?P<mb>[\d.,]+) MB)"
)


def table(experiments: Sequence[Experiment]) -> Table:
    """Returns a row per experiment with the number of its runs by status."""
    rows = tuple(
        (str(e.id), e.name, e.begun, *(str(e.counts.get(s, 0)) for s in ("finished", "failed", "planned")), e.question)
        for e in experiments
    )
    columns = ("id", "name", "begun", "finished", "failed", "left", "question")
    return Table("experiments", columns, (True, False, False, True, True, True, False), rows)


def runs(experiment: Experiment, runs: Sequence[Run]) -> Table:
    """Returns a row per run with the effective responses; a column of remarks only if a run failed, waits, is flagged
    or set aside. A narrow terminal omits responses, the last of them first.
    """
    spec = experiment.spec
    names, known, factors = effective_responses(spec, runs), spec.known_responses(), list(spec.factors)
    method = next((r.method for run in runs for r in run.responses if is_energy(r.name)), "")
    units = [f"{known[n].unit} {method}" if known[n].is_energy else unit_text(known[n].unit) for n in names]
    headings = [f"{known[name].label}\n{unit}".rstrip() for name, unit in zip(names, units, strict=True)]
    remarks = [remark(run) for run in runs]
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
    optional = tuple(range(first + len(names) - 1, first, -1))
    return Table("runs", columns, numeric, tuple(rows), optional=optional)


def remark(run: Run) -> str:
    """Returns what is special about a run in a few words; "" if nothing is."""
    status = [] if run.status == "finished" else [run.status]
    return "; ".join(filter(None, [*status, "set aside" if run.set_aside else "", flag_text(run.flags)]))


def flag_text(flags: Sequence[str]) -> str:
    """Returns flags in a few words: the first one, and the number of the others; "" if there is none."""
    if not flags:
        return ""
    others = [match for flag in flags if (match := _OTHER_PROGRAMS.match(flag))]
    if others:
        text = _other_programs(others[0])
        more = len({flag for flag in flags if not _OTHER_PROGRAMS.match(flag)})
    else:
        text, more = _first_words(flags[0]), len(set(flags)) - 1
    return f"{text}, {more} more" if more else text


def _other_programs(match: re.Match[str]) -> str:
    if share := match["share"]:
        return f"other programs {share} % CPU"
    return f"other programs {match['verb']} {match['mb']} MB"


def _first_words(flag: str) -> str:
    """Returns a flag's text up to its first colon or semicolon, in at most _FLAG_MAX characters."""
    return textwrap.shorten(re.split(r"[:;] ", flag)[0], _FLAG_MAX, placeholder=" …")
