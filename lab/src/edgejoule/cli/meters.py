"""`edgejoule meters`: what can be measured here, and for the rest why not and what to do about it."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import click

from edgejoule.cli.common import Options, console, echo_json, json_option, meter_option
from edgejoule.errors import MeterError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from edgejoule.meters.base import Channel
    from edgejoule.meters.discovery import Candidate, Choice


@click.command(
    epilog="""\b
    Examples:
      edgejoule meters
      edgejoule meters --profile raspberry-pi-4b
      edgejoule meters --option serial.port=/dev/ttyUSB0 \\
          --option serial.profile=evm430-f6736
      edgejoule meters --setup rapl"""
)
@click.option("--profile", help="Board profile for the modelled meter: a name or a .toml file.")
@click.option(
    "--setup", "setup_of", metavar="NAME", help="Show how to connect this meter: wiring, udev rule, permissions."
)
@meter_option
@json_option
def meters(profile: str | None, setup_of: str | None, meter_options: Options, as_json: bool) -> None:
    """List the meters, in the order in which a study prefers them."""
    from edgejoule.energy import comparison_min_ratio
    from edgejoule.meters.base import Method

    if setup_of is not None:
        _show_setup(setup_of, as_json)
        return
    options = meter_options | ({"board-profile": {"profile": profile}} if profile else {})
    candidates = discovered(options)
    choice = _choice(candidates)
    if as_json:
        echo_json(_as_json(candidates, choice))
        return
    out = console()
    _print_list(out, candidates, choice)
    out.print()
    if choice is None:
        out.print("No meter can be used here.")
        return
    out.print(f"{choice.energy()}.", markup=False)
    if choice.way:
        out.print(f"Shortest way to a better one: {choice.way}.", markup=False)
    if choice.meter.method is Method.MODELLED:
        interval = 2 * max(channel.model_rel for channel in _channels(choice))
        ratio = comparison_min_ratio(interval)
        out.print(
            f"Modelled joules of two runs differ by more than the model's error only from a factor of {ratio:.2f}."
        )


def _show_setup(name: str, as_json: bool) -> None:
    """Shows how one meter is connected, and its present state on this machine."""
    from rich.markdown import Markdown

    from edgejoule.meters.discovery import GROUP, discover
    from edgejoule.meters.setting_up import setting_up

    plugins = {plugin.name: plugin for plugin in entry_points(group=GROUP)}
    if name not in plugins:
        raise UsageError(f"no meter is called {name!r}; known: {', '.join(sorted(plugins)) or 'none'}")
    instructions = setting_up(plugins[name])
    (candidate,) = discover(plugins=[plugins[name]])
    here = candidate.availability
    if as_json:
        facts = {"available": here.available, "reason": here.reason, "fix": here.fix}
        echo_json({"name": name, "setting_up": instructions, **facts})
        return
    out = console()
    out.print(f"{name}: {'can be used here' if here.available else 'not usable here'}, {here.reason}", markup=False)
    if here.fix:
        out.print(f"to do: {here.fix}", markup=False)
    out.print()
    if instructions is None:
        out.print("Its package has no instructions: its README.md lacks a section `## Setting up`.", markup=False)
    else:
        out.print(Markdown(instructions) if out.is_terminal else instructions, markup=False)


def discovered(options: Options) -> list[Candidate]:
    """Returns every meter, the best first."""
    from edgejoule.meters.discovery import discover

    return discover(options=options)


def _choice(candidates: list[Candidate]) -> Choice | None:
    from edgejoule.meters.discovery import choose_from

    try:
        return choose_from(candidates)
    except MeterError:
        return None


def _channels(choice: Choice) -> list[Channel]:
    choice.meter.open()
    try:
        return list(choice.meter.channels())
    finally:
        choice.meter.close()


def _print_list(out: Console, candidates: list[Candidate], choice: Choice | None) -> None:
    from edgejoule.cli.layout import print_rows

    rows = []
    for candidate in candidates:
        taken = choice is not None and candidate.meter is choice.meter
        method = candidate.meter.method.value if candidate.meter else ""
        here = "taken" if taken else "yes" if candidate.availability.available else "no"
        rows.append((candidate.name, method, here, "\n".join(_facts(candidate))))
    print_rows(out, ("meter", "method", "here", "what it reads, and why (not) here"), rows)


def _facts(candidate: Candidate) -> list[str]:
    facts = [candidate.meter.describe()] if candidate.meter else []
    facts.append(candidate.availability.reason)
    if candidate.availability.fix:
        facts.append(f"to do: {candidate.availability.fix}")
    return facts


def _as_json(candidates: list[Candidate], choice: Choice | None) -> dict[str, object]:
    return {
        "sentence": choice.sentence if choice else None,
        "taken": choice.meter.name if choice else None,
        "meters": [
            {
                "name": candidate.name,
                "method": candidate.meter.method.value if candidate.meter else None,
                "domain": candidate.meter.domain.value if candidate.meter else None,
                "available": candidate.availability.available,
                "reads": candidate.meter.describe() if candidate.meter else None,
                "reason": candidate.availability.reason,
                "fix": candidate.availability.fix,
            }
            for candidate in candidates
        ],
    }
