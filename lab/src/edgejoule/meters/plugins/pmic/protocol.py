"""What `vcgencmd pmic_read_adc` prints: one line per converter channel.

    VDD_CORE_A current(7)=0.92871990A
    VDD_CORE_V volt(15)=0.72097620V

A rail is a name with both a current and a voltage. EXT5V_V (input) and BATT_V (battery of the clock) have no current.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"\s*(\w+)_([AV]) (?:current|volt)\(\d+\)=(\d+\.\d+)([AV])\s*")
_WITHOUT_CURRENT = {"EXT5V", "BATT"}


def rail_powers_w(text: str) -> dict[str, float]:
    """Rail -> W, in the order of the text. Raises ValueError for a line of another form and for half a rail."""
    read: dict[str, dict[str, float]] = {"A": {}, "V": {}}
    for line in text.strip().splitlines():
        matched = _LINE.fullmatch(line)
        if not matched or matched[2] != matched[4]:
            raise ValueError(f"expected a line like 'VDD_CORE_V volt(15)=0.7209V', got {line.strip()[:60]!r}")
        read[matched[2]][matched[1]] = float(matched[3])
    volts = {name: volt for name, volt in read["V"].items() if name not in _WITHOUT_CURRENT}
    if not volts or volts.keys() != read["A"].keys():
        odd = sorted(volts.keys() ^ read["A"].keys())
        raise ValueError(f"expected a voltage and a current of every rail, got half of {', '.join(odd) or 'none'}")
    return {name: ampere * volts[name] for name, ampere in read["A"].items()}
