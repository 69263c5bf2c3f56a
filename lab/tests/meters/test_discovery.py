"""Which meter is taken, why not another, and what a study says first."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Availability, Domain, Method
from edgejoule.meters.discovery import GROUP, LINE_MAX, Choice, choose, discover
from edgejoule.meters.plugins.profile import BoardProfile
from edgejoule.meters.plugins.profile.data import Profile, all_profiles


class _Meter:
    poll_interval_s = 1.0
    available = True
    fix: str | None = None

    def probe(self):
        return Availability(self.available, "plugged in" if self.available else "not plugged in", self.fix)

    def describe(self):
        return f"{self.name} power"

    def facts(self):
        return {}

    def channels(self):
        return []

    def open(self): ...

    def poll(self):
        return []

    def close(self): ...


class Wall(_Meter):
    name, method, domain = "wall", Method.MEASURED, Domain.WALL


class Rail(_Meter):
    name, method, domain = "rail", Method.MEASURED, Domain.RAIL


class Counted(_Meter):
    name, method, domain = "counted", Method.COUNTED, Domain.PACKAGE


class Unplugged(Counted):
    name, available, fix = "unplugged", False, "plug it in"


class Modelled(_Meter):
    name, method, domain = "modelled", Method.MODELLED, Domain.BOARD

    def __init__(self, profile: str | None = None) -> None:
        if profile == "wrong":
            raise UsageError("no profile is called 'wrong'")
        self.profile = profile


class Away(Wall):
    name = "away"

    def probe(self):
        return Availability(False, "in the laboratory")


class Gone(Away):
    name = "gone"


class Graphics(Rail):
    name = "graphics"
    measures_only = "the graphics cards"


class CrashesWhenProbed(Counted):
    name = "crashes"

    def probe(self):
        raise ZeroDivisionError("in the plug-in")


class NotAMeter:
    name = "nothing"


def plugins(*kinds: type, broken_import: bool = False) -> list[EntryPoint]:
    points = [EntryPoint(kind.name, f"{__name__}:{kind.__name__}", GROUP) for kind in kinds]
    for point, kind in zip(points, kinds, strict=True):
        vars(point)["load"] = lambda kind=kind: kind
    if broken_import:
        points.append(EntryPoint("broken", "edgejoule_absent_plugin:Meter", GROUP))
    return points


def test_the_order_is_wall_then_rail_then_counted_then_modelled() -> None:
    result = discover(plugins=plugins(Modelled, Counted, Rail, Wall))
    assert [candidate.name for candidate in result] == ["wall", "rail", "counted", "modelled"]


def test_the_best_usable_meter_is_taken_and_the_refusals_are_reported() -> None:
    choice = choose(plugins=plugins(Modelled, Unplugged))
    assert choice.meter.name == "modelled"
    assert [(x.name, x.availability.reason) for x in choice.refused] == [("unplugged", "not plugged in")]
    assert choice.sentence == (
        "Energy here is MODELLED: modelled power. No unplugged: not plugged in. "
        "Shortest way to a measured or counted figure: plug it in."
    )


class Wordy(Wall):
    name = "wordy"

    def describe(self):
        return "the wall's supply by " + "an instrument with a long name " * 4


@pytest.mark.parametrize(
    ("kinds", "line"),
    [
        ((Modelled, Gone, Unplugged, Away), "MODELLED by modelled, modelled power; a real meter: edgejoule meters"),
        ((Counted, Unplugged), "COUNTED by counted, counted power; a real meter: edgejoule meters"),
        ((Wall,), "MEASURED by wall, wall power"),
        ((Wordy,), "MEASURED by wordy (wall)"),
    ],
)
def test_a_study_begins_with_one_line_about_its_energy(kinds: tuple[type, ...], line: str) -> None:
    assert choose(plugins=plugins(*kinds)).line == f"Energy: {line}"


@pytest.mark.parametrize("profile", all_profiles(), ids=lambda profile: profile.name)
def test_the_line_of_every_board_profile_fits(profile: Profile) -> None:
    chosen = BoardProfile(profile=profile.name)
    line = Choice(chosen, Availability(True, "here"), ()).line
    assert len(line) <= LINE_MAX
    assert "MODELLED from CPU use (" in line


def test_many_meters_that_are_not_there_are_named_in_short_and_the_nearest_better_one_is_the_way() -> None:
    choice = choose(plugins=plugins(Modelled, Gone, Unplugged, Away))
    assert choice.sentence == (
        "Energy here is MODELLED: modelled power. No unplugged: not plugged in. "
        "Not usable either, `edgejoule meters` says why: away, gone. "
        "Shortest way to a measured or counted figure: plug it in."
    )


def test_a_meter_of_another_part_of_the_machine_is_taken_only_when_it_is_named() -> None:
    assert choose(plugins=plugins(Modelled, Graphics)).meter.name == "modelled"
    assert choose("graphics", plugins=plugins(Modelled, Graphics)).meter.name == "graphics"
    (refused,) = choose(plugins=plugins(Modelled, Graphics)).refused
    assert "the graphics cards alone" in refused.availability.reason


def test_a_measured_figure_needs_no_way_to_a_better_one() -> None:
    assert choose(plugins=plugins(Modelled, Wall)).sentence == "Energy here is MEASURED: wall power."


def test_a_preferred_meter_comes_first_and_falls_back_with_its_reason() -> None:
    assert choose("modelled", plugins=plugins(Modelled, Wall)).meter.name == "modelled"
    choice = choose(["unplugged", "counted"], plugins=plugins(Modelled, Wall, Counted, Unplugged))
    assert choice.meter.name == "counted"
    assert [x.name for x in choice.refused] == ["unplugged"]
    (text,) = choice.passed_over
    assert text.startswith("the preferred meter unplugged cannot be used: ")
    assert f" {text[0].upper()}{text[1:]}." in choice.sentence
    assert choose(plugins=plugins(Modelled, Unplugged)).passed_over == [], "nobody asked for it"


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'amperemeter'; known: modelled, wall"):
        choose("amperemeter", plugins=plugins(Modelled, Wall))
    with pytest.raises(UsageError, match="known: wall"):
        discover(options={"walll": {}}, plugins=plugins(Wall))


def test_a_plug_in_that_fails_to_load_or_probe_is_listed_and_not_fatal() -> None:
    result = discover(plugins=plugins(Modelled, CrashesWhenProbed, NotAMeter, broken_import=True))
    reasons = {candidate.name: candidate.availability.reason for candidate in result}
    assert "ZeroDivisionError: in the plug-in" in reasons["crashes"]
    assert "ModuleNotFoundError" in reasons["broken"]
    assert "contract" in reasons["nothing"]
    assert choose(plugins=plugins(Modelled, CrashesWhenProbed, broken_import=True)).meter.name == "modelled"


def test_options_reach_the_plug_in_and_a_wrong_one_is_the_users_error() -> None:
    choice = choose(options={"modelled": {"profile": "mine"}}, plugins=plugins(Modelled))
    assert vars(choice.meter)["profile"] == "mine"
    with pytest.raises(UsageError, match="wrong"):
        choose(options={"modelled": {"profile": "wrong"}}, plugins=plugins(Modelled))


def test_no_usable_meter_is_an_error_with_every_reason() -> None:
    with pytest.raises(MeterError, match="unplugged: not plugged in"):
        choose(plugins=plugins(Unplugged))
    with pytest.raises(MeterError, match="no meter plug-in is installed"):
        choose(plugins=[])


def test_installed_plug_ins_are_listed() -> None:
    names = {candidate.name for candidate in discover()}
    assert {"rapl", "board-profile"} <= names


def test_an_option_that_a_meter_does_not_take_is_refused_with_the_nearest() -> None:
    plugin = EntryPoint("modelled", f"{__name__}:Modelled", GROUP)
    with pytest.raises(UsageError, match="meter modelled has no option 'profil'; did you mean 'profile'"):
        discover(options={"modelled": {"profil": "x"}}, plugins=[plugin])
