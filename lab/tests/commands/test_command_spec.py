"""`[workloads.X] command` is read whole or refused with file, line and key; the program is part of its identity."""

from __future__ import annotations

import stat
from pathlib import Path

import jsonschema
import pytest

from edgejoule import toml_text
from edgejoule.errors import SpecError
from edgejoule.experiment.model import Spec, json_schema
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import load_spec

GOOD = """\
name = "programs"
question = "Which one?"

[factors]
workload = ["list", "string"]
level = [1, 9]

[fixed]
database = "none"

[workloads.list]
command = ["gzip", "-{level}", "-k", "{folder}/input.txt"]
files = ["input.txt"]

[workloads.string]
command = "gzip -{level} < input.txt | wc -c"
env = { GZIP_MODE = "fast" }

[responses.size]
regex = '([0-9]+)'
unit = "byte"
better = "lower"
"""


def written(folder: Path, text: str = GOOD) -> Path:
    (folder / "input.txt").write_text("some text\n")
    path = folder / "experiment.toml"
    path.write_text(text)
    return path


def test_a_list_and_a_string_are_read(tmp_path: Path) -> None:
    spec = load_spec(written(tmp_path))
    assert spec.commands["list"].command == ["gzip", "-{level}", "-k", "{folder}/input.txt"]
    assert spec.commands["string"].command == "gzip -{level} < input.txt | wc -c"
    assert spec.known_responses()["size"].unit == "byte"
    assert Spec.model_validate_json(spec.model_dump_json()) == spec
    assert len(make_plan(spec)) == 4 * spec.design.replications


def test_without_declared_responses_the_analysis_is_about_energy_and_time_of_a_run(tmp_path: Path) -> None:
    assert load_spec(written(tmp_path)).analysis.responses == ["energy_j", "active_s"]
    own = load_spec(written(tmp_path, GOOD + '[analysis]\nresponses = ["size"]\n'))
    assert own.analysis.responses == ["size"]


def test_the_schema_knows_both_forms(tmp_path: Path) -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    validator.validate(toml_text.loads(GOOD))
    only_text = GOOD.replace('env = { GZIP_MODE = "fast" }\n', "")
    validator.validate(toml_text.loads(only_text))
    assert list(validator.iter_errors(toml_text.loads(GOOD.replace('"-k"', "7"))))


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "phrase"),
    [
        ('files = ["input.txt"]', 'file = ["input.txt"]', 13, "workloads.list.file", "did you mean 'files'"),
        ('files = ["input.txt"]', 'files = ["gone.txt"]', 13, "workloads.list.files", "gone.txt: cannot be read"),
        ('files = ["input.txt"]', 'shell = "/bin/bash"', 13, "workloads.list.shell", "without a shell"),
        ('files = ["input.txt"]', "servers = []", 13, "workloads.list.servers", "no server is named"),
        ('files = ["input.txt"]', "sha256 = {}", 11, "workloads.list.files", "filled in when"),
        (
            'files = ["input.txt"]',
            "warmup = -1",
            13,
            "workloads.list.warmup",
            "expected a number of at least 0, got -1",
        ),
        ('files = ["input.txt"]', 'phase = "("', 13, "workloads.list.phase", "no regular expression"),
        ('"-{level}", "-k"', '"-{levle}", "-{level}"', 12, "workloads.list.command", "did you mean 'level'"),
        ('"-{level}", "-k"', '"{host}", "-{level}"', 11, "workloads.list", "need a database server"),
        ('command = ["gzip", "-{level}"', 'command = ["gzip"', 6, "factors.level", "changes nothing for workload"),
        ("level = [1, 9]", "level = [1, 1]", 6, "factors.level", "same level twice"),
        ('database = "none"', 'database = "none"\nrecordcount = 5', 10, "fixed.recordcount", "changes nothing"),
        ('database = "none"', 'database = "none"\ndurability = "power"', 10, "fixed.durability", "changes nothing"),
        ('database = "none"', 'database = "none"\nhost = "a"', 10, "fixed.host", "filled in by the run"),
        ("regex = '([0-9]+)'", "regex = '[0-9]+'", 20, "responses.size.regex", "no group"),
        ("regex = '([0-9]+)'", "", 19, "responses.size", "either regex or json"),
        ("regex = '([0-9]+)'", 'json = "a.b"', 20, "responses.size.json", "a path like $.results"),
        ("[responses.size]", "[responses.active_s]", 19, "responses.active_s", "already"),
        ("[responses.size]", '[design]\nload = "cell"\n[responses.size]', 20, "design.load", "its own copy"),
        ('env = { GZIP_MODE = "fast" }', 'setup = "true"', 17, "workloads.string.setup", "one-after-another"),
        ('env = { GZIP_MODE = "fast" }', 'output = "discard"', 19, "responses.size", "no figure can be read"),
    ],
)
def test_an_error_is_reported_with_file_line_and_key(
    tmp_path: Path, old: str, new: str, line: int, key: str, phrase: str
) -> None:
    assert old in GOOD
    with pytest.raises(SpecError) as refused:
        load_spec(written(tmp_path, GOOD.replace(old, new, 1)))
    assert (refused.value.key, phrase in str(refused.value)) == (key, True), str(refused.value)
    assert refused.value.line == line, str(refused.value)


def test_none_is_no_database_for_the_drivers_workloads(tmp_path: Path) -> None:
    text = 'name = "x"\nquestion = "?"\n[factors]\ndatabase = ["none"]\nworkload = ["workloada"]\n'
    with pytest.raises(SpecError, match=r"experiment.toml:4: factors.database: .none. is for commands"):
        load_spec(written(tmp_path, text))


def test_braces_of_a_shell_and_doubled_ones_are_no_placeholders(tmp_path: Path) -> None:
    load_spec(written(tmp_path, GOOD.replace("| wc -c", "| wc -c; echo ${HOME} {{level}} '{print $1}'")))


def program(folder: Path, text: str) -> Path:
    path = folder / "program.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_digest_covers_argv_environment_program_and_files(tmp_path: Path) -> None:
    text = GOOD.replace('command = ["gzip"', 'command = ["./program.sh"')
    program(tmp_path, "exit 0")
    seen = {load_spec(written(tmp_path, text)).digest()}
    seen.add(load_spec(written(tmp_path, text.replace('"-k"', '"-f"'))).digest())
    seen.add(load_spec(written(tmp_path, text.replace('"fast"', '"slow"'))).digest())
    program(tmp_path, "exit 1")
    seen.add(load_spec(written(tmp_path, text)).digest())
    path = written(tmp_path, text)
    (tmp_path / "input.txt").write_text("another text\n")
    seen.add(load_spec(path).digest())
    assert len(seen) == 5


def test_the_digest_is_the_same_in_another_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = load_spec(written(tmp_path / "a")), load_spec(written(tmp_path / "b"))
    assert one.digest() == other.digest()


def test_values_of_undeclared_environment_variables_are_not_in_the_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN_OF_SOMEBODY", "secret-4711")
    assert "secret-4711" not in load_spec(written(tmp_path)).model_dump_json()


def test_one_after_another_ends_a_cell_before_the_next_and_a_stage_before_its_second(tmp_path: Path) -> None:
    text = GOOD + '[design]\nreplications = 3\norder = "one-after-another"\n'
    plan = make_plan(load_spec(written(tmp_path, text)))
    assert [run.block for run in plan] == [0, 1, 2] * 4
    assert [run.index for run in plan] == list(range(12))
    stein = text + 'sequential = { kind = "stein", first = 2, precision = 1.05 }\n'
    assert [run.block for run in make_plan(load_spec(written(tmp_path, stein)))] == [0, 1] * 4 + [2] * 4
    budget = stein.replace("first = 2", "first = 4, budget_s = 60").replace("replications = 3", "replications = 5")
    blocks = [run.block for run in make_plan(load_spec(written(tmp_path, budget)))]
    assert blocks == [0, 1, 2] * 4 + [3] * 4 + [4] * 4, "the look at the budget comes after three blocks of every cell"
