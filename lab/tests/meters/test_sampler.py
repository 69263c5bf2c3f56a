"""The sampler: what a meter says arrives as traces; faults and delays stay visible."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest
from emulated_meter import EmulatedMeter

import edgejoule.meters.sampler as sampler_module
from edgejoule.errors import MeterError
from edgejoule.meters.base import Channel, Domain, Method, Sample, ValueKind
from edgejoule.meters.sampler import LivePower, Sampler


class Emulated(EmulatedMeter):
    """Two package counters that draw 10 W and 20 W; faults happen at given polls."""

    poll_interval_s = 0.002

    def __init__(self) -> None:
        domains = {"package-0": Domain.PACKAGE, "package-1": Domain.PACKAGE, "dram-0": Domain.DRAM}
        super().__init__(
            [
                Channel("emulated", name, domain, ValueKind.ACCUMULATOR, Method.COUNTED, 0, 0, 0, wrap_j=1.0)
                for name, domain in domains.items()
            ]
        )
        self.polls = 0
        self.threads: set[str] = set()
        self.before_poll = lambda poll: None

    def poll(self) -> Sequence[Sample]:
        self.polls += 1
        self.threads.add(threading.current_thread().name)
        self.before_poll(self.polls)
        now = time.monotonic_ns()
        if self.polls == 3:
            return [Sample(x, now, None, "EIO") for x in ("package-0", "package-1", "dram-0")]
        watts = {"package-0": 10.0, "package-1": 20.0, "dram-0": 5.0}
        return [Sample(name, now, now / 1e9 * watt % 1.0) for name, watt in watts.items()]


def wait_for(condition, patience_s: float = 10.0) -> None:
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.001)


def test_samples_arrive_in_order_with_missing_ones_as_nan_and_reason() -> None:
    meter = Emulated()
    sampler = Sampler(meter)
    sampler.start()
    wait_for(lambda: meter.polls >= 20)
    traces = sampler.stop()
    assert [trace.channel.name for trace in traces] == ["package-0", "package-1", "dram-0"]
    for trace in traces:
        assert len(trace) == meter.polls
        assert np.all(np.diff(trace.t_ns) > 0)
        assert np.flatnonzero(np.isnan(trace.value)).tolist() == [2]
        assert trace.reasons == {2: "EIO"}
        assert [sample.missing_reason for sample in trace.samples()][2] == "EIO"
    assert sampler.stop()[0].t_ns.tolist() == traces[0].t_ns.tolist()


def test_first_and_last_sample_enclose_what_lies_between_start_and_stop() -> None:
    sampler = Sampler(Emulated(), interval_s=60.0)
    sampler.start()
    begin_ns, end_ns = time.monotonic_ns(), time.monotonic_ns()
    (trace, *_) = sampler.stop()
    assert trace.t_ns[0] <= begin_ns
    assert trace.t_ns[-1] >= end_ns


def test_a_late_poll_leaves_a_hole_and_no_burst_after_it() -> None:
    meter = Emulated()
    meter.before_poll = lambda poll: time.sleep(0.1) if poll == 10 else None
    with Sampler(meter) as sampler:
        wait_for(lambda: meter.polls >= 30)
        (trace, *_) = sampler.stop()
    assert np.max(np.diff(trace.t_ns)) >= 0.1e9
    assert sampler.cost().polls_late >= 45
    assert sampler.cost().polls == meter.polls


def test_the_listener_hears_the_primary_domains_power_summed() -> None:
    heard: list[LivePower] = []
    with Sampler(Emulated(), listener=heard.append) as sampler:
        wait_for(lambda: len(heard) >= 2)
        sampler.stop()
    assert all(live.power_w is not None for live in heard)
    # 0.1 s at 30 W is several wraps of 1 J: only the sum of differences modulo the wrap is known
    assert all(0 <= live.power_w <= 2 / 0.1 for live in heard if live.power_w is not None)


def test_a_plug_in_that_raises_is_reported_by_stop_and_keeps_what_was_read() -> None:
    meter = Emulated()

    def fail(poll: int) -> None:
        if poll == 8:
            raise RuntimeError("cable gone")

    meter.before_poll = fail
    sampler = Sampler(meter)
    sampler.start()
    wait_for(lambda: meter.polls >= 8)
    with pytest.raises(MeterError, match="RuntimeError: cable gone"):
        sampler.stop()
    assert len(sampler.traces()[0]) == 7


def test_an_interval_of_zero_is_refused() -> None:
    with pytest.raises(MeterError, match="above 0"):
        Sampler(Emulated(), interval_s=0.0)


def test_what_is_taken_away_is_not_checked_for_the_live_power(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, taken = Sampler(Emulated(), listener=lambda power: None), threading.Event()
    latest_power_w, between = sampler_module.Collector.latest_power_w, []

    def read_while_another_takes(self, channel, since_ns):
        if not between:
            threading.Thread(target=lambda: (sampler.take(), taken.set()), daemon=True).start()
            between.append(taken.wait(0.2))
        return latest_power_w(self, channel, since_ns)

    monkeypatch.setattr(sampler_module.Collector, "latest_power_w", read_while_another_takes)
    with sampler:
        wait_for(lambda: between and taken.is_set())
    assert between == [False], "readings went away between two looks at them"
