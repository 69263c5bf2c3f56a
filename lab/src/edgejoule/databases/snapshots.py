"""Loaded databases, kept: runs that agree in everything that decides the content start from a copy of one."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from edgejoule.database_servers.serving import copy_logs
from edgejoule.databases.driver import (
    Event,
)
from edgejoule.databases.system_under_test import LoadTime, system_of
from edgejoule.errors import DatabaseError, StoreError
from edgejoule.experiment.plan import PlannedRun


class Snapshots:
    """Loaded databases, one folder each, named by what decides their content; a folder appears whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._failed: dict[str, str] = {}

    def failed(self, run: PlannedRun, cause: str) -> None:
        """It cannot be loaded: restore() will say so."""
        self._failed[self.key(run)] = cause

    def key(self, run: PlannedRun) -> str:
        """Returns the name of the snapshot that a run starts from."""
        name, content = system_of(run).content()
        return f"{name}-{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]}"

    def has(self, run: PlannedRun) -> bool:
        """Is the database of this run loaded already, with all its files? By the user, on the user's own server."""
        if system_of(run).starts_empty:
            return True
        folder = self._folder / self.key(run)
        try:
            kept = json.loads((folder / "files.json").read_text())
        except (OSError, ValueError):
            return False
        return bool(kept == _files(folder / "data"))

    def load(self, run: PlannedRun, timeout_s: float, on_event: Callable[[Event], None] | None = None) -> None:
        """Load the database of this run and keep it. Raises DatabaseError, or StoreError when it cannot be kept.

        Of a load that fails the server's whole logs are kept, in `logs` beside the snapshots' folder, and nothing else.
        """
        final = self._folder / self.key(run)
        part = final.with_name(final.name + ".part")
        try:
            with _told(f"{final}: the loaded database cannot be kept"):
                shutil.rmtree(part, ignore_errors=True)
                took = self.load_at(run, part / "data", timeout_s, on_event)
                (part / "load.json").write_text(json.dumps(took._asdict()))
                (part / "files.json").write_text(json.dumps(_files(part / "data")))
                _sync_tree(part)
                shutil.rmtree(final, ignore_errors=True)
                part.rename(final)
        except DatabaseError as error:
            if logs := copy_logs(part / "data", self._folder.parent / "logs" / f"load-{final.name}"):
                raise DatabaseError(f"{error}; whole logs: {logs}") from error
            raise
        finally:
            shutil.rmtree(part, ignore_errors=True)  # the next one may need the room

    def load_at(
        self, run: PlannedRun, data: Path, timeout_s: float, on_event: Callable[[Event], None] | None = None
    ) -> LoadTime:
        """Load the database of this run at `data`, synced. Raises DatabaseError, or StoreError when it cannot."""
        system = system_of(run)
        if reason := system.missing():
            raise DatabaseError(reason)
        with _told(f"{data}: the database cannot be loaded there"):
            shutil.rmtree(data, ignore_errors=True)
            data.mkdir(parents=True)
            took = system.load(data, timeout_s, on_event)
            _sync_tree(data)
        return took

    def load_time(self, run: PlannedRun) -> LoadTime | None:
        """Of the load that a run starts from; None where it was not kept."""
        if system_of(run).starts_empty:
            return None
        with contextlib.suppress(OSError, ValueError, TypeError):
            return LoadTime(**json.loads((self._folder / self.key(run) / "load.json").read_text()))
        return None

    def restore(self, run: PlannedRun, data: Path) -> None:
        """Put a fresh copy of the loaded database at `data`, synced, so that its write-back is not the run's.

        Raises StoreError when it cannot, and DatabaseError when there is no such load.
        """
        if self._failed and (cause := self._failed.get(self.key(run))):
            raise DatabaseError(f"loading {run.database} failed: {cause}")
        with _told(f"{data}: the loaded database cannot be restored"):
            shutil.rmtree(data, ignore_errors=True)
            data.parent.mkdir(parents=True, exist_ok=True)
            if system_of(run).starts_empty:
                data.mkdir()
                return
            shutil.copytree(self._folder / self.key(run) / "data", data, copy_function=_copy)
            _sync_tree(data)


def data_bytes(folder: Path) -> int:
    """What all files below a folder take, the holes of images left out."""
    found = (file.stat() for file in folder.rglob("*") if file.is_file())
    return sum(min(file.st_size, file.st_blocks * 512) for file in found)


def _copy(source: str, target: str) -> str:
    """A file with its times and mode; what nobody has written of an image is not written in the copy either."""
    with Path(source).open("rb") as old, Path(target).open("wb") as new:
        size, at = os.fstat(old.fileno()).st_size, 0
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:  # no data any more
                    raise
                break
            hole = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            os.lseek(new.fileno(), at, os.SEEK_SET)
            while at < hole:
                at += os.sendfile(new.fileno(), old.fileno(), at, hole - at)
        new.truncate(size)
    shutil.copystat(source, target)
    return target


def _files(folder: Path) -> dict[str, int]:
    """Every file below a folder -> its size in bytes."""
    return {str(f.relative_to(folder)): f.stat().st_size for f in sorted(folder.rglob("*")) if f.is_file()}


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """The system's refusals (no space, no permission) as a StoreError that says what could not be done, and where."""
    try:
        yield
    except shutil.Error as error:  # of a whole tree: the first file decides
        _, target, why = error.args[0][0]
        raise StoreError(f"{what}: {target}: {why}") from error
    except OSError as error:
        raise StoreError(f"{what}: {error.filename or ''}: {error.strerror}") from error


def _sync_tree(path: Path) -> None:
    for entry in (path, *path.rglob("*")):
        handle = os.open(entry, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
