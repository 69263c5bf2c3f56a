"""ecod's decisions as events of a run. The records are an ecod's own, shortened."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from edgejoule.eco.federation import FederationServer
from edgejoule.eco.federation.decisions import decision_events, joined

SCHEMA = Path(__file__).resolve().parents[3] / "schemas/run-event.schema.json"
LOW = FederationServer("low", share=0.125, busy_w=1.5, idle_w=8)  # 12 J per second of CPU time


def at_home() -> dict[str, Any]:
    return {
        "at_s": time.time() - 2,
        "request": {
            "server": "low",
            "job": "SESSION-6-0",
            "features": {"input_bytes": "785529", "input_entries": "13807", "codec": "ZSTD"},
            "level_zero": {"files": 4.0, "files_s": 5.3, "stop": 8},
        },
        "placement": {"reason": "no stall is near", "local_s": 0.97, "decided_by": "low"},
        "options": [{"server": "low", "time_s": 0.49, "energy_j": 0.227, "available": True}],
        "outcome": "local",
        "wall_s": 0.6,
        "cpu_s": 0.02,
        "energy_j": 0.233,
    }


def offloaded() -> dict[str, Any]:
    """As the server that asked has it."""
    return {
        "at_s": time.time() - 1,
        "request": {"server": "low", "job": "SESSION-16-0", "features": {"input_bytes": "2111769"}},
        "placement": {"offload": True, "server": "medium", "reason": "a stall is near", "decided_by": "high"},
        "outcome": "installed",
        "wall_s": 0.82,
        "home_cpu_s": 0.01,
        "bytes_moved": "4000000",
        "energy_j": 1.3,
    }


def decided() -> dict[str, Any]:
    """The same as the master has it."""
    job = {key: value for key, value in offloaded().items() if key in ("at_s", "request", "placement")}
    options = [
        {"server": "medium", "time_s": 0.7, "energy_j": 1.2, "available": True},
        {"server": "low", "time_s": 1.1, "energy_j": 0.9, "available": True, "stalls": True},
    ]
    return {**job, "options": options}


def test_prediction_and_outcome_of_a_job_come_from_the_logs_of_two_servers() -> None:
    events = decision_events(joined([[at_home(), offloaded()], [decided()]]), "eco", {"low": LOW})
    assert [(e["place"], e["outcome"]) for e in events] == [("low", "local"), ("medium", "installed")]
    local, remote = events
    assert (local["predicted_s"], local["actual_s"], local["predicted_j"], local["actual_j"]) == (
        0.49, 0.6, 0.227, 0.233,
    )  # fmt: skip
    assert (remote["predicted_s"], remote["actual_s"], remote["predicted_home_s"]) == (0.7, 0.82, 1.1)
    assert (local["stall_predicted"], remote["stall_predicted"]) == (False, True)
    assert remote["actual_j"] == pytest.approx(1.3 + 0.01 * 12 + 4e6 * 5e-9)
    assert remote["moved_bytes"] == 4_000_000


def test_an_unknown_value_is_missing_and_not_0() -> None:
    (event,) = decision_events([offloaded()], "static:medium", {})
    assert event["predicted_s"] is event["predicted_j"] is event["stall_predicted"] is event["actual_j"] is None
    (open_job,) = decision_events([decided()], "eco", {"low": LOW})
    assert open_job["outcome"] is open_job["actual_s"] is open_job["actual_j"] is None


def test_a_job_that_was_of_no_use_has_no_actual_time() -> None:
    lost = {**offloaded(), "outcome": "fell back: the worker is lost"}
    (event,) = decision_events([lost], "eco", {"low": LOW})
    assert event["outcome"] == "fell back: the worker is lost"
    assert event["actual_s"] is event["actual_j"] is None


def test_events_have_the_form_of_the_schema_and_times_of_the_monotonic_clock() -> None:
    schema = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    events = decision_events([at_home(), offloaded(), decided()], "eco", {"low": LOW})
    for event in events:
        schema.validate(event)
        assert 0 < time.monotonic_ns() - event["monotonic_ns"] < 10 * 10**9
    mutant = copy.deepcopy(events[0])
    del mutant["outcome"]
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(mutant)
