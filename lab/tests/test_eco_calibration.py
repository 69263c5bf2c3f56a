"""Costs fitted to what eco-calibrate measured. The oracle: the fit that eco-calibrate itself had before."""

from __future__ import annotations

import json
import random
import subprocess
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from edgejoule.cli.main import main
from edgejoule.eco import calibration as eco_calibration
from edgejoule.eco.calibration import fit
from edgejoule.eco.sweep import find_program
from edgejoule.errors import DataError, UsageError

MEASURED = Path(__file__).parent / "data/eco-calibrate.json"

# By eco-calibrate's own fit (C++, until 2026-11-24), of MEASURED.
BEFORE = {
    "puts": [3.638464890555015e-06, 1.2809654441102962e-09],
    "memtables": [33.77888641055295, 0.03439954759672483],
    "NoCompression flushes": [5.42915622136626e-07, 1.675470648515405e-09],
    "NoCompression compactions": [0.0, 2.635890998721464e-07, 5.228023660389104e-10, 1.7317683312499565e-09],
    "NoCompression worker": [0.05259393379973147, 2.790388553045901e-10],
    "Snappy flushes": [5.651396695298762e-07, 2.2314537331534417e-09],
    "Snappy compactions": [0.0005281817196691558, 2.4934852659668505e-07, 8.149644227907921e-10, 3.926968017250871e-09],
    "Snappy worker": [0.0004500983319646734, 7.823207245441968e-09],
}
HOME_BEFORE = [3.0212755424628493e-09, 1.4788831894609564e-11]


def measured() -> dict:
    return eco_calibration.read_measured(MEASURED)


@pytest.mark.parametrize("figures", BEFORE)
def test_figures_are_those_that_eco_calibrate_fitted_itself(figures: str) -> None:
    content, parts = measured(), figures.split()
    observations = content[parts[0]] if len(parts) == 1 else content["codecs"][parts[0]][parts[1]]
    assert fit(observations, len(BEFORE[figures])).coefficients == pytest.approx(BEFORE[figures], rel=1e-6)


def test_what_stays_at_home_is_fitted_over_all_codecs() -> None:
    observations = [one for of in measured()["codecs"].values() for one in of["home"]]
    assert fit(observations, 2).coefficients == pytest.approx(HOME_BEFORE, rel=1e-6)


def test_a_law_that_the_observations_obey_is_recovered() -> None:
    law = (2e-3, 3e-7, 4e-9, 1e-9)
    terms = [(1, e, b, out * b) for e in (1e3, 1e5, 1e6) for b in (1e6, 1e7, 1e8) for out in (0.2, 1.0)]
    observations = [{"terms": t, "observed": sum(a * b for a, b in zip(law, t, strict=True))} for t in terms]
    fitted = fit(observations, 4)
    assert fitted.coefficients == pytest.approx(law, rel=1e-6)
    assert fitted.errors[-1] < 1e-6


def test_no_coefficient_is_below_0_and_none_better_lies_nearby() -> None:
    dice = random.Random(7)

    def squares(observations: list, coefficients: list) -> float:
        return sum(
            (sum(c * t for c, t in zip(coefficients, one["terms"], strict=True)) / one["observed"] - 1) ** 2
            for one in observations
        )

    for case in range(100):
        observations = [
            {"terms": [dice.randrange(1000) for _ in range(4)], "observed": 1 + dice.randrange(1000)} for _ in range(12)
        ]
        best = list(fit(observations, 4).coefficients)
        assert min(best) >= 0, f"seed 7, case {case}"
        for i in range(4):
            for step in (1e-3, -1e-3):
                moved = [*best[:i], max(0.0, best[i] + step), *best[i + 1 :]]
                assert squares(observations, moved) >= squares(observations, best) - 1e-9, f"seed 7, case {case}"


def test_errors_are_relative_and_ascending() -> None:
    fitted = fit([{"terms": [1], "observed": 0.9 if i % 2 else 1.1} for i in range(100)], 1)
    assert fitted.errors[50] == pytest.approx(0.1, abs=0.02)
    assert list(fitted.errors) == sorted(fitted.errors)


def test_what_is_proportional_to_another_term_or_was_observed_as_0_changes_nothing() -> None:
    observations = [{"terms": [0, i, 10 * i], "observed": 20 * i} for i in range(1, 10)]
    fitted = fit([*observations, {"terms": [0, 5, 7], "observed": 0}], 3)
    assert len(fitted.errors) == 9
    assert fitted.coefficients[0] == 0
    assert fitted.coefficients[1] + 10 * fitted.coefficients[2] == pytest.approx(20)


def test_the_calibration_has_the_figures_in_their_units_and_how_far_they_scatter(tmp_path: Path) -> None:
    target = tmp_path / "calibration.toml"
    done = CliRunner().invoke(main, ["eco", "calibration", str(MEASURED), "--out", str(target)])
    assert done.exit_code == 0, done.output
    content = tomllib.loads(target.read_text())
    reference = content["costs"]["reference"]
    assert reference["put_us"] == 3.638
    assert reference["flush_ns_per_byte"] == 2.231, "of Snappy, the first codec"
    assert reference["transfer_ns_per_byte"] == 3.021
    assert reference["verify_ns_per_byte"] == 0, "receiving and verifying took less than sending"
    assert content["codecs"]["NoCompression"]["compaction_us"] == 0
    assert "\nput                             8 observations, " in content["method"]
    assert "rounds differ by 0 % of their median" in content["method"]
    assert "eco-calibrate --value-bytes 100" in content["method"]


def test_without_offloaded_jobs_the_bytes_keep_assumed_costs_which_the_method_says() -> None:
    content = measured()
    for of in content["codecs"].values():
        of["home"] = of["worker"] = []
    calibration = tomllib.loads(eco_calibration.calibration_toml(content))
    assert calibration["costs"]["reference"]["transfer_ns_per_byte"] == 0.7
    assert "worker_us" not in calibration["costs"]["reference"]
    assert "assumed, nothing was offloaded" in calibration["method"]


def test_another_file_than_measurements_is_refused(tmp_path: Path) -> None:
    for text in ("", "[]", '{"schema_version": 2, "reference_codec": "ZSTD"}'):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(DataError, match=r"x\.json: .*expected the JSON that eco-calibrate --out writes"):
            eco_calibration.read_measured(tmp_path / "x.json")


def test_eco_sim_reads_the_calibration(tmp_path: Path) -> None:
    try:
        eco_sim = find_program(None)
    except UsageError as error:
        pytest.skip(str(error))
    (tmp_path / "calibration.toml").write_text(eco_calibration.calibration_toml(measured()))
    figures = ("cores", "speed", "link_gbit_s", "slots", "idle_w", "busy_core_w", "transfer_nj_per_byte")
    tier = "".join(f"{key} = 1\n" for key in figures)
    sources = "".join(f'{key} = "-"\n' for key in figures)
    (tmp_path / "tiers.toml").write_text(f"schema_version = 1\n[tiers.here]\n{tier}[tiers.here.sources]\n{sources}")
    (tmp_path / "experiment.toml").write_text(
        'schema_version = 1\nname = "n"\nquestion = "q"\ntiers = "tiers.toml"\ncalibration = "calibration.toml"\n'
        '[run]\nduration_s = 10\n[workloads.fill]\nkind = "fillrandom"\n[[servers]]\nname = "a"\ntier = "here"\n'
    )
    ran = subprocess.run(
        [eco_sim, "run", tmp_path / "experiment.toml", "--json", tmp_path / "out.json"], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads((tmp_path / "out.json").read_text())["runs"][0]["total"]["writes_ops_s"] > 0
