"""Whether a processor can run a version of MongoDB, which otherwise ends with SIGILL at its first instructions.

Source: MongoDB's production notes (platform support) and the entry point of its Docker image. Tested with recorded
/proc/cpuinfo, never with a mongod on such a processor.
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import Path

_V8_2 = {"asimddp", "dcpop", "fphp", "sha3", "sha512", "sm3", "sm4", "sve"}  # each came with ARMv8.2-A
#: Machines, the first version that needs a feature of the set, and its words with a way out.
_NEEDS = (
    (
        ("x86_64", "amd64"), (5, 0, 0), {"avx"},
        "AVX, which this processor lacks: install MongoDB 4.4; in a virtual machine let the host pass AVX on",
    ),
    (
        ("aarch64", "arm64"), (4, 4, 19), _V8_2,
        "ARMv8.2-A, which this processor is older than: install MongoDB 4.4.18 or an earlier 4.4",
    ),
)  # fmt: skip


DECISIVE_FEATURES = frozenset(feature for _, _, features, _ in _NEEDS for feature in features)


@dataclass(frozen=True)
class Processor:
    """machine: as uname names it. features: that every core has; empty if they are unknown."""

    machine: str
    features: frozenset[str]


def processor_of(machine: str, cpuinfo: str) -> Processor:
    """Reads the text of /proc/cpuinfo."""
    cores = [set(line.split()) for line in re.findall(r"^(?:flags|Features)\s*:(.*)$", cpuinfo, re.MULTILINE)]
    return Processor(machine, frozenset(set.intersection(*cores) if cores else ()))


def this_processor() -> Processor:
    """Returns the processor of this machine."""
    try:
        return processor_of(platform.machine(), Path("/proc/cpuinfo").read_text(errors="replace"))
    except OSError:
        return Processor(platform.machine(), frozenset())


def why_no_build(processor: Processor) -> str | None:
    """Explains why there is no MongoDB for this processor at all, with a way out; None if there is."""
    if re.fullmatch(r"arm(v[5-8]\w*)?", processor.machine):
        return f"MongoDB has no build for 32-bit ARM ({processor.machine}): install a 64-bit system"
    return None


def why_not(processor: Processor, version: str) -> str | None:
    """Explains why this version cannot run on the processor, with a way out; None if it can, or if nothing is known.

    version: empty if mongod did not say it; then it is taken for a new one.
    """
    if (reason := why_no_build(processor)) or not processor.features:
        return reason
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3]) or (99,)
    for machines, since, features, words in _NEEDS:
        if processor.machine in machines and numbers >= since and not processor.features & features:
            return f"MongoDB {version or '5.0 and newer'} needs {words}"
    return None
