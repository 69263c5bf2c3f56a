"""A mongod that the processor cannot run is refused with the reason, before it ends with SIGILL."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgejoule.database_servers import mongodb, mongodb_processor
from edgejoule.database_servers.mongodb import MongoDB
from edgejoule.database_servers.mongodb_processor import processor_of, why_not

#: Lines of /proc/cpuinfo: a Celeron J1900, a Skylake, a Raspberry Pi 4 (ARMv8.0-A) and a Raspberry Pi 5 (ARMv8.2-A).
CELERON = processor_of("x86_64", "flags\t\t: fpu vme sse4_1 sse4_2 movbe popcnt rdrand\n" * 4)
SKYLAKE = processor_of("x86_64", "flags\t\t: fpu vme sse4_1 sse4_2 aes xsave avx f16c avx2\n" * 4)
PI_4 = processor_of("aarch64", "Features\t: fp asimd evtstrm crc32 cpuid\n" * 4)
PI_5 = processor_of(
    "aarch64",
    "Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp\n",
)
PI_32_BIT = processor_of("armv7l", "Features\t: half thumb fastmult vfp edsp neon vfpv3 tls vfpv4 idiva idivt crc32\n")


@pytest.mark.parametrize(
    ("processor", "version", "reason"),
    [
        (CELERON, "4.4.29", None),
        (CELERON, "5.0.0", "MongoDB 5.0.0 needs AVX, which this processor lacks: install MongoDB 4.4"),
        (CELERON, "", "MongoDB 5.0 and newer needs AVX"),
        (SKYLAKE, "8.0.4", None),
        (SKYLAKE, "", None),
        (PI_4, "4.4.18", None),
        (PI_4, "4.4.19", "MongoDB 4.4.19 needs ARMv8.2-A"),
        (PI_4, "7.0.5", "MongoDB 7.0.5 needs ARMv8.2-A, which this processor is older than: install MongoDB 4.4.18"),
        (PI_5, "8.0.4", None),
        (PI_32_BIT, "3.2.11", "MongoDB has no build for 32-bit ARM (armv7l): install a 64-bit system"),
        (processor_of("x86_64", ""), "8.0.4", None),  # unknown features are no reason
        (processor_of("ppc64le", "cpu : POWER9\n"), "8.0.4", None),
    ],
)
def test_a_version_runs_on_processors_that_have_what_it_needs(
    processor: mongodb_processor.Processor, version: str, reason: str | None
) -> None:
    answer = why_not(processor, version)
    assert answer == reason if reason is None else (answer or "").startswith(reason)


def test_only_what_every_core_has_counts() -> None:
    mixed = processor_of("aarch64", "Features\t: fp asimd dcpop\nFeatures\t: fp asimd\n")
    assert mixed.features == {"fp", "asimd"}


def mongod_on_the_path(folder: Path, patch: pytest.MonkeyPatch, text: str) -> None:
    program = folder / "mongod"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    patch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize("says", ["echo db version v7.0.5", "kill -ILL $$"])
def test_a_mongod_that_this_processor_cannot_run_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    mongod_on_the_path(tmp_path, monkeypatch, says)
    monkeypatch.setattr(mongodb_processor, "this_processor", lambda: CELERON)
    for settings in ({}, {"server": "mongod"}):
        assert "needs AVX" in (MongoDB(tmp_path, settings).missing() or "")
    if not mongodb._stand_in_installation().available:
        assert not MongoDB.installation().available
        assert "needs AVX" in MongoDB.installation().why


def test_a_mongod_that_this_processor_can_run_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mongod_on_the_path(tmp_path, monkeypatch, "echo db version v7.0.5")
    monkeypatch.setattr(mongodb_processor, "this_processor", lambda: SKYLAKE)
    assert MongoDB(tmp_path, {}).missing() is None
    assert (MongoDB.installation().available, MongoDB.installation().version) == (True, "7.0.5")


def test_a_32_bit_board_is_not_told_to_install_mongodb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(mongodb_processor, "this_processor", lambda: PI_32_BIT)
    why = MongoDB(tmp_path, {"server": "mongod"}).missing()
    assert why == "mongodb.server = mongod: MongoDB has no build for 32-bit ARM (armv7l): install a 64-bit system"


def test_the_features_of_this_machine_are_read() -> None:
    assert mongodb_processor.this_processor().machine
    assert mongodb_processor.this_processor().features
