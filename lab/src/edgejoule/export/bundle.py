"""A result bundle: one experiment as a ZIP file that another store, and another machine, takes as its own.

In it: `experiment.toml`, `environment.json` and `README.txt` to read; `tables/NAME.jsonl`, every row of the store that
belongs to the experiment (plan, runs, levels, responses, events, channels, readings, latency histograms, notes), one
JSON object a line with the columns' names; `bundle.json`, what made it, its store format and the SHA-256 of all other
members. Which row belongs to which follows the store's foreign keys; instead of ids a bundle has the place of the row
that is meant in its own table, from 0. Bytes are {"base64": text}.

Invariants
- The same experiment gives the same bytes, wherever its rows lie in the store (zlib's release being the same).
- Values come back bit for bit, so that an analysis of the bundle gives the same bytes as one of the original.
- A bundle is checked whole (`bundle_content`) before anything of it is stored, and stored in one transaction.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import math
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgejoule.errors import EdgejouleError, StoreError, UsageError
from edgejoule.export.bundle_content import ContentError, check_content, check_spec, parsed_json
from edgejoule.output_files import whole_file
from edgejoule.store import READABLE, Experiment, Store
from edgejoule.unusable_files import reason
from edgejoule.version import __version__

FORMAT = "edgejoule result bundle"
VERSION = 1
BYTES_MAX = 16 << 30  # unpacked; a bundle that claims more is no bundle
_LINE_BYTES_MAX = 256 << 20
_HEAD = "bundle.json"
_TABLES_SINCE = {"notes": 6}  # the store format that brought a table
_README = """\
An experiment of edgejoule, to be read by people and programs.

experiment.toml   what was asked
environment.json  where it was measured
tables/*.jsonl    every row: runs, levels, responses (energies with their method), events, power readings, latencies,
                  notes
bundle.json       what made this file, and the SHA-256 of the rest

edgejoule report FILE.zip                 the report, as from the original
edgejoule import FILE.zip --store S       take it into a store
"""
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest a ZIP file knows

Row = dict[str, Any]


class BundleError(EdgejouleError):
    """A bundle that is damaged, foreign, or of another format."""

    exit_code = 2


@dataclass(frozen=True)
class _Table:
    """A table of the store. parent: the table that its rows belong to, by which column; None for the experiments.

    order: what gives the rows of one parent their order. is_parent: other tables refer to its id.
    """

    name: str
    columns: tuple[str, ...]
    order: str
    parent: str | None
    reference: str | None
    is_parent: bool

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns a bundle has: without the store's own numbers."""
        return tuple(column for column in self.columns if column != "id")

    def rows_of(self, db: sqlite3.Connection, parents: Sequence[int]) -> Iterator[sqlite3.Row]:
        """The rows that belong to these ids of the parent, in their order."""
        for parent_id in parents:
            yield from db.execute(
                f"SELECT * FROM {self.name} WHERE {self.reference} = ? ORDER BY {self.order}", (parent_id,)
            )


def write_bundle(store: Path, experiment: Experiment, target: Path) -> None:
    """Write an experiment's bundle; whole, or what was there stays. Raises StoreError when it cannot be written."""
    try:
        with (
            Store.open(store, read_only=True) as opened,
            whole_file(target) as file,
            zipfile.ZipFile(file, "w") as archive,
        ):
            _write(archive, opened.connection, experiment)
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {reason(error, target)}") from error
    except sqlite3.Error as error:
        raise StoreError(f"{store}: cannot be read: {reason(error, store)}") from error


def import_bundle(path: Path, store: Path) -> int:
    """Take a bundle into a store, which is made if absent; the experiment's id there.

    It keeps its id where that is free. Raises BundleError for a damaged or foreign file, UsageError when the store has
    the experiment already, StoreError when the store cannot be used or written.
    """
    with _opened(path) as archive:
        head = _checked(archive, path)
        Store.open(store, create=True).close()
        try:
            with _connected(store) as db, db:
                db.execute("BEGIN IMMEDIATE")
                return _read(archive, head, db, path)
        except (sqlite3.Error, OverflowError) as error:
            why = reason(error, store) if isinstance(error, sqlite3.Error) else error
            by_the_store = isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError
            kind = StoreError if by_the_store else BundleError
            raise kind(f"{path}: cannot be stored in {store}, nothing was changed: {why}") from error
        except ContentError as error:
            raise BundleError(f"{path}: not an experiment, nothing was changed: {error}") from error


@contextlib.contextmanager
def bundle_store(path: Path) -> Iterator[Store]:
    """Opens the bundle as a temporary store for the duration of the context."""
    with tempfile.TemporaryDirectory(prefix="edgejoule-") as folder:
        store = Path(folder) / "store.db"
        import_bundle(path, store)
        with Store.open(store) as opened:
            yield opened


@contextlib.contextmanager
def _connected(store: Path) -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(store, timeout=10, isolation_level=None)
    try:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA foreign_keys = ON")
        yield db
    finally:
        db.close()


def _tables(db: sqlite3.Connection) -> list[_Table]:
    """All tables, each behind the one that it refers to."""
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    references = {name: _references(db, name) for name in names if not name.startswith("sqlite_")}
    parents = {parent for tables in references.values() for parent, _ in tables}
    ordered, tables = ["experiments"], [_table(db, "experiments", None, None, True)]
    while len(ordered) < len(references):
        next_ones = [n for n, to in references.items() if n not in ordered and {p for p, _ in to} & set(ordered)]
        assert next_ones, f"{', '.join(set(references) - set(ordered))} belongs to no experiment"
        for name in next_ones:
            assert len(references[name]) == 1, f"{name} refers to several tables"
            tables.append(_table(db, name, *references[name][0], name in parents))
            ordered.append(name)
    return tables


def _references(db: sqlite3.Connection, name: str) -> list[tuple[str, str]]:
    """The tables that a table refers to, and by which column."""
    return [(row["table"], row["from"]) for row in db.execute(f"PRAGMA foreign_key_list({name})")]


def _table(db: sqlite3.Connection, name: str, parent: str | None, reference: str | None, is_parent: bool) -> _Table:
    columns = list(db.execute(f"PRAGMA table_info({name})"))
    key = [row["name"] for row in sorted((x for x in columns if x["pk"]), key=lambda x: x["pk"])]
    try:
        db.execute(f"SELECT rowid FROM {name} LIMIT 0")
        order = "rowid"
    except sqlite3.OperationalError:  # WITHOUT ROWID
        order = ", ".join(column for column in key if column != reference)
    return _Table(name, tuple(row["name"] for row in columns), order, parent, reference, is_parent)


# Writing


def _write(archive: zipfile.ZipFile, db: sqlite3.Connection, experiment: Experiment) -> None:
    hashes: dict[str, str] = {}
    texts = {
        "README.txt": _README,
        "experiment.toml": experiment.spec_toml,
        "environment.json": json.dumps(experiment.environment, indent=1, ensure_ascii=False) + "\n",
    }
    for name, text in texts.items():
        hashes[name] = _member(archive, name, [text.encode()])
    db.execute("BEGIN")  # one state of the store, also while a study writes to it
    (store_format,) = db.execute("PRAGMA user_version").fetchone()
    ids: dict[str, list[int]] = {}
    for table in _tables(db):
        name = f"tables/{table.name}.jsonl"
        hashes[name] = _member(archive, name, _lines(db, table, experiment.id, ids))
    head = {
        "format": FORMAT, "version": VERSION, "store_format": store_format, "edgejoule": __version__,
        "experiment": {"id": experiment.id, "name": experiment.name},
        "sha256": dict(sorted(hashes.items())),
    }  # fmt: skip
    _member(archive, _HEAD, [json.dumps(head, indent=1).encode() + b"\n"])


def _member(archive: zipfile.ZipFile, name: str, parts: Iterator[bytes] | Sequence[bytes]) -> str:
    """Write one member; its SHA-256."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type, info.external_attr, info.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
    digest = hashlib.sha256()
    with archive.open(info, "w", force_zip64=True) as member:
        for part in parts:
            digest.update(part)
            member.write(part)
    return digest.hexdigest()


def _lines(db: sqlite3.Connection, table: _Table, experiment_id: int, ids: dict[str, list[int]]) -> Iterator[bytes]:
    """The table's rows; their own ids are noted in ids, where others refer to them."""
    if table.parent is None:
        rows: Iterator[sqlite3.Row] = db.execute("SELECT * FROM experiments WHERE id = ?", (experiment_id,))
        places: dict[int, int] = {}
    else:
        rows = table.rows_of(db, ids[table.parent])
        places = {number: place for place, number in enumerate(ids[table.parent])}
    own = ids.setdefault(table.name, [])
    for row in rows:
        if table.is_parent:
            own.append(row["id"])
        values = {c: places[row[c]] if c == table.reference else _out(row[c]) for c in table.kept}
        yield (json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _out(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _in(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if set(value) == {"base64"}:
        return base64.b64decode(value["base64"], validate=True)
    return float(value["float"])


# Reading


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Opens the file as a ZIP. Every read error becomes a message."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such file") from error
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise BundleError(f"{path}: not a ZIP file, or a damaged one: {error}") from error


def _checked(archive: zipfile.ZipFile, path: Path) -> Mapping[str, Any]:
    """`bundle.json`, when this is a bundle of this format and all its members are as they were written."""
    names = archive.namelist()
    if _HEAD not in names:
        raise BundleError(f"{path}: a ZIP file, but not a result bundle: it has no {_HEAD}")
    if sum(info.file_size for info in archive.infolist()) > BYTES_MAX:
        raise BundleError(f"{path}: unpacks to more than {BYTES_MAX >> 30} GiB, no bundle does")
    try:
        head = parsed_json(archive.read(_HEAD))
        kind, version, hashes = head["format"], (head["version"], head["store_format"]), dict(head["sha256"])
        int(head["experiment"]["id"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BundleError(f"{path}: {_HEAD} is not what a bundle has: {error!r}") from error
    if kind != FORMAT:
        raise BundleError(f"{path}: a {kind!r}, expected a {FORMAT!r}")
    if version[0] != VERSION or version[1] not in READABLE:
        raise BundleError(
            f"{path}: bundle format {version[0]} of store format {version[1]}, made by edgejoule "
            f"{head.get('edgejoule')}; this one reads {VERSION} of {' and '.join(map(str, READABLE))}; import it "
            "with that edgejoule"
        )
    if sorted(names) != sorted({*hashes, _HEAD}):
        raise BundleError(f"{path}: damaged: its members are not those that {_HEAD} lists")
    for name, expected in hashes.items():
        with archive.open(name) as member:
            if hashlib.file_digest(member, "sha256").hexdigest() != expected:  # type: ignore[arg-type]
                raise BundleError(f"{path}: damaged: {name} is not as it was written")
    return dict(head)


def _read(archive: zipfile.ZipFile, head: Mapping[str, Any], db: sqlite3.Connection, path: Path) -> int:
    """Insert everything by a connection that the caller commits; the experiment's id."""
    tables = {table.name: table for table in _tables(db)}
    experiment = _experiment(archive, tables["experiments"], path)
    spec = check_spec(experiment)
    _check_new(experiment, db, path)
    _check_readable_copy(archive, experiment, path)
    experiment_id = _free_id(db, int(head["experiment"]["id"]))
    _insert(db, tables["experiments"], {"id": experiment_id, **experiment})
    ids: dict[str, list[int]] = {"experiments": [experiment_id]}
    for table in tables.values():
        if table.parent is None or head["store_format"] < _TABLES_SINCE.get(table.name, 0):
            continue
        own = ids.setdefault(table.name, [])
        for row in _each_row(archive, table, path):
            number = _insert(db, table, row | {str(table.reference): _meant(row, table, ids[table.parent], path)})
            if table.is_parent:
                own.append(number)
    check_content(db, experiment_id, spec)
    return experiment_id


def _check_readable_copy(archive: zipfile.ZipFile, experiment: Row, path: Path) -> None:
    """The readable copies in the bundle must equal the stored data."""
    name = "experiment.toml"
    if name not in archive.namelist() or archive.read(name).decode(errors="replace") != experiment["spec_toml"]:
        raise BundleError(f"{path}: {name} is not the text in tables/experiments.jsonl")


def _meant(row: Row, table: _Table, parents: Sequence[int], path: Path) -> int:
    """The id of the row that a row belongs to."""
    place = row[str(table.reference)]
    if not isinstance(place, int) or not 0 <= place < len(parents):
        raise BundleError(f"{path}: {table.name} has a row of number {place!r} of {table.parent}, which is not there")
    return parents[place]


def _check_new(experiment: Row, db: sqlite3.Connection, path: Path) -> None:
    same = db.execute(
        "SELECT id FROM experiments WHERE name = ? AND spec_sha256 = ? AND created_realtime_ns = ?",
        (experiment["name"], experiment["spec_sha256"], experiment["created_realtime_ns"]),
    ).fetchone()
    if same is not None:
        raise UsageError(f"{path}: the store has this experiment already, as number {same[0]}")


def _free_id(db: sqlite3.Connection, wanted: int) -> int:
    taken = {row[0] for row in db.execute("SELECT id FROM experiments")}
    return wanted if wanted not in taken and 0 < wanted < 1 << 31 else max(taken, default=0) + 1


def _insert(db: sqlite3.Connection, table: _Table, row: Row) -> int:
    columns = [column for column in table.columns if column in row]
    sql = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    return int(db.execute(sql, [row[column] for column in columns]).lastrowid or 0)


def _experiment(archive: zipfile.ZipFile, table: _Table, path: Path) -> Row:
    experiments = list(_each_row(archive, table, path))
    if len(experiments) != 1:
        raise BundleError(f"{path}: {len(experiments)} experiments, a bundle has one")
    return experiments[0]


def _each_row(archive: zipfile.ZipFile, table: _Table, path: Path) -> Iterator[Row]:
    name = f"tables/{table.name}.jsonl"
    if name not in archive.namelist():
        raise BundleError(f"{path}: has no {name}")
    with archive.open(name) as member:
        for number, line in enumerate(iter(lambda: member.readline(_LINE_BYTES_MAX), b""), start=1):
            try:
                row = {key: _in(value) for key, value in parsed_json(line).items()}
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
                raise BundleError(f"{path}: {name}, line {number}: {error}") from error
            if set(row) != set(table.kept):
                raise BundleError(f"{path}: {name}, line {number}: columns are {', '.join(map(str, row))}; "
                                  f"expected {', '.join(table.kept)}")  # fmt: skip
            yield row
