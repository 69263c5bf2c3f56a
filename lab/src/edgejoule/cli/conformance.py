"""`edgejoule conformance`: does a meter tell the joules that were drawn, and how sure it says it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from edgejoule.cli.common import Number, Options, console, echo_json, fail, json_option, messages, meter_option
from edgejoule.errors import MeterError, UsageError

if TYPE_CHECKING:
    from rich.progress import Progress

    from edgejoule.testing.examine import Conformance, Outcome
    from edgejoule.testing.instrument import Instrument

SEEDS = 200


@click.command(
    epilog="""\b
    Examples:
      edgejoule conformance rapl
      edgejoule conformance ppk2 --known-w 0.1089 --known-u-w 0.0004 \\
          --option ppk2.port=/dev/ttyACM0
      edgejoule conformance --all
      edgejoule conformance monsoon --seeds 20 --fault-seeds 5 --seed 1000"""
)
@click.argument("meter", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Examine all meters that have an emulated instrument.")
@click.option("--seeds", type=click.IntRange(1), default=SEEDS, show_default=True, help="Runs without faults.")
@click.option(
    "--fault-seeds", type=click.IntRange(0), default=20, show_default=True, help="Runs with each kind of fault."
)
@click.option("--seed", "first", type=click.IntRange(0), default=1, show_default=True, help="The first seed.")
@click.option("--known-w", type=Number(0, min_open=True), help="Examine the real METER at a load of this power, in W.")
@click.option(
    "--known-u-w",
    type=Number(0),
    default=0.0,
    show_default=True,
    help="Uncertainty (k=2) of --known-w, in W.",
)
@click.option("--seconds", type=Number(1), default=60.0, show_default=True, help="Duration with --known-w.")
@meter_option
@json_option
def conformance(
    meter: Sequence[str],
    everything: bool,
    seeds: int,
    fault_seeds: int,
    first: int,
    known_w: float | None,
    known_u_w: float,
    seconds: float,
    meter_options: Options,
    as_json: bool,
) -> None:
    """Compare the joules that a METER reports with known joules.

    METER reads an instrument that is emulated down to its protocol. Every run draws the instrument's errors from the
    accuracy that the meter declares. The k=2 interval must contain the known joules in 93 to 98 of 100 runs, and be at
    most three times as wide as the errors. Under injected faults every wrong figure must have a flag.

    This shows that the meter's driver decodes the protocol, keeps its declared accuracy and flags missing readings. It
    does not show that the real instrument uses that protocol, or that it is as accurate as its data sheet says. The
    evidence from outside is listed below the table; "self-consistent only" means that there is none.

    --known-w examines the real instrument instead and shows both. Connect a load of known power, such as a resistor at
    a measured voltage (P = U x U / R). The uncertainties of load and meter decide whether they agree.
    """
    from rich.progress import Progress

    from edgejoule.testing import registry
    from edgejoule.testing.examine import run_once

    if everything and meter:
        raise UsageError(f"--all examines all meters; leave {' '.join(meter)} out")
    if known_w is not None:
        if len(meter) != 1:
            raise UsageError("--known-w checks one real meter: name it")
        _check_real(meter[0], meter_options, known_w, known_u_w, seconds, as_json)
        return
    wanted = registry.names() if everything else list(dict.fromkeys(meter))
    if not wanted:
        raise UsageError(f"name a meter, or --all; there are: {', '.join(registry.names())}")
    known = {name: registry.instrument(name) for name in wanted}
    results = []
    with Progress(console=messages(), transient=True) as progress:
        for name in wanted:
            results.append((known[name], list(_examined(known[name], seeds, fault_seeds, first, progress))))
    ideal = {name: run_once(known[name], first, ideal=True) for name in wanted}
    failings = [f"{each.meter}: {failing}" for _, group in results for each in group for failing in each.failings]
    if as_json:
        echo_json([_as_json(instrument, each, ideal[instrument.name]) for instrument, each in results])
    else:
        _print(results, ideal, seeds, fault_seeds, first)
    if failings:
        fail("; ".join(failings), 1)


def _check_real(name: str, options: Options, known_w: float, known_u_w: float, seconds: float, as_json: bool) -> None:
    from rich.progress import Progress

    from edgejoule.meters.discovery import discover
    from edgejoule.testing.real import compare_with_known

    candidate = next((c for c in discover(name, options) if c.name == name), None)
    assert candidate is not None, "discover refuses unknown names"
    here = candidate.availability
    if candidate.meter is None or not here.available:
        raise MeterError(f"meter {name} cannot be used here: {here.reason}" + (f"; {here.fix}" if here.fix else ""))
    with Progress(console=messages(), transient=True) as progress:
        task = progress.add_task(name, total=seconds)
        seen = compare_with_known(
            candidate.meter, known_w, known_u_w, seconds, lambda passed_s: progress.update(task, completed=passed_s)
        )
    if as_json:
        echo_json(asdict(seen))
    else:
        console().print(seen.sentence, markup=False)
    if not seen.agrees:
        fail(f"{name} and the known load do not agree", 1)


def _examined(
    instrument: Instrument, seeds: int, fault_seeds: int, first: int, progress: Progress
) -> Iterator[Conformance]:
    from edgejoule.testing.examine import examine

    task = progress.add_task(instrument.name, total=seeds + fault_seeds * len(instrument.faults))

    def report(_: Outcome) -> None:
        progress.advance(task)

    yield examine(instrument, range(first, first + seeds), report=report)
    if fault_seeds:
        for fault in sorted(instrument.faults):
            yield examine(instrument, range(first, first + fault_seeds), fault, report)


def _print(
    results: Sequence[tuple[Instrument, list[Conformance]]],
    ideal: dict[str, Outcome],
    seeds: int,
    fault_seeds: int,
    first: int,
) -> None:
    from edgejoule.cli.layout import print_rows

    columns = (
        "meter",
        "known J",
        "RMS error",
        "stated U (k=2)",
        "coverage",
        "U / RMS",
        "ideal",
        "injected: flagged of runs",
    )
    rows = []
    for instrument, (clean, *faulty) in results:
        low, high = (f(outcome.known_j for outcome in clean.outcomes) for f in (min, max))
        perfect = ideal[instrument.name]
        row = (
            instrument.name,
            f"{low:.4g}-{high:.4g}",
            f"{clean.rms_error_rel:.3%}",
            f"{clean.uncertainty_rel:.3%}",
            f"{clean.coverage:.1%}",
            f"{clean.width:.2f}",
            f"{abs(perfect.error_j) / perfect.known_j:.4%}",
            ", ".join(f"{each.fault}: {each.flagged}" for each in faulty)
            + (f"; wrong without a flag: {sum(each.wrong_unflagged for each in faulty)}" if faulty else ""),
        )
        rows.append(row)
    out = console()
    print_rows(out, columns, rows, numeric=range(1, len(columns) - 1))
    out.print(f"\n{seeds} runs without and {fault_seeds} with each fault, seeds from {first}. Outside evidence:")
    for instrument, _ in results:
        out.print(f"  {instrument.name}: {instrument.evidence.sentence}", markup=False)


def _as_json(instrument: Instrument, verdicts: Sequence[Conformance], ideal: Outcome) -> dict[str, object]:
    return {
        "meter": instrument.name,
        "evidence": list(instrument.evidence.sources),
        "ideal_error_rel": abs(ideal.error_j) / ideal.known_j,
        "conditions": [
            {
                "injected": str(each.fault) if each.fault else None,
                "runs": len(each.outcomes),
                "refused": len(each.outcomes) - len(each.reported),
                "flagged": each.flagged,
                "wrong_without_flag": each.wrong_unflagged,
                "coverage": each.coverage if each.reported else None,
                "rms_error_rel": each.rms_error_rel if each.reported else None,
                "uncertainty_k2_rel": each.uncertainty_rel if each.reported else None,
                "failings": each.failings,
            }
            for each in verdicts
        ],
    }
