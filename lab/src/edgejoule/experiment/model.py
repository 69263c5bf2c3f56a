"""What an experiment may say: the models of experiment.toml, and its JSON Schema."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from edgejoule.dictionary.properties import COMMAND, CORE, CORE_WORKLOADS
from edgejoule.dictionary.properties import Level as Level
from edgejoule.dictionary.responses import COMMAND_RESPONSES, DEFAULT_RESPONSES, RESPONSES, Response, Responses
from edgejoule.experiment.command import (
    RESPONSE_NAME,
    CommandWorkload,
    DeclaredResponse,
    is_command,
)
from edgejoule.experiment.conditional import When

FEWEST = 3  # blocks that a budget of time always allows; their time decides how many fit into it
#: `base` is a key of a file; a spec that is read has none.
BASE_SCHEMA = {
    "title": "Base",
    "type": "string",
    "description": "another spec, relative to this file; this one states what differs, and the two are merged key by "
    "key as --set merges; false in the place of a table leaves it out",
}
Levels = Annotated[list[Level], Field(min_length=1)]
Properties = dict[str, Level]
COMMAND_TAG, PROPERTIES_TAG = "a command", "properties of a workload"
#: A workload is a command where its table says `command`, else properties of the driver's.
Workload = Annotated[
    Annotated[CommandWorkload, Tag(COMMAND_TAG)]
    | Annotated[Properties, Tag(PROPERTIES_TAG), Field(json_schema_extra={"not": {"required": ["command"]}})],
    Discriminator(lambda value: COMMAND_TAG if is_command(value) else PROPERTIES_TAG),
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Sequential(_Strict):
    """Stopping before all replications are made, in a form that keeps its promise. Declared before the data."""

    kind: Literal["stein", "alpha-spending"]
    first: int | None = Field(default=None, ge=2, le=10_000, description="stein: replications of the first stage")
    precision: float | None = Field(
        default=None, gt=0, description="stein: of each mean; on the log scale a ratio (1.05: within 5 %)"
    )
    budget_s: float | None = Field(
        default=None,
        gt=0,
        le=1e7,
        description="stein: time for all runs; caps the replications, and where `first` do not fit, as many as fit are "
        "made, at least 3; default: no limit",
    )
    looks: list[int] | None = Field(default=None, description="alpha-spending: replications at each look, all at last")
    spending: Literal["obrien-fleming", "pocock"] = "obrien-fleming"

    @property
    def stages(self) -> tuple[int, ...]:
        """Returns the replications after which the study analyses its data, as far as known before the data."""
        if self.kind == "alpha-spending":
            return tuple(self.looks or ())
        first = self.first or 0
        return (FEWEST, first) if self.budget_s is not None and first > FEWEST else (first,)

    def first_stage(self, replications: int) -> int | None:
        """Returns the replications of Stein's first stage, whose spread alone gives every interval. None: the
        spread of all replications does.

        replications: begun so far.
        """
        return self.first if self.first and replications > self.first else None


class Design(_Strict):
    """How the plan is laid out. A block is one replication of every cell."""

    replications: int = Field(default=5, ge=1, le=10_000, description="runs of every cell")
    order: Literal["randomised-blocks", "as-written", "one-after-another"] = Field(
        default="randomised-blocks",
        description="randomised-blocks: every block in random order; one-after-another: all replications of a "
        "cell before the next cell, for commands with differing setup or cleanup",
    )
    seed: int = Field(
        default=1, ge=0, lt=2**63, description="shuffles the blocks and seeds the driver; printed with the plan"
    )
    load: Literal["run", "fresh", "block", "cell"] = Field(
        default="run",
        description="run: every run starts from a restored snapshot of a loaded database; fresh: every run has a load "
        "of its own, made before it and measured; block, cell: the runs of a block or of a cell share such a load, "
        "which is then the unit of error",
    )
    loads: int = Field(
        default=1, ge=1, le=10_000, description="loads of a cell, over which its replications are spread"
    )
    sequential: Sequential | None = Field(default=None, description="may stop before all replications are made")

    @property
    def shares_loads(self) -> bool:
        """Returns whether runs share a load, and so depend on each other."""
        return self.load in ("block", "cell")


class Timing(_Strict):
    """Times around a run, in seconds."""

    idle_s: float = Field(default=0.5, ge=0, le=600, description="quiet window before and after a run: the baseline")
    quiet_s: float | None = Field(
        default=None,
        ge=0,
        le=600,
        description="the same with the database open and settled, before the first operation and after the last; "
        "default: as long as idle_s with a meter, 0 with modelled joules",
    )
    settle_timeout_s: float = Field(default=60, gt=0, le=36_000)
    run_timeout_s: float = Field(default=3600, gt=0, le=1e7, description="a run that takes longer has failed")
    cool_down_s_max: float = Field(
        default=0,
        ge=0,
        le=36_000,
        description="longest wait before a run until temperature and, with a meter, idle power are as when the study "
        "began; 0: none",
    )
    cool_down_c: float = Field(
        default=2, gt=0, le=50, description="how much warmer than when the study began a run may begin"
    )
    cool_down_power_percent: float = Field(
        default=5, gt=0, le=100, description="how far from idle power when the study began a run may begin"
    )
    marker: bool | None = Field(
        default=None,
        description="a burst of load in a known pattern before and after each run, visible in its traces; default: "
        "true if the clock of a meter is not this host's",
    )
    calibration_s: int = Field(default=10, ge=1, le=36_000, description="load curve: full load, to learn the rate")
    level_s: int = Field(default=10, ge=1, le=36_000, description="load curve: time at each level")
    interval_ms: int = Field(default=500, ge=50, le=60_000, description="length of the driver's interval events")


class MeterChoice(_Strict):
    """Which meter. Empty prefer: the best available (measured, then counted, then modelled)."""

    prefer: list[str] = Field(default_factory=list)
    beside: list[str] = Field(
        default_factory=list, description="meters that run beside it and check it; their joules are kept, not compared"
    )
    options: dict[str, dict[str, Level]] = Field(
        default_factory=dict, description='meter -> its options, for example serial = { port = "/dev/ttyUSB0" }'
    )
    clocks: dict[str, str] = Field(
        default_factory=dict,
        description="meter -> HOST:PORT where `edgejoule clock serve` answers with the clock that this meter's times "
        'are on; "trace" also for a recording that is imported afterwards',
    )
    profile: str | None = Field(default=None, description="board profile by name or path, for the modelled meter")
    run_s_min: float | None = Field(
        default=None, ge=0, le=36_000, description="shortest run in s that is measured; default: what the meter needs"
    )


class ServerSpec(_Strict):
    """A server of a federation in which RocksDB's compactions are offloaded. The first has the driver and its database.

    A share of this machine (share, busy_w, idle_w), whose joules are modelled; or, with [federation], a machine of its
    own, with a meter.
    """

    share: float | None = Field(default=None, gt=0, le=1, description="of a core of this machine")
    busy_w: float | None = Field(default=None, gt=0, description="W above idle while its share is busy, declared")
    idle_w: float | None = Field(default=None, ge=0, description="W when idle, declared")
    slots: int = Field(default=1, ge=1, le=64, description="jobs of other servers that it runs at a time")
    meter: str | None = Field(default=None, description="of a separate machine: the meter of its supply")
    options: dict[str, Level] = Field(default_factory=dict, description="of that meter")


class FederationAt(_Strict):
    """A federation that runs already, on separate machines, this one among them."""

    control: str = Field(description="this machine's ecod for operators: its control_socket")
    settings: str = Field(
        description="the database's settings for this machine's ecod, a TOML file; see rocksdb.eco_settings"
    )


class Analysis(_Strict):
    """Declared before the data: responses (the first decides the verdict), test, scale, level."""

    responses: list[str] = Field(default_factory=lambda: list(DEFAULT_RESPONSES), min_length=1)
    test: Literal["tukey", "games-howell", "kruskal-dunn-holm"] = "tukey"
    margin: float | None = Field(
        default=None, gt=0, description="groups closer than this are the same; on the log scale a ratio above 1"
    )
    scale: Literal["log", "raw"] = "log"
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    by: str | None = Field(default=None, description="one analysis per level of this factor")
    compare: str | None = Field(
        default=None,
        description="the factor that the headline is about; default: the database, else the factor with the largest "
        "effect",
    )
    headline: str | None = Field(
        default=None, description="the response that the headline is about, one of responses; default: the first"
    )


class DatabaseVariant(BaseModel):
    """A database under test: an adapter and its options (any further key)."""

    model_config = ConfigDict(extra="allow", frozen=True)
    adapter: str | None = Field(default=None, description="adapter name; default: the variant's own name")
    optional: bool = Field(
        default=False, description="a study goes on without it where it is not here, and --resume adds its runs"
    )


class Spec(_Strict):
    """One experiment."""

    schema_version: Literal[1] = 1
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=80)
    question: str = Field(min_length=1)
    factors: dict[str, Levels] = Field(min_length=1, description="factor -> its levels")
    fixed: dict[str, Level] = Field(default_factory=dict, description="settings that every run takes")
    when: list[When] = Field(default_factory=list, description="settings conditional on levels")
    workloads: dict[str, Workload] = Field(
        default_factory=dict,
        description='name -> its kind (default: core) and properties; file = "..." reads a YCSB property file; '
        "command = [...] is any program",
    )
    responses: dict[Annotated[str, Field(pattern=RESPONSE_NAME)], DeclaredResponse] = Field(
        default_factory=dict, description="name -> a figure that every command prints"
    )
    databases: dict[str, DatabaseVariant] = Field(default_factory=dict, description="name -> adapter and options")
    design: Design = Field(default_factory=Design)
    timing: Timing = Field(default_factory=Timing)
    meter: MeterChoice = Field(default_factory=MeterChoice)
    analysis: Analysis = Field(default_factory=Analysis)
    servers: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")], ServerSpec] = Field(
        default_factory=dict, description="name -> a server of the federation that offloads compactions by eco.policy"
    )
    federation: FederationAt | None = Field(default=None, description="one that runs already")

    @model_validator(mode="before")
    @classmethod
    def _responses_of_commands(cls, data: object) -> object:
        """Without declared responses an experiment with commands is about energy and time of a run."""
        if not isinstance(data, dict) or not any(is_command(w) for _, w in tables_of(data.get("workloads"))):
            return data
        analysis = data.get("analysis", {})
        if not isinstance(analysis, dict) or "responses" in analysis:
            return data
        return {**data, "analysis": {**analysis, "responses": list(COMMAND_RESPONSES)}}

    def digest(self) -> str:
        """Returns the identity of what is measured: SHA-256 over the model without the analysis section, hex."""
        return hashlib.sha256(json.dumps(self.measured(), sort_keys=True).encode()).hexdigest()

    def measured(self) -> dict[str, Any]:
        """Returns all that identifies what is measured, as JSON values."""
        measured = self.model_dump(mode="json", exclude={"analysis", "question"})
        for name, variant in list(measured["databases"].items()):
            del variant["optional"]  # changes no run
            if variant == {"adapter": None}:  # as without its table
                del measured["databases"][name]
        for name in ("servers", "federation", "responses"):  # as before there were any
            if not measured[name]:
                del measured[name]
        for declared in measured.get("responses", {}).values():
            if declared["of_servers"] is None:
                del declared["of_servers"]
        measured["workloads"] |= {name: command.identity() for name, command in self.commands.items()}
        if (sequential := measured["design"]["sequential"]) and sequential["budget_s"] is None:
            del sequential["budget_s"]
        return measured

    @property
    def commands(self) -> dict[str, CommandWorkload]:
        """Returns the workloads that are programs."""
        return {name: w for name, w in self.workloads.items() if isinstance(w, CommandWorkload)}

    def known_responses(self) -> dict[str, Response]:
        """Returns every response that a run may have, with those that the experiment declares."""
        return Responses(RESPONSES | {name: one.response(name) for name, one in self.responses.items()})

    def known_workloads(self) -> dict[str, Properties]:
        """Returns every workload that a level may name: YCSB's core ones and the described ones."""
        own: dict[str, Properties] = {
            name: {"kind": COMMAND} if isinstance(w, CommandWorkload) else CORE_WORKLOADS.get(name, {}) | w
            for name, w in self.workloads.items()
        }
        return CORE_WORKLOADS | own

    def kind_of(self, workload: str) -> str:
        """Returns the kind of a workload: core, mobibench, ..."""
        return str(self.known_workloads().get(workload, {}).get("kind", CORE))

    def is_optional(self, database: str) -> bool:
        """Returns whether a study goes on without the runs of this database where it is not here."""
        return database in self.databases and self.databases[database].optional

    def database_options(self, name: str) -> tuple[str, dict[str, Level]]:
        """Returns the adapter of a database level and its options, without the adapter's prefix."""
        variant = self.databases.get(name, DatabaseVariant())
        options: dict[str, Level] = dict(variant.model_extra or {})
        return variant.adapter or name, options


def json_schema() -> dict[str, Any]:
    """schemas/experiment.schema.json, made from the model: what an editor needs to check an experiment.toml."""
    schema = Spec.model_json_schema()
    required = schema.pop("required")
    command = schema["$defs"]["CommandWorkload"]  # a spec with a base may state a part of one
    command = {**command, "properties": {name: _table_or_false(p) for name, p in command["properties"].items()}}
    schema["$defs"]["CommandWorkload"] = {key: value for key, value in command.items() if key != "required"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "edgejoule:experiment",
        **schema,
        "properties": {"base": BASE_SCHEMA, **{name: _table_or_false(p) for name, p in schema["properties"].items()}},
        "anyOf": [{"required": ["base"]}, {"required": required}],
    }


_OR_FALSE = {"const": False}


def _table_or_false(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of a table that may also be `false`, which leaves the base's table out."""
    for key in ("additionalProperties", "patternProperties"):
        entries = schema.get(key, {})
        if "$ref" in json.dumps(entries) or (isinstance(entries, dict) and "additionalProperties" in entries):
            allowed = {p: {"anyOf": [e, _OR_FALSE]} for p, e in entries.items()}
            schema = {**schema, key: {"anyOf": [entries, _OR_FALSE]} if key == "additionalProperties" else allowed}
    return {"anyOf": [schema, _OR_FALSE]} if schema.get("type") == "object" or "$ref" in schema else schema


def tables_of(value: object) -> list[tuple[str, dict[str, Any]]]:
    """Returns the tables of a table that has not been validated."""
    return [(k, v) for k, v in value.items() if isinstance(v, dict)] if isinstance(value, dict) else []
