"""What the rows of a bundle must be, beyond what the store's tables ask: the check of an import before it is committed.

A bundle comes from outside. Its hashes say that it is as it was written, not that what was written is an experiment.
Everything that reads a store (report, show, export, analysis) relies on these checks. The check finds damage
and contradictions. It cannot find measurements that were forged consistently.

Invariants
- A run is one that the experiment's spec plans: its number, block and levels.
- A response has a known name with its unit and method, and a value that a run can have; numbers are finite and below
  `bundle_rows.NUMBER_MAX`.
- An energy has the method of one of the run's channels, and the energy per operation is that of the run's energy.
- JSON columns hold the objects of schemas/run-record.schema.json as far as a reader uses them; further keys are kept.
- Traces and latency histograms can be unpacked, and hold as many readings as their rows say.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import sqlite3
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from hdrh.histogram import HdrHistogram
from pydantic import ValidationError

from edgejoule import toml_text
from edgejoule.commands.phases import EVENT as PHASE
from edgejoule.databases.rocksdb_log import LEVEL0
from edgejoule.dictionary.responses import Response, is_energy, possible_range
from edgejoule.eco.federation.decisions import DECISION
from edgejoule.errors import EdgejouleError, StoreError, UsageError
from edgejoule.experiment.complaints import complaints
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import Addition, cells, planned_cells
from edgejoule.export import bundle_rows as rows
from edgejoule.store import AUTHOR_LENGTH_MAX, TEXT_LENGTH_MAX, additions_of, check_text
from edgejoule.store.codec import unpack, unpack_integers
from edgejoule.store.traces import channel_from_json, relation_from_json
from edgejoule.validation_text import expectation

RUNS_MAX = 1_000_000
_PER_OPERATION = ("energy_j", "energy_per_op_uj", "throughput_ops_s", "active_s")
_AGREEMENT_REL = 0.001


class ContentError(EdgejouleError):
    """A row that no experiment has. The message names table, row and column."""


Model = TypeVar("Model", bound=rows.Row)
Row = Mapping[str, Any]


def check_spec(experiment: Row) -> Spec:
    """The spec of an experiment's row, when the row agrees with it. Raises ContentError."""
    with _at("experiments", 1):
        text = experiment["spec_json"]
        if not isinstance(text, str):
            raise ContentError(f"spec_json: expected text, got {type(text).__name__}")
        spec = Spec.model_validate_json(text)
        row = _model(rows.ExperimentRow, experiment)
        for column, declared in (("name", spec.name), ("question", spec.question), ("seed", spec.design.seed)):
            if experiment[column] != declared:
                raise ContentError(f"{column} is {experiment[column]!r}, its spec has {declared!r}")
        if (runs := cells_of_plan(spec) * spec.design.replications) > RUNS_MAX:
            raise ContentError(f"its spec plans {runs} runs, expected at most {RUNS_MAX}")
        for key, message in complaints(spec):
            raise ContentError(f"spec_json: {key}: {message}")
        _check_added(row.environment_json.added, spec)
        factors = None if _overrides_factors(row) else _factors_of_text(experiment["spec_toml"])
        if factors is not None and factors != list(spec.factors):
            raise ContentError(f"spec_toml has the factors {', '.join(factors)}, spec_json {', '.join(spec.factors)}")
        if len(row.environment_json.options) % 2:
            raise ContentError(f"environment_json.options: expected pairs of texts, got {row.environment_json.options}")
    return spec


def _check_added(added: Sequence[rows.AddedRow], spec: Spec) -> None:
    if added and (spec.design.sequential or spec.design.shares_loads):
        raise ContentError("environment_json.added: expected none; the number of runs of such a design is fixed")
    known = {json.dumps(cell) for cell in cells(spec)} if added else set()
    for number, one in enumerate(added):
        chosen = [json.dumps(cell) for cell in one.cells]
        if len(set(chosen)) < len(chosen) or not set(chosen) <= known:
            raise ContentError(f"environment_json.added.{number}.cells: expected different cells of the experiment")
    if (runs := sum(one.replications * len(one.cells) for one in added)) > RUNS_MAX:
        raise ContentError(f"environment_json.added: {runs} runs, expected at most {RUNS_MAX}")


def _factors_of_text(text: object) -> list[str] | None:
    """Returns the names of the factors of a spec's text; None if it has none of its own."""
    try:
        factors = toml_text.loads(text).get("factors") if isinstance(text, str) else None
    except tomllib.TOMLDecodeError as error:
        raise ContentError(f"spec_toml: not valid TOML: {error}") from error
    return list(factors) if isinstance(factors, dict) else None


def _overrides_factors(row: rows.ExperimentRow) -> bool:
    """Returns whether the study was begun with `--set` of a factor or of what may have been one."""
    return any(word.startswith(("factors.", "fixed.")) for word in row.environment_json.options)


def cells_of_plan(spec: Spec) -> int:
    """How many cells a block has; factors may be too many to list them."""
    return math.prod(len(levels) for levels in spec.factors.values())


def check_content(db: sqlite3.Connection, experiment_id: int, spec: Spec) -> None:
    """Check all rows of an experiment that were just inserted, by the connection that did so. Raises ContentError."""
    runs = db.execute("SELECT * FROM runs WHERE experiment_id = ? ORDER BY id", (experiment_id,)).fetchall()
    (environment,) = db.execute("SELECT environment_json FROM experiments WHERE id = ?", (experiment_id,)).fetchone()
    _check_runs(db, runs, spec, additions_of(parsed_json(environment)))
    first = {row["id"]: place for place, row in enumerate(runs, 1)}
    channels = []
    in_shell = {row["id"] for row in runs if row["facts_json"] and parsed_json(row["facts_json"]).get("shell")}
    check_response = functools.partial(_check_response, responses=spec.known_responses(), in_shell=in_shell)
    for table, check in (("responses", check_response), ("events", _check_event), ("latencies", _check_latency)):
        for row in _rows_of(db, table, list(first)):
            with _at(table, None, run=first[row["run_id"]]):
                check(row)
    for row in _rows_of(db, "channels", list(first)):
        with _at("channels", None, run=first[row["run_id"]]):
            _check_channel(row)
        channels.append(row["id"])
    _check_readings(db, channels)
    for run_id, place in first.items():
        with _at("responses", None, run=place):
            _check_agreement(db, run_id)
    _check_notes(db, experiment_id, {row["run_index"] for row in runs})


def _check_notes(db: sqlite3.Connection, experiment_id: int, known: Collection[int]) -> None:
    notes = db.execute("SELECT * FROM notes WHERE experiment_id = ? ORDER BY id", (experiment_id,))
    for number, row in enumerate(notes, 1):
        with _at("notes", number):
            note = _model(rows.NoteRow, row)
            if note.run_index is not None and note.run_index not in known:
                raise ContentError(f"run_index {note.run_index}: the experiment has no such run")
            check_text("author", note.author, AUTHOR_LENGTH_MAX)
            check_text("text", note.text, TEXT_LENGTH_MAX)


def _rows_of(db: sqlite3.Connection, table: str, run_ids: Sequence[int]) -> Iterator[sqlite3.Row]:
    for run_id in run_ids:
        yield from db.execute(f"SELECT * FROM {table} WHERE run_id = ?", (run_id,))


@contextmanager
def _at(table: str, row: int | None, run: int | None = None) -> Iterator[None]:
    """Errors name the table and the row."""
    place = f"tables/{table}.jsonl" + (f", row {row}" if row else "") + (f", of run row {run}" if run else "")
    try:
        yield
    except (ContentError, StoreError, UsageError) as error:
        raise ContentError(f"{place}: {error}") from error
    except ValidationError as error:
        raise ContentError(f"{place}: {_first_text(error)}") from error
    except RecursionError as error:
        raise ContentError(f"{place}: nested too deep") from error


def _factor(name: object) -> str:
    """Returns the name of a factor, which a damaged bundle may hold as bytes."""
    if not isinstance(name, str):
        raise ContentError(f"levels.factor: expected a text, got {name!r}")
    return name


def _first_text(error: ValidationError) -> str:
    """The first thing that is wrong; of alternatives, what the one that comes nearest lacks."""
    first = min(error.errors(include_url=False), key=lambda e: -len(e["loc"]))
    where = ".".join(str(part) for part in first["loc"] if not str(part).startswith("_"))
    return f"{where}: {'is missing' if first['type'] == 'missing' else expectation(first)}"


def _model(model: type[Model], row: Row | sqlite3.Row) -> Model:
    """The row as the model has it; columns that end in _json hold JSON."""
    values = {name: _parsed(name, row[name]) if name.endswith("_json") else row[name] for name in model.model_fields}
    return model.model_validate(values)


def parsed_json(text: str | bytes) -> Any:
    """JSON without NaN, infinities and numbers beyond all floats. Raises ValueError, RecursionError."""
    return json.loads(text, parse_constant=_not_finite, parse_float=_finite)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _not_finite(text)


def _not_finite(text: str) -> float:
    raise ValueError(f"{text} is no finite number")


def _parsed(name: str, text: object) -> Any:
    if text is None:
        return None
    if not isinstance(text, str):
        raise ContentError(f"{name}: expected JSON text, got {type(text).__name__}")
    try:
        return parsed_json(text)
    except ValueError as error:
        raise ContentError(f"{name}: not JSON: {error}") from error


def _check_runs(db: sqlite3.Connection, runs: Sequence[sqlite3.Row], spec: Spec, added: Sequence[Addition]) -> None:
    first = [row["run_index"] for row in runs if row["attempt"] == 0]
    in_block = cells_of_plan(spec)
    planned = in_block * spec.design.replications + sum(addition.runs for addition in added)
    whole = len(first) == planned or (spec.design.sequential and first and len(first) % in_block == 0)
    if not whole or len(first) > planned:
        raise ContentError(f"tables/runs.jsonl: {len(first)} runs, the experiment plans {planned}")
    plan = list(itertools.islice(planned_cells(spec, added), len(first)))
    attempts: dict[int, list[int]] = {}
    for number, row in enumerate(runs, 1):
        with _at("runs", number):
            run = _model(rows.RunRow, row)
            _check_run(run, row["facts_json"])
            if run.run_index >= len(plan):
                raise ContentError(f"run_index {run.run_index}: the experiment plans {len(plan)} runs, from 0")
            block, cell = plan[run.run_index]
            attempts.setdefault(run.run_index, []).append(run.attempt)
            stored = db.execute("SELECT * FROM levels WHERE run_id = ? ORDER BY position", (row["id"],))
            levels = {_factor(r["factor"]): _parsed("level_json", r["level_json"]) for r in stored}
            if (run.block, json.dumps(levels)) != (block, json.dumps(cell)):
                raise ContentError(
                    f"block {run.block} with levels {levels}; its spec plans block {block} with {cell} as run "
                    f"{run.run_index}"
                )
    for index, made in attempts.items():
        if sorted(made) != list(range(len(made))):
            raise ContentError(f"tables/runs.jsonl: run_index {index} has attempts {sorted(made)}, expected 0, 1, ...")
    if len(attempts) != len(first):
        raise ContentError(f"tables/runs.jsonl: {len(attempts)} runs of different numbers, expected {len(first)}")


def _check_run(run: rows.RunRow, facts: str | None) -> None:
    times = (run.active_start_ns, run.active_end_ns, run.settled_end_ns, run.settled_complete)
    known = [t for t in times if t is not None]
    if known and (len(known) < len(times) or not known[0] < known[1] <= known[2]):
        raise ContentError(f"intervals {times[:3]}: expected active_start_ns < active_end_ns <= settled_end_ns")
    if run.status == "finished" and not known:
        raise ContentError("a finished run without its intervals")
    parsed = parsed_json(facts) if facts else {}
    if "executions" in parsed:
        rows.FactsOfSeveral.model_validate(parsed)
    if "active_s" in (parsed.get("load") or {}):
        rows.KeptLoad.model_validate(parsed["load"])


def _check_response(row: sqlite3.Row, responses: Mapping[str, Response], in_shell: Collection[int]) -> None:
    response = _model(rows.ResponseRow, row)
    try:
        known = responses[response.name]
    except KeyError:
        raise ContentError(f"name: unknown response {response.name!r}") from None
    if response.unit != known.unit:
        raise ContentError(f"unit of {response.name} is {response.unit!r}, expected {known.unit!r}")
    if known.is_energy == (response.method == "timed"):
        raise ContentError(f"method of {response.name} is {response.method!r}")

    low, high = possible_range(known, in_shell=row["run_id"] in in_shell)
    if response.value is not None and not low <= response.value <= high:
        least_to_most = f"{low:g} or more" if high == math.inf else f"{low:g} to {high:g}"
        raise ContentError(f"value of {response.name} is {response.value:g}, expected {least_to_most}")


def _check_agreement(db: sqlite3.Connection, run_id: int) -> None:
    """What the responses of a run must have in common with each other and with its channels."""
    stored = db.execute("SELECT name, value, method FROM responses WHERE run_id = ? AND value IS NOT NULL", (run_id,))
    known = {row["name"]: row for row in stored}
    channels = db.execute("SELECT channel_json FROM channels WHERE run_id = ?", (run_id,))
    methods = {_parsed("channel_json", row["channel_json"]).get("method") for row in channels}
    for name, row in known.items():
        if methods and is_energy(name) and row["method"] not in methods:
            raise ContentError(
                f"method of {name} is {row['method']!r}, the run's channels are {' and '.join(sorted(methods))}"
            )
    if all(name in known for name in _PER_OPERATION):
        energy_j, per_op_uj, rate_ops_s, active_s = (float(known[name]["value"]) for name in _PER_OPERATION)
        expected_j = per_op_uj * rate_ops_s * active_s / 1e6
        if not math.isclose(energy_j, expected_j, rel_tol=_AGREEMENT_REL):
            raise ContentError(
                f"energy_j is {energy_j:.6g}, expected {expected_j:.6g}: energy_per_op_uj times the operations, which "
                "are throughput_ops_s times active_s"
            )


#: Events whose fields a reader uses; of others only the kind and the time are checked.
_EVENTS: Mapping[str, type[rows.EventRow]] = {
    "database": rows.DatabaseEvent,
    PHASE: rows.CommandPhaseEvent,
    LEVEL0: rows.Level0Event,
    DECISION: rows.DecisionEvent,
}


def _check_event(row: sqlite3.Row) -> None:
    event_json = _parsed("json", row["json"])
    event = rows.EventRow.model_validate(event_json)
    if (model := _EVENTS.get(event.event)) is not None:
        model.model_validate(event_json)
    if event.monotonic_ns != row["monotonic_ns"]:
        raise ContentError(f"monotonic_ns is {row['monotonic_ns']!r}, the event has {event.monotonic_ns}")


def _check_latency(row: sqlite3.Row) -> None:
    _model(rows.LatencyRow, row)
    try:
        HdrHistogram.decode(row["hdr"].encode())
    except Exception as error:  # its errors have no common base: struct.error, binascii.Error, TypeError and others
        raise ContentError(f"hdr: no latency histogram: {error!r}") from error


def _check_channel(row: sqlite3.Row) -> None:
    _model(rows.ChannelRow, row)
    channel = _parsed("channel_json", row["channel_json"])
    rows.ChannelText.model_validate(channel)
    if (relation := channel.get("relation")) is not None:
        rows.Relation.model_validate(relation)
    try:
        channel_from_json({name: value for name, value in channel.items() if name != "relation"})
        relation_from_json(relation)
    except (ValueError, TypeError, EdgejouleError) as error:
        raise ContentError(f"channel_json: {error}") from error


def _check_readings(db: sqlite3.Connection, channels: Sequence[int]) -> None:
    for place, channel in enumerate(channels, 1):
        counts: dict[int, int] = {}
        for row in db.execute("SELECT * FROM readings WHERE channel_id = ? ORDER BY second", (channel,)):
            with _at("readings", None):
                reading = _model(rows.ReadingRow, row)
                t_ns, _ = unpack(reading.readings, reading.samples)
                if reading.arrivals is not None:
                    unpack_integers(reading.arrivals, 2)
                if reading.reasons_json and not all(k.isdigit() for k in reading.reasons_json):
                    raise ContentError("reasons_json: expected places of readings as keys")
                if {int(t) // 10**9 for t in (t_ns[0], t_ns[-1])} != {row["second"]}:
                    raise ContentError(f"second {row['second']}: its readings are of another time")
                counts[row["second"]] = reading.samples
        for row in db.execute("SELECT * FROM seconds WHERE channel_id = ?", (channel,)):
            with _at("seconds", None):
                second = _model(rows.Second, row)
                sums = [getattr(second, name) for name in list(rows.Second.model_fields)[2:]]
                if len({value is None for value in sums}) > 1:
                    raise ContentError("start_ns to value_last: expected all of them, or none")
                if counts.pop(row["second"], None) != second.samples:
                    raise ContentError(f"second {row['second']} of channel {place}: not as many readings as it says")
        if counts:
            raise ContentError(f"tables/seconds.jsonl: channel {place} lacks second {min(counts)}")
