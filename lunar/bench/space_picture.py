"""The picture of the section space."""

from pathlib import Path
from typing import Any

import matplotlib

COLOURS = {"lunar": "#0072b2", "SQLite, auto_vacuum=FULL": "#e69f00", "SQLite": "#cc3311", "LMDB": "#666666"}
Curves = dict[str, tuple[list[float], list[float]]]  # of each engine: millions of changes, figures


def draw(data: dict[str, Any], device_bytes: int, file: Path) -> Path:
    """Two curves for each engine: bytes in use by payload, and the device's free space."""
    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "lunar", "svg.fonttype": "none", "font.size": 10}
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1, figsize=(7.2, 6.2), sharex=True, layout="constrained")
    used, free = Curves(), Curves()
    for name, of in data.items():
        points = of["points"][::2]  # a small file
        changes = [change / 1e6 for change, _, _ in points]
        used[name] = changes, [used / payload for _, used, payload in points]
        free[name] = changes, [100 - 100 * used / device_bytes for _, used, _ in points]
    rows = data["lunar"]["points"][0][2] / 1e6
    plot(above, used, f"Bytes that the database takes for each byte of its {rows:.1f} MB of rows (less is better)")
    plot(below, free, f"Free space on a device of {device_bytes / 1e6:.1f} MB, in percent (more is better)")
    above.set_ylim(bottom=1)
    above.legend(frameon=False, fontsize=9, ncols=4, loc="lower right")
    below.axhline(0, color="black", linewidth=1)
    least = min(min(figures) for _, figures in free.values())
    if least < 0:
        below.axhspan(1.5 * least, 0, color="#f6e3e0", zorder=0)
        below.set_ylim(bottom=1.5 * least)
        at = below.get_yaxis_transform()
        below.text(0.01, 1.4 * least, "below 0: the database does not fit", transform=at, fontsize=9)
    below.set_xlabel("Changes in millions: a row gets another size, or is deleted and inserted again")
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
    return file


def plot(axes: Any, curves: Curves, title: str) -> None:
    """One line for each engine."""
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
    for name, (changes, figures) in curves.items():
        axes.plot(changes, figures, color=COLOURS[name], linewidth=2.2 if name == "lunar" else 1.3, label=name)
    axes.margins(x=0.01)
    axes.grid(visible=True, color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
