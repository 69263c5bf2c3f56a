"""The headline: one case of grammar each, and what holds for any ranking."""

from __future__ import annotations

import itertools
import re
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgejoule.dictionary.responses import RESPONSES, Better
from edgejoule.findings import find
from edgejoule.findings.conditions import VERDICT_WORDS_MAX, best_levels, condition_forms, row_verdict
from edgejoule.findings.design import Layout
from edgejoule.findings.effects import what_text
from edgejoule.findings.headline import Circumstances, headline, headline_of_a_run
from edgejoule.findings.level_names import names
from edgejoule.findings.model import Cell, Contrast, Progress, Ranking, ResponseFinding
from edgejoule.findings.templates import TEMPLATES, WORDS_MAX, fitting, forms, words

ENERGY, OPS, CPU = "energy_per_op_uj", "throughput_ops_s", "cpu_s"
DONE = Progress(total=60, finished=60, failed=0, planned=0, flagged=0)
AROUND = Circumstances(DONE)

BEHIND = 2.8  # a level that is significantly worse, by its ratio
TIE = (1.1, False)
EQUAL = (1.01, False, True)
UNTESTED = (1.5, None)


def layout(subject: str, levels, conditions=({},)) -> Layout:
    others = tuple(conditions[0])
    factors = {subject: tuple(levels)} | {
        name: tuple(dict.fromkeys(condition[name] for condition in conditions)) for name in others
    }
    return Layout(factors, subject, tuple(levels), others, tuple(conditions), blocked=True)


def ranking(design: Layout, condition, best, others, missed=(), higher=False) -> Ranking:
    """others: level -> ratio of a worse one, or (ratio, differs, equivalent)."""
    contrasts, cells = [], [cell(design, condition, best, 100.0)]
    for level, told in others.items():
        ratio, differs, equal = (*told, None)[:3] if isinstance(told, tuple) else (told, True, None)
        contrasts.append(
            Contrast(
                best,
                level,
                ratio,
                ratio and (ratio / 2, ratio * 2),
                None if ratio else 2e6,
                None,
                0.01,
                differs,
                False,
                equal,
            )
        )
        cells.append(cell(design, condition, level, 100.0 / (ratio or 1) if higher else 100.0 * (ratio or 1)))
    without = tuple(
        cell(design, condition, level, None, "does not sustain 60,000/s, reached 41,200") for level in missed
    )
    return Ranking(condition, tuple(cells), tuple(contrasts), without)


def cell(design: Layout, condition, level, mean, not_sustained=None) -> Cell:
    levels = {**condition, design.subject: level}
    return Cell(levels, 5, 5, mean, None, mean, mean, mean, None, None, not_sustained=not_sustained)


def response(rankings, name=ENERGY, method="counted", min_ratio=None, margin=1.05, unusable=None, reason=None):
    known = RESPONSES[name]
    part = SimpleNamespace(analysis=SimpleNamespace(margin=margin), reason=reason)
    cells = tuple(c for k in rankings for c in (*k.cells, *k.without_value))
    return ResponseFinding(
        name, known.label, known.unit, known.better, known.is_energy, method if known.is_energy else "timed", "log",
        0.05, min_ratio, (part,), cells, tuple(rankings), (), unusable,
    )  # fmt: skip


def one(best, others, subject="database", **fields) -> tuple[list[ResponseFinding], Layout]:
    """One condition."""
    design = layout(subject, [best, *others])
    higher = RESPONSES[fields.get("name", ENERGY)].better is Better.HIGHER
    return [response([ranking(design, {}, best, others, higher=higher)], **fields)], design


def several(verdicts, subject="database", factor="workload", **fields) -> tuple[list[ResponseFinding], Layout]:
    """verdicts: condition -> (best, others), or (best, others, levels that missed their rate)."""
    levels = dict.fromkeys(level for best, others, *_ in verdicts.values() for level in (best, *others))
    conditions = [c if isinstance(c, tuple) else (c,) for c in verdicts]
    factors = (factor,) if len(conditions[0]) == 1 else ("workload", "threads")
    where = [dict(zip(factors, c, strict=True)) for c in conditions]
    design = layout(subject, levels, where)
    ranked = [ranking(design, c, *verdict) for c, verdict in zip(where, verdicts.values(), strict=True)]
    return [response(ranked, **fields)], design


def of(responses, design, around=AROUND) -> str:
    text = headline(responses[0], what_text(responses[0]), responses, design, (), around)
    assert words(text) <= WORDS_MAX
    return text


GRAMMAR = {
    "one level": (
        one("sqlite", {}),
        "Nothing to compare sqlite with: no other level has values of energy per operation (counted).",
    ),
    "one level that is a number": (
        one(1, {}, "threads"),
        "Nothing to compare 1 thread with: no other level has values of energy per operation (counted).",
    ),
    "two levels": (
        one("leveldb", {"sqlite": BEHIND}),
        "Least energy per operation (counted) with leveldb: 100 µJ; 2.8× as much with sqlite.",
    ),
    "two levels, higher is better": (
        one("leveldb", {"sqlite": BEHIND}, name=OPS),
        "Highest throughput with leveldb: 100 ops/s; 2.8× that with sqlite.",
    ),
    "levels that are numbers": (
        one(4, {2: 1.3, 1: 3.6}, "threads"),
        "Least energy per operation (counted) with 4 threads: 100 µJ; 1.3× as much with 2 threads and 3.6× with "
        "1 thread.",
    ),
    "levels of a rate": (
        one(4000, {1000: BEHIND}, "target"),
        "Least energy per operation (counted) with target 4,000: 100 µJ; 2.8× as much with target 1,000.",
    ),
    "policies of eco": (
        one("eco", {"edgepilot": TIE, "local": BEHIND}, "eco.policy", name="energy_j"),
        "Lowest energy, settled (counted) with policy eco or edgepilot (tie): 100 J; 2.8× as much with policy local.",
    ),
    "commands of exec": (
        one("zstd", {"xz": 43.2}, "workload", name=CPU),
        "Lowest CPU time with zstd: 100 s; 43× as much with xz.",
    ),
    "commands with long names": (
        one("sort -n --parallel 4 numbers.txt", {"sort -n --parallel 8 -S 1G numbers.txt": 1.5}, "workload", name=CPU),
        "Lowest CPU time with sort -n --parallel 4 numbers.txt: 100 s; 1.5× as much with sort -n --parallel 8 -S 1G "
        "numbers.txt.",
    ),
    "many levels": (
        one("a", {level: 2.0 + i for i, level in enumerate("bcdefg")}),
        "Least energy per operation (counted) with a: 100 µJ; 2.0× to 7.0× as much with the 6 others.",
    ),
    "many levels that tie": (
        one("a", dict.fromkeys("bcdef", TIE) | {"g": BEHIND}),
        "Least energy per operation (counted) with 6 databases (tie): 100 µJ; 2.8× as much with g.",
    ),
    "all tie": (
        one("leveldb", {"sqlite": TIE}),
        "Energy per operation (counted): no difference shows between leveldb and sqlite, ratio 0.55 to 2.20.",
    ),
    "all tie and the model decides": (
        one("leveldb", {"sqlite": TIE}, method="modelled", min_ratio=1.77),
        "Energy per operation (modelled): no difference shows between leveldb and sqlite, ratio 0.55 to 2.20; the "
        "model resolves 1.77×.",
    ),
    "equal within the declared margin": (
        one("leveldb", {"sqlite": EQUAL, "lunar": EQUAL}),
        "Energy per operation (counted): equal within 5 % with leveldb, sqlite and lunar.",
    ),
    "not tested": (
        one("leveldb", {"sqlite": UNTESTED}, reason="the cells cannot be compared: reasons follow"),
        "No comparison of energy per operation (counted) is possible: the cells cannot be compared: reasons follow.",
    ),
    "a level that no ratio describes": (
        one("leveldb", {"sqlite": (None, True)}, name="energy_net_j"),
        "Lowest energy above idle, settled (counted) with leveldb: 100 J; 2,000,000 J more with sqlite.",
    ),
    "conditions": (
        several({
            "reads": ("leveldb", {"lunar": TIE, "rocksdb": TIE, "sqlite": 2.8}),
            "writes": ("rocksdb", {"leveldb": TIE, "lunar": 2.1, "sqlite": 2.3}),
            "mixed": ("rocksdb", {"leveldb": TIE, "lunar": TIE, "sqlite": TIE}),
        }),
        "Least energy per operation (counted). Reads: leveldb, lunar or rocksdb (tie); sqlite 2.8×. "
        "Writes: leveldb or rocksdb (tie); lunar 2.1×, sqlite 2.3×. Mixed: undecided.",
    ),
    "the same best in every condition": (
        several({"reads": ("leveldb", {"sqlite": 2.8}), "writes": ("leveldb", {"sqlite": 4.5})}),
        "Least energy per operation (counted) in both workloads: leveldb; sqlite 2.8× to 4.5×.",
    ),
    "the same tie in every condition": (
        several({c: ("leveldb", {"rocksdb": TIE, "sqlite": 2.8}) for c in "ABC"}),
        "Least energy per operation (counted) in all 3 workloads: leveldb or rocksdb (tie); sqlite 2.8×.",
    ),
    "equal in every condition": (
        several({"reads": ("leveldb", {"sqlite": EQUAL}), "writes": ("sqlite", {"leveldb": EQUAL})}),
        "Energy per operation (counted) in both workloads: equal within 5 % with leveldb and sqlite.",
    ),
    "undecided in every condition": (
        several({1: ("leveldb", {"sqlite": TIE}), 4: ("sqlite", {"leveldb": TIE})}, factor="threads"),
        "Energy per operation (counted) in both conditions: no difference shows between leveldb and "
        "sqlite, ratio 0.55 to 2.20.",
    ),
    "conditions that are numbers": (
        several({1: ("leveldb", {"sqlite": 2.8}), 4: ("sqlite", {"leveldb": TIE})}, factor="threads"),
        "Least energy per operation (counted). 1 thread: leveldb; sqlite 2.8×. 4 threads: undecided.",
    ),
    "conditions of two factors": (
        several({
            (w, t): ("leveldb", {"sqlite": 2 + t + len(w) / 10}) if w == "read" else ("sqlite", {"leveldb": TIE})
            for w in ("read", "write", "scan") for t in (1, 2)
        }),
        "Least energy per operation (counted). Read, 1 thread: leveldb; sqlite 3.4×. Read, 2 threads: leveldb; sqlite "
        "4.4×. Write and scan: undecided.",
    ),
    "conditions that only their number describes": (
        several({
            (w, t): ("leveldb", {"rocksdb": TIE, "sqlite": 2 + t} if (w, t) != ("read", 2) else {"sqlite": TIE})
            for w in ("read", "write", "scan") for t in (1, 2)
        }),
        "Least energy per operation (counted). 5 of 6 conditions: leveldb or rocksdb. Read, 2 threads: undecided.",
    ),
    "so many conditions that they are counted": (
        several({
            (w, t): (("leveldb", {"sqlite": 2.5}), ("sqlite", {"leveldb": 2.5}), ("leveldb", {"sqlite": TIE}),
                     ("sqlite", {"leveldb": TIE, "lunar": 3}), ("lunar", {"leveldb": TIE, "sqlite": 3}),
                     ("lunar", {"sqlite": 2, "leveldb": 2}), ("lunar", {"sqlite": TIE, "leveldb": 2}))[(i + t) % 7]
            for i, w in enumerate(("a", "b", "c", "d", "e")) for t in (1, 2, 4)
        }),
        "Least energy per operation (counted): lunar best or tied in 8 of 15 conditions, sqlite in 6, leveldb in 6; "
        "2 undecided.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GRAMMAR)
def test_each_case_of_grammar_has_its_headline(case):
    (responses, design), expected = GRAMMAR[case]
    assert of(responses, design) == expected


TWO = {"reads": ("leveldb", {"sqlite": 2.8}), "writes": ("leveldb", {"sqlite": TIE})}


def test_a_first_response_that_separates_nothing_is_followed_by_one_that_does():
    (energy,), design = one("leveldb", {"sqlite": TIE})
    (written,), _ = one("leveldb", {"sqlite": 43.0}, name="io_write_bytes_per_op")
    (ops,), _ = one("leveldb", {"sqlite": 1.5}, name=OPS)
    assert of([energy, written, ops], design) == (
        "Energy per operation (counted): undecided. Lowest bytes of the database's own writes, per operation, declared "
        "second with leveldb: 0.100 kB; 43× as much with sqlite."
    )
    (equal,), _ = one("leveldb", {"sqlite": EQUAL})
    assert of([equal, ops], design).startswith("Energy per operation (counted): equal within 5 %. Highest throughput")
    assert of([ops, energy], design).startswith("Highest throughput with leveldb"), "the first one decides"
    assert "undecided" not in of([energy], design), "the first one alone has its full sentence"


def test_the_shortest_verdict_on_conditions_names_the_level_that_is_best_most_often():
    wins = {
        (w, t): (level, {"sqlite": 2.0, **{other: 2.5 for other in ("leveldb", "rocksdb") if other != level}})
        for (w, t), level in zip(itertools.product("abc", (1, 2)), ["rocksdb"] * 4 + ["leveldb"] * 2, strict=True)
    }
    (ops,), design = several(wins, name=OPS)
    assert "Highest throughput: rocksdb most often best or tied." in condition_forms(ops, design)
    even = {key: wins[key] for key in [("a", 1), ("c", 1)]}
    (ops,), design = several(even, name=OPS)
    assert not any("often" in text for text in condition_forms(ops, design)), "two levels are best equally often"


def test_a_response_that_only_describes_is_named_where_it_decides_and_never_added():
    (energy,), design = one("leveldb", {"sqlite": TIE})
    (syncs,), _ = one("leveldb", {"sqlite": 43.0}, name="syncs_per_write")
    assert of([energy, syncs], design) == of([energy], design)
    assert of([syncs, energy], design).startswith("Lowest syncs of the database for each write with leveldb")


def test_energies_that_other_programs_disturbed_are_replaced_by_the_next_response():
    (energy,), design = several(TWO, unusable="other programs took up to 51 % of the CPU")
    (ops,), _ = several(TWO, name=OPS)
    around = Circumstances(DONE, other_cpu="up to 51 %")
    assert of([energy, ops], design, around) == (
        "Other programs took up to 51 % of the CPU; the watts are not usable. Highest throughput. Reads: leveldb; "
        "sqlite 2.8× lower. Writes: undecided."
    )
    assert of([energy], design, around) == "Other programs took up to 51 % of the CPU; the watts are not usable."


def test_remarks_follow_the_verdict():
    (ops,), design = several(TWO, name=OPS)
    (energy,), _ = several(TWO)
    assert of([ops], design, Circumstances(DONE, other_cpu="20 %")).endswith(" Other programs took 20 % of the CPU.")
    missed = ["rocksdb, reads does not sustain 60,000/s, reached 41,200"]
    assert of([energy], design, Circumstances(DONE, missed=missed)).endswith(
        "Writes: undecided. rocksdb, reads does not sustain 60,000/s."
    )
    assert of([energy], design, Circumstances(DONE, missed=missed * 3)).endswith(" 3 cells do not sustain their rate.")
    assert of([energy], design, Circumstances(DONE, stand_ins=["mongodb"])).endswith(" mongodb is a stand-in.")
    half = Progress(total=60, finished=30, failed=1, planned=29, flagged=0)
    assert of([energy], design, Circumstances(half)).endswith(" Preliminary: 31 of 60 runs.")


def test_without_a_value_the_reason_is_the_headline():
    design = layout("database", ["leveldb", "sqlite"])
    failed = Progress(total=2, finished=0, failed=2, planned=0, flagged=0)
    assert headline(None, "x", [], design, (), Circumstances(failed)) == "All 2 runs failed, so there is no verdict."
    single = Progress(total=1, finished=0, failed=1, planned=0, flagged=0)
    assert headline(None, "x", [], design, (), Circumstances(single)) == "The only run failed, so there is no verdict."
    assert headline(None, "CPU time", [], design, (), AROUND) == (
        "No run has a value of CPU time, so there is no verdict."
    )
    assert headline(None, "CPU time", [], design, (), Circumstances(Progress(2, 1, 0, 1, 0))) == (
        "No run has a value of CPU time yet, so there is no verdict."
    )
    (ops,), _ = one("leveldb", {"sqlite": BEHIND}, name=OPS)
    assert headline(None, "CPU time", [ops], design, (), AROUND) == (
        "No run has a value of CPU time, so there is no verdict. "
        "Highest throughput with leveldb: 100 ops/s; 2.8× that with sqlite."
    )


def test_a_factor_that_sets_the_throughput_is_not_compared_in_it():
    responses, design = one(4000, {1000: BEHIND}, "target", name=OPS)
    assert of(responses, design) == ("The factor target sets the throughput, so it is not compared; see the tables.")


def test_a_single_command_has_what_a_run_takes():
    (cpu,), _ = one("x", {}, "workload", name=CPU)
    run = forms("a run of a command", {"name": "x", "clauses": "takes 3 s of CPU time", "first_clause": "takes 3 s"})
    assert headline_of_a_run(cpu, run, AROUND) == "A run of x takes 3 s of CPU time."
    around = Circumstances(DONE, other_cpu="20 %")
    assert headline_of_a_run(cpu, run, around) == (
        "A run of x takes 3 s of CPU time. Other programs took 20 % of the CPU."
    )


ROWS = {
    "best": ({"best": "leveldb", "others": {"rocksdb": 1.4, "sqlite": 2.8}}, "leveldb; rocksdb 1.4×, sqlite 2.8×"),
    "tie": ({"best": "leveldb", "others": {"rocksdb": TIE, "sqlite": 2.8}}, "leveldb or rocksdb (tie); sqlite 2.8×"),
    "undecided": ({"best": "leveldb", "others": {"sqlite": TIE}}, "undecided"),
    "equal": ({"best": "leveldb", "others": {"sqlite": EQUAL}}, "equal within 5 %"),
    "not tested": ({"best": "leveldb", "others": {"sqlite": UNTESTED}}, "leveldb lowest, not tested"),
    "the only cell": ({"best": "sort -n", "others": {}}, ""),
    "one level with a value": (
        {"best": "leveldb", "others": {}, "missed": ["rocksdb"]},
        "only leveldb has a value; rocksdb does not sustain 60,000/s",
    ),
    "missed rate": (
        {"best": "leveldb", "others": {"sqlite": 2.8}, "missed": ["rocksdb"]},
        "leveldb; sqlite 2.8×; rocksdb does not sustain 60,000/s",
    ),
    "many": (
        {"best": "a", "others": {level: 2.0 + i for i, level in enumerate("bcdefghijk")}}, "a; 10 others 2.0× to 11×",
    ),
    "many in any order": (
        {"best": "a", "others": dict(zip("bcdefghi", [64, 1.4, 30, 2, 9, 11, 5, 3], strict=True))},
        "a; 8 others 1.4× to 64×",
    ),
    "no ratio": ({"best": "leveldb", "others": {"sqlite": (None, True)}}, "leveldb; sqlite worse"),
}  # fmt: skip


@pytest.mark.parametrize("case", ROWS)
def test_each_row_has_a_short_verdict(case):
    fields, expected = ROWS[case]
    design = layout("database", [fields["best"], *fields["others"], *fields.get("missed", ())])
    k = ranking(design, {}, **fields)
    assert row_verdict(k, response([k]), design) == expected


LEVELS = {
    "database": ["leveldb", "lunar", "lmdb", "rocksdb", "sqlite", "redis", "postgresql"],
    "threads": [1, 2, 4, 8, 16, 32],
    "eco.policy": ["local", "edgepilot", "eco", "eco-plus"],
    "workload": ["sort -n", "xz -9 -T 4 data.bin", "zstd", "a much longer command with a lot of arguments in it"],
}
WORKLOADS = ["read", "write", "mixed", "scan", "insert", "latest", "delete"]
OUTCOMES = ["behind", "tie", "equal", "untested", "no ratio"]


@st.composite
def studies(draw):
    """Random rankings: every level of every condition has an outcome; ratios increase with the rank."""
    subject = draw(st.sampled_from(list(LEVELS)))
    levels = draw(st.lists(st.sampled_from(LEVELS[subject]), min_size=1, unique=True))
    workloads = draw(st.lists(st.sampled_from(WORKLOADS), unique=True)) if subject != "workload" else []
    threads = draw(st.lists(st.sampled_from([1, 2, 4]), unique=True)) if subject != "threads" else []
    factors = {name: own for name, own in (("workload", workloads), ("threads", threads)) if own}
    conditions = [dict(zip(factors, combo, strict=True)) for combo in itertools.product(*factors.values())]
    design = layout(subject, levels, conditions)
    chosen = draw(st.lists(st.sampled_from([ENERGY, OPS, CPU, "read_modify_write_intended_latency_us_p999"]),
                           min_size=1, max_size=3, unique=True))  # fmt: skip
    found = []
    for name in chosen:
        rankings = [
            draw(_rankings(design, condition, RESPONSES[name].better is Better.HIGHER)) for condition in conditions
        ]
        method = draw(st.sampled_from(["counted", "modelled"]))
        disturbed = "other programs took 51 % of the CPU" if name == ENERGY and draw(st.booleans()) else None
        found.append(response(rankings, name, method, 1.77 if method == "modelled" else None, unusable=disturbed))
    planned = draw(st.sampled_from([0, 20]))
    around = Circumstances(
        Progress(60, 60 - planned, 0, planned, 0),
        other_cpu="up to 51 %" if any(r.unusable for r in found) or draw(st.booleans()) else None,
        missed=draw(st.lists(st.just("redis, read does not sustain 60,000/s, reached 41,200"), max_size=4)),
        stand_ins=draw(st.sampled_from([(), ("mongodb",)])),
    )
    return found, design, around


@st.composite
def _rankings(draw, design, condition, higher):
    order = draw(st.permutations(design.subjects))
    present = order[: draw(st.integers(0, len(order)))]
    without = tuple(cell(design, condition, level, None) for level in order[len(present) :])
    if not present:
        return Ranking(condition, (), (), without)
    others, ratio = {}, 1.0
    for level in present[1:]:
        ratio *= draw(st.floats(1.001, 30))
        outcome = draw(st.sampled_from(OUTCOMES))
        others[level] = {
            "behind": ratio, "tie": (ratio, False), "equal": (ratio, False, True), "untested": (ratio, None),
            "no ratio": (None, True),
        }[outcome]  # fmt: skip
    return ranking(design, condition, present[0], others, higher=higher)


@settings(max_examples=100, deadline=None)
@given(studies())
def test_any_headline_is_short_and_names_as_best_no_level_that_is_behind(study):
    found, design, around = study
    text = headline(found[0], what_text(found[0]), found, design, (), around)
    assert words(text) <= WORDS_MAX, text
    assert "  " not in text
    assert text.endswith(".")
    assert not text.endswith("..")
    assert "which" not in text.lower()
    assert "None" not in text
    for level in LEVELS["database"]:
        if level in text and level != "redis":  # redis stands in the remark on missed rates
            assert level in design.subjects, text
    for r in found:
        for k in r.rankings:
            verdict = row_verdict(k, r, design)
            assert words(verdict) <= VERDICT_WORDS_MAX, verdict
            assert "  " not in verdict
            behind = {c.other for c in k.behind}
            assert not behind & set(best_levels(k, design))
    if len(design.conditions) == 1 and (named := re.match(r"\S+ [^:]* with ([^:]*): \d", text)):
        first = next(r for r in found if not r.unusable)
        for level in {c.other for k in first.rankings for c in k.behind}:
            assert not re.search(
                rf"(^|, | or | with ){re.escape(names(design.subject, [level]))}($| or | \(|,)", named[1]
            )


def test_other_programs_do_not_take_the_place_of_the_response_that_separates():
    levels, name = {"postgres": 2.2}, "read_intended_latency_us_p99"
    (latency,), design = one("redis", {"postgres": TIE}, name=name)
    (cpu,), _ = one("redis", levels, name="server_cpu_us_per_op")
    around = Circumstances(DONE, other_cpu="up to 93 %")
    text = headline(latency, what_text(latency), [latency, cpu], design, (), around)
    assert text == (
        "Read latency from due time, 99th percentile: undecided. "
        "Lowest CPU time of the server per operation, declared second with redis: 100 µs."
    )
    around = Circumstances(DONE, other_cpu="up to 93 %", stand_ins=["redis"])
    text = headline(latency, what_text(latency), [latency, cpu], design, (), around)
    assert text.endswith("redis is a stand-in."), "only the remark on other programs gives way"


def test_the_verdict_on_a_second_response_names_it_however_long_its_name_is():
    tie = {"ext4": ("rocksdb", {"sqlite": TIE}), "xfs": ("rocksdb", {"sqlite": TIE})}
    apart = {"ext4": ("rocksdb", {"sqlite": 2.8}), "xfs": ("rocksdb", {"sqlite": 1.4})}
    (first,), design = several(tie, factor="filesystem", name="load_settled_s")
    (second,), _ = several(apart, factor="filesystem", name="load_device_write_bytes")
    text = of([first, second], design, Circumstances(DONE, other_cpu="up to 98 %"))
    assert text.startswith("Settled time while loading: undecided. Lowest bytes written to the device while loading")


def test_a_form_without_its_value_is_left_out():
    assert forms("one level", {"what": "CPU time"}) == [
        "Nothing to compare with: only one level has values of CPU time."
    ]


def test_every_case_has_forms_from_long_to_short():
    assert fitting(["one two three", "one two"], 1) == "one two", "the last one, if none fits"
    for case, own in TEMPLATES.items():
        assert own, case
        assert all("  " not in form for form in own)


@pytest.mark.parametrize(
    "fields",
    [
        {"method": "counted"},
        {"threads": (1, 2, 4), "blocks": 2},
        {"other_cpu": {0: 0.48, 2: 0.2}, "busy_before": 0.5},
        {"target_ops_s": 9_000, "reached": {"leveldb": 0.88}, "syncs": {"sqlite": 0.002, "rocksdb": 1.0}},
        {"failed": {7: "stopped"}, "planned_only": frozenset({44}), "shift": {"energy_net_j": -5.8}},
        {"min_ratio": None, "missing": {(ENERGY, 4): "the meter fell silent"}},
    ],
)
def test_statements_effects_and_caveats_are_a_line_each(make_store, fields):
    with make_store(**fields) as store:
        findings = find(store, store.find())
    assert words(findings.headline) <= WORDS_MAX
    texts = [s.text for s in findings.verdict] + [e.text for e in findings.effects]
    sentences = [one for text in texts for one in re.split(r"(?<=\.) (?=[A-Z])", text)]
    assert sentences
    assert [one for one in sentences if words(one) > WORDS_MAX] == []
    assert findings.caveats
    assert [caveat for caveat in findings.caveats if len(caveat) > 160] == []
