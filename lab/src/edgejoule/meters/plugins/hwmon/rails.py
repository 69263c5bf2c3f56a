"""The hwmon tree: which chips there are, and which rails they measure.

A chip is a folder hwmonN with a file `name`; a rail is `powerN_input` in µW or, where a chip's driver has none,
`inN_input` in mV with `currN_input` in mA. Linux, Documentation/hwmon/sysfs-interface.rst, ina2xx.rst, ina3221.rst.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from edgejoule.machine.files import ReadText
from edgejoule.meters.plugins.hwmon.chips import CHIPS

INPUT_RAILS = ("VDD_IN", "POM_5V_IN")  # of Jetson modules: these feed the module's other rails
_BUS_CHANNELS = {"ina3221": 3}  # in4 to in7 are voltages over shunts, curr4 is a sum
_DEFAULT_SHUNT = "shunt_resistor"


@dataclass(frozen=True)
class Rail:
    """One rail of one chip. power: its file in µW, None where power is voltage_file times current_file.

    shunt_ohm: what the kernel takes the shunt for, None where it does not say. update_s: the chip's own interval.
    """

    chip: str
    folder: Path
    label: str
    power: Path | None
    voltage: Path
    current: Path
    shunt_ohm: float | None
    update_s: float

    @property
    def channel(self) -> str:
        """The rail's label."""
        return self.label

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of one value."""
        return (self.voltage, self.current) if self.power is None else (self.power,)


def chip_names(root: Path, read: ReadText) -> list[str]:
    """The names of all chips below root. Raises OSError."""
    return [read(folder / "name").strip() for folder in _folders(root)]


def find_rails(root: Path, read: ReadText, chips: tuple[str, ...]) -> list[Rail]:
    """The rails of the chips of these names, with labels that differ. Raises OSError and ValueError."""
    rails = []
    for folder in _folders(root):
        name = read(folder / "name").strip()
        if name in chips:
            rails += _rails_of(folder, name, read)
    labels = [rail.label for rail in rails]
    return [rail if labels.count(rail.label) == 1 else _distinguished(rail) for rail in rails]


def fed_by_none(rails: list[Rail]) -> list[Rail]:
    """The input rail alone where there is one: it feeds the others, and their sum would count twice."""
    inputs = [rail for rail in rails if rail.label in INPUT_RAILS]
    return inputs or rails


def _folders(root: Path) -> list[Path]:
    result = [path for path in root.iterdir() if re.fullmatch(r"hwmon\d+", path.name)]
    return sorted(result, key=lambda path: int(path.name.removeprefix("hwmon")))


def _rails_of(folder: Path, name: str, read: ReadText) -> list[Rail]:
    present = {path.name for path in folder.iterdir()}
    kind = "power" if any(re.fullmatch(r"power\d+_input", file) for file in present) else "curr"
    if kind == "curr" and name not in CHIPS:
        return []
    numbers = sorted(int(x[1]) for file in present if (x := re.fullmatch(rf"{kind}(\d+)_input", file)))
    numbers = [n for n in numbers if n <= _BUS_CHANNELS.get(name, n) and _enabled(folder, n, read)]
    return [_rail(folder, name, n, kind, present, read) for n in numbers]


def _enabled(folder: Path, number: int, read: ReadText) -> bool:
    try:
        return read(folder / f"in{number}_enable").strip() != "0"
    except FileNotFoundError:
        return True


def _rail(folder: Path, name: str, number: int, kind: str, present: set[str], read: ReadText) -> Rail:
    label = next((f for x in (kind, "in", "curr") if (f := f"{x}{number}_label") in present), None)
    shunt = next((f for f in (f"shunt{number}_resistor", _DEFAULT_SHUNT) if f in present), None)
    update_ms = int(read(folder / "update_interval")) if "update_interval" in present else 0
    return Rail(
        name,
        folder,
        read(folder / label).strip() if label else f"{name}-{number}",
        folder / f"power{number}_input" if kind == "power" else None,
        folder / f"in{number}_input",
        folder / f"curr{number}_input",
        int(read(folder / shunt)) / 1e6 if shunt else None,
        update_ms / 1e3,
    )


def _distinguished(rail: Rail) -> Rail:
    return Rail(**{**vars(rail), "label": f"{rail.label}@{rail.folder.name}"})
