"""A result bundle: one experiment as a ZIP file that another store, and another machine, takes as its own.

In it: `experiment.toml`, `environment.json` and `README.txt` to read; `tables/NAME.jsonl`, every row of the store that
belongs to the experiment (plan, runs, levels, responses, events, channels, traces, latency histograms), one JSON object
a line with the columns' names; `bundle.json`, what made it, its store format and the SHA-256 of all other members. Row
ids are left out: `run_id` is the run's index in the plan. Bytes are {"base64": text}.

Invariants
- The same experiment gives the same bytes, wherever its rows lie in the store (zlib's release being the same).
- Values come back bit for bit, so that an analysis of the bundle gives the same bytes as one of the original.
- A bundle is checked whole before anything of it is stored, and stored in one transaction.
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

from pydantic import ValidationError

from edgejoule import __version__
from edgejoule.errors import EdgejouleError, UsageError
from edgejoule.spec import Spec
from edgejoule.store import SCHEMA_VERSION, Experiment, Store

FORMAT = "edgejoule result bundle"
VERSION = 1
BYTES_MAX = 16 << 30  # unpacked; a bundle that claims more is no bundle
_LINE_BYTES_MAX = 256 << 20
_HEAD = "bundle.json"
_README = """\
An experiment of edgejoule, to be read by people and programs.

experiment.toml   what was asked
environment.json  where it was measured
tables/*.jsonl    every row: runs, levels, responses (energies with their method), events, power readings, latencies
bundle.json       what made this file, and the SHA-256 of the rest

edgejoule report FILE.zip                 the report, as from the original
edgejoule import FILE.zip --store S       take it into a store
"""
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest a ZIP file knows

Row = dict[str, Any]


class BundleError(EdgejouleError):
    """A bundle that is damaged, foreign, or of another format."""


@dataclass(frozen=True)
class _Table:
    """A table of the store. order: what gives its rows their order within a run."""

    name: str
    columns: tuple[str, ...]
    order: str

    @property
    def of_runs(self) -> bool:
        return "run_id" in self.columns

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns a bundle has: without the store's own numbers."""
        own = {"experiments": {"id"}, "runs": {"id", "experiment_id"}}.get(self.name, {"experiment_id"})
        return tuple(column for column in self.columns if column not in own)


def write_bundle(store: Path, experiment: Experiment, target: Path) -> None:
    """Write an experiment's bundle; whole, or what was there stays. Raises BundleError when it cannot be written."""
    scratch = target.with_name(f".{target.name}.part")
    try:
        with _connected(store) as db, zipfile.ZipFile(scratch, "w") as archive:
            _write(archive, db, experiment)
        scratch.replace(target)
    except OSError as error:
        raise BundleError(f"{target}: cannot be written: {error.strerror}") from error
    except sqlite3.Error as error:
        raise BundleError(f"{store}: cannot be read: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink()


def import_bundle(path: Path, store: Path) -> int:
    """Take a bundle into a store, which is made if absent; the experiment's id there.

    It keeps its id where that is free. Raises BundleError for a damaged or foreign file, UsageError when the store has
    the experiment already, StoreError when the store cannot be used.
    """
    with _opened(path) as archive:
        head = _checked(archive, path)
        Store.open(store, create=True).close()
        try:
            with _connected(store) as db, db:
                db.execute("BEGIN IMMEDIATE")
                return _read(archive, head, db, path)
        except sqlite3.Error as error:
            raise BundleError(f"{path}: cannot be stored in {store}, nothing was changed: {error}") from error


@contextlib.contextmanager
def bundle_store(path: Path) -> Iterator[Store]:
    """The bundle as a store of its own, for as long as the context lasts."""
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
    """All tables, those first that others refer to."""
    names = [row[0] for row in db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    first = ["experiments", "runs"]
    return [
        _table(db, name) for name in (*first, *(x for x in names if x not in first and not x.startswith("sqlite_")))
    ]


def _table(db: sqlite3.Connection, name: str) -> _Table:
    columns = list(db.execute(f"PRAGMA table_info({name})"))
    key = [row["name"] for row in sorted((x for x in columns if x["pk"]), key=lambda x: x["pk"])]
    try:
        db.execute(f"SELECT rowid FROM {name} LIMIT 0")
        order = "t.rowid"
    except sqlite3.OperationalError:  # WITHOUT ROWID
        order = ", ".join(f"t.{column}" for column in key if column != "run_id")
    found = _Table(name, tuple(row["name"] for row in columns), order)
    assert name == "experiments" or {"run_id", "experiment_id"} & set(found.columns), f"{name} belongs to no experiment"
    return found


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
    for table in _tables(db):
        hashes[f"tables/{table.name}.jsonl"] = _member(
            archive, f"tables/{table.name}.jsonl", _lines(db, table, experiment.id)
        )
    head = {
        "format": FORMAT, "version": VERSION, "store_format": SCHEMA_VERSION, "edgejoule": __version__,
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


def _lines(db: sqlite3.Connection, table: _Table, experiment_id: int) -> Iterator[bytes]:
    for row in db.execute(_query(table), (experiment_id,)):
        yield (json.dumps({c: _out(row[c]) for c in table.kept}, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _query(table: _Table) -> str:
    if table.name == "experiments":
        return "SELECT * FROM experiments WHERE id = ?"
    if not table.of_runs:
        order = "run_index" if table.name == "runs" else table.order
        return f"SELECT t.* FROM {table.name} t WHERE experiment_id = ? ORDER BY {order}"
    columns = ", ".join("r.run_index AS run_id" if c == "run_id" else f"t.{c}" for c in table.columns)
    return (
        f"SELECT {columns} FROM {table.name} t JOIN runs r ON r.id = t.run_id WHERE r.experiment_id = ? "
        f"ORDER BY r.run_index, {table.order}"
    )


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
    """The file as a ZIP; whatever it turns out to be while it is read is told in words."""
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
        head = json.loads(archive.read(_HEAD))
        told, version, hashes = head["format"], (head["version"], head["store_format"]), dict(head["sha256"])
        int(head["experiment"]["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise BundleError(f"{path}: {_HEAD} is not what a bundle has: {error!r}") from error
    if told != FORMAT:
        raise BundleError(f"{path}: a {told!r}, expected a {FORMAT!r}")
    if version != (VERSION, SCHEMA_VERSION):
        raise BundleError(
            f"{path}: bundle format {version[0]} of store format {version[1]}, made by edgejoule "
            f"{head.get('edgejoule')}; this one reads {VERSION} of {SCHEMA_VERSION}"
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
    _check_new(experiment, db, path)
    experiment_id = _free_id(db, int(head["experiment"]["id"]))
    _insert(db, tables["experiments"], {"id": experiment_id, **experiment})
    ids: dict[int, int] = {}
    for name, table in tables.items():
        if name == "experiments":
            continue
        for row in _each_row(archive, table, path):
            if table.of_runs:
                if row["run_id"] not in ids:
                    raise BundleError(f"{path}: {name} has a row of run {row['run_id']!r}, which is not there")
                row["run_id"] = ids[row["run_id"]]
            if "experiment_id" in table.columns:
                row["experiment_id"] = experiment_id
            number = _insert(db, table, row)
            if name == "runs":
                ids[row["run_index"]] = number
    return experiment_id


def _check_new(experiment: Row, db: sqlite3.Connection, path: Path) -> None:
    try:
        Spec.model_validate_json(experiment["spec_json"])
    except (KeyError, ValidationError) as error:
        raise BundleError(f"{path}: its experiment is not one that this edgejoule knows: {error}") from error
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
    found = list(_each_row(archive, table, path))
    if len(found) != 1:
        raise BundleError(f"{path}: {len(found)} experiments, a bundle has one")
    return found[0]


def _each_row(archive: zipfile.ZipFile, table: _Table, path: Path) -> Iterator[Row]:
    name = f"tables/{table.name}.jsonl"
    if name not in archive.namelist():
        raise BundleError(f"{path}: has no {name}")
    with archive.open(name) as member:
        for number, line in enumerate(iter(lambda: member.readline(_LINE_BYTES_MAX), b""), start=1):
            try:
                row = {key: _in(value) for key, value in json.loads(line).items()}
            except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
                raise BundleError(f"{path}: {name}, line {number}: {error}") from error
            if set(row) != set(table.kept):
                raise BundleError(f"{path}: {name}, line {number}: columns are {', '.join(map(str, row))}; "
                                  f"expected {', '.join(table.kept)}")  # fmt: skip
            yield row
