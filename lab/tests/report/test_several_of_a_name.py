"""A name that several experiments have is never taken for one of them without a word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edgejoule.cli.main import main
from edgejoule.export.bundle import import_bundle, write_bundle
from edgejoule.store import Store


@pytest.fixture
def store(make_store: Callable[..., Store], tmp_path: Path) -> Path:
    """Two experiments of one name: the first is complete, of the second 3 of 4 runs are left."""
    small = {"databases": ("sqlite", "leveldb"), "workloads": ("read",), "blocks": 2}
    whole, part = make_store(**small), make_store(**small, planned_only=frozenset({1, 2, 3}), seed=8)
    write_bundle(part.path, part.find(), tmp_path / "part.zip")
    import_bundle(tmp_path / "part.zip", whole.path)
    return whole.path


def invoke(store: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--store", str(store)])


def test_show_lists_them_with_number_date_and_how_much_of_each_is_done(store: Path) -> None:
    shown = invoke(store, "show", "synthetic")
    assert shown.exit_code == 0
    rows = [line.split() for line in shown.output.splitlines() if "synthetic" in line]
    assert [row[0] for row in rows] == ["1", "2"]
    assert [row[4:7] for row in rows] == [["4", "0", "0"], ["1", "0", "3"]]
    assert "`edgejoule show ID` shows one" in shown.output


@pytest.mark.parametrize(
    "arguments", [["report"], ["export", "--csv"], ["show", "--json"], ["show", "--run", "1"]], ids=" ".join
)
def test_other_commands_ask_for_a_number(store: Path, arguments: list[str]) -> None:
    command, *options = arguments
    refused = invoke(store, command, "synthetic", *options)
    assert refused.exit_code == 2
    said = " ".join(refused.output.split())
    assert "2 experiments have the name 'synthetic': 1 (" in said
    assert "4 of 4 runs finished); 2 (" in said
    assert "1 of 4 runs finished). Give a number" in said


def test_a_number_or_latest_still_means_one_and_what_is_missing_is_reported(store: Path) -> None:
    assert "Not complete" not in invoke(store, "show", "1").output
    assert "Not complete: 1 of 4 runs finished" in invoke(store, "show", "latest").output
    assert invoke(store, "report", "2").exit_code == 0
