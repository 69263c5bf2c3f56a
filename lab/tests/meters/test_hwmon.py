"""hwmon over emulated trees: which rails are read, what their values mean, what a failed reading is."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from edgejoule.errors import MeterError, UsageError
from edgejoule.machine.files import read_text
from edgejoule.meters.base import Block, Domain, Meter, Sample, ValueKind
from edgejoule.meters.plugins.hwmon import Hwmon

from .emulation import Clock
from .hwmon_tree import INA219, JETSON, make


def opened(root: Path, **options) -> Hwmon:
    meter = Hwmon(root, clock_ns=Clock(), **options)
    meter.open()
    return meter


def values(meter: Hwmon) -> dict[str, float | None]:
    return {sample.channel: sample.value for sample in meter.poll() if isinstance(sample, Sample)}


def test_follows_the_meter_contract(tmp_path: Path) -> None:
    assert isinstance(Hwmon(tmp_path), Meter)


def test_the_power_register_is_read_in_microwatts(tmp_path: Path) -> None:
    # Linux, Documentation/hwmon/ina2xx.rst, "General sysfs entries": power1_input, Power(uW) measurement channel
    make(tmp_path, 0, INA219)
    meter = opened(tmp_path)
    assert values(meter) == {"ina219-1": pytest.approx(2.602)}
    (channel,) = meter.channels()
    assert (channel.domain, channel.kind, channel.unit) == (Domain.RAIL, ValueKind.INSTANT, "W")
    assert channel.resolution == pytest.approx(0.002)  # SBOS448: 20 current steps, each 10 µV over 0.1 Ω
    assert channel.gain_rel == pytest.approx(0.01, rel=0.01)
    assert channel.offset_w == pytest.approx(200e-6 / 0.1 * 5.004 / 3**0.5)  # SBOS448, 7.5: PGA = /8


def test_a_chip_without_a_power_file_gives_voltage_times_current(tmp_path: Path) -> None:
    # Linux, Documentation/hwmon/ina3221.rst, "Sysfs entries": in[123]_input mV, curr[123]_input mA
    make(tmp_path, 0, {k: v for k, v in JETSON.items() if not k.startswith("in1_label")})
    result = values(opened(tmp_path))
    assert result == {
        "ina3221-1": pytest.approx(5.072 * 1.120),
        "VDD_CPU_GPU_CV": pytest.approx(5.064 * 0.216),
        "VDD_SOC": pytest.approx(5.064 * 0.352),
    }


def test_a_rail_that_feeds_the_others_is_read_alone_and_the_rest_is_named(tmp_path: Path) -> None:
    make(tmp_path, 3, JETSON)
    meter = opened(tmp_path)
    assert values(meter) == {"VDD_IN": pytest.approx(5.072 * 1.120)}
    assert meter.facts()["rails left out"] == ["VDD_CPU_GPU_CV", "VDD_SOC"]


def test_rails_can_be_named(tmp_path: Path) -> None:
    make(tmp_path, 0, JETSON)
    assert sorted(values(opened(tmp_path, rails="VDD_SOC, VDD_CPU_GPU_CV"))) == ["VDD_CPU_GPU_CV", "VDD_SOC"]
    with pytest.raises(MeterError, match="VDD_SOCK; there are: VDD_IN, VDD_CPU_GPU_CV, VDD_SOC"):
        opened(tmp_path, rails="VDD_SOCK")


def test_a_switched_off_channel_is_not_read(tmp_path: Path) -> None:
    make(tmp_path, 0, {**JETSON, "in1_enable": "0"})
    assert sorted(values(opened(tmp_path))) == ["VDD_CPU_GPU_CV", "VDD_SOC"]


def test_two_chips_of_a_kind_are_distinguished(tmp_path: Path) -> None:
    for number in (0, 2):
        make(tmp_path, number, INA219)
    assert sorted(values(opened(tmp_path))) == ["ina219-1@hwmon0", "ina219-1@hwmon2"]


def test_a_chip_that_is_not_known_is_read_only_when_named_and_with_an_accuracy(tmp_path: Path) -> None:
    make(tmp_path, 0, {"name": "corsairpsu", "power1_input": "84000000", "power1_label": "power total"})
    said = Hwmon(tmp_path).probe()
    assert not said.available
    assert "corsairpsu" in said.reason
    with pytest.raises(MeterError, match="accuracy_rel"):
        opened(tmp_path, chip="corsairpsu")
    meter = opened(tmp_path, chip="corsairpsu", accuracy_rel=0.05)
    assert values(meter) == {"power total": 84.0}
    assert meter.channels()[0].gain_rel == pytest.approx(0.05 / 3**0.5)


@pytest.mark.parametrize(
    "option", [{"accuracy_rel": 0.0}, {"shunt_tolerance_rel": 2.0}, {"interval_s": 0.0}, {"accuracy_rel": "2 %"}]
)
def test_options_out_of_range_are_refused(tmp_path: Path, option: dict) -> None:
    with pytest.raises(UsageError, match=next(iter(option))):
        Hwmon(tmp_path, **option)


@pytest.mark.parametrize(
    "text", ["", "garbage\n", "1.5\n", OSError(errno.EREMOTEIO, "Remote I/O error"), FileNotFoundError(2, "gone")]
)
def test_a_failed_read_is_missing_with_its_reason(tmp_path: Path, text: str | OSError) -> None:
    make(tmp_path, 0, INA219)
    broken = False

    def read(path: Path) -> str:
        if broken and path.name == "power1_input":
            if isinstance(text, OSError):
                raise text
            return text
        return read_text(path)

    meter = Hwmon(tmp_path, read=read, clock_ns=Clock())
    meter.open()
    broken = True
    (sample,) = meter.poll()
    assert isinstance(sample, Sample)
    assert sample.value is None
    assert "ina219-1: " in (sample.missing_reason or "")


def test_one_half_of_a_product_that_fails_makes_the_power_missing(tmp_path: Path) -> None:
    folder = make(tmp_path, 0, JETSON)
    meter = opened(tmp_path)
    (folder / "curr1_input").unlink()
    assert values(meter) == {"VDD_IN": None}


def test_probe_declines_where_there_is_no_tree_and_on_a_dead_rail(tmp_path: Path) -> None:
    assert "new_device" not in (Hwmon(tmp_path / "no").probe().reason)
    assert "--setup hwmon" in (Hwmon(tmp_path / "no").probe().fix or "")
    make(tmp_path, 0, {**INA219, "in1_input": "0"})
    assert "is the rail connected?" in Hwmon(tmp_path).probe().reason
    make(tmp_path, 0, {**INA219, "update_interval": "soon"})
    assert not Hwmon(tmp_path).probe().available


def test_polling_gives_samples_where_no_fast_interval_is_asked_for(tmp_path: Path) -> None:
    make(tmp_path, 0, INA219)
    assert not any(isinstance(reading, Block) for reading in opened(tmp_path, interval_s=0.02).poll())


def test_values_are_not_read_faster_than_the_chip_renews_them(tmp_path: Path) -> None:
    make(tmp_path, 0, {**INA219, "update_interval": "140"})
    assert opened(tmp_path).poll_interval_s == pytest.approx(0.14)
    make(tmp_path, 0, {**INA219, "update_interval": "2"})
    assert opened(tmp_path).poll_interval_s == 0.05
