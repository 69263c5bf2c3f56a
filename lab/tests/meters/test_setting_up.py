"""`edgejoule meters --setup NAME`: the README's section, whatever state the plug-in is in."""

from __future__ import annotations

import json
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from click.testing import CliRunner

from edgejoule.cli.main import main
from edgejoule.meters.discovery import GROUP
from edgejoule.meters.setting_up import section, setting_up


@pytest.mark.parametrize(("name", "message"), [("rapl", "udev"), ("board-profile", "calibrate")])
def test_setup_prints_the_section_of_the_meters_readme(name: str, message: str) -> None:
    result = CliRunner().invoke(main, ["meters", "--setup", name])
    assert result.exit_code == 0
    assert message in result.output
    assert result.output.startswith(f"{name}: ")
    assert "## " not in result.output


@pytest.mark.parametrize("plugin", entry_points(group=GROUP), ids=lambda plugin: plugin.name)
def test_every_meter_has_instructions_for_setting_up(plugin: EntryPoint) -> None:
    assert setting_up(plugin)


def test_setup_as_json_has_the_text_and_the_local_state() -> None:
    facts = json.loads(CliRunner().invoke(main, ["meters", "--setup", "rapl", "--json"]).output)
    assert facts["name"] == "rapl"
    assert "chmod" in facts["setting_up"]
    assert facts["reason"]


def test_an_unknown_meter_lists_the_known() -> None:
    result = CliRunner().invoke(main, ["meters", "--setup", "multimeter"])
    assert result.exit_code == 2
    assert "no meter is called 'multimeter'" in result.output
    assert "rapl" in result.output


def test_the_section_ends_at_the_next_heading_and_not_at_a_comment_in_code() -> None:
    text = "# a\n## Setting up\nwire it\n```\n# no heading\n## nor this\n```\n### more\nyes\n## Next\nno\n"
    assert section(text, "Setting up") == "wire it\n```\n# no heading\n## nor this\n```\n### more\nyes"
    assert section("# a\n## Other\nx", "Setting up") is None


def test_a_plugin_that_cannot_be_imported_still_has_its_instructions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "brokenmeter").mkdir()
    (tmp_path / "brokenmeter" / "__init__.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "brokenmeter" / "README.md").write_text("# b\n\n## Setting up\nInstall it.\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert setting_up(EntryPoint("broken", "brokenmeter:Meter", GROUP)) == "Install it."
    assert setting_up(EntryPoint("absent", "no_such_package_here:Meter", GROUP)) is None
