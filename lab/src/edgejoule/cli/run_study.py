"""From an experiment to a report: what `edgejoule run` does."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from edgejoule.cli.common import (
    EXIT_FLAGGED,
    Options,
    console,
    echo_json,
    fail,
    messages,
    stop_in_order,
)
from edgejoule.cli.design_table import settings
from edgejoule.cli.plan_view import Plan, print_plan
from edgejoule.cli.progress import StudyProgress
from edgejoule.cli.report import print_end, write_report
from edgejoule.databases.checks import check_plan, left_out, not_here
from edgejoule.databases.driver import DriverMissingError
from edgejoule.dictionary.responses import nearest
from edgejoule.energy import comparison_min_ratio
from edgejoule.errors import FederationError, MeterError, StoreError, UsageError
from edgejoule.experiment.conditional import settings_of
from edgejoule.experiment.model import Level, Spec
from edgejoule.experiment.plan import PlannedRun, make_plan
from edgejoule.experiment.read import read_spec
from edgejoule.findings import find
from edgejoule.findings.additions import alone_warning
from edgejoule.meters.base import Availability, Meter, Method
from edgejoule.meters.discovery import Choice, choose, discover
from edgejoule.output_files import check_output
from edgejoule.store import Experiment, Run, Store
from edgejoule.study.open_baseline import check_responses
from edgejoule.study.run_clocks import check_servers, clock_plan
from edgejoule.study.servers import Servers, ServersMeter, servers_of
from edgejoule.study.study import Places, Study, check_free, conduct, continuation, left_to_do, plan_of_more
from edgejoule.unusable_files import reason


def run_study(
    spec: Path,
    dry_run: bool,
    full: bool,
    resume: bool,
    rerun_flagged: bool,
    more: int | None,
    overrides: Sequence[str],
    meter: str | None,
    profile: str | None,
    only: Sequence[str],
    wipe: Sequence[str],
    keep_going: bool,
    data: Path | None,
    clock_token: str,
    output: Path | None,
    store: Path,
    as_json: bool,
) -> None:
    """Measures the study, or shows its plan; the parameters are the options of `edgejoule run`."""
    if resume and rerun_flagged:
        raise UsageError("--rerun-flagged: repeats runs of an experiment that is finished; --resume finishes one")
    if more and (resume or rerun_flagged):
        raise UsageError("--more: adds runs to an experiment that is finished; leave --resume and --rerun-flagged out")
    if full and not dry_run:
        raise UsageError("--full: says how --dry-run prints; add --dry-run")
    path = spec / "experiment.toml" if spec.is_dir() else spec
    reading = read_spec(path, overrides)
    loaded = reading.spec
    if loaded.name == "latest" or loaded.name.isdecimal():
        other = "the latest experiment" if loaded.name == "latest" else "the experiment of that number"
        raise reading.merged.error("name", f"{loaded.name!r} means {other} in other commands; choose another name")
    plan = make_plan(loaded)
    with reading.located():
        check_plan(loaded, plan, keep_going=keep_going, shown_only=dry_run)
    if wipe and not any(run.file_system and run.file_system.device for run in plan):
        raise UsageError("--wipe: no run of the plan has a filesystem_device")
    chosen, places = _chosen(loaded, only), Places.beside(store, data)
    _check_places(places)
    if more:
        plan = plan_of_more(store, loaded, more, chosen)
    say = messages() if as_json else console()
    for text in reading.warnings():
        say.print(f"warning: {text}", markup=False)
    if more and (warning := alone_warning(loaded, plan)):
        say.print(warning, markup=False)
    if dry_run:
        if resume or rerun_flagged:
            plan = left_to_do(store, loaded, rerun_flagged=rerun_flagged)
        todo = [p for p in plan if chosen(p)]
        shown = Plan(reading, todo, store, places.wiping(wipe))
        _show_plan(say, shown, meter, profile, full=full, as_json=as_json)
        return
    choice, beside, servers = _instruments(loaded, meter, profile)
    say.print(choice.line, markup=False)
    for text in choice.passed_over:
        say.print(f"warning: {text}", markup=False)
    absent = left_out(loaded, [p for p in plan if chosen(p)])
    for cause in dict.fromkeys(absent.values()):
        say.print(f"{cause}. Its runs are left out; --resume makes them where it is here", markup=False)
    if refused := not_here([p for p in plan if chosen(p) and p.index not in absent], places.wiping(wipe)):
        raise UsageError("; ".join(refused))
    if output is not None:
        check_output("-o", output, path, store)
        _check_writable(output.absolute().parent, f"{output}: the report could not be written there")
    options = [word for o in overrides for word in ("--set", o)]
    options += [word for name, value in (("--meter", meter), ("--profile", profile)) if value for word in (name, value)]
    experiment, runs, idle = _measure(
        loaded, reading.text(), options, places, choice, beside, resume, rerun_flagged, keep_going, chosen,
        clock_token.encode(), servers, say, bool(only), more or 0, wipe,
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


def _check_places(places: Places) -> None:
    """Raises UsageError and StoreError if the study could not write its files, or its store is none. Makes no folder
    and no store.
    """
    if places.store.exists():
        Store.open(places.store, read_only=True).close()
    named = ((f"--store {places.store}", places.store.absolute().parent), (f"--data {places.data}", places.data))
    for option, folder in named:
        existing = next(each for each in (folder, *folder.parents) if each.exists())
        if not existing.is_dir():
            raise UsageError(f"{option}: {existing} is not a directory")
        _check_writable(existing, f"{option}: nothing can be written in {existing}")


def _check_writable(folder: Path, complaint: str) -> None:
    """Raises StoreError if no file can be written in the folder."""
    try:
        tempfile.NamedTemporaryFile(dir=folder).close()
    except OSError as error:
        raise StoreError(f"{complaint}: {reason(error, folder)}") from error


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
    wipe: Sequence[str],
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
        study = Study(spec, text, options, meters, choice.sentence, ratio, places, clock_token, servers, wipe)
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
    say.print(findings.answer.footnote, markup=False)
    print_end(say, findings, target)


def _instruments(spec: Spec, meter: str | None, profile: str | None) -> tuple[Choice, list[Meter], Servers | None]:
    """Returns the study's meter, the meters beside it, and its servers. Raises EdgejouleError if one is missing."""
    servers = servers_of(spec)
    choice = _servers_choice(servers, meter or profile) if servers else _choice(spec, meter, profile)
    check_responses(spec, choice.meter.method)
    return choice, _beside(spec, choice, profile), servers


def _show_plan(say: Console, plan: Plan, meter: str | None, profile: str | None, *, full: bool, as_json: bool) -> None:
    """Prints the plan, also without a meter, a database, the driver or eco. Exits with 1 if no run can be done here."""
    spec, energy = plan.spec, ""
    try:
        choice, beside, _ = _instruments(spec, meter, profile)
    except (MeterError, FederationError, DriverMissingError) as error:
        plan = dataclasses.replace(plan, nowhere=[str(error)])
    else:
        energy = choice.sentence
        say.print(choice.line, markup=False)
        for text in choice.passed_over:
            say.print(f"warning: {text}", markup=False)
        clocks = clock_plan(spec.timing, spec.meter.clocks, [choice.meter, *beside])
        method, least = choice.meter.method, _modelled_ratio(choice.meter)
        plan = dataclasses.replace(plan, clocks=clocks, method=method, min_ratio=least)
    if as_json:
        echo_json(_plan_json(plan, energy))
        possible = not plan.nowhere and (not plan.runs or len(plan.not_here()) < len({p.label() for p in plan.runs}))
    else:
        possible = print_plan(say, plan, full=full)
    if not possible:
        fail("no run of the plan can be done here", 1)


def _modelled_ratio(meter: Meter) -> float | None:
    """Returns the smallest ratio that a modelled meter resolves; None for others and for servers, not opened."""
    if meter.method is not Method.MODELLED or isinstance(meter, ServersMeter):
        return None
    meter.open()
    try:
        return min_ratio_of(meter)
    finally:
        meter.close()


def _plan_json(plan: Plan, energy_words: str) -> dict[str, object]:
    spec, absent, wiped = plan.spec, plan.not_here(), [device.to_json() for device in plan.wiped()]
    runs = [
        {
            "run": p.index + 1,
            "block": p.block + 1,
            "levels": dict(p.levels),
            "conditional": settings_of(spec.when, p.levels),
            "not_here": absent.get(p.label()),
        }
        for p in plan.runs
    ]
    stated = [setting.to_json() for setting in settings(plan.reading)]
    return {
        "experiment": spec.name, "energy": energy_words, "seed": spec.design.seed, "settings": stated, "runs": runs,
        **({"wiped": wiped} if wiped else {}),
    }  # fmt: skip
