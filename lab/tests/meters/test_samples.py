"""Samples as records: what the meters yield and the golden examples follow the dictionary."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import jsonschema
import pytest

from edgejoule.meters.base import Meter, sample_record
from edgejoule.meters.plugins.profile import BoardProfile
from edgejoule.meters.plugins.rapl import Rapl

from .emulation import Clock, PowercapTree, ProcTree, raising

SCHEMAS = Path(__file__).parents[3] / "schemas"
EXAMPLES = sorted((SCHEMAS / "examples").glob("meter-sample.*.json"))


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads((SCHEMAS / "meter-sample.schema.json").read_text()))


def emulated_rapl(tmp_path: Path) -> tuple[Meter, PowercapTree]:
    tree = PowercapTree(tmp_path / "powercap")
    tree.add("intel-rapl:0", "package-0", energy_uj=1e9)
    tree.add("intel-rapl:0:0", "dram", energy_uj=1e8)
    return Rapl(tree.root, Path("/nonexistent"), tree.read, Clock()), tree


def records(meter: Meter) -> list[dict]:
    channels = {channel.name: channel for channel in meter.channels()}
    return [sample_record(channels[sample.channel], sample) for sample in meter.poll()]


def test_there_are_examples_of_every_method_and_of_a_missing_one() -> None:
    examples = [json.loads(path.read_text()) for path in EXAMPLES]
    assert {example["method"] for example in examples} == {"measured", "counted", "modelled"}
    assert any(example["value"] is None for example in examples)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_golden_examples_are_valid(path: Path, schema: jsonschema.Draft202012Validator) -> None:
    schema.validate(json.loads(path.read_text()))


def test_samples_of_the_meters_are_valid(tmp_path: Path, schema: jsonschema.Draft202012Validator) -> None:
    rapl, tree = emulated_rapl(tmp_path)
    rapl.open()
    good = records(rapl)
    tree.faults = {"intel-rapl:0": raising(OSError(errno.EIO, "Input/output error"))}
    bad = records(rapl)
    assert [record["value"] for record in good] == [1000.0, 100.0]
    assert [record["value"] for record in bad] == [None, 100.0]
    clock = Clock()
    proc = ProcTree(clock)
    profile = BoardProfile("generic-x86", read=proc.read, clock_ns=clock)
    profile.open()
    clock.advance(1.0)
    for record in (*good, *bad, *records(profile)):
        schema.validate(json.loads(json.dumps(record)))


def test_a_failed_reading_written_as_zero_would_be_invalid(
    tmp_path: Path, schema: jsonschema.Draft202012Validator
) -> None:
    rapl, tree = emulated_rapl(tmp_path)
    rapl.open()
    tree.faults = {"intel-rapl:0": raising(OSError(errno.EIO, "Input/output error"))}
    record = {**records(rapl)[0], "value": 0}
    assert not schema.is_valid(record)
