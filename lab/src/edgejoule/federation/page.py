"""A comparison as one self-contained HTML file, in the report's style."""

from __future__ import annotations

import shlex
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from edgejoule import __version__
from edgejoule.federation import words
from edgejoule.federation.comparison import BASE, LEVEL, QUANTITIES, Comparison, Quantity
from edgejoule.federation.energy import METHOD
from edgejoule.findings.table import Table
from edgejoule.findings.words import number
from edgejoule.report import svg
from edgejoule.report.page import ASSETS
from edgejoule.report.svg import Scale

WIDTH, ROW, LEFT, RIGHT, AXIS = 560.0, 38.0, 76.0, 104.0, 44.0


def page(comparison: Comparison) -> str:
    """The whole file."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).resolve().parent), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    return environment.get_template("page.html.j2").render(
        c=comparison,
        version=__version__,
        created=time.strftime("%Y-%m-%d %H:%M"),
        style=Markup((ASSETS / "report.css").read_text(encoding="utf-8")),
        method=METHOD,
        headline=words.headline(comparison),
        statements=words.statements(comparison),
        energy_words=words.energy_words(comparison),
        caveats=words.caveats(comparison),
        figures=[(quantity, picture(comparison, quantity)) for quantity in QUANTITIES],
        places=places(comparison),
        cpu=cpu(comparison),
        effects=effects(comparison),
        table=table(comparison),
        servers=servers(comparison),
        command=shlex.join(comparison.workload.words(Path("DATABASE"))),
    )


def picture(comparison: Comparison, quantity: Quantity) -> Markup:
    """A bar for each policy's median, a dot for each round."""
    values = {policy: comparison.values(policy, quantity) for policy in comparison.policies}
    most = max(max(own) for own in values.values()) or 1.0
    height = ROW * len(values) + AXIS
    scale = Scale(0, most, LEFT, WIDTH - RIGHT)
    bottom = height - AXIS + 4
    parts = []
    for tick in svg.linear_ticks(0, most, 4):
        parts.append(svg.line(scale(tick), 0, scale(tick), bottom, "zero" if tick == 0 else "grid"))
        parts.append(svg.text(scale(tick), bottom + 15, f"{tick:,.0f}", "tick", "middle"))
    side = "higher is better" if quantity.higher_is_better else "lower is better"
    parts.append(svg.text(LEFT, bottom + 33, f"{quantity.unit}, {side}", "axis"))
    for row, (policy, own) in enumerate(values.items()):
        parts.append(_row(comparison, quantity, policy, own, row, scale))
    return svg.figure(WIDTH, height, f"{quantity.title}, {quantity.unit}, by policy", *parts)


def _row(
    comparison: Comparison, quantity: Quantity, policy: str, own: Sequence[float], row: int, scale: Scale
) -> Markup:
    middle = (row + 0.5) * ROW
    median = statistics.median(own)
    colour = _colour(comparison, policy)
    shape = {"x": LEFT, "y": middle - 9, "width": max(0.0, scale(median) - LEFT), "height": 18}
    parts = [
        svg.tag("title", f"{policy}: {', '.join(number(value) for value in own)}"),
        svg.text(LEFT - 8, middle + 4, policy, "name", "end"),
        svg.tag("rect", **shape, rx=1.5, class_=f"fill {colour}"),
    ]
    if len(own) > 1:
        parts += [svg.tag("circle", cx=scale(value), cy=middle, r=3.6, class_=f"dot {colour}") for value in own]
    figure = [svg.tag("tspan", number(median), class_="value")]
    effect = comparison.effect(policy, quantity) if policy != BASE else None
    if effect and effect.told:
        figure.append(svg.tag("tspan", effect.words().split(" (")[0], class_="tick", dx=5))
    parts.append(svg.tag("text", *figure, x=scale(max(own)) + 8, y=middle + 4))
    return svg.tag("g", *parts)


def places(comparison: Comparison) -> Markup:
    """Where the compactions of level 0 ran, by policy."""
    home, *others = [server.name for server in comparison.servers]
    jobs = {}
    for policy in comparison.policies:
        own = [one.filled for one in comparison.of(policy)]
        jobs[policy] = [
            sum(filled.kept for filled in own),
            *(sum(filled.offloaded.get(other, 0) for filled in own) for other in others),
            sum(filled.fell_back for filled in own),
        ]
    return _stacked("Where the compactions of level 0 ran", [home, *others, "in vain"], jobs, "compactions, all rounds")


def cpu(comparison: Comparison) -> Markup:
    """CPU time by server and policy."""
    names = [server.name for server in comparison.servers]
    used = {
        policy: [statistics.median(one.energies[name].cpu_s for one in comparison.of(policy)) for name in names]
        for policy in comparison.policies
    }
    return _stacked("CPU time", names, used, "s a round, median; all processes of the server")


def _stacked(title: str, parts: Sequence[str], rows: Mapping[str, Sequence[float]], unit: str) -> Markup:
    """A bar for each row, of parts."""
    most = max(sum(values) for values in rows.values()) or 1.0
    height = ROW * len(rows) + AXIS
    scale = Scale(0, most, LEFT, WIDTH - RIGHT)
    drawn = []
    for row, (name, values) in enumerate(rows.items()):
        middle, begin = (row + 0.5) * ROW, 0.0
        drawn.append(svg.text(LEFT - 8, middle + 4, name, "name", "end"))
        for index, value in enumerate(values):
            if not value:
                continue
            shape = {"x": scale(begin), "y": middle - 9, "width": scale(value) - scale(0), "height": 18}
            words = svg.tag("title", f"{name}: {number(value)} {parts[index]}")
            drawn.append(svg.tag("rect", words, **shape, class_=f"part p{index}"))
            begin += value
        drawn.append(svg.text(scale(begin) + 8, middle + 4, number(begin) if begin % 1 else f"{begin:.0f}", "value"))
    x = LEFT
    for index, part in enumerate(parts):
        drawn.append(svg.tag("rect", x=x, y=height - 35, width=11, height=11, class_=f"part p{index}"))
        drawn.append(svg.text(x + 16, height - 25, part))
        x += 40 + 7.5 * len(part)
    drawn.append(svg.text(LEFT, height - 6, unit, "axis"))
    return svg.figure(WIDTH, height, f"{title}, by policy", *drawn)


def _colour(comparison: Comparison, policy: str) -> str:
    return "s7" if policy == BASE else f"s{list(comparison.policies).index(policy) - 1}"


def table(comparison: Comparison) -> Table:
    """All rounds: medians, with the least and the most."""
    titles = (
        "policy", "ops/s", "stalled, s", "stalled, %", "offloaded", "kept", "in vain",
        f"above idle, µJ/op {METHOD}", f"with idle, µJ/op {METHOD}",
        "moved, MB",
    )  # fmt: skip
    rows = []
    for policy in comparison.policies:
        own = comparison.of(policy)
        home = comparison.servers[0].name
        rows.append(
            (
                policy,
                spread([one.throughput_ops_s for one in own], 0),
                spread([one.filled.stall_s for one in own], 2),
                spread([one.stall_percent for one in own], 0),
                str(sum(one.filled.jobs_offloaded for one in own)),
                str(sum(one.filled.kept for one in own)),
                str(sum(one.filled.fell_back for one in own)),
                spread([one.marginal_uj_per_op for one in own], 0),
                spread([one.total_uj_per_op for one in own], 0),
                spread([one.filled.moved_bytes.get(home, 0) * 1e-6 for one in own], 1),
            )
        )
    return Table(
        "Median of the rounds, in brackets the least and the most; compactions of all rounds",
        titles, (False, *(True,) * (len(titles) - 1)), tuple(rows),
    )  # fmt: skip


def effects(comparison: Comparison) -> Table:
    """Of each policy against local, with intervals."""
    rows = []
    for policy in comparison.policies:
        found = [effect for quantity in QUANTITIES if (effect := comparison.effect(policy, quantity))]
        if policy != BASE and found:
            cells = [Markup("<b>{}</b>" if effect.told else "{}").format(effect.words()) for effect in found]
            rows.append((policy, *cells))
    titles = [f"{quantity.title}{', ' + METHOD if METHOD in quantity.unit else ''}" for quantity in QUANTITIES]
    caption = f"Against local: mean of paired rounds, {100 * LEVEL:.0f} % interval; bold where it can be told"
    return Table(caption, ("policy", *titles), (False, *(True,) * len(titles)), tuple(rows))


def spread(values: Sequence[float], digits: int) -> str:
    """Median (least-most)."""
    middle = f"{statistics.median(values):,.{digits}f}"
    return middle if len(values) < 2 else f"{middle} ({min(values):,.{digits}f}–{max(values):,.{digits}f})"


def servers(comparison: Comparison) -> Table:
    """What they were."""
    titles = ("server", "share of a core", "busy, W above idle (declared)", "idle, W (declared)", "J per CPU second")
    rows = tuple(
        (s.name, f"{s.share:g}", f"{s.busy_w:g}", f"{s.idle_w:g}", number(s.busy_core_w)) for s in comparison.servers
    )
    return Table("Servers", titles, (False, True, True, True, True), rows)
