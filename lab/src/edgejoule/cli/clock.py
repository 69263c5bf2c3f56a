"""`edgejoule clock`: how two hosts' clocks lie, where meter and workload run on different machines."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgejoule import json_text
from edgejoule.cli.common import Number, console, echo_json, fail, json_option, messages, stop_in_order
from edgejoule.clocks.clock_exchange import EXCHANGES, SERVE_S_MAX
from edgejoule.errors import MeterError, UsageError

if TYPE_CHECKING:
    from edgejoule.clocks.clock_exchange import ClockNs, Offset
    from edgejoule.clocks.marker import Marker
    from edgejoule.meters.base import Meter
    from edgejoule.meters.clocks import ClockRelation
    from edgejoule.meters.trace import Trace

_AROUND_S = 2.0  # of quiet trace before and after a marker: what the search needs

_CLOCKS: dict[str, ClockNs] = {"monotonic": time.monotonic_ns, "realtime": time.time_ns}

token_option = click.option(
    "--token", envvar="EDGEJOULE_TOKEN", default="", show_envvar=True, help="A secret both sides know; not on loopback."
)


@click.group(
    epilog="""\b
    Examples:
      edgejoule clock serve --bind 127.0.0.1:7123
      edgejoule clock compare 127.0.0.1:7123 --again-after 60
      edgejoule clock mark --meter rapl"""
)
def clock() -> None:
    """Compare the clocks of two hosts.

    The hosts exchange messages with four timestamps each. A meter's clock is compared with a marker burst.
    """


@clock.command(
    epilog="""\b
    Examples:
      edgejoule clock serve
      EDGEJOULE_TOKEN=... edgejoule clock serve --bind 0.0.0.0:7123 --for 7200"""
)
@click.option(
    "--bind",
    default="127.0.0.1:7123",
    show_default=True,
    metavar="HOST:PORT",
    help="The address to answer at; port 0: any free one.",
)
@click.option(
    "--for", "seconds", type=Number(0, SERVE_S_MAX), default=3600.0, show_default=True, help="Seconds to run."
)
@click.option(
    "--clock",
    "which",
    type=click.Choice(list(_CLOCKS)),
    default="monotonic",
    show_default=True,
    help="The clock to report; realtime (since 1970) if the recorder uses the wall clock.",
)
@token_option
@json_option
def serve(bind: str, seconds: float, which: str, token: str, as_json: bool) -> None:
    """Answer the clock exchanges of another host.

    The other host runs `edgejoule clock compare`, or a study with meter.clocks. Beyond loopback a token is required.
    """
    from edgejoule.clocks.clock_exchange import Responder, parse_address

    stop_in_order()
    host, port = parse_address(bind)
    with Responder(host, port, token.encode(), _CLOCKS[which]) as responder:
        if as_json:
            click.echo(json.dumps({"address": responder.address, "seconds": seconds}))
        else:
            console().print(f"answering on {responder.address} for {seconds:g} s; Ctrl-C ends it", markup=False)
        responder.serve(seconds)
        messages().print(f"{responder.answered} requests answered, {responder.refused} refused", markup=False)


@clock.command(
    epilog="""\b
    Examples:
      edgejoule clock compare board:7123 --json > before.json
      edgejoule clock compare board:7123 --since before.json"""
)
@click.argument("address", metavar="HOST:PORT")
@click.option(
    "--exchanges", type=click.IntRange(3, 1000), default=EXCHANGES, show_default=True, help="Exchanges in a series."
)
@click.option(
    "--again-after",
    type=Number(0, min_open=True),
    metavar="S",
    help="Make a second series after S seconds; it gives the drift.",
)
@click.option(
    "--since",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The output of an earlier call with --json; it gives the drift.",
)
@token_option
@json_option
def compare(
    address: str, exchanges: int, again_after: float | None, since: Path | None, token: str, as_json: bool
) -> None:
    """Measure offset and drift of the clock at HOST:PORT.

    `edgejoule clock serve` must run there. The reference is this host's CLOCK_MONOTONIC. To compare before and after a
    run, save the output of --json before it, and give that file with --since after it.
    """
    from edgejoule.clocks.clock_exchange import compare as exchange
    from edgejoule.clocks.clock_exchange import relation

    if again_after is not None and since is not None:
        raise UsageError("--since has the first series already: leave --again-after out")
    first = exchange(address, exchanges, token.encode()) if since is None else _read(since)
    second = None
    if again_after is not None:
        time.sleep(again_after)
    if again_after is not None or since is not None:
        second = exchange(address, exchanges, token.encode())
    clocks = relation(first, second)
    if as_json:
        echo_json(
            {
                "address": address,
                "offset": asdict(second or first),
                "since": asdict(first) if second else None,
            }
            | _drift(clocks)
        )
        return
    _print(address, first, second, clocks)


@clock.command(
    epilog="""\b
    Examples:
      edgejoule clock mark
      edgejoule clock mark --meter rapl --json"""
)
@click.option("--meter", help="The meter that records the marker; default: the one that a study would use.")
@json_option
def mark(meter: str | None, as_json: bool) -> None:
    """Make a marker burst and locate it in a meter's trace.

    A marker burst loads all CPUs for 1.6 s in a known pattern. The output is the difference between the trace's times
    and this host's, and whether it is within the uncertainty that the meter's clock states. The exit code is 1 if it is
    not. A marker that is not visible is reported.
    """
    from edgejoule.clocks.marker import check
    from edgejoule.meters.discovery import choose

    choice = choose(meter)
    if meter is not None and choice.meter.name != meter:
        raise MeterError("; ".join(f"{c.name}: {c.availability.reason}" for c in choice.refused if c.name == meter))
    made, traces = _marked(choice.meter)
    checks = {t.channel.name: check(t, made) for t in traces if t.channel.domain is choice.meter.domain}
    if as_json:
        echo_json(
            {
                "meter": choice.meter.name,
                "marker_start_ns": made.start_ns,
                "channels": [
                    {"channel": name, "agrees": x.agrees, "relation_uncertainty_s": x.relation_s, **asdict(x.sighting)}
                    for name, x in checks.items()
                ],
            }
        )
    else:
        for name, result in checks.items():
            console().print(f"{choice.meter.name} {name}: {result.description}", markup=False)
    if any(x.agrees is False for x in checks.values()):
        fail("the marker is not where the clock relation puts it", 1)


def _marked(meter: Meter) -> tuple[Marker, list[Trace]]:
    from edgejoule.clocks.marker import burst
    from edgejoule.meters.sampler import Sampler

    meter.open()
    try:
        with Sampler(meter) as sampler:
            time.sleep(_AROUND_S)
            made = burst()
            time.sleep(_AROUND_S)
            return made, sampler.stop()
    finally:
        meter.close()


def _drift(relation: ClockRelation) -> dict[str, float]:
    """Returns the other clock's drift against this one; a ClockRelation's drift is the reverse."""
    return {"drift_ppm": -relation.drift * 1e6, "drift_uncertainty_k2_ppm": 2 * relation.drift_u * 1e6}


def _read(path: Path) -> Offset:
    from edgejoule.clocks.clock_exchange import Offset

    expected = "what `edgejoule clock compare --json` printed"
    content = json_text.read(path, expected)
    try:
        return Offset(**content["offset"])
    except (KeyError, TypeError) as error:
        raise UsageError(f"{path}: expected {expected}: {error}") from error


def _print(address: str, first: Offset, second: Offset | None, clocks: ClockRelation) -> None:
    out = console()
    for offset in (first, second) if second else (first,):
        out.print(
            f"{address} is {offset.offset_ns / 1e9:+.6f} s ± {2 * offset.uncertainty_s * 1e6:.0f} µs (k=2) against "
            f"this host; {offset.exchanges} exchanges, {offset.lost} lost, shortest round trip "
            f"{offset.round_trip_s * 1e6:.0f} µs",
            markup=False,
        )
    if second is None:
        out.print("Drift: not measured, a crystal's is assumed; --again-after S or --since FILE measures it.")
        return
    facts = _drift(clocks)
    out.print(f"Drift: {facts['drift_ppm']:+.2f} ppm ± {facts['drift_uncertainty_k2_ppm']:.2f} ppm (k=2)", markup=False)
