"""The store: one SQLite file that holds experiments, runs, responses, events, traces and latency histograms.

`catalogue` is all but the traces, `traces` the readings of a run and their energy without reading them all, `codec` how
a second of them is packed, `recorder` writes them while a run is under way.
"""

from edgejoule.store.catalogue import (
    APPLICATION_ID,
    RULE,
    SCHEMA_VERSION,
    Experiment,
    Intervals,
    Latency,
    Primary,
    ResponseValue,
    Run,
    RunData,
    SeveralError,
    Store,
)
from edgejoule.store.recorder import TraceRecorder
from edgejoule.store.traces import StoredTrace

__all__ = [
    "APPLICATION_ID",
    "RULE",
    "SCHEMA_VERSION",
    "Experiment",
    "Intervals",
    "Latency",
    "Primary",
    "ResponseValue",
    "Run",
    "RunData",
    "SeveralError",
    "Store",
    "StoredTrace",
    "TraceRecorder",
]
