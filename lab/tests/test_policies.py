"""The names of eco's policies: one list, eco/core/policy.h, of which policies.json is a copy for other languages."""

from __future__ import annotations

import subprocess
from importlib import resources
from pathlib import Path

import pytest

from edgejoule.dictionary.properties import POLICIES
from edgejoule.eco.pictures import _STYLES

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/bin/eco-policies"


@pytest.mark.skipif(not PROGRAM.exists(), reason="eco is not built")
def test_policies_json_has_the_names_that_eco_knows() -> None:
    printed = subprocess.run([str(PROGRAM)], capture_output=True, text=True, check=True).stdout
    assert (ROOT / "schemas/policies.json").read_text() == printed, "run: make schemas"


def test_the_package_ships_the_policies_of_the_dictionary() -> None:
    shipped = resources.files("edgejoule").joinpath("policies.json").read_text()
    assert shipped == (ROOT / "schemas/policies.json").read_text()


def test_policies_have_different_colours() -> None:
    assert set(_STYLES) == set(POLICIES)
    assert len(set(_STYLES.values())) == len(POLICIES)
