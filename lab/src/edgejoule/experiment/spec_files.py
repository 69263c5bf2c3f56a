"""Reads and merges a spec's files: the spec itself, the base that it names by `base = "FILE"`, that one's base, etc.

They are merged key by key, the base first, then `--set`: a value replaces the base's value, a table adds its keys to
the base's table, `false` instead of a table leaves that table out, and a setting that becomes a factor is no longer
fixed (and the reverse). The source of every key is kept, for messages and for relative paths.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgejoule import toml_text
from edgejoule.errors import SpecError, UsageError
from edgejoule.experiment.exclusions import Exclusion

_PART = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
#: Settings stand in one of two tables; a setting that is put into one leaves the other.
_OTHER_TABLE = {"factors": "fixed", "fixed": "factors"}


@dataclass(frozen=True)
class SpecFile:
    """One file of a spec. lines: dotted key -> line (1-based)."""

    path: Path
    text: str
    data: dict[str, Any]
    lines: Mapping[str, int]

    def line(self, key: str) -> int | None:
        """Returns the line of a dotted key, else of the nearest key around it."""
        return next((self.lines[k] for k in _prefixes(key) if k in self.lines), None)

    def error(self, key: str, message: str) -> SpecError:
        """Returns an error at the line of a dotted key."""
        return SpecError(self.path, self.line(key), _without_numbers(key), message)


def spec_files(path: Path) -> list[SpecFile]:
    """Returns the spec and its bases, the spec itself first. Raises SpecError."""
    files = [spec_file(_read(path), path)]
    while (base := files[-1].data.get("base")) is not None:
        stating = files[-1]
        if not isinstance(base, str):
            raise stating.error("base", f"expected the path of a spec, relative to this file, got {base!r}")
        target = stating.path.parent / base
        if not target.is_file():
            raise stating.error("base", f"no file {target}")
        if any(target.samefile(file.path) for file in files):
            circle = " -> ".join([*(str(file.path) for file in files), str(target)])
            raise stating.error("base", f"a spec cannot be its own base: {circle}")
        files.append(spec_file(_read(target), target))
    return files


def spec_file(text: str, path: Path) -> SpecFile:
    """Parses one file of a spec from its text. Raises SpecError if it is not TOML."""
    try:
        return SpecFile(path, text, toml_text.loads(text), key_lines(text))
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else None
        if line and (twice := _stated_twice(text, line, str(error))):
            raise SpecError(path, line, *twice) from error
        raise SpecError(path, line, None, f"not valid TOML: {error}") from error


def _stated_twice(text: str, line: int, error: str) -> tuple[str, str] | None:
    """Returns the key or table of a line that an earlier line states too, with the complaint."""
    if not error.startswith(("Cannot overwrite", "Cannot declare")):
        return None
    *before, last = text.splitlines()[:line]
    earlier, is_table = key_lines("\n".join(before)), last.lstrip().startswith("[")
    table = "" if is_table else next((row for row in reversed(before) if row.lstrip().startswith("[")), "")
    for key, number in key_lines(f"{table}\n{last}").items():
        if number == 2 and key in earlier:
            advice = "put its keys into one table" if is_table else "remove one of the two"
            return key, f"stated twice, first in line {earlier[key]}; {advice}"
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(path, None, None, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecError(path, None, None, f"is not UTF-8 text (byte {error.start})") from error


class MergedSpec:
    """Files merged in their order, the farthest base first, and then `--set`.

    data: the tables. sources: dotted key -> the file that states it, None for `--set`. left_out: factor -> levels that
    a base states and that another file or `--set` replaced. included: dotted key -> value of what the property file of
    a workload states. notes: on what is read and changes nothing.
    """

    def __init__(self, files: Sequence[SpecFile]) -> None:
        assert files, "a spec is a file"
        self.files = list(files)
        self.data: dict[str, Any] = {}
        self.sources: dict[str, SpecFile | None] = {}
        self.left_out: dict[str, list[Any]] = {}
        self.included: dict[str, Any] = {}
        self.notes: list[str] = []
        for file in reversed(self.files):
            own = {key: value for key, value in file.data.items() if key != "base"}
            for table, other in _OTHER_TABLE.items():
                for name in own[table] if isinstance(own.get(table), dict) else ():
                    self._drop((other, name))
            self._merge((), own, file)

    def set(self, key: Sequence[str], value: object) -> None:
        """Applies `--set` to one key, in parts. Raises UsageError if a key on the way is not a table."""
        *parents, last = key
        if parents and parents[0] in _OTHER_TABLE:  # an option's name contains a dot
            parents, last = parents[:1], ".".join([*parents[1:], last])
        if list(key) == ["base"]:
            raise UsageError("--set base: only a file has a base; write a spec of two lines")
        for n, part in enumerate(parents, 1):
            if not isinstance(self._at(parents[:n], {}), dict):
                raise UsageError(f"--set {'.'.join(key)}: {part} is not a table")
        if parents and parents[0] in _OTHER_TABLE:
            self._drop((_OTHER_TABLE[parents[0]], last))
        self._put((*parents, last), value, None)

    def include(self, workload: str, path: Path, properties: Mapping[str, Any], lines: Mapping[str, int]) -> None:
        """Records the property file of a workload as the source of its properties."""
        keys = {name: f"workloads.{workload}.{name}" for name in properties}
        file = SpecFile(path, "", {}, {keys[name]: lines[name] for name in keys if name in lines})
        for name, key in keys.items():
            self.included[key] = properties[name]
            self.sources[key] = file

    def source(self, key: str) -> SpecFile | None:
        """Returns the file that states a dotted key or the nearest key around it; None: `--set`."""
        return next((self.sources[k] for k in _prefixes(key) if k in self.sources), self.files[0])

    def folder(self, key: str) -> Path:
        """Returns the folder of the file that states a dotted key; its relative paths start there."""
        return (self.source(key) or self.files[0]).path.parent

    def adapters(self) -> frozenset[str]:
        """Returns the adapters of the databases that are named; the data need not be valid."""
        named = [*_list(self._at(("factors", "database"))), self._at(("fixed", "database"))]
        own = self._at(("databases",), {})
        variants = own if isinstance(own, dict) else {}
        tables = ((name, variants.get(str(name))) for name in named if name is not None)
        adapters = (table.get("adapter", name) if isinstance(table, dict) else name for name, table in tables)
        return frozenset(str(adapter) for adapter in adapters)

    def error(self, key: str, message: str) -> SpecError:
        """Returns an error where a dotted key is stated: file, line and key, or `--set`."""
        message = message.located(self.place) if isinstance(message, Exclusion) else message
        source = self.source(key)
        return source.error(key, message) if source else SpecError("--set", None, _without_numbers(key), message)

    def place(self, key: str) -> str:
        """Returns where a dotted key is stated: FILE:LINE, or --set."""
        source = self.source(key)
        line = source.line(key) if source else None
        return "--set" if source is None else f"{source.path}:{line}" if line else f"{source.path}"

    def _merge(self, place: tuple[str, ...], table: Mapping[str, Any], file: SpecFile) -> None:
        for name, value in table.items():
            here = (*place, name)
            if isinstance(value, dict) and isinstance(self._at(here, {}), dict):
                self._at(place)[name] = self._at(here, {})
                self.sources[".".join(here)] = file
                self._merge(here, value, file)
            else:
                self._put(here, value, file)

    def _put(self, place: tuple[str, ...], value: object, source: SpecFile | None) -> None:
        old, dotted = self._at(place), ".".join(place)
        if place[0] == "factors" and isinstance(old, list):
            self.left_out.setdefault(place[-1], []).extend(old)
        if value is False and isinstance(old, dict):
            self._drop(place)
            return
        self._forget(dotted)
        node = self.data
        for part in place[:-1]:
            node = node.setdefault(part, {})
        node[place[-1]] = value  # a factor keeps its place in the order
        self.sources[dotted] = source

    def _drop(self, place: Sequence[str]) -> None:
        """Take a key away, with all that it holds."""
        node = self._at(place[:-1])
        if isinstance(node, dict) and node.pop(place[-1], None) is not None:
            self._forget(".".join(place))

    def _forget(self, dotted: str) -> None:
        self.sources = {k: s for k, s in self.sources.items() if k != dotted and not k.startswith(f"{dotted}.")}

    def _at(self, place: Sequence[str], default: Any = None) -> Any:
        node: Any = self.data
        for part in place:
            if not isinstance(node, dict) or part not in node:
                return default
            node = node[part]
        return node


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def split_setting(word: str) -> tuple[list[str], str]:
    """Splits a `--set` argument into the parts of its key, in TOML's syntax, and its value. Raises UsageError."""
    parsed = re.match(rf"\s*({_KEY})\s*=(.*)", word, re.DOTALL)
    try:
        node: Any = toml_text.loads(f"{parsed[1]} = 0") if parsed else None
    except tomllib.TOMLDecodeError:  # an unknown escape sequence
        node = None
    if parsed is None or node is None:
        raise UsageError(
            f"--set {word}: expected KEY=VALUE, for example --set design.replications=3; a part of the key with other "
            """characters than A-Z, a-z, 0-9, _ and - stands in quotes: --set 'databases."my db".adapter=sqlite'"""
        )
    parts: list[str] = []
    while isinstance(node, dict):
        ((part, node),) = node.items()
        parts.append(part)
    return parts, parsed[2]


def _prefixes(key: str) -> Iterator[str]:
    """Yields a dotted key and the keys around it, the nearest first."""
    parts = key.split(".")
    return (".".join(parts[:n]) for n in range(len(parts), 0, -1))


def _without_numbers(key: str) -> str:
    """Removes the numbers of tables: the line number identifies one of several."""
    return re.sub(r"\.\d+(?=\.|$)", "", key)


def key_lines(text: str) -> dict[str, int]:
    """Returns the line of every key and table of a TOML text: dotted key -> line (1-based).

    The entries of an array of tables are counted from 0: `when.0.set`.
    """
    lines: dict[str, int] = {}
    entries: dict[str, int] = {}  # array of tables -> its last entry
    prefix: list[str] = []
    quote: str | None = None  # inside a multi-line string
    for number, line in enumerate(text.splitlines(), 1):
        if quote:
            quote = None if line.count(quote) % 2 else quote
            continue
        stripped = line.strip()
        if header := re.match(r"^(\[\[?)\s*([^\]]+?)\s*\]\]?", stripped):
            prefix = _split_key(header[2])
            lines.setdefault(".".join(prefix), number)
            if header[1] == "[[":
                entries[prefix[0]] = entries.get(prefix[0], -1) + 1
            if prefix[0] in entries:
                prefix.insert(1, str(entries[prefix[0]]))
                lines.setdefault(".".join(prefix), number)
        elif pair := re.match(rf"({_KEY})\s*=", stripped):
            lines.setdefault(".".join([*prefix, *_split_key(pair[1])]), number)
        quote = next((q for q in ('"""', "'''") if stripped.count(q) % 2), None)
    return lines


def _split_key(key: str) -> list[str]:
    return [part.strip().strip("\"'") for part in re.findall(r'"[^"]*"|\'[^\']*\'|[^.\s]+', key)]
