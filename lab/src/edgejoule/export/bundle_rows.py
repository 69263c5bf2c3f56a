"""The rows of a store as an import accepts them: column names, types and ranges. Columns in _json hold JSON.

Further keys of JSON objects are kept and not checked. schemas/run-record.schema.json describes each.
"""

# ruff: noqa: D101 the dictionary is in schemas/

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

NUMBER_MAX = 1e18  # above any figure of a run in SI units: bytes, ns, J
READINGS_OF_A_SECOND_MAX = 10_000_000

Ns = Annotated[int, Field(ge=0, lt=2**63)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Number = Annotated[float, Field(ge=-NUMBER_MAX, le=NUMBER_MAX)]
Length = Annotated[float, Field(ge=0, le=NUMBER_MAX)]  # of a time, an uncertainty, a share
Window = Annotated[list[Ns], Field(min_length=2, max_length=2)]
Name = Annotated[str, Field(min_length=1)]
EnergyMethod = Literal["measured", "counted", "modelled"]


class Row(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class LoadRow(Row):
    name: Name
    runs_before: Count
    snapshot: str | None = None


class LoadIntervals(Row):
    active_start_ns: Ns
    active_end_ns: Ns
    settled_end_ns: Ns
    settled_complete: bool


class OtherProgramsRow(Row):
    exceeded: list[str] = []


class KeptLoad(LoadRow):
    records: Count | None
    active_s: Annotated[float, Field(gt=0, le=NUMBER_MAX)]
    settled_s: Length
    intervals: LoadIntervals | None = None
    idle_windows_ns: Annotated[list[Window], Field(min_length=2, max_length=2)] | None = None
    other_programs: OtherProgramsRow | None = None

    @model_validator(mode="after")
    def _measured_as_a_whole(self) -> Self:
        measured = (self.intervals, self.idle_windows_ns, self.other_programs)
        if None in measured and any(each is not None for each in measured):
            raise ValueError("expected intervals, idle_windows_ns and other_programs together")
        return self


class WarmCache(Row):
    state: Literal["warm"]


class ColdCache(Row):
    state: Literal["cold"]
    resident_bytes_after: Count


class Memory(Row):
    limit_bytes: Count
    peak_bytes: Count | None
    data_bytes_per_limit: Length


class ServerRow(Row):
    server: str
    version: str
    settings: dict[str, Any]
    client: Literal["driver", "ycsb"]


class LoadPercent(Row):
    percent: Length
    reached_ops_s: Length


class RenewalRow(Row):
    model_config = ConfigDict(extra="forbid")

    period_s: Length
    poll_s: Length


class EnergyRow(Row):
    domain: str
    method: EnergyMethod
    settled_j: Number | None
    uncertainty_k2_j: Length | None
    budget_j: dict[str, Number]
    missing_reason: str | None
    renewal: RenewalRow | None = None


class MissingEnergy(EnergyRow):
    settled_j: None
    missing_reason: str


class KnownEnergy(EnergyRow):
    settled_j: Number
    uncertainty_k2_j: Length


class Sampling(Row):
    polls: Count
    polls_late: Count
    core_share: Length


class MeteredRow(Row):
    meter: Name
    energy: KnownEnergy | MissingEnergy
    sampling: Sampling | None


class ClockOfMeter(Row):
    meter: Name
    words: str


class Clocks(Row):
    meters: list[ClockOfMeter] = []
    notes: list[str] = []


class MeteringRow(Row):
    meters: list[MeteredRow]
    recording_cpu_s: Length
    clocks: Clocks = Field(default_factory=Clocks)


class Storage(Row):
    file_system: str | None
    mount_options: str | None
    device: str | None
    below: list[str] | None = None


class IdlePowerRow(Row):
    reached_w: Number | None = None
    start_w: Number | None = None
    method: EnergyMethod | None = None
    why_not: str | None = None


class IdlePowerReached(IdlePowerRow):
    reached_w: Number
    start_w: Number
    method: EnergyMethod


class IdlePowerUnknown(IdlePowerRow):
    reached_w: None = None


class CoolDownRow(Row):
    waited_s: Length
    temperature_c: Number | None
    idle_power: IdlePowerReached | IdlePowerUnknown


class BaselineRow(Row):
    method: EnergyMethod
    windows_ns: list[Window] | None
    net_budget_j: dict[str, Number]
    core_share: Length | None = None


class KnownBaseline(BaselineRow):
    before_w: Number
    after_w: Number
    missing_reason: str | None


class MissingBaseline(BaselineRow):
    before_w: None
    missing_reason: str


class Baselines(Row):
    model_config = ConfigDict(extra="forbid")

    idle: KnownBaseline | MissingBaseline
    quiet: KnownBaseline | MissingBaseline | None = None


class After(Row):
    temperature_c: Number | None = None


class Environment(Row):
    after: After = Field(default_factory=After)


class Imported(Row):
    file: str
    flags: list[str]


class PhaseRow(Row):
    name: Name
    count: Annotated[int, Field(ge=1, lt=2**31)]
    duration_s: Length
    energy_j: Number | None
    uncertainty_k2_j: Length | None
    method: EnergyMethod
    missing_reason: str | None
    read_bytes: Number | None
    write_bytes: Number | None


class Facts(Row):
    other_programs: OtherProgramsRow = Field(default_factory=OtherProgramsRow)
    load: LoadRow | None = None
    cache: ColdCache | WarmCache | None = None
    memory: Memory | None = None
    server: ServerRow | None = None
    executions: Annotated[int, Field(ge=1, lt=2**31)] = 1
    load_percent: LoadPercent | None = None
    metering: MeteringRow | None = None
    storage: Storage | None = None
    conditions: list[str] = []
    imported: Imported | None = None
    cool_down: CoolDownRow | None = None
    baselines: Baselines | None = None
    environment: Environment = Field(default_factory=Environment)
    phases: list[PhaseRow] = []


class FactsOfSeveral(Facts):
    worked_share: Length


class Database(Row):
    name: Name
    options: dict[str, Any] = {}


class Durability(Row):
    pass


class MeterRow(Row):
    name: Name
    method: EnergyMethod
    describe: str


class RunRow(Row):
    run_index: Count
    attempt: Count
    block: Count
    status: Literal["planned", "finished", "failed", "not_here"]
    cause: str | None
    flags_json: list[str]
    started_realtime_ns: Ns | None
    settings_json: dict[str, Any]
    active_start_ns: Ns | None
    active_end_ns: Ns | None
    settled_end_ns: Ns | None
    settled_complete: Literal[0, 1] | None
    database_json: Database | None
    durability_json: Durability | None
    meters_json: list[MeterRow]
    facts_json: Facts | None


class ResponseRow(Row):
    name: Name
    value: Number | None
    unit: str
    method: Literal["measured", "counted", "modelled", "timed"]
    uncertainty_k2: Length | None
    missing_reason: str | None


class LatencyRow(Row):
    operation: Name
    measure: Literal["service", "intended"]
    hdr: Name


class NoteRow(Row):
    run_index: Count | None
    written_realtime_ns: Ns
    author: str
    text: Name


class EventRow(Row):
    event: Name
    monotonic_ns: Ns


class CommandPhaseEvent(EventRow):
    event: Literal["command_phase"]
    duration_ns: Ns
    name: Name


class DatabaseEvent(EventRow):
    event: Literal["database"]
    kind: Name
    duration_ns: Ns | None
    detail: str = ""


class Level0Event(EventRow):
    event: Literal["level0"]
    files: Count


class DecisionEvent(EventRow):
    event: Literal["decision"]
    policy: Name
    job: Name
    home: Name
    place: Name
    input_bytes: Count
    shadow: bool
    reason: str
    decided_by: str
    outcome: Name | None
    predicted_s: Length | None
    predicted_j: Length | None
    predicted_home_s: Length | None
    stall_predicted: bool | None
    actual_s: Length | None
    actual_j: Length | None
    moved_bytes: Count


class LookRow(Row):
    words: Name
    total: Count


class AddedRow(Row):
    replications: Annotated[int, Field(ge=1, le=10_000)]
    cells: Annotated[list[dict[str, Any]], Field(min_length=1)]
    realtime_ns: Ns


class System(Row):
    cpu_busy_share_before: Length | None = None


class SurroundingsRow(Row):
    system: System = Field(default_factory=System)
    options: list[str] = []
    looks: list[LookRow] = []
    added: list[AddedRow] = []
    identity: dict[str, Any] = {}
    reached_ops_s: dict[str, Length] = {}


class ExperimentRow(Row):
    name: Name
    question: Name
    spec_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    seed: Count
    created_realtime_ns: Ns
    energy_words: Name
    energy_min_ratio: Annotated[float, Field(ge=1, le=NUMBER_MAX)] | None
    environment_json: SurroundingsRow


class ChannelRow(Row):
    interval_s: Annotated[float, Field(gt=0, le=1e9)]


class ChannelText(Row):
    meter: Name
    name: str
    gain_rel: Length
    offset_w: Length
    resolution: Length
    wrap_j: Number | None = None
    power_w_max: Number | None = None
    model_rel: Length = 0.0
    interval_s: Length | None = None
    delay_s_max: Length = 0.0


class Relation(Row):
    device_ns: Annotated[int, Field(gt=-(2**63), lt=2**63)]
    host_ns: Annotated[int, Field(gt=-(2**63), lt=2**63)]
    drift: Annotated[float, Field(gt=-0.5, lt=0.5)]
    offset_s: Length
    drift_u: Length


class Second(Row):
    samples: Annotated[int, Field(ge=1, le=READINGS_OF_A_SECOND_MAX)]
    failed: Count
    start_ns: int | None
    end_ns: int | None
    energy_j: Number | None
    power_max_w: Number | None
    step_s2: Number | None
    off_j2: Number | None
    off_next_j2: Number | None
    value_last: Number | None


class ReadingRow(Row):
    samples: Annotated[int, Field(ge=1, le=READINGS_OF_A_SECOND_MAX)]
    readings: bytes
    arrivals: bytes | None
    reasons_json: dict[str, str] | None
