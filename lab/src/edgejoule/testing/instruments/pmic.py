"""An emulated `vcgencmd pmic_read_adc` with known joules: the text of a Raspberry Pi 5 with other currents.

Names, channel numbers, voltages and the form of the lines are those of the text in jfikar/RPi5-power, README.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edgejoule.meters.plugins.pmic.meter import GAIN_REL, INTERCEPT_W, OFFSET_W, SLOPE, Pmic
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import Circuit, Evidence, Fault, Instrument, Rig

RAILS = (  # name, channels of current and voltage, V, share of the sum
    ("3V7_WL_SW", 0, 8, 3.799996, 0.01),
    ("3V3_SYS", 1, 9, 3.306322, 0.05),
    ("1V8_SYS", 2, 10, 1.798289, 0.07),
    ("DDR_VDD2", 3, 11, 1.102929, 0.02),
    ("DDR_VDDQ", 4, 12, 0.6047613, 0.01),
    ("1V1_SYS", 5, 13, 1.104394, 0.05),
    ("0V8_SW", 6, 14, 0.8025633, 0.06),
    ("VDD_CORE", 7, 15, 0.8974594, 0.7),
    ("3V3_DAC", 17, 20, 3.304942, 0.005),
    ("3V3_ADC", 18, 21, 3.302194, 0.005),
    ("0V8_AON", 16, 19, 0.7973619, 0.01),
    ("HDMI", 22, 23, 5.07056, 0.01),
)


def adc_text(sum_w: float) -> str:
    """The command's output while the rails draw this much together."""
    amps = [f"{name}_A current({a})={sum_w * share / volt:.8f}A" for name, a, _, volt, share in RAILS]
    volts = [f"{name}_V volt({v})={volt:.8f}V" for name, _, v, volt, _ in RAILS]
    lines = [*amps, *volts, "EXT5V_V volt(24)=5.06788000V", "BATT_V volt(25)=3.01110800V"]
    return "\n".join(f"{line:>30}" for line in lines) + "\n"


class _Chip(Device):
    def run(self, command: Sequence[str]) -> str:
        assert tuple(command) == ("vcgencmd", "pmic_read_adc"), command
        circuit, rng = self._circuit, self._circuit.rng
        if self.now_s > 0:
            if self.gone:
                raise FileNotFoundError(2, "No such file or directory")
            if Fault.DROPOUT in circuit.faults and rng.random() < 0.03:
                raise OSError("vcgencmd has not answered within 0.15 s")
        text = adc_text((self.shown_w(float(circuit.load.power_w(self.now_s))) - INTERCEPT_W) / SLOPE)
        if Fault.GARBAGE in circuit.faults and self.now_s > 0 and rng.random() < 0.03:
            lines = text.splitlines()
            place = int(rng.integers(len(lines) - 2))
            broken = [lines[:place], [*lines[:place], *lines[place + 1 :]], ["error=1 error_msg=..."]]
            return "\n".join(broken[int(rng.integers(3))])
        return text


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A Raspberry Pi 5 between idle and all cores busy."""
    chip = _Chip(circuit, GAIN_REL, OFFSET_W)
    return Rig(Pmic(run=chip.run, clock_ns=clock_ns), chip.advance)


INSTRUMENT = Instrument(
    "pmic", connect, idle_w=3.0, busy_w=9.0, duration_s=120.0, change_s=4.0,
    evidence=Evidence(("text of a real board in jfikar/RPi5-power, README; the correction there",)),
)  # fmt: skip
