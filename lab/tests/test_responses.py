"""Lists of responses in other modules name every response that they are about: a new one must be put in its place."""

from __future__ import annotations

import dataclasses

import pytest

from edgejoule.commands import on_servers
from edgejoule.commands.supervisor import Repetition
from edgejoule.dictionary.responses import (
    BASELINE_NET,
    BASELINE_POWER,
    LOADED,
    OTHER_PROGRAMS,
    PER_LOADED_SERVER,
    PER_SERVER,
    RESPONSES,
    Better,
    Values,
    interval_within,
    is_latency,
    is_of_load,
    load_name,
)
from edgejoule.study import command_figures, run_energy

ENERGIES = {name for name, response in RESPONSES.items() if response.is_energy and not is_of_load(name)}
POWERS = {"power_mean_w", "power_net_w", "power_idle_w", "power_quiet_w"}


@pytest.mark.parametrize(
    "kinds",
    [
        # how a command's energies change by its shell's start
        (command_figures._WITH_SHELL_START, ("energy_debt_j",), POWERS),
        # how the energies of several executions become those of one
        (run_energy._WHOLE, run_energy._PARTS, ("energy_per_op_uj",), POWERS),
        # which a command without a database server lacks
        (
            command_figures._OF_SERVERS,
            ("energy_j", "energy_net_j", "energy_per_op_uj", "power_mean_w", "power_net_w", "power_idle_w"),
        ),
        # which each server of a federation has too
        (PER_SERVER, ("energy_active_j", "energy_debt_j", "energy_net_quiet_j"), POWERS),
    ],
    ids=["shell", "executions", "alone", "federation"],
)
def test_each_energy_is_in_one_list(kinds: tuple[tuple[str, ...], ...]) -> None:
    assert sorted(name for names in kinds for name in names) == sorted(ENERGIES)


def test_energies_that_may_be_negative_without_their_shells_start_are_declared_so() -> None:
    may_be_negative = {
        name
        for name in command_figures._WITH_SHELL_START
        if RESPONSES[name].values in (Values.SIGNED, Values.LESS_SHELL)
    }
    # a command that is shorter than its shell's start has no figures per operation
    assert may_be_negative == {*command_figures._WITH_SHELL_START} - {"energy_per_op_uj"}


def test_lists_of_responses_name_declared_ones() -> None:
    assert {*PER_SERVER, *BASELINE_POWER.values(), *BASELINE_NET.values(), *command_figures._OF_SERVERS} <= ENERGIES
    assert RESPONSES.keys() - ENERGIES >= {*PER_LOADED_SERVER, *OTHER_PROGRAMS.values()}


def test_a_share_has_no_unit_and_its_name_ends_so() -> None:
    named_share = {name for name, response in RESPONSES.items() if name.endswith("_share")}
    shares = {name for name, response in RESPONSES.items() if response.values is Values.SHARE}
    assert all(RESPONSES[name].unit == "1" for name in shares)
    # estimates and rates that may exceed the whole
    assert named_share - shares == {"driver_share", "target_share"}


#: Written by hand, not derived: the direction decides who wins a verdict.
HIGHER_IS_BETTER = {"throughput_ops_s", "target_share", "bandwidth_mb_s"}
ONLY_DESCRIBES = {
    "cpu_cores", "cpu_utilisation",
    "power_mean_w", "power_idle_w", "power_quiet_w", "target_ops_s", "context_switches", "client_cpu_us_per_op",
    "client_cpu_share", "driver_share", "io_flushes_per_op", "device_flushes_per_op", "other_cpu_share",
    "other_read_bytes", "other_write_bytes", "reads_before_write_per_op", "syncs_per_write", "remote_compactions",
}  # fmt: skip
LOWER_IS_BETTER = {
    "energy_per_op_uj", "energy_j", "energy_active_j", "energy_debt_j", "energy_net_j", "energy_net_quiet_j",
    "failure_share", "longest_gap_s", "active_s", "settled_s", "cpu_s", "cpu_us_per_op", "server_cpu_us_per_op",
    "rss_peak_mb", "server_rss_peak_mb", "process_read_bytes", "process_write_bytes", "device_read_bytes",
    "device_write_bytes", "io_reads_per_op", "io_writes_per_op", "io_read_bytes_per_op", "io_write_bytes_per_op",
    "device_reads_per_op", "device_writes_per_op", "device_write_amplification", "write_amplification", "data_bytes",
    "power_net_w", "device_bytes", "process_write_bytes_per_op", "device_write_bytes_per_op",
    "stall_s", "remote_fallbacks", "remote_moved_bytes", "remote_wasted_s",
}  # fmt: skip


def test_the_better_side_of_each_response_is_stated() -> None:
    stated = (
        dict.fromkeys(HIGHER_IS_BETTER, Better.HIGHER)
        | dict.fromkeys(ONLY_DESCRIBES, Better.NEITHER)
        | dict.fromkeys(LOWER_IS_BETTER, Better.LOWER)
    )
    stated |= {load_name(name): stated[name] for name in LOADED}
    declared = {name: response.better for name, response in RESPONSES.items() if not is_latency(name)}
    assert declared == stated
    assert {response.better for name, response in RESPONSES.items() if is_latency(name)} == {Better.LOWER}


@pytest.mark.parametrize(
    ("name", "interval", "largest", "within"),
    [
        ("target_share", (0.93, 1.07), 1.0, (0.93, 1.0)),
        ("failure_share", (-0.01, 0.03), 0.02, (0.0, 0.03)),
        ("target_share", (0.93, 1.07), 1.02, (0.93, 1.07)),  # of an earlier release
        ("throughput_ops_s", (-5.0, 90.0), 80.0, (-5.0, 90.0)),
    ],
)
def test_the_interval_of_a_share_is_within_what_a_share_can_be(
    name: str, interval: tuple[float, float], largest: float, within: tuple[float, float]
) -> None:
    assert interval_within(interval, RESPONSES[name], largest) == within


def test_every_figure_of_a_repetition_is_joined_over_the_servers() -> None:
    joined = {"start_ns", "end_ns", "exit_code", "signal", "rss_peak_bytes", "marks", *on_servers._AMOUNTS}
    assert {field.name for field in dataclasses.fields(Repetition)} == joined
