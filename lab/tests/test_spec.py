"""An experiment is read whole or refused with file, line and key."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from edgejoule.databases.checks import check_plan
from edgejoule.errors import SpecError, UsageError
from edgejoule.experiment.model import Spec, json_schema
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import load_spec, read_spec
from edgejoule.experiment.spec_files import key_lines

REPOSITORY = Path(__file__).resolve().parents[2]
GOOD = """\
name = "small"
question = "Which one?"

[factors]
database = ["sqlite", "leveldb"]
workload = ["mixed"]

[fixed]
recordcount = 1000

[workloads.mixed]
readproportion = 0.5
updateproportion = 0.5

[databases.leveldb]
compression = "none"

[design]
replications = 2

[analysis]
responses = ["energy_per_op_uj"]
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(text)
    return path


def test_a_good_experiment_is_read(tmp_path: Path) -> None:
    spec = load_spec(written(tmp_path, GOOD))
    assert spec.factors["database"] == ["sqlite", "leveldb"]
    assert spec.database_options("leveldb") == ("leveldb", {"compression": "none"})


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "phrase"),
    [
        ("[factors]", "[factor]", 4, "factor", "did you mean 'factors'"),
        ('question = "Which one?"', "", None, "question", "is missing"),
        ("replications = 2", "replication = 2", 19, "design.replication", "did you mean 'replications'"),
        ("replications = 2", "replications = 0", 19, "design.replications", "expected a number of at least 1, got 0"),
        ("replications = 2", '[meter.clocks]\ntrace = "bench"', 20, "meter.clocks.trace", "expected HOST:PORT"),
        ("replications = 2", 'replications = "many"', 19, "design.replications", "expected a whole number, got 'many'"),
        ("recordcount = 1000", "recordcont = 1000", 9, "fixed.recordcont", "did you mean 'recordcount'"),
        ("recordcount = 1000", "recordcount = -5", 9, "fixed.recordcount", "from 0 to"),
        ("recordcount = 1000", "recordcount = 1.5", 9, "fixed.recordcount", "whole number"),
        ("recordcount = 1000", "recordcount = 99999999999999999999", 9, "fixed.recordcount", "from 0 to"),
        ("recordcount = 1000", "threads = 100000", 9, "fixed.threads", "at most 4096"),
        ("recordcount = 1000", "warmup_s = inf", 9, "fixed.warmup_s", "got inf"),
        ("recordcount = 1000", 'rate = "10"\ntarget = 10', 9, "fixed.rate", "not both"),
        ("recordcount = 1000", '"sqlite.cache_bytes" = nan', 9, "fixed.sqlite.cache_bytes", "finite"),
        (
            "replications = 2",
            "seed = 99999999999999999999",
            19,
            "design.seed",
            "expected a number below 9223372036854775808",
        ),
        ("[analysis]", "[timing]\nidle_s = inf\n[analysis]", 22, "timing.idle_s", "finite"),
        ('workload = ["mixed"]', 'workload = [""]', 6, "factors.workload", "described nowhere"),
        ("recordcount = 1000", 'durability = "full"', 9, "fixed.durability", "none, process, power"),
        ("recordcount = 1000", 'database = "rocksdb"', 9, "fixed.database", "remove the fixed one to vary it"),
        ('workload = ["mixed"]', 'workload = ["mix"]', 6, "factors.workload", "described nowhere"),
        ('workload = ["mixed"]', "", 4, "factors", "no workload"),
        ('"sqlite", "leveldb"', '"sqlite", "sqlite"', 5, "factors.database", "same level twice"),
        (
            'workload = ["mixed"]',
            'workload = ["mixed"]\nwarmup_s = [10, 10.0]',
            7,
            "factors.warmup_s",
            "same level twice",
        ),
        (
            "recordcount = 1000",
            '"network.rate_mbit_s" = 1e12',
            9,
            "fixed.network.rate_mbit_s",
            "0.01 to 400,000 Mbit/s",
        ),
        ('question = "Which one?"', 'question = "Which one?"\nservers = []', 3, "servers", "expected a table, got []"),
        ('"sqlite", "leveldb"', "", 5, "factors.database", "expected at least 1 entry, got []"),
        ("readproportion = 0.5", "readproportion = -2.0", 12, "workloads.mixed.readproportion", "share of at least 0"),
        ("readproportion = 0.5", "readpropotion = 0.5", 12, "workloads.mixed.readpropotion", "did you mean"),
        ('"energy_per_op_uj"', '"energy_per_op"', 22, "analysis.responses", "did you mean 'energy_per_op_uj'"),
        ("[analysis]", '[analysis]\nby = "size"', 22, "analysis.by", "is no factor"),
        ("[analysis]", '[analysis]\nheadline = "active_s"', 22, "analysis.headline", "is not in analysis.responses"),
        (
            '[analysis]\nresponses = ["energy_per_op_uj"]',
            "[design.sequential]\nkind = 'alpha-spending'\nlooks = [2]\n[analysis]\n"
            "responses = ['active_s', 'cpu_us_per_op']\nheadline = 'cpu_us_per_op'",
            26,
            "analysis.headline",
            "put 'cpu_us_per_op' first",
        ),
        ("replications = 2", 'replications = 2\nload = "disk"', 20, "design.load", "'run', 'fresh', 'block' or 'cell'"),
        ("replications = 2", "replications = 2\nloads = 2", 20, "design.loads", 'set load = "cell" for more'),
        ("recordcount = 1000", "memory_limit_mb = 8", 9, "fixed.memory_limit_mb", "at least 32"),
        ("recordcount = 1000", 'cache = "frozen"', 9, "fixed.cache", "warm, cold"),
        ("recordcount = 1000", 'cache = "cold"\nwarmup_s = 1', 9, "fixed.cache", "set warmup_s = 0 to keep it cold"),
        ("recordcount = 1000", "load_percent = 120", 9, "fixed.load_percent", "from 0 to 100"),
        ("recordcount = 1000", "load_percent = 20\ntarget = 5", 9, "fixed.load_percent", "target already"),
        (
            "[analysis]",
            "[design.sequential]\nkind = 'stein'\nfirst = 2\n[analysis]",
            21,
            "design.sequential.precision",
            "is missing",
        ),
        (
            "[analysis]",
            "[design.sequential]\nkind = 'alpha-spending'\nlooks = [2, 5]\n[analysis]",
            23,
            "design.sequential.looks",
            "after all 2 replications",
        ),
        (
            "[analysis]",
            "[design.sequential]\nkind = 'alpha-spending'\nlooks = [2]\nfirst = 2\n[analysis]",
            24,
            "design.sequential.first",
            "belongs to stein",
        ),
        ('["energy_per_op_uj"]', '["energy_per_op_uj"]\nmargin = 0.9', 23, "analysis.margin", "ratio above 1"),
        ('name = "small"', 'name = "a b"', 1, "name", "a text of the form ^[A-Za-z0-9][A-Za-z0-9._-]*$, got 'a b'"),
        ("recordcount = 1000", "recordcount = ", 9, None, "not valid TOML"),
        (
            "recordcount = 1000",
            "recordcount = 1979-05-27",
            9,
            "fixed.recordcount",
            "a text in quotes, a number or true",
        ),
        ("recordcount = 1000", f"recordcount = {'[' * 100_000}{']' * 100_000}", 9, None, "deeper than 100 levels"),
        ("recordcount = 1000", f"recordcount = {'{a=' * 100_000}1{'}' * 100_000}", 9, None, "deeper than 100 levels"),
        ("recordcount = 1000", f"{'.'.join(['a'] * 100_000)} = 1", 9, None, "deeper than 100 levels"),
        ("[fixed]", f"[{'.'.join(['a'] * 100_000)}]", 8, None, "deeper than 100 levels"),
        ("recordcount = 1000", "recordcount = " + "[\n" * 200 + "]\n" * 200, None, None, "deeper than 100 levels"),
        ("recordcount = 1000", f"recordcount = {'9' * 5000}", None, None, "not valid TOML"),
    ],
)
def test_an_error_is_reported_with_file_line_and_key(
    tmp_path: Path, old: str, new: str, line: int | None, key: str | None, phrase: str
) -> None:
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    message = str(caught.value)
    assert (caught.value.line, caught.value.key) == (line, key), message
    assert message.startswith(str(path))
    assert phrase in message
    assert "\n" not in message


def test_what_is_seldom_meant_is_warned_of_with_file_and_line(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    assert read_spec(path).warnings() == []
    shares = ["workloads.mixed.readproportion=0.95", "workloads.mixed.updateproportion=0.85"]
    assert read_spec(path, shares).warnings() == [
        f"{path}:11: workloads.mixed: the proportions sum to 1.8: readproportion 0.95 + updateproportion 0.85; each is "
        "divided by the sum"
    ]
    (default,) = read_spec(written(tmp_path, GOOD.replace("updateproportion = 0.5", ""))).warnings()
    assert "sum to 0.55: readproportion 0.5 + updateproportion 0.05 (default)" in default
    (one,) = read_spec(written(tmp_path, GOOD.replace("replications = 2", "replications = 1"))).warnings()
    assert one.startswith(f"{path}:19: design.replications: one run of each cell shows no spread")


WHEN = """
[[when]]
database = "sqlite"
workload = ["mixed"]
set = { threads = 1 }

[[when]]
database = ["leveldb"]
[when.set]
threads = 2
"leveldb.bloom_bits" = 10
"""


def test_settings_may_depend_on_levels(tmp_path: Path) -> None:
    spec = load_spec(written(tmp_path, GOOD + WHEN), ["fixed.threads=4"])
    assert [(p.database, p.threads, dict(p.options)) for p in make_plan(spec)[:2]] in (
        [("sqlite", 1, {}), ("leveldb", 2, {"compression": "none", "bloom_bits": 10})],
        [("leveldb", 2, {"compression": "none", "bloom_bits": 10}), ("sqlite", 1, {})],
    )
    assert spec.when[0].describe() == "database sqlite, workload mixed: threads = 1"
    jsonschema.Draft202012Validator(json_schema()).validate(tomllib.loads(GOOD + WHEN))


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "phrase"),
    [
        ('database = "sqlite"', 'databse = "sqlite"', 25, "when.databse", "did you mean 'database'"),
        ('database = "sqlite"', 'database = "sqlit"', 25, "when.database", "did you mean 'sqlite'"),
        ('database = "sqlite"', "database = []", 25, "when.database", "never holds"),
        ('database = ["leveldb"]', 'database = ["leveldb", "lvldb"]', 30, "when.database", "did you mean 'leveldb'"),
        ("set = { threads = 1 }", "set = { thread = 1 }", 27, "when.set.thread", "did you mean 'threads'"),
        ("set = { threads = 1 }", 'set = { threads = "one" }', 27, "when.set.threads", "whole number"),
        ("set = { threads = 1 }", 'set = { workload = "mixed" }', 27, "when.set.workload", "make it a factor"),
        ("set = { threads = 1 }", "set = {}", 27, "when.set", "expected at least 1 entry, got {}"),
        ("set = { threads = 1 }", "", 24, "when.set", "is missing"),
        ("threads = 2", "threads = 0", 32, "when.set.threads", "at least 1"),
        ('database = ["leveldb"]', 'workload = "mixed"', 32, "when.set.threads", ":27): 2 here and 1 there, and both"),
        ('database = ["leveldb"]', "", 29, "when", "has no condition"),
        ("threads = 2", 'threads = 2\nrate = "10"\ntarget = 5', 33, "when.set.rate", "not both"),
        ("threads = 2", 'warmup_s = 2\ncache = "cold"', 33, "when.set.cache", "set warmup_s = 0 to keep it cold"),
    ],
)  # fmt: skip
def test_an_error_in_a_condition_is_reported_with_file_line_and_key(
    tmp_path: Path, old: str, new: str, line: int | None, key: str, phrase: str
) -> None:
    assert WHEN.count(old) == 1
    path = written(tmp_path, GOOD + WHEN.replace(old, new))
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    assert (caught.value.line, caught.value.key) == (line, key), str(caught.value)
    assert phrase in str(caught.value)


def test_a_rule_for_a_level_that_set_leaves_out_holds_nowhere(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD + WHEN)
    only = load_spec(path, ["fixed.threads=4", 'factors.database=["leveldb"]'])
    assert {(p.database, p.threads) for p in make_plan(only)} == {("leveldb", 2)}
    with pytest.raises(SpecError, match=r"when\.database: 'leveldb' is no level of database; known: sqlite"):
        load_spec(written(tmp_path, GOOD.replace(', "leveldb"', "") + WHEN), ["fixed.threads=4"])


def test_rules_that_agree_or_never_meet_are_no_conflict(tmp_path: Path) -> None:
    agreeing = WHEN.replace("threads = 2", "threads = 1").replace('database = ["leveldb"]', 'workload = "mixed"')
    assert len(load_spec(written(tmp_path, GOOD + agreeing)).when) == 2


def test_an_option_by_condition_must_reach_its_database(tmp_path: Path) -> None:
    rule = "when=[{workload = 'mixed', set = {'leveldb.bloom_bits' = 3}}]"
    spec = load_spec(written(tmp_path, GOOD), ["fixed.operationcount=9", rule])
    with pytest.raises(UsageError, match=r"leveldb\.bloom_bits: changes nothing for sqlite"):
        check_plan(spec, make_plan(spec))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"none\.toml: cannot be read: No such file"):
        load_spec(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"name = \xff")
    with pytest.raises(SpecError, match="not UTF-8"):
        load_spec(tmp_path / "bytes.toml")


def test_a_spec_of_eco_trial_is_refused_with_its_replacement(tmp_path: Path) -> None:
    old = 'name = "static"\nquestion = "?"\ntiers = "paper.toml"\npolicies = ["local"]\nrounds = 1\nduration_s = 60\n'
    old += '[[links]]\nname = "unshaped"\n[[servers]]\nname = "high-1"\ntier = "high"\nshare = 0.4\n'
    with pytest.raises(SpecError, match=r"is a spec of `edgejoule eco trial`: .*`edgejoule run experiments/eco-real`"):
        load_spec(written(tmp_path, old))


def test_set_changes_a_key_and_its_errors_name_it(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    overrides = ["design.replications=7", "factors.threads=[1, 4]", "databases.sqlite.journal_mode=WAL"]
    spec = load_spec(path, [*overrides, "fixed.leveldb.block_cache_bytes=8"])
    assert spec.design.replications == 7
    assert spec.factors["threads"] == [1, 4]
    assert spec.database_options("sqlite") == ("sqlite", {"journal_mode": "WAL"})
    assert spec.fixed["leveldb.block_cache_bytes"] == 8
    with pytest.raises(SpecError, match=r"^--set: design\.replications: .*got 'x'"):
        load_spec(path, ["design.replications=x"])
    quoted = load_spec(path, ['databases."my.db=1".adapter=sqlite', """databases.'my.db=1'.cache_bytes=[1]"""])
    assert quoted.database_options("my.db=1") == ("sqlite", {"cache_bytes": [1]})
    assert load_spec(path, ['fixed."leveldb.block_cache_bytes"=9']).fixed["leveldb.block_cache_bytes"] == 9
    with pytest.raises(UsageError, match=r"""--set 'databases\."my db"\.adapter=sqlite'"""):
        load_spec(path, ["databases.my db.adapter=sqlite"])
    with pytest.raises(UsageError, match="expected KEY=VALUE"):
        load_spec(path, ["design.replications"])


def test_lines_of_keys_are_located_whatever_their_form() -> None:
    text = 'a = 1\nb."c.d" = 2\n[t]\ntext = """\nfake = 1\n[u]\n"""\nk = [\n  1,\n]\n[t.sub]\nz = 1\n[[when]]\nq = 2\n'
    tomllib.loads(text)
    lines = key_lines(text)
    expected = {
        "a": 1,
        "b.c.d": 2,
        "t": 3,
        "t.text": 4,
        "t.k": 8,
        "t.sub": 11,
        "t.sub.z": 12,
        "when": 13,
        "when.0": 13,
        "when.0.q": 14,
    }
    assert lines == expected


def test_the_committed_schema_is_the_models_own() -> None:
    committed = json.loads((REPOSITORY / "schemas/experiment.schema.json").read_text())
    assert committed == json_schema(), "run: make schemas"


#: Beside them there are specs of sweeps: without an analysis or a base.
EXPERIMENTS = [
    path
    for path in (REPOSITORY / "experiments").glob("*/*.toml")
    if {"analysis", "base"} & set(tomllib.loads(path.read_text()))
]


@pytest.mark.parametrize("path", sorted(EXPERIMENTS), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_experiment_of_the_house_is_valid(path: Path) -> None:
    assert load_spec(path).name == path.parent.name + ("" if path.stem == "experiment" else f"-{path.stem}")
    jsonschema.Draft202012Validator(json_schema()).validate(tomllib.loads(path.read_text()))


def test_the_digest_knows_what_is_measured_from_what_is_asked(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    plain = load_spec(path).digest()
    assert load_spec(path, ["analysis.alpha=0.01"]).digest() == plain
    assert load_spec(path, ["fixed.recordcount=1001"]).digest() != plain


#: Digests of the experiments as of commit 6d90a66, before there were commands: they identify stored experiments.
DIGESTS: dict[str, str] = json.loads(Path(__file__).with_name("spec_digests.json").read_text())


@pytest.mark.parametrize("name", [name for name in DIGESTS if (REPOSITORY / "experiments" / name).is_file()])
def test_the_digest_of_an_experiment_without_commands_stays_as_it_was(name: str) -> None:
    assert load_spec(REPOSITORY / "experiments" / name).digest() == DIGESTS[name]


def test_a_design_without_a_budget_keeps_the_digest_that_it_had_before_budgets() -> None:
    stein = {"kind": "stein", "first": 4, "precision": 1.1}
    plain = {"name": "s", "question": "?", "factors": {"database": ["sqlite"], "workload": ["workloada"]}}
    design = Spec.model_validate({**plain, "design": {"replications": 9, "sequential": stein}})
    assert design.digest() == "0c3a2c17fcf1893040d3452668962dff6a86da4fd9c7ede2c8f2f03be0973e16"
    budget = {**plain, "design": {"replications": 9, "sequential": {**stein, "budget_s": 60.0}}}
    assert Spec.model_validate(budget).digest() != design.digest()
