"""Two hosts' clocks by exchanges of four timestamps: emulated ways, drift and loss; a real responder on loopback."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from edgejoule.cli.main import main
from edgejoule.clocks.clock_exchange import (
    ClockError,
    Exchange,
    Offset,
    Responder,
    compare,
    offset_of,
    parse_address,
    relation,
)
from edgejoule.errors import DataError, UsageError
from edgejoule.meters.clocks import ClockRelation

SEEDS = range(200)
RUN_S = 600.0


class TwoHosts:
    """Their clock runs at another rate from another origin; the ways differ, and some datagrams are lost."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.drift = self.rng.normal(0, 40e-6)
        self.origin_s = self.rng.uniform(-1e6, 1e6)
        self.there_s, self.back_s = self.rng.uniform(0, 0.002, 2)  # the shortest ways, as different as they may be
        self.late_s = self.rng.uniform(0.0001, 0.002)

    def theirs_ns(self, ours_s: float) -> int:
        return round((self.origin_s + ours_s * (1 + self.drift)) * 1e9)

    def series(self, at_s: float, count: int = 32) -> Offset:
        result, lost = [], 0
        for i in range(count):
            if self.rng.random() < 0.2:
                lost += 1
                continue
            t1 = 1e5 + at_s + i * 0.01
            t2 = t1 + self.there_s + self.rng.exponential(self.late_s)
            t3 = t2 + self.rng.uniform(10e-6, 200e-6)
            t4 = t3 + self.back_s + self.rng.exponential(self.late_s)
            result.append(Exchange(round(t1 * 1e9), self.theirs_ns(t2), self.theirs_ns(t3), round(t4 * 1e9)))
        return offset_of(result, lost)


Relate = Callable[[Offset, Offset], ClockRelation]


def errors_over_uncertainty(relate: Relate = relation) -> tuple[np.ndarray, np.ndarray]:
    """Per seed the error of a converted time during the run, and its stated standard uncertainty, s."""
    errors, stated = [], []
    for seed in SEEDS:
        hosts = TwoHosts(seed)
        result = relate(hosts.series(0.0), hosts.series(RUN_S))
        ours_s = 1e5 + hosts.rng.uniform(0, RUN_S)
        reported_ns = int(result.to_host_ns(np.array([hosts.theirs_ns(ours_s)]))[0])
        errors.append(reported_ns / 1e9 - ours_s)
        stated.append(result.uncertainty_s(reported_ns))
    return np.array(errors), np.array(stated)


def covers(relate: Relate = relation) -> bool:
    errors, stated = errors_over_uncertainty(relate)
    return bool(np.mean(np.abs(errors) <= 2 * stated) >= 0.93)


def test_the_stated_uncertainty_of_a_time_holds_over_200_seeds() -> None:
    errors, stated = errors_over_uncertainty()
    assert np.mean(np.abs(errors) <= 2 * stated) >= 0.93
    assert 2 * np.sqrt(np.mean(stated**2)) <= 4 * np.sqrt(np.mean(errors**2))


def test_mutant_with_the_sign_of_the_offset_wrong_fails_that_bar() -> None:
    def wrong(before: Offset, after: Offset) -> ClockRelation:
        return relation(replace(before, offset_ns=-before.offset_ns), replace(after, offset_ns=-after.offset_ns))

    assert not covers(wrong)


def test_mutant_without_drift_fails_that_bar() -> None:
    assert not covers(lambda before, after: replace(relation(before, after), drift=0.0))


def test_mutant_with_the_sign_of_the_drift_wrong_fails_that_bar() -> None:
    def wrong(before: Offset, after: Offset) -> ClockRelation:
        result = relation(before, after)
        return replace(result, drift=-result.drift)

    assert not covers(wrong)


def test_drift_is_reported_within_its_uncertainty() -> None:
    for seed in SEEDS:
        hosts = TwoHosts(seed)
        result = relation(hosts.series(0.0), hosts.series(RUN_S))
        assert abs(-result.drift - hosts.drift) <= 2 * result.drift_u + 1e-8


def test_rfc_5905s_equations_hold_for_one_exchange() -> None:
    """Offset 1 s, 3 ms there, 5 ms back: the ways' difference is what the ends cannot see."""
    one = Exchange(0, 1_003_000_000, 1_003_500_000, 8_500_000)
    assert one.round_trip_ns == 8_000_000
    assert one.offset_ns == 999_000_000
    result = offset_of([one] * 3)
    assert abs(result.offset_ns - 1e9) / 1e9 <= result.uncertainty_s * np.sqrt(3)


def test_the_shortest_way_each_way_counts_not_the_shortest_round_trip() -> None:
    quick_there = Exchange(0, 100, 100, 10_000)
    quick_back = Exchange(20_000, 30_000, 30_000, 30_100)
    result = offset_of([quick_there, quick_back, quick_there])
    assert result.uncertainty_s < 100e-9
    assert result.offset_ns == 0


def test_one_series_leaves_the_drift_to_what_crystals_do() -> None:
    hosts = TwoHosts(3)
    result = relation(hosts.series(0.0))
    assert result.drift == 0.0
    assert result.drift_u == pytest.approx(100e-6 / np.sqrt(3))


def test_a_clock_that_was_set_is_refused_with_a_message() -> None:
    hosts = TwoHosts(5)
    before, after = hosts.series(0.0), hosts.series(RUN_S)
    with pytest.raises(ClockError, match="set or restarted"):
        relation(before, replace(after, offset_ns=after.offset_ns + 5_000_000_000))
    with pytest.raises(DataError, match="not after"):
        relation(after, before)
    calm = [Exchange(i, i + 10, i + 10, i + 20) for i in range(0, 300, 100)]
    with pytest.raises(ClockError, match="contradict"):
        offset_of([*calm, Exchange(400, 10**9, 10**9, 420)])


def test_too_few_answers_are_no_comparison() -> None:
    with pytest.raises(ClockError, match="2 of 9 requests"):
        offset_of([Exchange(0, 1, 1, 2)] * 2, lost=7)


# A real responder on loopback, with a different clock.


def other_clock_ns() -> int:
    return round(time.monotonic_ns() * 1.00005) + 5_000_000_000_000


@pytest.fixture
def responder() -> Iterator[Responder]:
    over = threading.Event()
    with Responder(clock_ns=other_clock_ns) as serving:
        thread = threading.Thread(target=serving.serve, args=(60.0, over.is_set))
        thread.start()
        yield serving
        over.set()
        thread.join()


def test_a_responders_offset_is_within_the_stated_bounds(responder: Responder) -> None:
    result = compare(responder.address)
    true_ns = round(result.at_ns * 1.00005) + 5_000_000_000_000 - result.at_ns
    assert abs(result.offset_ns - true_ns) / 1e9 <= np.sqrt(3) * result.uncertainty_s
    assert result.exchanges == 32


def test_rubbish_and_another_token_are_not_answered(responder: Responder) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for rubbish in (b"", b"hello", b"EJCK" + bytes(52), bytes(5000)):
            stranger.sendto(rubbish, parse_address(responder.address))
    with pytest.raises(ClockError, match="the same token"):
        compare(responder.address, token=b"guessed", answer_s_max=0.02)
    assert compare(responder.address).exchanges == 32
    assert responder.refused >= 4


def test_nobody_there_is_reported_with_the_remedy() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
        unused.bind(("127.0.0.1", 0))
        silent = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ClockError, match="clock serve"):
            compare(silent, answer_s_max=0.02)


def test_beyond_loopback_a_token_is_needed() -> None:
    with pytest.raises(UsageError, match="needs a token"):
        Responder("0.0.0.0")


@pytest.mark.parametrize("text", ["", "host", "host:", ":1", "host:port", "host:70000"])
def test_a_bad_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected HOST:PORT"):
        parse_address(text)


def test_the_command_compares_twice_and_across_files(responder: Responder, tmp_path: Path) -> None:
    before = CliRunner().invoke(main, ["clock", "compare", responder.address, "--json"])
    assert before.exit_code == 0
    (tmp_path / "before.json").write_text(before.output)
    after = CliRunner().invoke(
        main, ["clock", "compare", responder.address, "--since", str(tmp_path / "before.json"), "--json"]
    )
    facts = json.loads(after.output)
    assert abs(facts["drift_ppm"] - 50) <= facts["drift_uncertainty_k2_ppm"]
    output = CliRunner().invoke(main, ["clock", "compare", responder.address, "--again-after", "0.05"])
    assert "Drift:" in output.output
    assert "(k=2)" in output.output


def test_a_wrong_since_file_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    result = CliRunner().invoke(main, ["clock", "compare", "127.0.0.1:9", "--since", str(tmp_path / "x.json")])
    assert result.exit_code == 2
    assert "expected what `edgejoule clock compare --json` printed" in result.output


@pytest.mark.parametrize("clock", ["monotonic", "realtime"])
def test_serve_ends_when_its_time_is_over(clock: str) -> None:
    arguments = ["--bind", "127.0.0.1:0", "--for", "0.05", "--clock", clock, "--json"]
    result = CliRunner().invoke(main, ["clock", "serve", *arguments])
    assert result.exit_code == 0
    assert "127.0.0.1:" in result.output
