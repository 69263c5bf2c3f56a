"""What a report of two databases at a requested rate says without a browser."""

from __future__ import annotations

import re
from dataclasses import replace

from edgejoule.experiment.plan import make_plan
from edgejoule.findings import find
from edgejoule.report import build
from edgejoule.store import RunData

RATE = {"databases": ("sqlite", "leveldb"), "workloads": ("moderate",), "blocks": 4, "target_ops_s": 60_000.0}
LATENCY = 'responses = ["read_intended_latency_us_p99", "target_share"]'


def section(page: str, name: str) -> str:
    return page.split(f'<section id="{name}">')[1].split("</section>")[0]


def page_of(make_store, **fields: object) -> str:
    with make_store(**(RATE | {"analysis": LATENCY} | fields)) as store:
        experiment = store.find()
        return build(store, experiment, find(store, experiment))


def card(page: str, title: str) -> str:
    return next(c for c in section(page, "responses").split("<figure")[1:] if title in c)


def test_latency_charts_have_the_unit_of_the_bars(make_store):
    page = page_of(make_store, analysis='responses = ["read_intended_latency_us_p99"]')
    unit = re.search(r">(µs|ms|s), lower is better<", section(page, "responses"))[1]
    assert f"latency from due time in {unit}, log axis" in section(page, "latency")
    assert unit == "ms"


def test_no_sustained_rate_gives_a_reason_and_no_empty_chart(make_store):
    page = page_of(make_store, reached={"sqlite": 0.3, "leveldb": 0.2})
    figure = card(page, "Read latency from due time")
    assert "<svg" not in figure
    assert "No value. sqlite: does not sustain 60,000/s, reached 18,000" in figure
    assert "no analysis, no cell sustains its rate." in page
    assert "complete rows" not in page


def test_of_shares_of_the_rate_the_highest_is_best(make_store):
    page = page_of(make_store, reached={"sqlite": 0.3, "leveldb": 0.2})
    assert "ratio, higher is better" in card(page, "Share of the requested rate")


def test_the_key_explains_the_factor_of_the_verdict(make_store):
    key = re.compile(r'<span class="factor">(.*?)</span>')
    lower = page_of(make_store)
    factor = re.search(r'<td class="say decided">sqlite; leveldb ([\d.,]+)×', lower)[1]
    assert key.search(lower)[1] == (
        f"Verdict: the best first; {factor}× after another: it has {factor} times as much as the best"
    )
    higher = page_of(make_store, analysis='responses = ["throughput_ops_s"]', target_ops_s=None)
    assert re.search(r"the best has [\d.,]+ times as much$", key.search(higher)[1])


def test_one_pair_is_singular(make_store):
    page = page_of(make_store)
    assert ": 1 pair</summary>" in page
    assert "1 pairs" not in page


def _study_after(store, **load: object):
    """A second experiment in the store with the runs of the first. load: what differs of their loads."""
    first = store.find()
    runs = store.runs(first.id)
    later = store.create_experiment(
        first.spec,
        first.spec_toml,
        make_plan(first.spec),
        energy_words=first.energy_words,
        energy_min_ratio=first.energy_min_ratio,
        environment=first.environment,
    )
    for run in runs:
        store.record(later, replace(run, facts={**run.facts, "load": run.facts["load"] | load}), RunData())
    experiment = store.find(str(later))
    return build(store, experiment, find(store, experiment))


def test_a_reused_load_names_the_study_that_loaded_it(make_store):
    with make_store(**RATE, analysis=LATENCY) as store:
        page = _study_after(store)
    assert re.search(
        r"Reused here, not loaded again: leveldb and sqlite, loaded for experiment 1 \(synthetic\) of "
        r"\d{4}-\d\d-\d\d \d\d:\d\d\.",
        page,
    )
    assert "Reused here" not in page_of(make_store)


def test_a_load_made_anew_is_not_called_reused(make_store):
    with make_store(**RATE, analysis=LATENCY) as store:
        assert "Reused here" not in _study_after(store, active_s=4.5)
