"""The picture on the report's first screen: a dot for each level, its interval, and the verdict of each condition."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from edgejoule.findings import find
from edgejoule.report import build
from edgejoule.report.answer import SHOWN_MAX, Picture, Row, picture


def drawn(make_store, **fields) -> Picture:
    with make_store(**{"method": "counted"} | fields) as store:
        experiment = store.find()
        findings = find(store, experiment)
    levels = experiment.spec.factors[findings.subject]
    result = picture(findings.answer, findings.subject, levels, findings.condition_factors)
    assert result is not None
    return result


def beside(row: Row) -> dict[str, str]:
    return {line.name: line.text for line in row.lines}


def test_each_condition_is_a_row_with_its_verdict_and_a_dot_for_each_database(make_store):
    seen = drawn(make_store)
    assert [row.name for row in seen.shown] == ["read", "moderate", "write"]
    assert seen.factor == "workload"
    assert all(row.verdict for row in seen.shown)
    write = seen.shown[2]
    assert [line.name for line in write.lines] == ["leveldb", "rocksdb", "sqlite"], "the best first"
    assert [line.colour for line in write.lines] == ["s1", "s2", "s0"], "those of the other pictures"


def test_the_best_has_its_value_and_the_others_how_many_times_better_it_is(make_store):
    write = drawn(make_store).shown[2]
    assert re.fullmatch(r"1[01]\d", beside(write)["leveldb"]), "µJ"
    assert re.fullmatch(r"4\.\d×", beside(write)["sqlite"])
    assert [line.worse for line in write.lines] == [False, True, True]
    assert [line.best for line in write.lines] == [True, False, False]


def test_tied_databases_have_values_and_no_ratio(make_store):
    moderate = drawn(make_store).shown[1]
    assert [(line.name, line.best, line.worse) for line in moderate.lines] == [
        ("leveldb", True, False),
        ("rocksdb", True, False),
        ("sqlite", False, True),
    ]
    assert all("×" not in line.text for line in moderate.lines if line.best)


def test_nothing_is_marked_where_nothing_is_shown_to_be_worse(make_store):
    read = drawn(make_store, method="modelled").shown[0]
    assert not read.decided
    assert not any(line.best or line.worse for line in read.lines)
    assert not any("×" in line.text for line in read.lines), "the model resolves none of these ratios"


@pytest.mark.parametrize(("workloads", "log"), [(("read", "moderate", "write"), False), (("read",), False)])
def test_the_axis_starts_at_zero_while_it_can_be_read(make_store, workloads, log):
    seen = drawn(make_store, workloads=workloads)
    assert seen.ticks[0] == (0.0, "0")
    assert ("log axis" in seen.axis) is log


def test_the_axis_is_logarithmic_where_means_differ_widely(make_store):
    seen = drawn(make_store, threads=(1, 16), blocks=2)
    assert "log axis" in seen.axis
    shares = {float(text): share for share, text in seen.ticks}
    assert all(shares[value] > 0 for value in shares)
    steps = [(a, b) for a in shares for b in shares if b == pytest.approx(10 * a)]
    assert len({round(shares[b] - shares[a], 6) for a, b in steps}) == 1


def test_all_rows_share_one_axis(make_store):
    seen = drawn(make_store)
    tick, zero = seen.ticks[1], seen.ticks[0]
    for row in seen.shown:
        best = row.lines[0]
        assert best.at - zero[0] == pytest.approx(float(best.text) / float(tick[1]) * (tick[0] - zero[0]), rel=0.01), (
            row.name
        )


def test_dots_lie_within_their_intervals_and_both_on_the_axis(make_store):
    for fields in ({}, {"blocks": 2}, {"threads": (1, 16), "blocks": 2}, {"analysis": 'responses = ["energy_net_j"]'}):
        for row in drawn(make_store, **fields).shown:
            for line in row.lines:
                assert 0 <= line.low <= line.at <= line.high <= 100


def test_an_interval_much_wider_than_the_means_is_cut_and_says_so(make_store):
    with make_store(method="counted") as store:
        findings = find(store, store.find())
    answer = findings.answer
    row = answer.rows[0]
    wide = replace(row.ranking.cells[0], ci=(1e-3, 1e9))
    ranking = replace(row.ranking, cells=(wide, *row.ranking.cells[1:]))
    seen = picture(
        replace(answer, rows=(replace(row, ranking=ranking), *answer.rows[1:])),
        "database",
        ["sqlite", "leveldb", "rocksdb"],
        (),
    )
    line = seen.shown[0].lines[0]
    assert line.cut == "above"
    assert line.high == 100
    assert seen.intervals == "95 % interval, beyond the axis where it fades"
    assert max(other.at for shown in seen.shown for other in shown.lines) > 30, "the dots still use the axis"
    assert "1e+09" in line.title or "1,000,000,000" in line.title, "the text has the whole interval"


def test_one_replication_has_dots_and_ratios_without_intervals(make_store):
    seen = drawn(make_store, blocks=1)
    assert seen.intervals == ""
    for row in seen.shown:
        assert all(line.low is line.high is None for line in row.lines)
        assert not any(line.best or line.worse for line in row.lines)
        assert sum("×" in line.text for line in row.lines) == 2


def test_the_interval_of_modelled_energy_names_what_it_is_of(make_store):
    assert drawn(make_store, method="modelled").intervals == "95 % interval, replications alone"
    assert drawn(make_store).intervals == "95 % interval"


def test_numbers_are_lines_in_their_order(make_store):
    seen = drawn(make_store, databases=("sqlite",), workloads=("read",), threads=(1, 2, 4))
    (row,) = seen.shown
    assert row.name == seen.factor == ""
    assert [line.name for line in row.lines] == ["1 thread", "2 threads", "4 threads"]
    assert [line.best for line in row.lines] == [False, False, True]


def test_rows_and_lines_beyond_eight_are_folded_with_their_number(make_store):
    many = drawn(make_store, threads=(1, 2, 4, 8), blocks=2)
    assert (len(many.shown), len(many.folded)) == (SHOWN_MAX, 4)
    levels = tuple(2**i for i in range(10))
    (row,) = drawn(make_store, databases=("sqlite",), workloads=("read",), threads=levels, blocks=2).shown
    assert (len(row.lines), row.folded) == (SHOWN_MAX, 2)
    assert row.alternative.count(" thread") == 10, "the text has all"


def test_a_single_one_beyond_eight_is_not_folded(make_store):
    levels = tuple(2**i for i in range(9))
    (row,) = drawn(make_store, databases=("sqlite",), workloads=("read",), threads=levels, blocks=2).shown
    assert (len(row.lines), row.folded) == (9, 0)


def test_a_database_without_a_value_says_why_in_its_line(make_store):
    with make_store(method="counted") as store:
        runs = store.runs(store.find().id)
    failed = {r.run_index: "no space left" for r in runs if r.levels == {"database": "sqlite", "workload": "write"}}
    write = drawn(make_store, failed=failed).shown[2]
    (gap,) = (line for line in write.lines if line.at is None)
    assert (gap.name, gap.hole) == ("sqlite", "failed: no space left")
    assert "sqlite: failed: no space left" in write.alternative


@pytest.mark.parametrize("method", ["modelled", "counted", "measured"])
def test_the_text_of_a_picture_reads_its_figures_with_their_method(make_store, method):
    row = drawn(make_store, method=method).shown[2]
    assert row.alternative.startswith(f"energy per operation, {method}: leveldb: ")
    assert re.search(rf"leveldb: 1\d\d µJ {method}, 95 % CI [\d.]+ to [\d.]+.*, n = 5, best; rocksdb", row.alternative)
    assert re.search(rf"sqlite: \d+ µJ {method}, 95 % CI .*, 4\.\d×, n = 5$", row.alternative)


def test_a_response_without_joules_names_no_method(make_store):
    seen = drawn(make_store, analysis='responses = ["throughput_ops_s"]', method="modelled")
    assert "modelled" not in seen.axis
    assert not any("modelled" in row.alternative for row in seen.shown)


def page_of(make_store, **fields) -> str:
    with make_store(**fields) as store:
        experiment = store.find()
        return build(store, experiment, find(store, experiment))


def test_the_page_begins_with_question_headline_picture_and_footnote(make_store):
    page = page_of(make_store)
    places = [
        page.index(text)
        for text in ("<h1>", 'class="headline"', 'class="answer"', 'class="footnote"', 'id="details"', 'id="glance"')
    ]
    assert places == sorted(places)
    assert page.index("Where the energy figures come from") > page.index('id="details"')


def test_without_values_there_is_a_headline_and_no_picture(make_store):
    page = page_of(make_store, planned_only=frozenset(range(45)))
    assert 'class="headline"' in page
    assert 'class="answer"' not in page


def test_a_level_with_markup_in_its_name_is_text(make_store):
    with make_store(method="counted", workloads=("read",)) as store:
        experiment = store.find()
        findings = find(store, experiment)
        rows = tuple(replace(row, name="<b>&", verdict="<i>\"'") for row in findings.answer.rows)
        page = build(store, experiment, replace(findings, answer=replace(findings.answer, rows=rows)))
    assert "<i>\"'" not in page
    assert "&lt;i&gt;" in page


@pytest.mark.parametrize(
    ("databases", "titles"), [(("sqlite", "leveldb"), ["next"]), (("sqlite", "leveldb", "rocksdb"), ["next", "last"])]
)
def test_the_table_at_a_glance_has_no_empty_column(make_store, databases, titles):
    page = page_of(make_store, databases=databases)
    glance = page.split('<section id="glance">')[1].split("</section>")[0]
    heads = re.findall(r'<th scope="col">(.*?)</th>', glance)
    assert heads[2 : 2 + len(titles)] == titles
    assert heads[3 + len(titles) :] == titles
    assert '<td data-label="last"></td>' not in glance
