"""The store: one SQLite file that holds experiments, runs, responses, events, traces and latency histograms.

`catalogue` is all but the traces, `traces` the readings of a run and their energy without reading them all, `codec` how
a second of them is packed, `recorder` writes them while a run is under way, `formats` are earlier formats, `notes` are
people's remarks.
"""

from edgejoule.store.catalogue import (
    APPLICATION_ID,
    RULE,
    Experiment,
    Intervals,
    Latency,
    Primary,
    ResponseValue,
    Run,
    RunData,
    SeveralError,
    Store,
    additions_of,
)
from edgejoule.store.formats import READABLE, SCHEMA_VERSION
from edgejoule.store.notes import AUTHOR_LENGTH_MAX, TEXT_LENGTH_MAX, Note, check_text
from edgejoule.store.recorder import TraceRecorder
from edgejoule.store.traces import StoredTrace

__all__ = [
    "APPLICATION_ID",
    "AUTHOR_LENGTH_MAX",
    "READABLE",
    "RULE",
    "SCHEMA_VERSION",
    "TEXT_LENGTH_MAX",
    "Experiment",
    "Intervals",
    "Latency",
    "Note",
    "Primary",
    "ResponseValue",
    "Run",
    "RunData",
    "SeveralError",
    "Store",
    "StoredTrace",
    "TraceRecorder",
    "additions_of",
    "check_text",
]
