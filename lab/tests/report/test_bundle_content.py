"""What a bundle holds is an experiment, or it is refused: nothing that is imported can break what reads it.

The hashes of every bundle here are right. Hashes say that a file is as it was written, not that it was written well.
"""

from __future__ import annotations

import base64
import copy
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bundle_members import rewritten, with_hash
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgejoule.cli.main import main
from edgejoule.dictionary.responses import RESPONSES
from edgejoule.export.bundle import BundleError, import_bundle, write_bundle
from edgejoule.store import Store

MakeStore = Callable[..., Store]
Row = dict[str, Any]
Tables = dict[str, list[Row]]
JSON_COLUMNS = ("spec_json", "environment_json", "flags_json", "settings_json", "database_json", "durability_json",
                "meters_json", "facts_json", "level_json", "channel_json", "json")  # fmt: skip

#: Facts that a synthetic run does not have, as real ones do.
FACTS: dict[str, Any] = {
    "cache": {"state": "cold", "resident_bytes_before": 9_000_000, "resident_bytes_after": 8192},
    "memory": {"limit_bytes": 64 << 20, "peak_bytes": 60 << 20, "data_bytes_per_limit": 2.25},
    "other_programs": {"exceeded": ["write"]},
    "executions": 3,
    "worked_share": 0.56,
    "storage": {"path": "/data", "device": "/dev/vda1", "file_system": "ext4", "mount_options": "rw",
                "free_bytes": 1, "model": None},
    "environment": {"before": {}, "after": {"temperature_c": 61.2}},
    "conditions": [],
    "cool_down": {"waited_s": 2.0, "settled": True, "temperature_c": 50.0, "temperature_c_max": 52.0,
                  "idle_power": {"reached_w": 2.0, "start_w": 2.1, "tolerance_w": 0.1, "method": "counted",
                                 "settled": True}},
    "metering": {
        "recording_cpu_s": 0.1,
        "clocks": {"meters": [{"meter": "synthetic", "words": "the host's own"}], "notes": []},
        "meters": [{
            "meter": "synthetic", "sampling": {"polls": 90, "polls_late": 1, "core_share": 0.01},
            "energy": {"domain": "board", "method": "counted", "settled_j": 5.0, "uncertainty_k2_j": 0.1,
                       "coverage": 1.0, "budget_j": {"gain": 0.04, "offset": 0.03}, "missing_reason": None},
        }],
    },
}  # fmt: skip


@pytest.fixture
def packed(make_store: MakeStore, tmp_path: Path) -> Path:
    """A small bundle whose first run has every fact."""
    store = make_store(databases=("sqlite", "leveldb"), workloads=("read",), blocks=2, method="counted", min_ratio=None)
    path = tmp_path / "whole.zip"
    write_bundle(store.path, store.find(), path)

    def add_facts(tables: Tables) -> None:
        tables["runs"][0]["facts_json"] |= copy.deepcopy(FACTS)

    return changed(path, add_facts, "with-facts.zip")


def changed(path: Path, change: Callable[[Tables], None], name: str = "changed.zip") -> Path:
    """The bundle with other rows and the right hashes. `change` receives JSON columns parsed."""

    def rewrite(members: dict[str, bytes]) -> None:
        names = [n for n in members if n.startswith("tables/")]
        tables = {n[7:-6]: [opened(json.loads(line)) for line in members[n].splitlines()] for n in names}
        change(tables)
        for n in names:
            with_hash(members, n, "".join(json.dumps(closed(row)) + "\n" for row in tables[n[7:-6]]).encode())
        toml = tables["experiments"][0].get("spec_toml") if tables["experiments"] else None
        if isinstance(toml, str):
            with_hash(members, "experiment.toml", toml.encode(errors="replace"))

    return rewritten(path, rewrite).rename(path.with_name(name))


def opened(row: Row) -> Row:
    return {k: json.loads(v) if k in JSON_COLUMNS and isinstance(v, str) else v for k, v in row.items()}


def closed(row: Row) -> Row:
    return {k: v if v is None or k not in JSON_COLUMNS else json.dumps(v) for k, v in row.items()}


def read_all(store: Path, run: int = 1) -> list[Result]:
    """Everything that reads an experiment."""
    page = store.with_name("page.html")
    calls = (
        ["report", "-o", str(page)], ["report", "--json"], ["list"], ["show"], ["show", "--run", str(run)],
        ["show", "--json"], ["export", "--csv"], ["export", "--jsonl"], ["export", "--samples"],
        ["export", "--bundle", str(store.with_name("again.zip"))],
    )  # fmt: skip
    return [CliRunner().invoke(main, [*arguments, "--store", str(store)]) for arguments in calls]


def broken(results: list[Result]) -> list[str]:
    """Describes the parts that ended with a traceback."""
    return [repr(r.exception) for r in results if r.exception and not isinstance(r.exception, SystemExit)]


def test_a_bundle_with_every_fact_is_taken_and_can_be_read(packed: Path, tmp_path: Path) -> None:
    import_bundle(packed, tmp_path / "new.db")
    results = read_all(tmp_path / "new.db")
    assert not broken(results)
    assert {r.exit_code for r in results} == {0}, [r.output for r in results if r.exit_code]


def rename_factor(tables: Tables) -> None:
    for level in tables["levels"]:
        level["factor"] = "engine"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def first(table: str, **values: Any) -> Callable[[Tables], None]:
    return lambda tables: tables[table][0].update(values)


def facts(**values: Any) -> Callable[[Tables], None]:
    return lambda tables: tables["runs"][0]["facts_json"].update(values)


def spec(path: str, value: Any) -> Callable[[Tables], None]:
    def change(tables: Tables) -> None:
        *parents, last = path.split(".")
        node = tables["experiments"][0]["spec_json"]
        for parent in parents:
            node = node[parent]
        node[last] = value

    return change


def drop(table: str, place: int = 0) -> Callable[[Tables], None]:
    return lambda tables: tables[table].pop(place) and None


def responses(of: str, /, **values: Any) -> Callable[[Tables], None]:
    """Change a response of the first run."""
    return lambda tables: next(r for r in tables["responses"] if r["name"] == of).update(values)


def renamed(name: str, to: str, value: float) -> Callable[[Tables], None]:
    return responses(name, **{"name": to, "unit": RESPONSES[to].unit, "value": value})


def scaled(name: str, factor: float) -> Callable[[Tables], None]:
    def change(tables: Tables) -> None:
        row = next(r for r in tables["responses"] if r["name"] == name)
        row["value"] *= factor

    return change


BOMB = base64.b64encode(b"\1\1" + bytes(16) + zlib.compress(bytes(50_000_000), 9)).decode()
TAMPERED: dict[str, tuple[Callable[[Tables], None], str]] = {
    "another factor": (rename_factor, "its spec plans block 0 with"),
    "a text with other factors": (
        first("experiments", spec_toml='[factors]\nengine = ["sqlite"]\n'), "spec_toml has the factors engine, spec"
    ),
    "another level": (first("levels", level_json="h2"), "its spec plans block 0 with"),
    "a level of another type": (first("levels", level_json={"a": 1}), "its spec plans block 0 with"),
    "a run of another block": (first("runs", block=1), "its spec plans block 0"),
    "a run number beyond the plan": (first("runs", run_index=99), "the experiment plans 4 runs"),
    "the same run twice": (lambda t: t["runs"][1].update(run_index=0), "UNIQUE constraint failed"),
    "attempts that leave one out": (lambda t: t["runs"][1].update(run_index=0, attempt=2), "3 runs, the experiment"),
    "a finished run without times": (
        first("runs", active_start_ns=None, active_end_ns=None, settled_end_ns=None, settled_complete=None),
        "a finished run without its intervals",
    ),
    "a run that ends before it begins": (first("runs", active_end_ns=5), "expected active_start_ns < active_end_ns"),
    "a run number that is text": (first("runs", run_index="none"), "run_index: expected a whole number"),
    "a number that no store holds": (first("runs", settled_end_ns=2**70), "too large"),
    "a response of text": (first("responses", value="fast"), "value: expected a number"),
    "a response that is NaN": (first("responses", value={"float": "nan"}), "CHECK constraint failed"),
    "a response without end": (first("responses", value={"float": "inf"}), "value: expected a finite number"),
    "a response beyond all use": (first("responses", value=1e300), "value: expected a number of at most"),
    "an unknown unit": (first("responses", unit="furlong"), "is 'furlong', expected"),
    "an unknown response": (first("responses", name="happiness"), "unknown response 'happiness'"),
    "a measured time": (lambda t: [r.update(method="measured") for r in t["responses"]] and None, "method of"),
    "an energy below zero": (
        responses("energy_j", value=-5.0, uncertainty_k2=26.0), "value of energy_j is -5, expected 0 or more"
    ),
    "more than all of the CPU": (
        responses("other_cpu_share", value=5.0), "value of other_cpu_share is 5, expected 0 to 1"
    ),
    "a share below zero": (
        renamed("throughput_ops_s", "target_share", -3.0),
        "value of target_share is -3, expected 0 or more",
    ),
    "a time below zero": (responses("active_s", value=-1.0), "value of active_s is -1, expected 0 or more"),
    "a method that no channel has": (
        responses("energy_j", method="measured"), "method of energy_j is 'measured', the run's channels are counted"
    ),
    "ten times the energy": (scaled("energy_j", 10), "energy_per_op_uj times the operations"),
    "an uncertainty below zero": (first("responses", uncertainty_k2=-1.0), "uncertainty_k2: expected a number"),
    "flags that are a number": (first("runs", flags_json=3), "flags_json: expected a list"),
    "facts that are a list": (first("runs", facts_json=[1]), "facts_json"),
    "a snapshot that is no name": (
        facts(load={"name": "x", "runs_before": 0, "snapshot": {"a": 1}}), "facts_json.load.snapshot"
    ),
    "a load without its name": (facts(load={"runs_before": 0}), "facts_json.load"),
    "a load that took no time": (
        facts(load={"name": "x", "runs_before": 0, "active_s": 0, "settled_s": 0, "records": 1}),
        "active_s: expected a number above 0",
    ),
    "executions without their share": (lambda t: t["runs"][0]["facts_json"].pop("worked_share"), "worked_share"),
    "a cold cache of unknown size": (facts(cache={"state": "cold", "resident_bytes_after": None}), "facts_json.cache"),
    "an event of another time": (first("events", monotonic_ns=1), "monotonic_ns is 1, the event has"),
    "a latency of another measure": (first("latencies", measure="cold"), "measure: expected one of 'service'"),
    "a histogram of nothing": (first("latencies", hdr="AAAA"), "no latency histogram"),
    "a factor's name as bytes": (first("levels", factor={"base64": "AAAA"}), "levels.factor: expected a text"),
    "a trace that is cut off": (first("readings", readings={"base64": "AQE="}), "damaged"),
    "a trace that unpacks to 50 MB": (first("readings", readings={"base64": BOMB}), "unpacks to too much"),
    "a channel of another domain": (lambda t: t["channels"][0]["channel_json"].update(domain="moon"), "channel_json"),
    "sums of other readings": (first("seconds", samples=9999), "not as many readings"),
    "a name that is a path": (first("experiments", name="../../etc/passwd"), "name is '../../etc/passwd'"),
    "a path in the spec": (spec("name", "../x"), "name: expected a text of the form"),
    "factors without number": (
        spec("factors", {n: list(range(1, 4000)) for n in ("threads", "recordcount", "operationcount")}),
        "runs, expected at most 1000000",
    ),
    "a response that nobody knows": (spec("analysis.responses", ["happiness"]), "unknown response 'happiness'"),
    "options that are no pairs": (
        lambda t: t["experiments"][0]["environment_json"].update(options=["--set"]), "expected pairs"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERED)
def test_a_tampered_bundle_is_refused_with_a_message_and_changes_nothing(
    what: str, packed: Path, tmp_path: Path
) -> None:
    change, message = TAMPERED[what]
    with pytest.raises(BundleError) as error:
        import_bundle(changed(packed, change), tmp_path / "new.db")
    assert message in str(error.value)
    assert len(str(error.value)) < 600
    with Store.open(tmp_path / "new.db") as store:
        assert store.experiments() == []


def test_energies_that_are_differences_may_be_below_zero(packed: Path, tmp_path: Path) -> None:
    import_bundle(changed(packed, responses("energy_net_j", value=-0.3)), tmp_path / "new.db")


def test_a_command_may_take_less_than_its_shells_start(packed: Path, tmp_path: Path) -> None:
    def shorter(tables: Tables) -> None:
        facts(shell={"shell": "/bin/sh", "start_s": 0.001, "cpu_s": 0.001})(tables)
        renamed("throughput_ops_s", "cpu_s", -0.0001)(tables)

    import_bundle(changed(packed, shorter), tmp_path / "new.db")
    with pytest.raises(BundleError, match=r"value of cpu_s is -0\.0001, expected 0 or more"):
        import_bundle(changed(packed, renamed("throughput_ops_s", "cpu_s", -0.0001)), tmp_path / "other.db")


def test_a_missing_run_is_refused(packed: Path, tmp_path: Path) -> None:
    def drop_last(tables: Tables) -> None:
        last = len(tables["runs"]) - 1
        tables["runs"].pop()
        for name in ("levels", "responses", "events", "latencies", "channels"):
            tables[name] = [row for row in tables[name] if row["run_id"] != last]
        tables["seconds"] = [row for row in tables["seconds"] if row["channel_id"] != last]
        tables["readings"] = [row for row in tables["readings"] if row["channel_id"] != last]

    with pytest.raises(BundleError, match="3 runs, the experiment plans 4"):
        import_bundle(changed(packed, drop_last), tmp_path / "new.db")


def test_text_that_differs_from_stored_values_is_refused(packed: Path, tmp_path: Path) -> None:
    other = rewritten(packed, lambda members: with_hash(members, "experiment.toml", b'name = "harmless"'))
    with pytest.raises(BundleError, match=r"experiment\.toml is not the text"):
        import_bundle(other, tmp_path / "new.db")


@pytest.mark.parametrize("member", ["bundle.json", "tables/runs.jsonl"])
def test_json_that_is_nested_100_000_levels_deep_is_refused(packed: Path, tmp_path: Path, member: str) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000

    def change(members: dict[str, bytes]) -> None:
        if member == "bundle.json":
            members[member] = deep
        else:
            with_hash(members, member, deep)

    with pytest.raises(BundleError):
        import_bundle(rewritten(packed, change), tmp_path / "new.db")


@pytest.mark.parametrize(
    "name", ["'; DROP TABLE runs; --", "[/red]", "<script>alert(1)</script>", "a b\n\x1b[31mc", "é" * 300]
)
def test_a_database_may_have_any_name(packed: Path, tmp_path: Path, name: str) -> None:
    def rename(tables: Tables) -> None:
        renamed = json.dumps(tables["experiments"][0]["spec_json"]).replace('"sqlite"', json.dumps(name))
        tables["experiments"][0]["spec_json"] = json.loads(renamed)
        tables["experiments"][0]["spec_json"]["databases"][name] = {"adapter": "sqlite"}
        for level in tables["levels"]:
            if level["level_json"] == "sqlite":
                level["level_json"] = name

    import_bundle(changed(packed, rename), tmp_path / "new.db")
    assert not broken(read_all(tmp_path / "new.db"))
    assert "<script>alert(1)" not in (tmp_path / "page.html").read_text()


def test_a_channel_that_gave_no_reading_does_not_stop_the_report(packed: Path, tmp_path: Path) -> None:
    import_bundle(changed(packed, lambda t: t["channels"].append(copy.deepcopy(t["channels"][0]))), tmp_path / "new.db")
    assert not broken(read_all(tmp_path / "new.db"))


WEIRD = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 5), st.sampled_from([2**31, 2**63 - 1, 2**63, -(2**63), 10**30]),
    st.sampled_from([0.0, -0.0, -1.5, 1e-300, 1e17, 1e300, 0.5]),
    st.sampled_from(["", "x", "sqlite", "NaN", "é\x00", "[/]", "<b>", "'; --", "1", "finished", "cold"]),
    st.sampled_from([[], {}, [[]], {"": None}, [None, 1, "x"]]),
    st.sampled_from([{"float": "nan"}, {"float": "-inf"}, {"base64": "AAAA"}]),
)  # fmt: skip


@st.composite
def mutations(draw: st.DrawFn) -> Callable[[Tables], None]:
    """One change anywhere in the rows: a value replaced or left out at any depth, a row left out, doubled or moved."""
    pick = st.integers(0, 10**6)
    table, row, action = draw(pick), draw(pick), draw(st.sampled_from(["value"] * 6 + ["drop", "double", "swap"]))
    path, value, leave_out = draw(st.lists(pick, min_size=1, max_size=6)), draw(WEIRD), draw(st.booleans())

    def change(tables: Tables) -> None:
        rows = tables[sorted(tables)[table % len(tables)]]
        if not rows:
            return
        place = row % len(rows)
        if action == "drop":
            rows.pop(place)
        elif action == "double":
            rows.insert(place, copy.deepcopy(rows[place]))
        elif action == "swap":
            rows[place], rows[0] = rows[0], rows[place]
        else:
            put(rows[place], path, value, leave_out)

    return change


def put(node: Any, path: list[int], value: Any, leave_out: bool) -> None:
    """Descends to a leaf and replaces it."""
    *steps, last = path
    for step in steps:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        inner = [key for key in keys if isinstance(node[key], dict | list) and node[key]]
        if not inner:
            break
        node = node[inner[step % len(inner)]]
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    if not keys:
        return
    key = keys[last % len(keys)]
    if leave_out:
        del node[key]
    else:
        node[key] = value


def check_mutation(packed: Path, folder: Path, change: Callable[[Tables], None]) -> None:
    """Refused with a message of one paragraph, or everything that reads it works."""
    store = folder / "mutated.db"
    for path in folder.glob("mutated.db*"):
        path.unlink()
    try:
        import_bundle(changed(packed, change), store)
    except BundleError:
        return
    assert not broken(read_all(store))


QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]}


@settings(max_examples=25, derandomize=True, **QUIET)
@given(mutations())
def test_a_mutated_bundle_is_refused_or_everything_can_read_it(
    packed: Path, tmp_path: Path, change: Callable[[Tables], None]
) -> None:
    check_mutation(packed, tmp_path, change)


def test_a_value_that_no_column_can_have_is_the_bundles_fault(packed: Path, tmp_path: Path) -> None:
    def change(tables: Tables) -> None:
        tables["channels"][0]["interval_s"] = []

    with pytest.raises(BundleError, match="cannot be stored"):
        import_bundle(changed(packed, change), tmp_path / "mutated.db")


@pytest.mark.slow
@settings(max_examples=150, print_blob=True, **QUIET)
@given(mutations())
def test_more_mutated_bundles_at_random(packed: Path, tmp_path: Path, change: Callable[[Tables], None]) -> None:
    check_mutation(packed, tmp_path, change)
