"""Lists of responses in other modules name every response that they are about: a new one must be put in its place."""

from __future__ import annotations

import dataclasses

import pytest

from edgejoule.commands import on_servers
from edgejoule.commands.supervisor import Repetition
from edgejoule.dictionary.responses import (
    BASELINE_NET,
    BASELINE_POWER,
    OTHER_PROGRAMS,
    PER_LOADED_SERVER,
    PER_SERVER,
    RESPONSES,
    Values,
)
from edgejoule.study import command_figures, run_energy

ENERGIES = {name for name, response in RESPONSES.items() if response.is_energy}
POWERS = {"power_mean_w", "power_idle_w", "power_quiet_w"}


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
            ("energy_j", "energy_net_j", "energy_per_op_uj", "power_mean_w", "power_idle_w"),
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


def test_every_figure_of_a_repetition_is_joined_over_the_servers() -> None:
    joined = {"start_ns", "end_ns", "exit_code", "signal", "rss_peak_bytes", "marks", *on_servers._AMOUNTS}
    assert {field.name for field in dataclasses.fields(Repetition)} == joined
