"""Signs in place of characters that a terminal or a browser obeys: ␛ for ESC, � for those that turn the direction of
writing. For texts of others, such as an imported question or a program's output.
"""

from __future__ import annotations

SIGNS = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) != "\n"} | {0x7F: "␡"}
SIGNS |= dict.fromkeys([*range(0x80, 0xA0), 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")
"""For str.translate()."""
