"""Figures 4, 5, 10 and 11 of the ECO-KVS paper, of a trial's rounds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from edgejoule.errors import DataError
from edgejoule.federation.trial.predictions import InputRate, Prediction, input_rates, predictions

Record = dict[str, Any]

COLOURS = ("#2f7fb8", "#c98b2b", "#2a9d6f", "#8a5fb0", "#b8483f", "#8a8f98")
BAR_PERCENT = 5.0


def draw_all(rounds: Sequence[Record], folder: Path) -> list[Path]:
    """An SVG and a PNG each; those that the rounds of one trial, on one link, have data for. Raises DataError."""
    trials = {(each["trial"], each["link"]) for each in rounds}
    if len(trials) > 1:
        raise DataError(f"the rounds are of several trials or links: {sorted(trials)}")
    mpl.rcParams.update({"font.size": 10, "svg.hashsalt": "eco", "svg.fonttype": "none"})
    folder.mkdir(parents=True, exist_ok=True)
    local = [job for job in predictions(rounds) if job.kind == "local"]
    rates = list(input_rates(rounds))
    drawn = _save(_policies(rounds), folder / "policies")
    if local:
        drawn += _save(_costs(local), folder / "costs")
    if rates:
        drawn += _save(_rates(rounds, rates), folder / "input-rate")
    return drawn


def _save(figure: Any, path: Path) -> list[Path]:
    written = []
    for suffix in (".svg", ".png"):
        written.append(path.with_suffix(suffix))
        figure.savefig(written[-1], dpi=130, metadata={"Date": None} if suffix == ".svg" else None)
    plt.close(figure)
    return written


def _panel(axis: Axes, title: str, across: str, up: str) -> None:
    axis.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
    axis.set_xlabel(across)
    axis.set_ylabel(up)
    axis.spines[["top", "right"]].set_visible(False)


def _policies(rounds: Sequence[Record]) -> Any:
    """Figures 4 and 5: throughput, stalls and energy, a bar for each policy, a dot for each round."""
    measured = [each for each in rounds if each["turn"] >= 0]
    if not measured:
        raise DataError("no round but those that the models learn from")
    loaded = [name for name, server in measured[0]["servers"].items() if "operations" in server]
    policies = sorted({each["policy"] for each in measured}, key=lambda policy: (policy != "local", policy))
    figure, axes = plt.subplots(2, 2, figsize=(11, 6.4), layout="constrained")

    def bars(axis: Axes, names: Sequence[str], value: Callable[[Record], float]) -> None:
        width = 0.8 / len(policies)
        for at, policy in enumerate(policies):
            own = [each for each in measured if each["policy"] == policy]
            for group, name in enumerate(names):
                values = [value(each["servers"][name]) for each in own]
                x = group + (at - (len(policies) - 1) / 2) * width
                label = policy if group == 0 else None
                axis.bar(x, statistics.median(values), 0.9 * width, color=COLOURS[at % len(COLOURS)], label=label)
                axis.plot([x] * len(values), values, "o", ms=3, mfc="white", mec="#222222", mew=0.7)
        axis.set_xticks(range(len(names)), names)
        axis.tick_params(axis="x", length=0)

    everyone = list(measured[0]["servers"])
    bars(axes[0][0], loaded, lambda server: server["operations"] / server["writing_s"])
    _panel(axes[0][0], "Throughput", "", "operations / s")
    bars(axes[0][1], loaded, lambda server: float(server["stall_s"]))
    _panel(axes[0][1], "Write stalls", "", "s of a round")
    bars(axes[1][0], everyone, lambda server: float(server["marginal_j"]))
    _panel(axes[1][0], "Energy above idle", "", "J of a round, modelled")
    for at, policy in enumerate(policies):
        own = [each for each in measured if each["policy"] == policy]
        files = sorted(d["request"]["level_zero"].get("files", 0) for each in own for d in each["decisions"])
        steps = [(i + 1) / len(files) for i in range(len(files))]
        axes[1][1].step(files, steps, color=COLOURS[at % len(COLOURS)], label=policy)
    _panel(axes[1][1], "Files of level 0 when a compaction begins", "files", "part of the compactions")
    axes[0][0].legend(frameon=False, fontsize=9)
    _below(figure, rounds)
    return figure


def _costs(local: Sequence[Prediction]) -> Any:
    """Figure 10: time and energy by size, and the errors of what was predicted of them."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 6.4), layout="constrained")
    for at, server in enumerate(sorted({job.server for job in local})):
        style = {"color": COLOURS[at % len(COLOURS)], "label": server}
        own = [job for job in local if job.server == server]
        axes[0][0].plot([job.bytes * 1e-6 for job in own], [job.took_s for job in own], "o", ms=3, **style)
        axes[0][1].plot([job.bytes * 1e-6 for job in own], [job.took_j for job in own], "o", ms=3, **style)
        numbers = [job.number for job in own]
        for axis, errors in (
            (axes[1][0], [100 * abs(job.expected_s / job.took_s - 1) for job in own]),
            (axes[1][1], [100 * abs(job.expected_j / job.took_j - 1) for job in own]),
        ):
            axis.plot(numbers, _running(errors), lw=1.4, **style)
    for axis, title in zip(axes[0], ("Time of a local compaction", "Energy of a local compaction"), strict=True):
        _panel(axis, title, "MB", "s" if "Time" in title else "J, modelled")
    for axis, title in zip(axes[1], ("Error of the predicted time", "Error of the predicted energy"), strict=True):
        _panel(axis, title, "compaction of this server", "%, mean of 10")
        axis.axhline(BAR_PERCENT, color="#222222", lw=0.8, ls=":")
        axis.set_ylim(0, 100)
    axes[0][0].legend(frameon=False, fontsize=9)
    return figure


def _running(values: Sequence[float], window: int = 10) -> list[float]:
    return [statistics.mean(values[max(0, i - window + 1) : i + 1]) for i in range(len(values))]


def _rates(rounds: Sequence[Record], rates: Sequence[InputRate]) -> Any:
    """Figure 11: the input rate as it was and as the Monitor saw it, and the error, in one round of one server."""
    server = max({rate.server for rate in rates}, key=lambda name: sum(rate.server == name for rate in rates))
    found = max(rounds, key=lambda each: sum(rate.server == server for rate in input_rates([each])))
    own = [rate for rate in input_rates([found]) if rate.server == server]
    entry = found["value_bytes"] + 16
    seconds = [operations * entry * 1e-6 for operations in found["servers"][server]["seconds"]]
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    axes[0].step(range(1, len(seconds) + 1), seconds, color=COLOURS[5], label="as it was")
    axes[0].plot(
        [rate.at_s for rate in own],
        [rate.predicted * 1e-6 for rate in own],
        "o-",
        ms=3,
        color=COLOURS[0],
        label="predicted",
    )
    axes[0].legend(frameon=False, fontsize=9, loc="lower right")
    axes[0].set_ylim(0, 1.2 * max(seconds))
    _panel(axes[0], f"Input rate of {server}, {found['policy']}", "s", "MB/s")
    errors = [100 * abs(rate.predicted / rate.actual - 1) for rate in own]
    axes[1].plot([rate.at_s for rate in own], errors, "o-", ms=3, color=COLOURS[0])
    axes[1].set_ylim(0)
    _panel(axes[1], f"Error, mean {statistics.mean(errors):.1f} %", "s", "%, to the next 3 s")
    return figure


def _below(figure: Any, rounds: Sequence[Record]) -> None:
    count = max(each["turn"] for each in rounds) + 1
    figure.supxlabel(f"{rounds[0]['trial']}: {count} rounds of each; bar: median, dot: a round", fontsize=8.5)
