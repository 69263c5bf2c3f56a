"""The properties of the driver's workloads: its list is written into properties.json, from which lab knows them."""

from __future__ import annotations

import subprocess
from importlib import resources
from pathlib import Path

import pytest

from edgejoule.dictionary.properties import CORE, KINDS, complaint

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/bin/driver-properties"


@pytest.mark.skipif(not PROGRAM.exists(), reason="driver-properties is not built: make schemas")
def test_properties_json_has_the_properties_that_the_driver_knows() -> None:
    printed = subprocess.run([str(PROGRAM)], capture_output=True, text=True, check=True).stdout
    assert (ROOT / "schemas/properties.json").read_text() == printed, "run: make schemas"


def test_the_package_ships_the_properties_of_the_dictionary() -> None:
    shipped = resources.files("edgejoule").joinpath("properties.json").read_text()
    assert shipped == (ROOT / "schemas/properties.json").read_text()


def test_every_kind_takes_the_length_of_a_run_and_the_number_of_records() -> None:
    for kind, properties in KINDS.items():
        assert {"maxexecutiontime", "operationcount", "recordcount"} <= properties.keys(), kind


def test_retries_of_inserts_are_no_property_of_an_experiment() -> None:
    assert "core_workload_insertion_retry_limit" not in KINDS[CORE]


def test_a_value_is_one_of_the_choices_of_all_kinds() -> None:
    assert complaint("keytype", "blob") is None  # of a replay; core takes text and integer
    assert complaint("keytype", "number") == "expected one of text, integer, blob, got 'number'"
