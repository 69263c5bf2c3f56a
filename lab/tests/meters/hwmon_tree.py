"""hwmon folders as the kernel's drivers make them."""

from __future__ import annotations

from pathlib import Path

JETSON = {  # Orin NX and Xavier NX: three rails, then voltages over shunts and their sum (ina3221.rst, "Sysfs entries")
    "name": "ina3221",
    "update_interval": "13",
    "in1_label": "VDD_IN", "in2_label": "VDD_CPU_GPU_CV", "in3_label": "VDD_SOC", "in7_label": "sum of shunt voltages",
    **{f"in{i}_enable": "1" for i in (1, 2, 3)},
    **{f"shunt{i}_resistor": "5000" for i in (1, 2, 3)},
    "in1_input": "5072", "curr1_input": "1120",
    "in2_input": "5064", "curr2_input": "216",
    "in3_input": "5064", "curr3_input": "352",
    "in4_input": "5600", "in5_input": "1080", "in6_input": "1760", "in7_input": "8440", "curr4_input": "1688",
}  # fmt: skip
INA219 = {
    "name": "ina219",
    "shunt_resistor": "100000",
    "in0_input": "52",
    "in1_input": "5004",
    "curr1_input": "520",
    "power1_input": "2602000",
}


def make(root: Path, number: int, files: dict[str, str]) -> Path:
    folder = root / f"hwmon{number}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")
    return folder
