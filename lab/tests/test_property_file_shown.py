"""The properties of a workload's file are in the dry-run, the stored text, the report, the bundle and the table."""

from __future__ import annotations

import csv
import html
import re
import tomllib
import zipfile
from pathlib import Path

from click.testing import CliRunner

from edgejoule.cli.main import main
from edgejoule.experiment.inlined import with_properties
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import SpecReading, load_spec, read_spec
from edgejoule.store import Run, RunData, Store

SPEC = """\
name = "mine"
question = "?"
[factors]
database = ["sqlite", "noop"]
[fixed]
workload = "one"
maxexecutiontime = 1
[workloads.one]  # ours
file = "my.properties"
fieldlength = 7
[design]
replications = 1
"""
PROPERTIES = "# ours\nrecordcount=20000\nfieldlength=100\n\nreadproportion=0.7\nthreadcount=16\ntarget=1500\n"
ENERGY = {"energy_words": "Energy here is COUNTED.", "energy_min_ratio": None}


def folder(tmp_path: Path, text: str = SPEC) -> Path:
    (tmp_path / "my.properties").write_text(PROPERTIES)
    path = tmp_path / "experiment.toml"
    path.write_text(text)
    return path


def ran(reading: SpecReading, path: Path) -> Path:
    """Returns a store with the experiment, and its runs without figures."""
    with Store.open(path, create=True) as store:
        plan = make_plan(reading.spec)
        experiment = store.create_experiment(reading.spec, reading.text(), plan, environment={}, **ENERGY)  # type: ignore[arg-type]
        for planned in plan:
            run = Run(planned.index, planned.block, planned.levels, "failed", cause="none was made")
            store.record(experiment, run, RunData([], [], []))
    return path


def output(*words: object) -> str:
    result = CliRunner().invoke(main, list(map(str, words)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_dry_run_shows_each_property_with_the_file_and_line(tmp_path: Path) -> None:
    rows = [re.split(r"  +", line.strip()) for line in output("run", folder(tmp_path), "--dry-run").splitlines()]
    assert ["workloads.one.recordcount", "my.properties:2", "20000"] in rows
    assert ["workloads.one.fieldlength", "experiment.toml:10", "7"] in rows
    assert ["workloads.one.readproportion", "my.properties:5", "0.7"] in rows
    assert ["workloads.one.threads", "my.properties:6", "16"] in rows
    assert ["workloads.one.target", "my.properties:7", "1500"] in rows


def test_the_stored_text_needs_no_property_file_and_is_the_same_experiment(tmp_path: Path) -> None:
    reading = read_spec(folder(tmp_path))
    text = reading.text()
    assert '# file = "my.properties"' in text
    assert "threads = 16  # my.properties:6" in text
    assert text.count("fieldlength") == 1
    (tmp_path / "alone").mkdir()
    alone = tmp_path / "alone/experiment.toml"
    alone.write_text(text)
    assert load_spec(alone).digest() == reading.spec.digest()  # --resume identifies the experiment by it
    assert read_spec(alone).text() == text


def test_a_file_in_an_inline_table_is_inlined_too(tmp_path: Path) -> None:
    table = '[workloads.one]  # ours\nfile = "my.properties"\nfieldlength = 7\n'
    inline = '[workloads]\none = { file = "my.properties", fieldlength = 7 }\n'
    reading = read_spec(folder(tmp_path, SPEC.replace(table, inline)))
    assert tomllib.loads(reading.text())["workloads"] == reading.spec.workloads


def test_options_of_databases_are_inlined_in_quotes() -> None:
    text = 'a = 1\n[workloads.one]\nfile = "f"\n[workloads.two]\nfile = "g"\n'
    own = {"one": {"sqlite.cache_bytes": 5}, "two": {"table": 'a"b'}}
    assert tomllib.loads(with_properties(text, own)) == {"a": 1, "workloads": own}


def test_a_bundle_can_be_planned_in_an_empty_folder(tmp_path: Path) -> None:
    store = ran(read_spec(folder(tmp_path)), tmp_path / "store.db")
    output("export", "--bundle", tmp_path / "mine.zip", "--store", store)
    (tmp_path / "alone").mkdir()
    with zipfile.ZipFile(tmp_path / "mine.zip") as archive:
        archive.extract("experiment.toml", tmp_path / "alone")
    assert "workloads.one.threads" in output("run", tmp_path / "alone", "--dry-run")


def test_the_table_of_runs_has_the_settings_of_the_workload(tmp_path: Path) -> None:
    rules = '[[when]]\ndatabase = "noop"\nset = { threads = 8 }\n'
    store = ran(read_spec(folder(tmp_path, SPEC + rules)), tmp_path / "store.db")
    rows = list(csv.DictReader(output("export", "--csv", "--store", store).splitlines()))
    assert {row["database"]: row["threads"] for row in rows} == {"sqlite": "16", "noop": "8"}
    assert {(row["recordcount"], row["target"], row["maxexecutiontime"]) for row in rows} == {("20000", "1500", "1")}


def test_the_report_shows_the_properties_and_a_text_that_can_be_run(tmp_path: Path) -> None:
    reading = read_spec(folder(tmp_path))
    store = ran(reading, tmp_path / "store.db")
    output("report", "--store", store, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    plan = html.unescape(page[page.index("<h3>Plan</h3>") : page.index("<h3>Environment</h3>")])
    assert "<dt>workload one</dt><dd>" in plan
    for setting in ("recordcount = 20000", "readproportion = 0.7", "threads = 16", "target = 1500"):
        assert setting in plan
    spec = re.search(r"<summary>experiment.toml</summary><pre>(.*?)</pre>", page, re.DOTALL)
    assert spec is not None
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone/experiment.toml").write_text(html.unescape(spec[1]))
    assert load_spec(tmp_path / "alone/experiment.toml") == reading.spec
