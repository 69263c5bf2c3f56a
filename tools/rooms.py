#!/usr/bin/env python3
"""Checks that includes and imports point one way: from a room to itself and to rooms below it (tools/rooms.toml).

tools/rooms.py                  reports every upward edge and every file in no room; exit code 1 if there is one
tools/rooms.py --edges lab      prints the edges between the rooms of a part, with their number
tools/rooms.py --write          writes the diagram into ARCHITECTURE.md
tools/rooms.py --check          like no option, and fails when the diagram is not what --write writes
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
BEGIN, END = "<!-- rooms: written by tools/rooms.py --write -->", "<!-- end of rooms -->"


@dataclass(frozen=True)
class Part:
    """A part of the repository. rooms: bottom to top; each has folders or files, relative to the part's folder."""

    name: str
    folder: Path
    rooms: dict[str, list[str]]
    package: str | None  # of a Python part
    ignored: list[str]

    def room_of(self, file: Path) -> str | None:
        """The room with the longest folder that holds the file; None without one."""
        relative = file.relative_to(self.folder).as_posix()
        fitting = [
            (len(place), room)
            for room, places in self.rooms.items()
            for place in places
            if relative == place or relative.startswith(place + "/") or place == "."
        ]
        return max(fitting)[1] if fitting else None

    def is_ignored(self, file: Path) -> bool:
        """Tests and benches may use everything of their part."""
        return any(name in file.relative_to(self.folder).parts[:-1] for name in self.ignored)


@dataclass(frozen=True)
class Edge:
    """A file that includes or imports a file of another room."""

    source: Path
    target: Path
    from_room: str
    to_room: str


def read_parts(root: Path, table: Path) -> list[Part]:
    """The parts of tools/rooms.toml, bottom to top."""
    content = tomllib.loads(table.read_text(encoding="utf-8"))
    return [
        Part(
            name,
            root / one["folder"],
            {room["name"]: room.get("places", [room["name"]]) for room in one["rooms"]},
            one.get("package"),
            one.get("ignored", ["tests", "bench", "fuzz"]),
        )
        for name, one in content["parts"].items()
    ]


def files_of(part: Part) -> list[Path]:
    """Its sources without tests and benches."""
    endings = {".py"} if part.package else {".h", ".c", ".cc"}
    files = [file for file in sorted(part.folder.rglob("*")) if file.suffix in endings]
    return [file for file in files if not part.is_ignored(file)]


def headers_of(parts: Sequence[Part]) -> dict[str, list[Path]]:
    """Every header by its file name. The name and the part decide which one is meant, as build lists would."""
    headers: dict[str, list[Path]] = {}
    for part in parts:
        for file in sorted(part.folder.rglob("*.h")):
            headers.setdefault(file.name, []).append(file)
    return headers


def used_by(file: Path, part: Part, headers: dict[str, list[Path]]) -> Iterator[Path]:
    """Files of the repository that this file includes or imports. What is generated or installed is left out."""
    text = file.read_text(encoding="utf-8")
    if part.package:
        yield from _imported(text, part)
        return
    for name in INCLUDE.findall(text):
        beside = file.parent / name
        fitting = [one for one in headers.get(Path(name).name, []) if one.as_posix().endswith("/" + name)]
        own = [one for one in fitting if one.is_relative_to(part.folder)]
        if beside.is_file():
            yield beside.resolve()
        elif own or fitting:
            yield (own or fitting)[0]


def _imported(text: str, part: Part) -> Iterator[Path]:
    assert part.package is not None, "a Python part names its package"
    names: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    for name in names:
        steps = name.split(".")
        if steps[0] == part.package:
            yield from filter(None, [_module(part.folder, steps[1:])])


def _module(folder: Path, steps: Sequence[str]) -> Path | None:
    """The file of the longest part of a dotted name that is a module."""
    for length in range(len(steps), -1, -1):
        place = folder.joinpath(*steps[:length])
        for candidate in (place.with_suffix(".py"), place / "__init__.py"):
            if candidate.is_file():
                return candidate.resolve()
    return None


def edges_of(part: Part, parts: Sequence[Part]) -> tuple[list[Edge], list[Path]]:
    """Edges between rooms, those to other parts included, and the files that are in no room."""
    edges, homeless = [], []
    headers = headers_of(parts)
    for file in files_of(part):
        room = part.room_of(file)
        if room is None:
            homeless.append(file)
            continue
        for target in set(used_by(file, part, headers)):
            to = _place_of(target, parts)
            if to and (to != (part.name, room)):
                edges.append(Edge(file, target, f"{part.name}/{room}", "/".join(to)))
    return edges, homeless


def _place_of(file: Path, parts: Sequence[Part]) -> tuple[str, str] | None:
    """Part and room of a file; None for a file of no part."""
    for part in parts:
        if file.is_relative_to(part.folder):
            return part.name, part.room_of(file) or "no room"
    return None


def upward(edges: Sequence[Edge], parts: Sequence[Part]) -> list[Edge]:
    """Those that point to a room that is not below."""
    order = [f"{part.name}/{room}" for part in parts for room in part.rooms]
    height = {name: level for level, name in enumerate(order)}
    return [edge for edge in edges if height.get(edge.to_room, len(order)) > height[edge.from_room]]


def diagram(parts: Sequence[Part]) -> str:
    """The rooms of each part that has several, bottom to top."""
    parts = [part for part in parts if len(part.rooms) > 1]
    lines = [BEGIN, "```text"]
    width = max(len(part.name) for part in parts)
    for part in parts:
        text = " < ".join(part.rooms)
        first, indent = f"{part.name:<{width}}  ", " " * (width + 2)
        row = first
        for word in text.split(" < "):
            piece = word if row.strip() in ("", part.name) else f" < {word}"
            if len(row) + len(piece) > 118:
                lines.append(row.rstrip())
                row, piece = indent, f"< {word}"
            row += piece
        lines.append(row.rstrip())
    return "\n".join([*lines, "```", END])


def with_diagram(text: str, drawn: str) -> str:
    """The page with its diagram replaced. Raises ValueError without the marks."""
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        raise ValueError(f"ARCHITECTURE.md has no lines {BEGIN!r} and {END!r}")
    return text[:begin] + drawn + text[end + len(END) :]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--edges", metavar="PART")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    parts = read_parts(root, root / "tools/rooms.toml")
    page = root / "ARCHITECTURE.md"
    if options.write:
        page.write_text(with_diagram(page.read_text(encoding="utf-8"), diagram(parts)), encoding="utf-8")
    faults = []
    for part in parts:
        edges, homeless = edges_of(part, parts)
        if options.edges == part.name:
            for (a, b), count in sorted(Counter((edge.from_room, edge.to_room) for edge in edges).items()):
                print(f"{a} -> {b}: {count}")
        faults += [f"{file.relative_to(root)}: is in no room of tools/rooms.toml" for file in homeless]
        faults += [
            f"{edge.source.relative_to(root)}: uses {edge.target.relative_to(root)}, "
            f"but {edge.to_room} is not below {edge.from_room}"
            for edge in sorted(upward(edges, parts), key=lambda edge: (edge.source, edge.target))
        ]
    if options.check and diagram(parts) not in page.read_text(encoding="utf-8"):
        faults.append("ARCHITECTURE.md: the diagram of the rooms is stale; run tools/rooms.py --write")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
