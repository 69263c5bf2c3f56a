"""The contract of an emulated instrument: the real protocol's bytes or files, in virtual time, with known joules.

The runner owns the time. It sets the instrument's time and polls the meter's driver, which speaks to the
instrument through the transport that production code takes, and reads its host clock from the same virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from edgejoule.meters.base import Meter
from edgejoule.testing.load import KnownLoad

GROUP = "edgejoule.conformance"


class Fault(StrEnum):
    """What can go wrong between the circuit and the figure."""

    DROPOUT = "dropout"  # readings are missing: a failed read, a lost packet, an answer that does not come
    WRAP = "wrap"  # a counter runs over, more than once
    JITTER = "jitter"  # polls come late, answers take their time
    SKEW = "skew"  # the device's clock is not the host's
    GARBAGE = "garbage"  # bytes that are no answer, broken frames, text for numbers
    DISCONNECT = "disconnect"  # the instrument is gone for a while or for good


POLLED_FAULTS = frozenset({Fault.DROPOUT, Fault.JITTER, Fault.GARBAGE, Fault.DISCONNECT})
STREAM_FAULTS = POLLED_FAULTS | {Fault.SKEW}  # an instrument that samples on its own clock


@dataclass(frozen=True)
class Evidence:
    """What outside this repository says that the emulator speaks the real protocol.

    sources: documents by title and section, or programs that have talked to the emulator. None: the driver and its
    emulator agree with each other, and nothing else is known.
    """

    sources: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        """As printed in the table."""
        return "; ".join(self.sources) or "self-consistent only"


@dataclass
class Circuit:
    """What an emulated instrument measures, and its own errors in one run.

    gain_z, offset_z: the instrument's errors in units of the standard uncertainties its channels declare, the same for
    all its channels (common mode), so that a reading is true x (1 + gain_z x gain_rel) + offset_z x offset_w. model_z:
    the same for a modelled channel's prediction error. drift_ppm: the device's clock against the host's; rng: noise,
    jitter and the places of faults. faults: the faults of this run.
    """

    load: KnownLoad
    duration_s: float
    gain_z: float
    offset_z: float
    model_z: float
    drift_ppm: float
    faults: frozenset[Fault]
    rng: np.random.Generator = field(repr=False)


@dataclass(frozen=True)
class Rig:
    """A meter connected to its emulated instrument.

    advance: the instrument lives on to that virtual time, in ns since the begin of the run; called before every poll.
    """

    meter: Meter
    advance: Callable[[int], None]


@dataclass(frozen=True)
class Instrument:
    """What a package announces in the group `edgejoule.conformance`, under the name of the meter's plug-in.

    name: the meter's plug-in. connect: puts a new instrument on the circuit and gives the meter's driver, not yet
    opened, which reads the host's clock from the second argument. idle_w, busy_w: the load moves between these.
    duration_s: length of a run that suits the instrument's rate. change_s: mean time between two changes of the load,
    which the instrument's rate must be able to follow. faults: those that the protocol can have.
    """

    name: str
    connect: Callable[[Circuit, Callable[[], int]], Rig]
    idle_w: float
    busy_w: float
    duration_s: float
    change_s: float
    faults: frozenset[Fault] = POLLED_FAULTS
    evidence: Evidence = Evidence()
