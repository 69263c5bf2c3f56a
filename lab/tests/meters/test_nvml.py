"""Graphics cards through an emulated NVML, and through the real package where no card is."""

from __future__ import annotations

import pytest

from edgejoule.errors import MeterError, UsageError
from edgejoule.extras import install_command
from edgejoule.meters.base import Domain, Meter, ValueKind
from edgejoule.meters.plugins.nvml import Nvml
from edgejoule.testing.instruments.nvml import EmulatedLibrary

from .emulation import Clock


def library(cards: int = 2) -> EmulatedLibrary:
    return EmulatedLibrary(lambda: 1234.5678, lambda: 61.25, cards)


def opened(library: EmulatedLibrary, gpu: int | str = 0) -> Nvml:
    meter = Nvml(gpu, library, Clock())
    meter.open()
    return meter


def test_follows_the_meter_contract() -> None:
    assert isinstance(Nvml(library=library()), Meter)


def test_a_card_with_a_running_total_counts_joules() -> None:
    meter = opened(library())
    (channel,) = meter.channels()
    assert (channel.kind, channel.domain, channel.unit) == (ValueKind.ACCUMULATOR, Domain.RAIL, "J")
    assert meter.poll()[0].value == pytest.approx(1234.567)


def test_an_older_card_gives_its_power() -> None:
    result = library()
    result.counts = False
    meter = opened(result, "0, 1")
    assert [channel.kind for channel in meter.channels()] == [ValueKind.INSTANT] * 2
    assert [sample.value for sample in meter.poll()] == [61.25, 61.25]


def test_no_card_is_taken_that_was_not_named() -> None:
    said = Nvml(library=library()).probe()
    assert not said.available
    assert "2 cards" in said.reason
    assert said.fix == "name it under [meter.options]: nvml = { gpu = 0 }"


def test_a_lost_card_is_missing_with_the_librarys_message() -> None:
    result = library()
    meter = opened(result)
    result.fault = "GPU is lost"
    (sample,) = meter.poll()
    assert (sample.value, sample.missing_reason) == (None, "NVML: GPU is lost")


def test_the_library_is_let_go_as_often_as_it_was_started() -> None:
    result = library()
    meter = opened(result)
    assert result.users == 1
    meter.close()
    meter.close()
    assert result.users == 0


def test_a_card_that_is_not_there_is_reported_with_those_that_are() -> None:
    said = Nvml(5, library()).probe()
    assert said.fix == "gpu: numbers from 0 to 1"
    with pytest.raises(MeterError, match="Invalid Argument"):
        Nvml(5, library()).open()


@pytest.mark.parametrize("gpu", [-1, True, "all", "", 0.5])
def test_an_invalid_card_number_is_refused(gpu) -> None:
    with pytest.raises(UsageError, match="gpu"):
        Nvml(gpu)


def test_the_real_package_without_a_driver_declines_with_its_own_message() -> None:
    pynvml = pytest.importorskip("pynvml")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        said = Nvml(0).probe()
        assert not said.available
        assert "NVML: " in said.reason
    else:
        pynvml.nvmlShutdown()
        pytest.skip("a card is here")


def test_the_emulation_has_the_names_of_the_real_package() -> None:
    pynvml = pytest.importorskip("pynvml")
    names = [name for name in vars(EmulatedLibrary) if name.startswith("nvml")]
    assert len(names) == 7
    assert all(callable(getattr(pynvml, name)) for name in names)


def test_without_the_package_the_message_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    assert Nvml(0).probe().fix == install_command("nvml")
