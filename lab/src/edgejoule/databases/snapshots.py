"""Keeps loaded databases: runs with the same loaded content start from copies of one database."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from edgejoule.database_servers.serving import copy_logs
from edgejoule.databases.driver import (
    Event,
)
from edgejoule.databases.system_under_test import Load, LoadTime, system_of
from edgejoule.errors import DatabaseError, StoreError
from edgejoule.experiment.plan import PlannedRun
from edgejoule.unusable_files import reason

_NOT_RESTORED = "the loaded database cannot be restored"
_FILES = "files.json"
_PART = ".part"  # ends the name of a load that is not complete
_NAME = re.compile(rf".+-[0-9a-f]{{12}}({re.escape(_PART)})?")


class Snapshots:
    """Loaded databases, one folder each, named by a hash of their content. A folder is complete or absent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._failed: dict[str, str] = {}

    def sizes(self) -> dict[str, int]:
        """Returns the loaded databases, also incomplete ones: name -> bytes."""
        try:
            names = sorted(each.name for each in self._folder.iterdir() if _NAME.fullmatch(each.name) and each.is_dir())
        except FileNotFoundError:
            return {}
        return {name: data_bytes(self._folder / name) for name in names}

    def delete(self, name: str) -> None:
        """Deletes a loaded database; the next run that needs it loads it again. Raises StoreError."""
        folder = self._folder / name
        with _store_errors(folder, "the loaded database cannot be deleted"):
            (folder / _FILES).unlink(missing_ok=True)  # incomplete from now on, see has()
            shutil.rmtree(folder)

    def failed(self, run: PlannedRun, cause: str) -> None:
        """Records why a database cannot be loaded; restore() reports it."""
        self._failed[self.key(run)] = cause

    def key(self, run: PlannedRun) -> str:
        """Returns the name of the snapshot that a run starts from."""
        name, content = system_of(run).content()
        return f"{name}-{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]}"

    def has(self, run: PlannedRun) -> bool:
        """Returns whether this run's database is loaded with all its files. On the user's server the user has loaded
        it."""
        if system_of(run).starts_empty:
            return True
        folder = self._folder / self.key(run)
        try:
            kept = json.loads((folder / _FILES).read_text())
        except (OSError, ValueError):
            return False
        return bool(kept == _files(folder / "data"))

    def load(self, run: PlannedRun, timeout_s: float, on_event: Callable[[Event], None] | None = None) -> None:
        """Load the database of this run and keep it. Raises DatabaseError, or StoreError when it cannot be kept.

        Of a load that fails the server's whole logs are kept, in `logs` beside the snapshots' folder, and nothing else.
        """
        final = self._folder / self.key(run)
        part = final.with_name(final.name + _PART)
        try:
            with _store_errors(final, "the loaded database cannot be kept"):
                shutil.rmtree(part, ignore_errors=True)
                took = self.load_at(run, part / "data", timeout_s, on_event).took
                (part / "load.json").write_text(json.dumps(took._asdict()))
                (part / _FILES).write_text(json.dumps(_files(part / "data")))
                _sync_tree(part)
                shutil.rmtree(final, ignore_errors=True)
                part.rename(final)
        except DatabaseError as error:
            if logs := copy_logs(part / "data", self._folder.parent / "logs" / f"load-{final.name}"):
                raise DatabaseError(f"{error}; whole logs: {logs}") from error
            raise
        finally:
            shutil.rmtree(part, ignore_errors=True)  # frees space for the next load

    def load_at(
        self, run: PlannedRun, data: Path, timeout_s: float, on_event: Callable[[Event], None] | None = None
    ) -> Load:
        """Load the database of this run at `data`, synced. Raises DatabaseError, or StoreError when it cannot."""
        system = system_of(run)
        if reason := system.missing():
            raise DatabaseError(reason)
        with _store_errors(data, "the database cannot be loaded there"):
            shutil.rmtree(data, ignore_errors=True)
            data.mkdir(parents=True)
            load = system.load(data, timeout_s, on_event)
            _sync_tree(data)
        return load

    def load_time(self, run: PlannedRun) -> LoadTime | None:
        """Returns the time of the load that a run starts from; None if it was not recorded."""
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
        with _store_errors(data, _NOT_RESTORED):
            shutil.rmtree(data, ignore_errors=True)
            data.parent.mkdir(parents=True, exist_ok=True)
            if system_of(run).starts_empty:
                data.mkdir()
                return
            shutil.copytree(self._folder / self.key(run) / "data", data, copy_function=_copy)
            _sync_tree(data)


def data_bytes(folder: Path) -> int:
    """Returns the size of all files below a folder, without the holes of images."""
    stats = (file.stat() for file in folder.rglob("*") if file.is_file())
    return sum(min(file.st_size, file.st_blocks * 512) for file in stats)


def _copy(source: str, target: str) -> str:
    """Copies a file with its times and mode; the holes of an image stay holes. Raises StoreError."""
    with _store_errors(Path(target), _NOT_RESTORED), Path(source).open("rb") as old, Path(target).open("wb") as new:
        size, at = os.fstat(old.fileno()).st_size, 0
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:  # ENXIO: no data after this offset
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
    """Returns every file below a folder -> its size in bytes."""
    return {str(f.relative_to(folder)): f.stat().st_size for f in sorted(folder.rglob("*")) if f.is_file()}


@contextlib.contextmanager
def _store_errors(path: Path, what: str) -> Iterator[None]:
    """Converts the system's errors (no space, no permission) to a StoreError that names the action and the path."""
    try:
        yield
    except shutil.Error as error:  # it lists the errors of a whole tree; the first one is reported
        _, target, why = error.args[0][0]
        raise StoreError(f"{path}: {what}: {target}: {why}") from error
    except OSError as error:
        file = Path(error.filename or path)
        raise StoreError(f"{path}: {what}: {reason(error, file)}") from error


def _sync_tree(path: Path) -> None:
    for entry in (path, *path.rglob("*")):
        handle = os.open(entry, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
