"""Mistakes in edgejoule that would give a wrong figure end by an assertion, also under `python -O`.

Mutants: one module with one piece of its source replaced, imported in its place by a program that compares
nothing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import edgejoule

PACKAGE = Path(edgejoule.__file__).parent

# Arguments: the program, and of a mutant the module, the old text and the new one.
RUNNER = """
import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

package, program, *mutant = sys.argv[1:]
module, old, new = mutant or ("", "", "")
file = Path(package, *module.split(".")[1:]).with_suffix(".py")


class Mutated(SourceFileLoader):
    def get_code(self, name):
        text = file.read_text()
        if text.count(old) != 1:
            sys.exit(f"{file} has no such text, or has it twice: {old}")
        return compile(text.replace(old, new), str(file), "exec")


class Finder:
    @staticmethod
    def find_spec(name, path, target=None):
        return importlib.util.spec_from_loader(name, Mutated(name, str(file))) if name == module else None


sys.meta_path.insert(0, Finder)
exec(program)
print("ended without an assertion")
"""

ENERGY = """
import numpy as np
from edgejoule.energy import domain_energy
from edgejoule.meters.base import Channel, Domain, Method, ValueKind
from edgejoule.meters.trace import Trace

for kind in ValueKind:
    channels = [Channel("emulated", d, d, kind, Method.MEASURED, 0.0, 0.0, 0.0) for d in (Domain.BOARD, Domain.PACKAGE)]
    traces = [Trace(c, np.arange(101) * 10_000_000, np.linspace(1.0, 2.0, 101), 0.01) for c in channels]
    domain_energy(traces, 100_000_000, 900_000_000)
"""

STATISTICS = """
import numpy as np
from edgejoule.stats.cells import cell_means
from edgejoule.stats.factor import Factor
from edgejoule.stats.anova import anova
from edgejoule.stats.ranks import kruskal_wallis
from edgejoule.stats.split_plot import average_repetitions

y = np.random.default_rng(1).normal(10, 1, 24)
engine = Factor.of("engine", [i // 12 for i in range(24)])
load = Factor.of("load", [i // 4 for i in range(24)])
size = Factor.of("size", [i % 2 for i in range(24)])
anova(y, [engine, size])
kruskal_wallis(y, cell_means(y, [engine, size]).member)
loads = average_repetitions(y, [engine, size], None, load)
cell_means(loads.y, loads.factors)
"""


def run(program: str, *mutant: str) -> str:
    command = [sys.executable, "-O", "-c", RUNNER, str(PACKAGE), program, *mutant]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env={"PYTHONPATH": str(PACKAGE.parent)})
    return (ended.stdout + ended.stderr).strip().splitlines()[-1]


@pytest.mark.parametrize("program", [ENERGY, STATISTICS])
def test_no_assertion_fails_without_a_mutant(program: str) -> None:
    assert run(program) == "ended without an assertion"


@pytest.mark.parametrize(
    ("program", "module", "old", "new", "message"),
    [
        (ENERGY, "edgejoule.meters.trace", "return (self,) if len(self)", "return (self, self) if len(self)", "follow"),
        (ENERGY, "edgejoule.energy.integral", "np.clip(segments.end_s, from_s, to_s)", "segments.end_s", "known time"),
        (ENERGY, "edgejoule.energy.integral", "if each.channel.domain is wanted", "", "one domain"),
        (
            ENERGY,
            "edgejoule.energy.segments",
            "trace.t_ns[good] - origin_ns",
            "origin_ns - trace.t_ns[good]",
            "increase",
        ),
        (STATISTICS, "edgejoule.stats.split_plot", "f.levels, unique[:, at]", "f.levels, unique[1:, at]", "levels of"),
        (STATISTICS, "edgejoule.stats.factor", "index.setdefault(str(value), len(index))", "len(str(value))", "a code"),
        (
            STATISTICS,
            "edgejoule.stats.cells",
            "tuple(cells), member, counts",
            "tuple(cells), member[1:], counts",
            "one group",
        ),
    ],
)
def test_a_mutant_ends_by_an_assertion(program: str, module: str, old: str, new: str, message: str) -> None:
    last = run(program, module, old, new)
    assert last.startswith("edgejoule.errors.ProgrammingError: ")
    assert message in last
