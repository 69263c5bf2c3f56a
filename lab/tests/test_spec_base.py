"""A spec that names another one is that one with its own keys, and stands alone once it is read."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from edgejoule.cli.design_table import settings
from edgejoule.errors import SpecError, UsageError
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import load_spec, read_spec

REPOSITORY = Path(__file__).resolve().parents[2]
BASE = """\
name = "whole"
question = "Which one?"

[factors]
database = ["sqlite", "leveldb"]
workload = ["mixed", "workloadc"]
threads = [1, 4]

[fixed]
recordcount = 1000
operationcount = 500

[[when]]
database = "leveldb"
set = { target = 10 }

[[when]]
workload = "mixed"
set = { durability = "power" }

[workloads.mixed]
readproportion = 0.5
updateproportion = 0.5

[databases.leveldb]
compression = "none"

[design]
replications = 5
"""


def written(folder: Path, **texts: str) -> Path:
    """Files NAME.toml; the last one's path."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
    return folder / f"{list(texts)[-1]}.toml"


def small(folder: Path, text: str) -> Path:
    return written(folder, base=BASE, small=f'base = "base.toml"\n{text}')


def test_a_spec_states_what_differs_from_its_base(tmp_path: Path) -> None:
    spec = load_spec(
        small(tmp_path, 'name = "small"\n[fixed]\nrecordcount = 10\n[databases.leveldb]\nblock_size = 4096')
    )
    assert spec.name == "small"
    assert spec.question == "Which one?"
    assert spec.fixed == {"recordcount": 10, "operationcount": 500}
    assert spec.database_options("leveldb")[1] == {"compression": "none", "block_size": 4096}


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('[factors]\ndatabase = ["sqlite"]', ['factors.database=["sqlite"]']),
        ("[fixed]\nthreads = 2", ["fixed.threads=2"]),
        ("[factors]\nrecordcount = [10, 20]", ["factors.recordcount=[10, 20]"]),
        ("[databases.leveldb]\ncompression = 'snappy'", ["databases.leveldb.compression=snappy"]),
        ("[databases]\nleveldb = false", ["databases.leveldb=false"]),
        ("when = []", ["when=[]"]),
        ("[timing]\nidle_s = 1\n[design]\nreplications = 2", ["timing.idle_s=1", "design.replications=2"]),
    ],
)
def test_a_base_is_merged_as_set_merges(tmp_path: Path, text: str, arguments: list[str]) -> None:
    merged, by_set = load_spec(small(tmp_path, text)), load_spec(tmp_path / "base.toml", arguments)
    assert merged == by_set
    assert merged.digest() == by_set.digest()
    assert make_plan(merged) == make_plan(by_set)


def test_a_factor_keeps_its_place_in_the_order(tmp_path: Path) -> None:
    spec = load_spec(small(tmp_path, '[factors]\n"zipfian.theta" = [0.5]\ndatabase = ["leveldb"]'))
    assert list(spec.factors) == ["database", "workload", "threads", "zipfian.theta"]


def test_false_leaves_a_table_of_the_base_out(tmp_path: Path) -> None:
    assert not load_spec(small(tmp_path, "databases = false")).databases
    with pytest.raises(SpecError, match=r"small\.toml:3: databases\.levelbd: "):
        load_spec(small(tmp_path, "[databases]\nlevelbd = false"))


def test_bases_form_a_chain_and_set_comes_last(tmp_path: Path) -> None:
    top = written(
        tmp_path,
        whole=BASE,
        small='base = "whole.toml"\n[fixed]\nrecordcount = 10\noperationcount = 20',
        top='base = "small.toml"\n[fixed]\noperationcount = 30',
    )
    assert load_spec(top).fixed == {"recordcount": 10, "operationcount": 30}
    assert load_spec(top, ["fixed.operationcount=40"]).fixed == {"recordcount": 10, "operationcount": 40}
    with pytest.raises(UsageError, match="--set base: only a file has a base"):
        load_spec(top, ["base=whole.toml"])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"a": '\nbase = "none.toml"'}, r"a\.toml:2: base: no file .*none\.toml$"),
        ({"a": "base = 3"}, r"a\.toml:1: base: expected the path of a spec, relative to this file, got 3"),
        ({"a": 'base = "a.toml"'}, r"a\.toml:1: base: a spec cannot be its own base: .*a\.toml -> .*a\.toml"),
        (
            {"a": 'base = "b.toml"', "b": '\n\nbase = "./b.toml"'},
            r"b\.toml:3: base: a spec cannot be its own base: .*a\.toml -> .*b\.toml -> .*b\.toml",
        ),
        (
            {"c": 'base = "a.toml"', "b": '#\nbase = "c.toml"', "a": 'base = "b.toml"'},
            r"c\.toml:1: base: a spec cannot be its own base: .*a\.toml -> .*b\.toml -> .*c\.toml -> .*a\.toml",
        ),
        ({"b": "[design\n", "a": 'base = "b.toml"'}, r"b\.toml:1: not valid TOML"),
    ],
)
def test_a_base_that_cannot_be_read_is_refused_where_it_is_named(
    tmp_path: Path, texts: dict[str, str], message: str
) -> None:
    written(tmp_path, **texts)
    with pytest.raises(SpecError, match=message):
        load_spec(tmp_path / "a.toml")


@pytest.mark.parametrize(
    ("old", "new", "text", "message"),
    [
        ("replications = 5", "replications = 0", "[timing]\nidle_s = 1", r"base\.toml:29: design\.replications"),
        ("", "", "\n[design]\nreplications = 0", r"small\.toml:4: design\.replications"),
        ("recordcount", "recordcuont", "[fixed]\noperationcount = 3", r"base\.toml:10: fixed\.recordcuont: unknown"),
        ("", "", "[fixed]\nrecordcuont = 3", r"small\.toml:3: fixed\.recordcuont: unknown"),
        ("target = 10", "tagret = 10", "", r"base\.toml:15: when\.set\.tagret: unknown"),
        ("", "", "\n[[when]]\ndatabase = 'sqlite'\nset = { tagret = 1 }", r"small\.toml:5: when\.set\.tagret: unknown"),
        ("[design]", "[dessign]", "[timing]\nidle_s = 1", r"base\.toml:28: dessign: unknown key"),
    ],
)
def test_an_error_names_the_file_that_states_the_value(
    tmp_path: Path, old: str, new: str, text: str, message: str
) -> None:
    path = written(tmp_path, base=BASE.replace(old, new, 1) if old else BASE, small=f'base = "base.toml"\n{text}')
    with pytest.raises(SpecError, match=message):
        load_spec(path)


def test_a_condition_on_a_level_that_was_left_out_is_forgiven_and_one_on_no_level_is_not(tmp_path: Path) -> None:
    assert load_spec(small(tmp_path, '[factors]\ndatabase = ["sqlite"]')).factors["database"] == ["sqlite"]
    wrong = '[[when]]\ndatabase = "sqllite"\nset = { target = 3 }\n[factors]\ndatabase = ["sqlite"]'
    with pytest.raises(SpecError, match=r"small\.toml:\d: when\..*sqllite"):
        load_spec(small(tmp_path, wrong))


def test_a_file_of_properties_lies_beside_the_spec_that_names_it(tmp_path: Path) -> None:
    names = '[workloads.mixed]\nfile = "mine"\n'
    written(tmp_path / "base", base=BASE.replace("[workloads.mixed]\n", names))
    (tmp_path / "base/mine").write_text("scanproportion=0.25\n")
    path = written(tmp_path / "small", small='base = "../base/base.toml"\nname = "small"\n')
    assert load_spec(path).workloads["mixed"] == {
        "scanproportion": 0.25,
        "readproportion": 0.5,
        "updateproportion": 0.5,
    }
    written(tmp_path / "small", small='base = "../base/base.toml"\n[workloads.mixed]\nfile = "mine"')
    with pytest.raises(SpecError, match=r"small\.toml:3: workloads\.mixed\.file: no file .*small/mine"):
        load_spec(path)


COMMAND = """\
name = "command"
question = "?"
[factors]
workload = ["words"]
[fixed]
database = "none"
[workloads.words]
command = ["sort", "{folder}/words.txt"]
files = ["words.txt"]
"""


def test_the_files_of_a_command_lie_beside_the_spec_that_states_it(tmp_path: Path) -> None:
    whole = written(tmp_path / "base", base=COMMAND)
    (tmp_path / "base/words.txt").write_text("b\na\n")
    path = written(tmp_path / "small", small='base = "../base/base.toml"\n[workloads.words]\nwarmup = 1')
    command = load_spec(path).commands["words"]
    assert Path(command.folder or "").samefile(load_spec(whole).commands["words"].folder or "")
    assert set(command.sha256) == {"words.txt", "sort"}
    written(tmp_path / "small", small='base = "../base/base.toml"\n[workloads.words]\nfiles = ["x.txt"]')
    with pytest.raises(SpecError, match=r"small\.toml:3: workloads\.words\.files: .*state both in one folder"):
        load_spec(path)


def test_the_text_that_is_stored_needs_no_other_file(tmp_path: Path) -> None:
    path = small(tmp_path / "there", '[workloads.mixed]\nfile = "mine"\n[factors]\nthreads = [1]')
    (tmp_path / "there/mine").write_text("scanproportion=0.25\n")
    reading = read_spec(path, ["design.replications=1"])
    text = reading.text()
    assert text.startswith("# small.toml on base.toml: merged")
    alone = written(tmp_path / "elsewhere", experiment=text)
    assert "base" not in tomllib.loads(text)
    assert load_spec(alone, ["design.replications=1"]) == reading.spec


def test_the_text_of_a_spec_without_a_base_stays_as_written(tmp_path: Path) -> None:
    assert read_spec(written(tmp_path, base=BASE)).text() == BASE


def test_every_setting_names_the_file_that_states_it(tmp_path: Path) -> None:
    path = small(tmp_path, '[factors]\ndatabase = ["sqlite"]\n[fixed]\nrecordcount = 10')
    stated = {s.key: (s.value, s.source) for s in settings(read_spec(path, ["design.replications=2"]))}
    assert stated["factors.database"] == (["sqlite"], "small.toml:3")
    assert stated["factors.threads"] == ([1, 4], "base.toml:7")
    assert stated["fixed.recordcount"] == (10, "small.toml:5")
    assert stated["fixed.operationcount"] == (500, "base.toml:11")
    assert stated["design.replications"] == (2, "--set")
    assert "databases.leveldb.compression" not in stated, "leveldb is no level any more"


HAVING_A_BASE = sorted(
    path for path in (REPOSITORY / "experiments").glob("*/*.toml") if "base" in tomllib.loads(path.read_text())
)


@pytest.mark.parametrize("path", HAVING_A_BASE, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_an_experiment_with_a_base_equals_its_written_out_form(path: Path, tmp_path: Path) -> None:
    reading = read_spec(path)
    out = load_spec(written(tmp_path, written_out=reading.text()))
    assert out.digest() == reading.spec.digest()
    out, merged = without_folder(out), without_folder(reading.spec)
    assert out == merged
    assert make_plan(out) == make_plan(merged)


def without_folder(spec: Spec) -> Spec:
    """A command knows where its spec lies, and the two lie in different folders."""
    commands = {name: command.model_copy(update={"folder": None}) for name, command in spec.commands.items()}
    return spec.model_copy(update={"workloads": {**spec.workloads, **commands}})


def test_small_experiments_have_a_base() -> None:
    names = {f"{path.parent.name}/{path.name}" for path in HAVING_A_BASE}
    result = (REPOSITORY / "experiments").glob("*/*.toml")
    assert names >= {
        f"{p.parent.name}/{p.name}" for p in result if p.name in ("small.toml", "loop.toml", "memory.toml")
    }
