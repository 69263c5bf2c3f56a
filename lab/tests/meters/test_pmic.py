"""The Raspberry Pi 5's power management chip by its command's text."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Meter
from edgejoule.meters.plugins.pmic import Pmic
from edgejoule.meters.plugins.pmic.protocol import rail_powers_w
from edgejoule.meters.transport.commands import run_text
from edgejoule.testing.instruments.pmic import adc_text

from .emulation import Clock

# jfikar/RPi5-power, README.md, "The command to read PMIC is": a real board with all cores busy
REAL = """\
 3V7_WL_SW_A current(0)=0.00000000A
   3V3_SYS_A current(1)=0.06245952A
   1V8_SYS_A current(2)=0.16102850A
  DDR_VDD2_A current(3)=0.00780744A
  DDR_VDDQ_A current(4)=0.00000000A
   1V1_SYS_A current(5)=0.17566740A
    0V8_SW_A current(6)=0.32791250A
  VDD_CORE_A current(7)=10.87674000A
   3V3_DAC_A current(17)=0.00036630A
   3V3_ADC_A current(18)=0.00042735A
   0V8_AON_A current(16)=0.00579975A
      HDMI_A current(22)=0.01367520A
 3V7_WL_SW_V volt(8)=3.79999600V
   3V3_SYS_V volt(9)=3.30632200V
   1V8_SYS_V volt(10)=1.79828900V
  DDR_VDD2_V volt(11)=1.10292900V
  DDR_VDDQ_V volt(12)=0.60476130V
   1V1_SYS_V volt(13)=1.10439400V
    0V8_SW_V volt(14)=0.80256330V
  VDD_CORE_V volt(15)=0.89745940V
   3V3_DAC_V volt(20)=3.30494200V
   3V3_ADC_V volt(21)=3.30219400V
   0V8_AON_V volt(19)=0.79736190V
      HDMI_V volt(23)=5.07056000V
     EXT5V_V volt(24)=5.06788000V
      BATT_V volt(25)=3.01110800V
"""
REAL_SUM_W = (
    10.7999  # by hand: 9.7614 of VDD_CORE, 0.2065, 0.2896, 0.0086, 0.1940, 0.2632, 0.0012, 0.0014, 0.0046, 0.0693
)


def meter(*texts: str | OSError) -> Pmic:
    answers = iter(texts)

    def run(command: Sequence[str]) -> str:
        assert list(command) == ["vcgencmd", "pmic_read_adc"]
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    return Pmic(run=run, clock_ns=Clock())


def test_follows_the_meter_contract() -> None:
    assert isinstance(meter(), Meter)


def test_a_real_boards_text_is_the_sum_of_twelve_rails_with_the_correction() -> None:
    powers_w = rail_powers_w(REAL)
    assert len(powers_w) == 12
    assert sum(powers_w.values()) == pytest.approx(REAL_SUM_W, abs=0.0005)
    pmic = meter(REAL, REAL, REAL)
    pmic.open()
    assert pmic.poll()[0].value == pytest.approx(REAL_SUM_W * 1.1451 + 0.5879, abs=0.0005)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace("_V volt", "_A volt"),
        lambda text: text.replace("EXT5V_V volt(24)=5.06788000V\n", "EXT5V_A current(24)=1.0A\n"),
        lambda text: text.replace("0.89745940V", "0.89745940A"),
        lambda text: text.replace("0.89745940V", "-0.8V"),
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: 'error=1 error_msg="Command not registered"\n',
    ],
)
def test_a_text_that_is_not_whole_is_refused(spoil) -> None:
    with pytest.raises(ValueError, match="expected"):
        rail_powers_w(spoil(REAL))


def test_a_reading_with_a_rail_less_is_missing() -> None:
    less = "".join(line for line in REAL.splitlines(keepends=True) if "VDD_CORE" not in line)
    pmic = meter(REAL, REAL, less, OSError("vcgencmd has not answered"), REAL)
    pmic.open()
    result = [pmic.poll()[0] for _ in range(3)]
    assert [sample.value is None for sample in result] == [True, True, False]
    assert "VDD_CORE" in (result[0].missing_reason or "")


def test_probe_declines_off_a_pi_and_on_an_older_one() -> None:
    assert "only Raspberry Pis" in meter(FileNotFoundError(2, "none")).probe().reason
    said = meter('error=1 error_msg="Command not registered"\n').probe()
    assert not said.available
    assert "Raspberry Pi 5" in (said.fix or "")
    with pytest.raises(MeterError, match="pmic_read_adc"):
        meter("x").open()
    with pytest.raises(MeterError, match="expected a line"):
        meter(REAL, "x").open()


def test_a_correction_out_of_range_is_refused() -> None:
    with pytest.raises(UsageError, match="slope"):
        Pmic(slope=-1.0)


def test_a_real_program_is_run_and_its_failures_are_reported(tmp_path: Path) -> None:
    program = tmp_path / "vcgencmd"
    text = tmp_path / "text"
    text.write_text(adc_text(4.0))
    program.write_text(f"#!/bin/sh\ncat {text}\n")
    program.chmod(stat.S_IRWXU)
    pmic = Pmic(run=lambda command: run_text([str(program), *command[1:]]))
    assert pmic.probe().available
    program.write_text("#!/bin/sh\necho 'VCHI initialization failed' >&2; exit 255\n")
    assert "status 255: VCHI initialization failed" in pmic.probe().reason
    program.write_text("#!/bin/sh\nexec sleep 5\n")
    assert "has not answered" in pmic.probe().reason
