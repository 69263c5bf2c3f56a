"""`edgejoule run`: from an experiment.toml to a report."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from edgejoule.cli.common import (
    EXIT_FLAGGED,
    Options,
    console,
    echo_json,
    fail,
    json_option,
    messages,
    stop_in_order,
    store_option,
)
from edgejoule.cli.design_table import print_design, settings
from edgejoule.cli.progress import StudyProgress, clock
from edgejoule.cli.report import print_answer, write_report
from edgejoule.databases.checks import check_plan, not_here
from edgejoule.databases.system_under_test import SystemUnderTest, system_of
from edgejoule.dictionary.responses import nearest
from edgejoule.energy import comparison_min_ratio
from edgejoule.errors import MeterError, StoreError, UsageError
from edgejoule.experiment.conditional import settings_of
from edgejoule.experiment.model import Level, Spec
from edgejoule.experiment.plan import PlannedRun, cell_label, make_plan
from edgejoule.experiment.read import SpecReading, read_spec
from edgejoule.findings import find
from edgejoule.findings.additions import alone_warning
from edgejoule.meters.base import Availability, Meter, Method
from edgejoule.meters.discovery import Choice, choose, discover
from edgejoule.store import Experiment, Run, Store
from edgejoule.study.open_baseline import check_responses, quiet_s
from edgejoule.study.run_clocks import ClockPlan, check_servers, clock_plan
from edgejoule.study.servers import Servers, servers_of
from edgejoule.study.study import Places, Study, check_free, conduct, continuation, plan_of_more


@click.command(
    epilog="""\b
    Examples:
      edgejoule run experiments/first-look
      edgejoule run my.toml --dry-run
      edgejoule run my.toml --set 'factors.threads=[1, 4]'
      edgejoule run my.toml --only database=sqlite,leveldb --only workload=read
      edgejoule run my.toml --resume
      edgejoule run my.toml --rerun-flagged
      edgejoule run my.toml --more 3 --only database=sqlite,leveldb"""
)
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the runs, the duration, and each setting with its file; measure nothing.",
)
@click.option("--resume", is_flag=True, help="Continue the latest unfinished experiment of this spec.")
@click.option(
    "--rerun-flagged",
    is_flag=True,
    help="Repeat the runs that were flagged for their conditions (throttling, temperature, clocks, other programs). "
    "Nothing is deleted: the first attempt without a flagged condition counts, whatever its result.",
)
@click.option(
    "--more",
    type=click.IntRange(min=1, max=10_000),
    metavar="N",
    help="Add N replications to the finished experiment of this spec, with --only of the chosen cells. The report says "
    "that they were added. A block with one cell alone enters no comparison. Not for sequential designs.",
)
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a key of the spec; may be repeated."
)
@click.option("--meter", help="Use this meter instead of the spec's (see `edgejoule meters`).")
@click.option("--profile", help="Board profile for the modelled meter, by name or path.")
@click.option(
    "--only",
    multiple=True,
    metavar="FACTOR=LEVEL,...",
    help="Make only the runs with one of these levels; may be repeated. An unfinished experiment of this spec is "
    "continued. The other runs stay planned; --resume makes them.",
)
@click.option("--keep-going", is_flag=True, help="Continue after a run that failed.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the databases' files; default: beside the store.",
)
@click.option(
    "--clock-token",
    envvar="EDGEJOULE_TOKEN",
    default="",
    show_envvar=True,
    help="The secret that the clock servers in meter.clocks expect.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The report's file; default: beside the store.",
)
@store_option
@json_option
def run(
    spec: Path,
    dry_run: bool,
    resume: bool,
    rerun_flagged: bool,
    more: int | None,
    overrides: Sequence[str],
    meter: str | None,
    profile: str | None,
    only: Sequence[str],
    keep_going: bool,
    data: Path | None,
    clock_token: str,
    output: Path | None,
    store: Path,
    as_json: bool,
) -> None:
    """Measure the experiment in SPEC and write its report.

    SPEC is a TOML file, or a folder with an experiment.toml. With `base = "other.toml"` it states only the differences
    from another spec. Every finished run is stored at once. Ctrl-C stops cleanly; --resume continues.
    """
    if resume and rerun_flagged:
        raise UsageError("--rerun-flagged: repeats runs of an experiment that is finished; --resume finishes one")
    if more and (resume or rerun_flagged):
        raise UsageError("--more: adds runs to an experiment that is finished; leave --resume and --rerun-flagged out")
    path = spec / "experiment.toml" if spec.is_dir() else spec
    reading = read_spec(path, overrides)
    loaded = reading.spec
    plan = make_plan(loaded)
    check_plan(loaded, plan, keep_going=keep_going)
    chosen = _chosen(loaded, only)
    if more:
        plan = plan_of_more(store, loaded, more, chosen)
    servers = servers_of(loaded)
    choice = _servers_choice(servers, meter or profile) if servers else _choice(loaded, meter, profile)
    check_responses(loaded, choice.meter.method)
    beside = _beside(loaded, choice, profile)
    say = messages() if as_json else console()
    for text in reading.warnings():
        say.print(f"warning: {text}", markup=False)
    say.print(choice.sentence, markup=False)
    if more and (warning := alone_warning(loaded, plan)):
        say.print(warning, markup=False)
    if dry_run:
        if as_json:
            echo_json(_plan_json(reading, [p for p in plan if chosen(p)], choice.sentence))
        else:
            clocks = clock_plan(loaded.timing, loaded.meter.clocks, [choice.meter, *beside])
            _print_plan(say, reading, [p for p in plan if chosen(p)], store, clocks, choice.meter)
        return
    if refused := not_here(plan):
        raise UsageError("; ".join(refused))
    if output is not None:
        _check_writable(output)
    options = [word for o in overrides for word in ("--set", o)]
    options += [word for name, value in (("--meter", meter), ("--profile", profile)) if value for word in (name, value)]
    experiment, runs, idle = _measure(
        loaded, reading.text(), options, Places.beside(store, data), choice, beside, resume, rerun_flagged, keep_going,
        chosen, clock_token.encode(), servers, say, bool(only), more or 0,
    )  # fmt: skip
    _finish(store, experiment, say, output, as_json)
    if idle:
        return  # the command that measured these runs has reported flags and failures
    flagged = [r for r in runs if r.flags]
    failed = [r for r in runs if r.status == "failed"]
    if failed:
        fail(f"{len(failed)} of {len(runs)} runs failed; `edgejoule show` shows why, --resume repeats them", 1)
    if flagged:
        fail(f"{len(flagged)} of {len(runs)} runs are flagged; `edgejoule show` says why", EXIT_FLAGGED)


def _chosen(spec: Spec, only: Sequence[str]) -> Callable[[PlannedRun], bool]:
    """Returns a function that selects the runs of --only. Raises UsageError for an unknown factor or level."""
    wanted: dict[str, list[str]] = {}
    for word in only:
        factor, sep, levels = word.partition("=")
        if not sep or factor not in spec.factors:
            raise UsageError(f"--only {word}: expected FACTOR=LEVEL,...; {nearest(factor, spec.factors)}")
        known = [str(level) for level in spec.factors[factor]]
        for level in levels.split(","):
            if level not in known:
                raise UsageError(f"--only {word}: {level!r} is no level of {factor}; {nearest(level, known)}")
        wanted.setdefault(factor, []).extend(levels.split(","))
    if wanted and spec.design.sequential:
        raise UsageError("--only: a sequential design analyses whole blocks; leave it out")
    return lambda run: all(str(run.levels[factor]) in levels for factor, levels in wanted.items())


def _check_writable(output: Path) -> None:
    """Raises StoreError before the study if the report could not be written after it."""
    try:
        tempfile.NamedTemporaryFile(dir=output.parent).close()
    except OSError as error:
        raise StoreError(f"{output}: the report could not be written there: {error.strerror}") from error


def _choice(spec: Spec, meter: str | None, profile: str | None) -> Choice:
    return meter_choice(meter, spec.meter.prefer, _meter_options(spec, profile))


def meter_choice(meter: str | None, prefer: Sequence[str], options: Options) -> Choice:
    """Returns the meter of that name, or the best one in the order of preference. Raises MeterError if it cannot be
    used."""
    choice = choose(meter or list(prefer), options)
    if meter and choice.meter.name != meter:
        raise _cannot_be_used(meter, next(c.availability for c in choice.refused if c.name == meter))
    return choice


def _servers_choice(servers: Servers, other: str | None) -> Choice:
    """Returns each server's meter. other: the meter that the command line names."""
    if other:
        raise UsageError(f"{other}: with [servers] each server has its own meter; leave --meter and --profile out")
    availability = servers.meter.probe()
    if not availability.available:
        raise _cannot_be_used(servers.meter.name, availability)
    return Choice(servers.meter, availability, ())


def _meter_options(spec: Spec, profile: str | None) -> dict[str, dict[str, Level]]:
    profile = profile or spec.meter.profile
    return {**spec.meter.options, **({"board-profile": {"profile": profile}} if profile else {})}


def _beside(spec: Spec, choice: Choice, profile: str | None) -> list[Meter]:
    """Returns the further meters that the spec names."""
    wanted = [name for name in spec.meter.beside if name != choice.meter.name]
    if not wanted:
        return []  # without looking for every meter a second time
    candidates = {c.name: c for c in discover(wanted, _meter_options(spec, profile))}
    meters = []
    for name in wanted:
        candidate = candidates[name]
        if candidate.meter is None or not candidate.availability.available:
            raise _cannot_be_used(name, candidate.availability)
        meters.append(candidate.meter)
    return meters


def _cannot_be_used(name: str, refused: Availability) -> MeterError:
    return MeterError(
        f"meter {name} cannot be used here: {refused.reason}" + (f"; {refused.fix}" if refused.fix else "")
    )


def _measure(
    spec: Spec,
    text: str,
    options: Sequence[str],
    places: Places,
    choice: Choice,
    beside: Sequence[Meter],
    resume: bool,
    rerun_flagged: bool,
    keep_going: bool,
    chosen: Callable[[PlannedRun], bool],
    clock_token: bytes,
    servers: Servers | None,
    say: Console,
    partial: bool,
    more: int,
) -> tuple[Experiment, list[Run], bool]:
    """Returns the experiment, all its runs, and whether there was nothing to do."""
    stop_in_order()
    check_free(places)
    check_servers(spec.meter.clocks, clock_token)
    meters = [choice.meter, *beside]
    with contextlib.ExitStack() as opened:
        if servers:
            opened.enter_context(servers)
        for meter in meters:
            meter.open()
            opened.callback(meter.close)
        ratio = min_ratio_of(choice.meter)
        study = Study(spec, text, options, meters, choice.sentence, ratio, places, clock_token, servers)
        with (
            Store.open(places.store, create=True) as store,
            StudyProgress(messages(), str(choice.meter.method), causes=keep_going) as progress,
        ):
            if not (resume or rerun_flagged or more):
                resume, message = continuation(store, study, partial=partial)
                if message:
                    say.print(message, markup=False)
            experiment, runs = conduct(
                store, study, progress, resume=resume, rerun_flagged=rerun_flagged, more=more, keep_going=keep_going,
                only=chosen,
            )  # fmt: skip
            return experiment, runs, progress.idle


def min_ratio_of(meter: Meter) -> float | None:
    """Returns for modelled joules the smallest ratio that can be resolved; the meter is open."""
    model_rel = max(channel.model_rel for channel in meter.channels())
    return comparison_min_ratio(2 * model_rel) if model_rel else None


def _finish(store: Path, experiment: Experiment, say: Console, output: Path | None, as_json: bool) -> None:
    with Store.open(store) as opened:
        experiment = opened.find(str(experiment.id))
        findings = find(opened, experiment)
        target = output or store.parent / f"{experiment.name}-{experiment.id}.html"
        write_report(opened, experiment, findings, target)
    if as_json:
        echo_json(findings.to_json())
    print_answer(say, findings.answer)
    say.print(f"report: {target}", markup=False)


def _plan_json(reading: SpecReading, plan: Sequence[PlannedRun], energy_words: str) -> dict[str, object]:
    spec = reading.spec
    runs = [
        {
            "run": p.index + 1,
            "block": p.block + 1,
            "levels": dict(p.levels),
            "conditional": settings_of(spec.when, p.levels),
        }
        for p in plan
    ]
    stated = [setting.to_json() for setting in settings(reading)]
    return {
        "experiment": spec.name, "energy": energy_words, "seed": spec.design.seed, "settings": stated, "runs": runs
    }  # fmt: skip


def _print_plan(
    out: Console, reading: SpecReading, plan: Sequence[PlannedRun], store: Path, clocks: ClockPlan, meter: Meter
) -> None:
    spec = reading.spec
    table = Table(box=None, pad_edge=False)
    conditional = list(dict.fromkeys(name for rule in spec.when for name in rule.set))
    for column in ("run", "block", *spec.factors, *conditional):
        table.add_column(column, justify="right" if column in ("run", "block") else "left")
    for p in plan:
        in_force = dict(spec.fixed) | settings_of(spec.when, p.levels)
        own = (escape(str(in_force.get(name, "default"))) for name in conditional)
        table.add_row(str(p.index + 1), str(p.block + 1), *(escape(str(level)) for level in p.levels.values()), *own)
    out.print(table)
    print_design(out, reading)
    for rule in spec.when:
        out.print(f"when {rule.describe()}", markup=False)
    for message in not_here(plan):
        out.print(f"not here: {message}", markup=False)
    still_s = quiet_s(spec.timing, meter.method)
    if not any(system_of(p).opens_database for p in plan):
        quiet, still_s = "", 0.0
    else:
        quiet = f", then {still_s:g} s" if still_s else ", none"
        quiet += " with the database open and quiet"
    out.print(f"before and after each run {spec.timing.idle_s:g} s idle{quiet}")
    if limit_s := spec.timing.cool_down_s_max:
        power = "temperature alone" if meter.method is Method.MODELLED else "temperature and idle power"
        out.print(f"before each run up to {limit_s:g} s more to cool down ({power})")
    estimate = _estimate(spec, plan, store, 2 * (spec.timing.idle_s + still_s) + 1 + clocks.marker_s)
    out.print(f"{len(plan)} runs, order {spec.design.order}, seed {spec.design.seed}; {estimate}")
    if clocks.marker and plan:
        took = f"{clocks.marker_s * len(plan):.0f} s of that"
        out.print(f"a marker burst before and after each run, with {clocks.rest_s:g} s of rest after the first: {took}")
    for name, address in clocks.servers.items():
        out.print(f"the clock of {name} is read at {address} before and after each run", markup=False)


def _estimate(spec: Spec, plan: Sequence[PlannedRun], store: Path, around_s: float) -> str:
    """Estimates the plan's duration from runs of the same cells in the store, else its minimum. around_s: a run's time
    outside its work."""
    seen = _seen_s(spec, store)
    costs = [seen.get(p.label()) for p in plan]
    known = [c for c in costs if c is not None]
    if known:
        rest_s = sum(known) / len(known)
        total_s = sum(around_s + (rest_s if c is None else c) for c in costs)
        return f"about {clock(total_s)}, from earlier runs in {store}"
    certain_s = [_certain_s(spec, p) for p in plan]
    total = clock(around_s * len(plan) + sum(s or 0 for s in certain_s))
    if all(s is not None for s in certain_s):
        return f"about {total}, and the loads before"
    counted = {system_of(p).counts for p in plan}
    what = counted.pop() if len(counted) == 1 else SystemUnderTest.counts
    return f"at least {total} and the {what} themselves; known after the first block"


def _certain_s(spec: Spec, run: PlannedRun) -> float | None:
    """Returns the duration of a run's work if it ends by time; else None."""
    if run.load_percent is not None:
        return spec.timing.level_s
    limit_s = run.properties.get("maxexecutiontime")
    return float(limit_s) if limit_s and not run.properties.get("operationcount") else None


def _seen_s(spec: Spec, store: Path) -> dict[str, float]:
    if not store.is_file():
        return {}
    with Store.open(store) as opened:
        same = [
            e
            for e in opened.experiments()
            if e.spec.model_dump(exclude=_NOT_TIME) == spec.model_dump(exclude=_NOT_TIME)
        ]
        runs = [r for e in same[-1:] for r in opened.runs(e.id) if r.intervals]
    values: dict[str, list[float]] = {}
    for r in runs:
        assert r.intervals is not None
        label = cell_label(r.levels)
        values.setdefault(label, []).append((r.intervals.settled_end_ns - r.intervals.active_start_ns) / 1e9)
    return {label: sum(costs) / len(costs) for label, costs in values.items()}


#: What does not change how long a cell takes.
_NOT_TIME = {"design", "analysis", "question", "meter", "name"}
