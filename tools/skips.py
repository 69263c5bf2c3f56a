#!/usr/bin/env python3
"""Fails when a test was skipped, or was expected to fail, for a reason that is not listed in tools/skips.toml.

tools/skips.py FOLDER    reads the JUnit files of pytest and ctest in it and prints the skipped tests by reason
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

# What GoogleTest prints: FILE:LINE: Skipped, the reason, [  SKIPPED ] and the test's name.
GOOGLE_TEST = re.compile(r": Skipped\n(.*?)\s*\[  SKIPPED \]", re.DOTALL)


def skipped(file: Path) -> Iterator[tuple[str, str]]:
    """The skipped tests of a JUnit file: name and reason."""
    for case in ET.parse(file).getroot().iter("testcase"):
        mark = case.find("skipped")
        if mark is None:
            continue
        name = "::".join(dict.fromkeys([case.get("classname", ""), case.get("name", "")]))  # ctest's are the same
        printed = GOOGLE_TEST.search(case.findtext("system-out") or "")
        yield name, (printed[1] if printed else mark.get("message", "")).strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    rules = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["skip"]
    allowed = re.compile("|".join(f"(?:{rule['reason']})" for rule in rules), re.DOTALL)
    files = sorted(folder.glob("*.xml"))
    if not files:
        print(f"{folder}: no JUnit file of pytest or ctest", file=sys.stderr)
        return 1
    by_reason: dict[str, list[str]] = defaultdict(list)
    for file in files:
        for name, reason in skipped(file):
            by_reason[reason].append(name)
    refused = {reason: names for reason, names in by_reason.items() if not allowed.fullmatch(reason)}
    for reason, names in sorted(refused.items()):
        print(f"skipped without leave: {reason or 'no reason given'}", *names, sep="\n  ", file=sys.stderr)
    if refused:
        print(
            "build or install what is missing; a reason that no machine can help goes into tools/skips.toml",
            file=sys.stderr,
        )
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
