"""Joulescope at the seam of its library: totals, losses, an instrument that goes and comes back."""

from __future__ import annotations

import numpy as np
import pytest

from edgejoule.errors import MeterError, UsageError
from edgejoule.extras import install_command
from edgejoule.meters.base import Meter, ValueKind
from edgejoule.meters.plugins.joulescope import Joulescope
from edgejoule.testing.examine import examine, run_once
from edgejoule.testing.instrument import Circuit, Fault
from edgejoule.testing.instruments.joulescope import INSTRUMENT, PATH, Library, statistics
from edgejoule.testing.load import KnownLoad


def library(power_w: float = 2.0, *faults: Fault) -> Library:
    load = KnownLoad(np.array([0.0, 1e4]), np.full(2, power_w))
    return Library(Circuit(load, 10.0, 0.0, 0.0, 0.0, 0.0, frozenset(faults), np.random.default_rng(8)))


def meter_on(made: Library, **options: object) -> Joulescope:
    return Joulescope(make_driver=lambda: made, clock_ns=lambda: round(made.now_s * 1e9), **options)


def polled(made: Library, meter: Joulescope, end_s: float) -> list:
    blocks = []
    for at_s in np.arange(made.now_s + 0.05, end_s, 0.05):
        made.advance(round(at_s * 1e9))
        blocks.extend(meter.poll())
    return blocks


def test_follows_the_contract_and_declines_with_a_message() -> None:
    made = library()
    assert isinstance(meter_on(made), Meter)
    assert meter_on(made).probe().available
    assert not meter_on(made, device="999999").probe().available
    assert meter_on(made, device="001234").probe().available
    with pytest.raises(UsageError, match="rate_hz"):
        Joulescope(rate_hz=0)


def test_without_the_library_it_declines_with_the_fix() -> None:
    def missing() -> Library:
        raise MeterError(f"pyjoulescope_driver is missing: {install_command('joulescope')}")

    result = Joulescope(make_driver=missing).probe()
    assert (result.available, result.fix) == (False, install_command("joulescope"))


def test_totals_are_on_the_clock_of_the_instrument() -> None:
    made = library()
    meter = meter_on(made)
    meter.open()
    (channel,) = meter.channels()
    blocks = polled(made, meter, 1.0)
    t_ns = np.concatenate([block.t_ns for block in blocks])
    energy_j = np.concatenate([block.value for block in blocks])
    meter.close()
    meter.close()
    assert channel.kind is ValueKind.ACCUMULATOR
    assert np.all(np.diff(t_ns) == 20_000_000)
    np.testing.assert_allclose(energy_j, 2.0 * t_ns / 1e9, rtol=1e-9)
    assert (f"{PATH}/s/stats/scnt", 20_000) in made.published


def test_invalid_and_old_messages_are_ignored() -> None:
    made = library()
    meter = meter_on(made)
    meter.open()
    good = statistics(0, 20_000, 0.0, 0.04)
    for message in ({}, {"time": 1}, statistics(0, 20_000, 0.0, float("nan")), good, good):
        made._hear("x", message)
    (block,) = meter.poll()
    assert block.value.tolist() == [0.04]


def test_an_instrument_that_comes_back_has_later_times_and_a_total_from_0() -> None:
    made = library()
    meter = meter_on(made)
    meter.open()
    before = polled(made, meter, 1.0)
    made.close(PATH)
    assert polled(made, meter, 3.0) == []
    after = polled(made, meter, 4.0)
    assert after[0].t_ns[0] > before[-1].t_ns[-1]
    assert after[0].t_ns[0] == pytest.approx(3.0e9, abs=0.2e9)
    assert after[0].value[0] < before[-1].value[-1]


def test_an_instrument_that_is_not_there_is_refused_at_open() -> None:
    made = library()
    made.device_paths = lambda: []
    with pytest.raises(MeterError, match="no Joulescope"):
        meter_on(made).open()


def test_reports_the_joules_of_an_emulated_instrument() -> None:
    ideal = run_once(INSTRUMENT, 1, ideal=True)
    assert abs(ideal.error_j) / ideal.known_j < 1e-4
    assert examine(INSTRUMENT, range(1, 3)).wrong_unflagged == 0


@pytest.mark.parametrize("fault", sorted(INSTRUMENT.faults))
def test_no_wrong_figure_without_a_flag_when_things_go_wrong(fault: Fault) -> None:
    assert examine(INSTRUMENT, range(1, 2), fault).wrong_unflagged == 0
