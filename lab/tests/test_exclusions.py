"""Settings that cannot be together: the message has file, line and key of both, and says which one to change."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from edgejoule.databases.checks import check_plan
from edgejoule.errors import SpecError, UsageError
from edgejoule.experiment.exclusions import Exclusion
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import read_spec

#: A line each, so that a message's lines are those of this text.
SPEC = """\
name = "exclusions"
question = "?"
[factors]
database = ["sqlite"]
workload = ["mixed"]
[fixed]
recordcount = 1000
operationcount = 1000
[workloads.mixed]
readproportion = 0.5
updateproportion = 0.5
[design]
replications = 3
[analysis]
scale = "log"
"""


def checked(path: Path) -> None:
    reading = read_spec(path)
    with reading.located():
        check_plan(reading.spec, make_plan(reading.spec))


def message_of(folder: Path, text: str) -> str:
    path = folder / "s.toml"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        checked(path)
    return str(caught.value).replace(f"{path}", "s.toml")


def with_lines(**tables: str) -> str:
    """Adds lines at the end of tables."""
    text = SPEC
    for table, lines in tables.items():
        head, mark, rest = text.partition(f"[{table}]\n")
        text = f"{head}{mark}{lines}\n{rest}" if mark else f"{text}[{table}]\n{lines}\n"
    return text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            with_lines(fixed='rate = "10"\ntarget = 5'),
            "s.toml:7: fixed.rate: excludes fixed.target (s.toml:8): either a rate or a target, not both; remove the "
            "target to keep the schedule",
        ),
        (
            with_lines(factors='update = ["merge", "put"]'),
            "s.toml:4: factors.update: an update of one field would lose the others; set writeallfields = true, or "
            'update = "merge"',
        ),
        (
            with_lines(fixed='cache = "cold"', factors="warmup_s = [1, 2]"),
            "s.toml:8: fixed.cache: excludes factors.warmup_s (s.toml:4): the warm-up would fill the cold cache; set "
            'warmup_s = 0 to keep it cold, or cache = "warm"',
        ),
        (
            with_lines(fixed="load_percent = 20", design='load = "cell"'),
            "s.toml:14: design.load: excludes fixed.load_percent (s.toml:7): each level of a load curve needs "
            "its own load; "
            'set load = "run"',
        ),
        (
            with_lines(workloads="")
            .replace("updateproportion", "insertproportion")
            .replace("3\n", '3\nload = "cell"\n'),
            "s.toml:14: design.load: excludes workloads.mixed.insertproportion (s.toml:11): cell: workload "
            "'mixed' inserts, "
            'and the next run on the same load would insert the same keys again; set load = "run", or '
            "insertproportion = 0",
        ),
        (
            with_lines(design="loads = 2"),
            "s.toml:13: design.loads: excludes design.load (s.toml:12): a run or a block has one load; set load = "
            '"cell" for more',
        ),
        (
            with_lines(design="loads = 9\nload = 'cell'"),
            "s.toml:13: design.loads: excludes design.replications (s.toml:15): every load needs a run; set "
            "loads to at "
            "most 3, or replications to 9",
        ),
        (
            with_lines(fixed='"redis.host" = "db.example"')
            .replace('"sqlite"', '"redis"')
            .replace("updateproportion", "insertproportion"),
            "s.toml:12: workloads.mixed.insertproportion: excludes fixed.redis.host (s.toml:7): a run with it "
            "changes the rows on a server that you run, and the next run would begin with the changed rows; set "
            "insertproportion = 0, or remove redis.host to let the study start redis",
        ),
        (
            with_lines(fixed="memory_limit_mb = 100").replace('"sqlite"', '"noop"'),
            "s.toml:7: fixed.memory_limit_mb: excludes factors.database (s.toml:4): noop has no data that memory "
            "could be "
            "short for; remove memory_limit_mb, or set it by [[when]]",
        ),
        (
            with_lines(analysis='margin = 1.05\ntest = "kruskal-dunn-holm"'),
            "s.toml:15: analysis.margin: excludes analysis.test (s.toml:16): ranks have no distances; declare tukey or "
            "games-howell to call groups the same, or remove the margin",
        ),
        (
            SPEC.replace('"sqlite"', '"sqlit"'),
            "s.toml:4: factors.database: unknown database 'sqlit'; did you mean 'sqlite'?",
        ),
        (
            SPEC.replace('"sqlite"', '"wal"') + '[databases.wal]\nadapter = "sqlite"\njornal_mode = "wal"\n',
            "s.toml:18: databases.wal.jornal_mode: unknown option; did you mean 'journal_mode'?",
        ),
        (
            with_lines(fixed='"sqlit.journal_mode" = "wal"'),
            "s.toml:7: fixed.sqlit.journal_mode: no run uses a database 'sqlit'; did you mean 'sqlite'?",
        ),
        (
            SPEC.replace("recordcount = 1000\n", ""),
            "s.toml:5: factors.workload: recordcount is missing: how many records are in the database? Give it under "
            "[fixed]",
        ),
    ],
)
def test_both_settings_have_their_place_and_one_is_to_change(tmp_path: Path, text: str, message: str) -> None:
    assert message_of(tmp_path, text) == message


def test_the_other_setting_may_be_in_another_file_or_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(with_lines(fixed="target = 5"))
    own = tmp_path / "own.toml"
    own.write_text('base = "base.toml"\n[fixed]\nrate = "10"\n')
    with pytest.raises(
        SpecError, match=re.escape(f"{own}:3: fixed.rate: excludes fixed.target ({tmp_path}/base.toml:7)")
    ):
        read_spec(own)
    with pytest.raises(SpecError, match=re.escape("fixed.rate: excludes fixed.target (--set)")):
        read_spec(own, ["fixed.target=7"])
    with pytest.raises(
        SpecError, match=re.escape(f"--set: fixed.rate: excludes fixed.target ({tmp_path}/base.toml:7)")
    ):
        read_spec(tmp_path / "base.toml", ["fixed.rate='10'"])


def test_without_files_both_are_named(tmp_path: Path) -> None:
    text = with_lines(fixed="memory_limit_mb = 100").replace('"sqlite"', '"noop"')
    (tmp_path / "s.toml").write_text(text)
    spec = read_spec(tmp_path / "s.toml").spec
    with pytest.raises(UsageError, match="noop · mixed: memory_limit_mb excludes database: noop has no data"):
        check_plan(spec, make_plan(spec))
    assert json.dumps(Exclusion("fixed.target", "why; change")) == '"excludes fixed.target: why; change"'
