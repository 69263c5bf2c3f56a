"""From a staged load to a board profile: what `edgejoule calibrate` does."""

from __future__ import annotations

import datetime
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

from edgejoule import json_text, toml_text
from edgejoule.calibrate.drive import StageRun, StageTiming, drive, from_json, to_json
from edgejoule.calibrate.fit import Fitted, fit
from edgejoule.calibrate.machine import FILE_BYTES, ThisMachine
from edgejoule.calibrate.observe import Observation, observe
from edgejoule.calibrate.profile_file import Circumstances, fitted_json, profile_name, profile_toml, write_profile
from edgejoule.calibrate.recording import placed
from edgejoule.calibrate.stages import Stage, make_stages
from edgejoule.cli.common import console, echo_json, messages, stop_in_order
from edgejoule.cli.recording_options import RecordingOptions
from edgejoule.clocks.marker import Marker, burst
from edgejoule.energy import Readings
from edgejoule.errors import DataError, InputError, MeterError, StoreError, UsageError
from edgejoule.findings.answer import duration_text
from edgejoule.machine import environment
from edgejoule.meters.base import Meter, Method
from edgejoule.meters.discovery import choose_from, discover
from edgejoule.meters.plugins.imported import Mapping as Columns
from edgejoule.meters.plugins.imported import Recorder, read_csv, trace_of
from edgejoule.meters.sampler import Sampler
from edgejoule.output_files import check_output

_MARKER_S = 3.0
_FORMAT = "stages of edgejoule calibrate"


@dataclass(frozen=True)
class _Plan:
    """What is to be done."""

    stages: Sequence[Stage]
    pace: StageTiming
    cpus: int
    folder: Path
    storage: bool

    @property
    def seconds(self) -> float:
        return len(self.stages) * self.pace.stage_s


def run_calibration(
    output: Path,
    meter: str | None,
    meter_options: Sequence[str],
    trace: Path | None,
    stages_file: Path | None,
    recording: RecordingOptions,
    rounds: int,
    observe_s: float,
    settle_s: float,
    seed: int,
    storage: bool,
    network: bool,
    data: Path,
    name: str | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Measures and fits the profile; the parameters are the options of `edgejoule calibrate`."""
    if output.suffix != ".toml":
        raise UsageError(f"{output}: a profile's file ends in .toml")
    if output.exists() and not force and not dry_run:
        raise UsageError(f"{output}: exists already; --force replaces it")
    check_output("-o", output)
    if stages_file is not None and trace is None:
        raise UsageError("--stages needs --trace, the recording made during those stages")
    cpus = os.cpu_count() or 1
    plan = _Plan(
        make_stages(cpus, rounds, seed, storage=storage, network=network),
        StageTiming(settle_s, observe_s),
        cpus,
        data,
        storage,
    )
    if trace is not None:
        recorder, columns = recording.recorder(trace), recording.columns
        if dry_run:
            _print_plan(plan, f"a recording in {trace}", as_json)
            return
        record = _read_stages(stages_file) if stages_file else _driven_with_markers(plan, output)
        if not trace.exists():
            message = f"Stages done. Put the recording into {trace} and fit with: --stages {_stages_path(output)}"
            console().print(message, markup=False)
            return
        measured = _recorded(record, trace, columns, recorder)
    else:
        if dry_run:
            _print_plan(plan, _borrowed_text(meter, meter_options), as_json)
            return
        measured = _metered(plan, _borrowed(meter, meter_options), as_json)
    _finish(output, profile_name(name or output.stem), measured, as_json)


@dataclass(frozen=True)
class _Measured:
    """Stages and what a meter said meanwhile. place: date and machine, see _place."""

    runs: list[StageRun]
    readings: Sequence[Readings]
    meter_text: str
    method: Method
    domain: str
    place: Mapping[str, Any]


def _place(folder: Path) -> dict[str, Any]:
    """Returns the date and the machine of the stages."""
    machine = environment.capture(folder)["machine"]
    return {"date": datetime.date.today().isoformat(), "machine": machine}


def _borrowed(name: str | None, options: Sequence[str]) -> Meter:
    """Returns the meter to borrow. Raises MeterError with the reasons, UsageError for a model."""
    if options and name is None:
        raise UsageError("--meter-option needs --meter NAME")
    candidates = discover(name, {name: _options(options)} if name and options else None)
    if name is not None:
        candidates = [x for x in candidates if x.name == name]
        if candidates[0].meter is not None and candidates[0].meter.method is Method.MODELLED:
            raise UsageError(f"{name} is a model itself: a calibration borrows a meter that measures or counts")
    try:
        return choose_from([x for x in candidates if x.meter is None or x.meter.method is not Method.MODELLED]).meter
    except MeterError as error:
        raise MeterError(
            f"a calibration borrows a meter; {error}. `edgejoule meters --setup NAME` says how to connect one, "
            "--trace takes a recording of any other"
        ) from error


def _borrowed_text(name: str | None, options: Sequence[str]) -> str:
    """Describes the meter of a plan; the stages are the same without one."""
    try:
        meter = _borrowed(name, options)
    except MeterError:
        which = name or "a meter that measures or counts"
        return f"{which}, which cannot be used here yet; `edgejoule meters --setup NAME` says how to connect one"
    return f"{meter.name} ({meter.method}): {meter.describe()}"


def _options(settings: Sequence[str]) -> dict[str, Any]:
    """Parses KEY=VALUE, the value as TOML, else as text."""
    options = {}
    for word in settings:
        key, equals, value = word.partition("=")
        if not equals or not key.isidentifier():
            raise UsageError(f"--meter-option {word!r}: expected KEY=VALUE")
        try:
            options[key] = toml_text.loads(f"x = {value}")["x"]
        except tomllib.TOMLDecodeError:
            options[key] = value
    return options


class _Bar:
    """One bar over all stages, with the time left; where there is no terminal a line per stage."""

    def __init__(self, plan: _Plan) -> None:
        self._plan, self._done = plan, 0
        self._console = messages()
        self._bars = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=24), TaskProgressColumn(),
            TextColumn("{task.fields[left]} left"), console=self._console, transient=True,
            disable=not self._console.is_terminal,
        )  # fmt: skip
        self._task = self._bars.add_task("calibrating", total=len(plan.stages), left=duration_text(plan.seconds))

    def __enter__(self) -> _Bar:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show(self, stage: Stage) -> None:
        """Shows the begin of a stage."""
        left = duration_text(self._plan.pace.stage_s * (len(self._plan.stages) - self._done))
        self._bars.update(self._task, completed=self._done, description=f"{stage.label:<12}", left=left)
        self._done += 1
        if not self._console.is_terminal:
            self._console.print(
                f"{self._done:>4}/{len(self._plan.stages)}  {stage.label:<12}  {left} left", markup=False
            )


def _metered(plan: _Plan, meter: Meter, as_json: bool) -> _Measured:
    stop_in_order()
    (messages() if as_json else console()).print(
        f"{meter.name} ({meter.method}): {meter.describe()}; {len(plan.stages)} stages, about "
        f"{duration_text(plan.seconds)}",
        markup=False,
    )
    place = _place(plan.folder)
    meter.open()
    try:
        with (
            ThisMachine(plan.cpus, plan.folder, storage=plan.storage) as machine,
            Sampler(meter) as sampler,
            _Bar(plan) as bar,
        ):
            runs = drive(plan.stages, machine, plan.pace, bar.show)
            description = f"{meter.name} ({meter.method}): {meter.describe()}"
            return _Measured(runs, sampler.stop(), description, meter.method, str(meter.domain), place)
    finally:
        meter.close()


def _driven_with_markers(plan: _Plan, output: Path) -> dict[str, Any]:
    """Drives the stages between two markers and stores them beside the output."""
    stop_in_order()
    console().print(
        f"Recording on the other device? {len(plan.stages)} stages, about {duration_text(plan.seconds + 2 * _MARKER_S)}"
    )
    place = _place(plan.folder)
    with ThisMachine(plan.cpus, plan.folder, storage=plan.storage) as machine, _Bar(plan) as bar:
        first = burst(machine.burners)
        runs = drive(plan.stages, machine, plan.pace, bar.show)
        last = burst(machine.burners)
    markers_ns = [x.busy_ns for x in (first, last)]
    record = {"format": _FORMAT, **place, "markers_ns": markers_ns, "stages": to_json(runs)}
    path = _stages_path(output)
    scratch = path.with_name(f".{path.name}.part")
    try:
        scratch.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: the stages cannot be written: {error.strerror}") from error
    return record


def _stages_path(output: Path) -> Path:
    return output.with_suffix(".stages.json")


def _read_stages(path: Path) -> dict[str, Any]:
    record = json_text.read(path, f"the {_FORMAT}")
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise InputError(f"{path}: not the {_FORMAT}")
    return record


def _recorded(record: dict[str, Any], path: Path, columns: Columns, recorder: Recorder) -> _Measured:
    try:
        markers = [Marker(tuple((int(on), int(off)) for on, off in busy)) for busy in record["markers_ns"]]
        runs, place = from_json(record["stages"]), {key: record[key] for key in ("date", "machine")}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not the {_FORMAT}: {error!r}") from error
    aligned = placed(trace_of(read_csv(path, columns), recorder), markers, runs)
    accuracy = f"gain ±{2 * recorder.gain_rel:.2%}, offset ±{2 * recorder.offset_w:g} W at k=2"
    description = f"{path.name} (measured elsewhere): {accuracy}; {aligned.description}"
    return _Measured(runs, [aligned.trace], description, Method.MEASURED, str(recorder.domain), place)


def _finish(output: Path, name: str, measured: _Measured, as_json: bool) -> None:
    observations, missing = observe(measured.runs, measured.readings)
    if not observations:
        raise DataError(f"no stage has a power: {'; '.join(missing[:3]) or 'nothing was driven'}")
    fitted = fit(observations)
    about = Circumstances(
        name=name,
        date=measured.place["date"],
        machine=measured.place["machine"],
        meter=measured.meter_text,
        domain=measured.domain,
        stages=f"{len(observations)} of {len(measured.runs)} stages",
    )
    write_profile(profile_toml(fitted, about), output)
    if as_json:
        rows = fitted_json(fitted, [x.stage.label for x in observations])
        about_meter = {"meter": measured.meter_text, "method": measured.method, "domain": measured.domain}
        echo_json({"profile": str(output), **about_meter, "missing": list(missing)} | rows)
        return
    out = console()
    _print_fit(out, fitted, observations, measured.method)
    for reason in missing:
        out.print(f"left out: {reason}", markup=False)
    out.print(f"profile: {output}; use it with: edgejoule run SPEC --profile {output}", markup=False)


def _print_fit(out: Console, fitted: Fitted, observations: Sequence[Observation], method: Method) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("stage", "utilisation", f"W ({method})", "W by the profile (modelled)", "off without it"):
        table.add_column(column, justify="left" if column == "stage" else "right", overflow="fold")
    for one, residual in sorted(
        zip(observations, fitted.residuals, strict=True), key=lambda x: (x[0].stage.moves_blocks, x[0].utilisation)
    ):
        figures = (f"{one.utilisation:.1%}", f"{one.power_w:.4g}", f"{fitted.predicted_w(one):.4g}")
        table.add_row(one.stage.label, *figures, f"{residual:+.1%}")
    out.print(table)
    out.print(
        f"\nThe profile predicts within ±{fitted.interval_rel:.1%} (k=2): ±{fitted.scatter_rel:.1%} scatter of stages, "
        f"±{fitted.interpolation_rel:.1%} between and beyond the table's points, ±{fitted.meter_rel:.1%} the meter.",
        markup=False,
    )
    for kind, value, u in zip(
        ("read", "written"), (fitted.read_j_per_byte, fitted.write_j_per_byte), fitted.storage_u, strict=True
    ):
        if value is not None:
            out.print(
                f"Storage: {value * 1e6:.3g} J ± {2 * u * 1e6:.2g} J per MB {kind} (modelled, k=2).", markup=False
            )


def _print_plan(plan: _Plan, meter_text: str, as_json: bool) -> None:
    rows = [{"stage": x.label, "round": x.round + 1} for x in plan.stages]
    if as_json:
        echo_json({"meter": meter_text, "seconds": plan.seconds, "stages": rows})
        return
    out = console()
    out.print(f"meter: {meter_text}", markup=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("", "stage", "round"):
        table.add_column(column, justify="left" if column == "stage" else "right")
    for number, row in enumerate(rows):
        table.add_row(str(number + 1), str(row["stage"]), str(row["round"]))
    out.print(table)
    written = f"; writes to a scratch file of at most {FILE_BYTES >> 20} MiB in {plan.folder}" if plan.storage else ""
    out.print(
        f"{len(rows)} stages of {plan.pace.stage_s:g} s, about {duration_text(plan.seconds)}{written}", markup=False
    )
