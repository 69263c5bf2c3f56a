"""What of files is in memory, and dropping it."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgejoule.machine import page_cache
from edgejoule.machine.page_cache import files_below, forget, resident_bytes, size_bytes

SIZE = 64 * mmap.PAGESIZE


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """Files in a tmpfs, which /tmp may be, are always in memory."""
    with tempfile.TemporaryDirectory(prefix="edgejoule-pages-", dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def written(on_disk: Path) -> Path:
    path = on_disk / "file"
    path.write_bytes(os.urandom(SIZE))
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return path


def test_a_dropped_file_is_out_of_memory_until_it_is_read(written: Path) -> None:
    assert resident_bytes([written]) == SIZE == size_bytes([written])
    forget([written])
    assert resident_bytes([written]) == 0
    written.read_bytes()
    assert resident_bytes([written]) == SIZE


def test_pages_that_a_process_has_mapped_stay(written: Path) -> None:
    with written.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert sum(mapped[i] for i in range(0, SIZE, mmap.PAGESIZE)) > 0
        forget([written])
        assert resident_bytes([written]) == SIZE


def test_large_files_are_counted_in_parts(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "_WINDOW_BYTES", 3 * mmap.PAGESIZE)
    assert resident_bytes([written]) == SIZE


def test_files_that_are_gone_or_empty_have_no_pages(on_disk: Path) -> None:
    (on_disk / "below").mkdir()
    (on_disk / "below/empty").touch()
    (on_disk / "link").symlink_to(on_disk / "below/empty")
    assert files_below(on_disk) == [on_disk / "below/empty"]
    files = [on_disk / "below/empty", on_disk / "gone"]
    forget(files)
    assert (resident_bytes(files), size_bytes(files)) == (0, 0)
