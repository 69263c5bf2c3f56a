"""`edgejoule meters`: what a user sees."""

from __future__ import annotations

import json
import re

from click.testing import CliRunner

from edgejoule.cli.main import main


def test_lists_every_meter_and_reports_which_energy_this_is() -> None:
    result = CliRunner().invoke(main, ["meters", "--profile", "raspberry-pi-3b"])
    assert result.exit_code == 0
    assert "rapl" in result.output
    assert "board-profile" in result.output
    assert re.search(r"^Energy: (MEASURED|COUNTED|MODELLED) .*\.$", result.output, re.MULTILINE)


def test_json_has_the_same_facts() -> None:
    result = CliRunner().invoke(main, ["meters", "--json"])
    facts = json.loads(result.output)
    assert {"rapl", "board-profile"} <= {meter["name"] for meter in facts["meters"]}
    taken = next(meter for meter in facts["meters"] if meter["name"] == facts["taken"])
    assert taken["available"]
    assert taken["method"].upper() in facts["sentence"]
    for meter in facts["meters"]:
        assert meter["reason"]


def test_an_unknown_profile_is_a_usage_error_that_lists_the_known() -> None:
    result = CliRunner().invoke(main, ["meters", "--profile", "pi9"])
    assert result.exit_code == 2
    assert "no profile is called 'pi9'" in result.output
    assert "raspberry-pi-4b" in result.output
