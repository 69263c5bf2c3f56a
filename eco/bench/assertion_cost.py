#!/usr/bin/env python3
"""What assertions cost a placement decision, in CPU time.

Each round runs eco-assertion-bench and eco-assertion-bench-unchecked (the same sources without ECO_CHECK), in turns
first. Prints the median nanoseconds of a decision with and without assertions, and the median ratio of a round.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
from pathlib import Path


def decision_ns(program: Path) -> dict[str, float]:
    """Runs the program once. Returns the nanoseconds of a decision by case."""
    out = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {case: float(ns) for case, ns in (line.split("\t") for line in out.splitlines())}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    programs = [options.build / "bin" / f"eco-assertion-bench{end}" for end in ("", "-unchecked")]
    rounds: dict[Path, list[dict[str, float]]] = {program: [] for program in programs}
    for number in range(options.rounds):
        for program in programs if number % 2 == 0 else reversed(programs):
            rounds[program].append(decision_ns(program))
    checked, unchecked = rounds.values()
    print(f"{'case':<45} {'with':>9} {'without':>9} ns    ratio")
    for case in checked[0]:
        having, lacking = ([one[case] for one in side] for side in (checked, unchecked))
        ratio = statistics.median(a / b for a, b in zip(having, lacking, strict=True))
        print(f"{case:<45} {statistics.median(having):>9.0f} {statistics.median(lacking):>9.0f}    {ratio:>8.3f}")


if __name__ == "__main__":
    main()
