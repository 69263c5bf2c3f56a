"""The picture of the section space."""

from pathlib import Path
from typing import Any

import matplotlib

COLOURS = {"lunar": "#0072b2", "SQLite, auto_vacuum=FULL": "#e69f00", "SQLite": "#d55e00", "LMDB": "#666666"}
Series = dict[str, list[float]]  # of each engine


def draw(data: dict[str, Any], device_bytes: int, file: Path) -> Path:
    """Two curves for each engine: bytes in use by payload, and the device's free space."""
    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "lunar", "svg.fonttype": "none", "font.size": 10}
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1, figsize=(7.6, 6), sharex=True, layout="constrained")
    operations = {name: [point[0] / 1e6 for point in of["points"]] for name, of in data.items()}
    used = {name: [used / payload for _, used, payload in of["points"]] for name, of in data.items()}
    free = {name: [100 - 100 * used / device_bytes for _, used, _ in of["points"]] for name, of in data.items()}
    curves(above, operations, used, "Bytes on the device for each byte of rows")
    curves(below, operations, free, f"Free space of a device of {device_bytes / 1e6:.1f} MB, in %")
    above.set_ylim(bottom=1)
    below.axhline(0, color="black", linewidth=1)
    if (least := min(map(min, free.values()))) < 0:
        below.axhspan(1.3 * least, 0, color="#f2d7d5", zorder=0)
        below.set_ylim(bottom=1.3 * least)
        below.text(0.01, 0.65 * least, "does not fit", transform=below.get_yaxis_transform(), va="center", fontsize=9)
    below.set_xlabel("Millions of changes: a row gets another size, or is deleted and inserted again")
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
    return file


def curves(axes: Any, x: Series, y: Series, title: str) -> None:
    """One line for each engine, with its name at the right end."""
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    for name, values in y.items():
        axes.plot(x[name], values, color=COLOURS[name], linewidth=2 if name == "lunar" else 1.2, label=name)
    axes.grid(visible=True, color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
