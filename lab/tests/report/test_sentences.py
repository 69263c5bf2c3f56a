"""The sentence about a factor: one case of grammar each, for names and numbers, one, two and many levels."""

from __future__ import annotations

import pytest

from edgejoule.findings.design import label
from edgejoule.findings.level_names import capital, names, one_level
from edgejoule.findings.sentences import Question, Ranked, interaction_sentence, sentence

ENERGY = {"label": "energy per operation (counted)", "value": "3.55 mJ", "least": "least"}
OPS = {"label": "throughput", "value": "44,000 ops/s", "least": "highest", "higher": True}


def behind(level, times=None, more=None):
    return Ranked(level, times, more, differs=True)


def tied(level, times=1.02, *, equal=None):
    return Ranked(level, times, differs=False, equal=equal, ratio_ci=(times / 2, times * 2))


def open_(level, times=1.5):
    return Ranked(level, times)


CASES = {
    "one level": (
        "threads", ENERGY, 1, [],
        "Nothing to compare 1 thread with: no other level has values of energy per operation (counted).",
    ),
    "one database": (
        "database", ENERGY, "sqlite", [],
        "Nothing to compare sqlite with: no other level has values of energy per operation (counted).",
    ),
    "two names": (
        "database", ENERGY, "leveldb", [behind("sqlite", 2.8)],
        "Least energy per operation (counted) with leveldb: 3.55 mJ; 2.8× as much with sqlite.",
    ),
    "two numbers": (
        "target", ENERGY, 4000, [behind(1000, 4.1)],
        "Least energy per operation (counted) with target 4,000: 3.55 mJ; 4.1× as much with target 1,000.",
    ),
    "numbers that are text": (
        "cpus", ENERGY, "01", [behind("02", 4.1)],
        "Least energy per operation (counted) with cpus 01: 3.55 mJ; 4.1× as much with cpus 02.",
    ),
    "truth values": (
        "rocksdb.statistics", ENERGY, False, [behind(True, 1.2)],
        "Least energy per operation (counted) with rocksdb.statistics false: 3.55 mJ; 1.2× as much with "
        "rocksdb.statistics true.",
    ),
    "words of another factor": (
        "durability", ENERGY, "none", [behind("power", 9)],
        "Least energy per operation (counted) with durability none: 3.55 mJ; 9.0× as much with durability power.",
    ),
    "three levels": (
        "threads", ENERGY, 4, [behind(2, 1.3), behind(1, 1.9)],
        "Least energy per operation (counted) with 4 threads: 3.55 mJ; 1.3× as much with 2 threads and 1.9× with 1 "
        "thread.",
    ),
    "many levels": (
        "threads", ENERGY, 1, [behind(level, level) for level in range(2, 9)],
        "Least energy per operation (counted) with 1 thread: 3.55 mJ; 2.0× to 8.0× as much with the 7 others.",
    ),
    "higher is better": (
        "database", OPS, "leveldb", [behind("rocksdb", 1.4), behind("sqlite", 4.5)],
        "Highest throughput with leveldb: 44,000 ops/s; 1.4× that with rocksdb and 4.5× with sqlite.",
    ),
    "a tie of some": (
        "database", ENERGY, "leveldb", [tied("rocksdb"), behind("sqlite", 2.8)],
        "Least energy per operation (counted) with leveldb or rocksdb (tie): 3.55 mJ; 2.8× as much with sqlite.",
    ),
    "equals at the top": (
        "database", ENERGY | {"equal_text": "within 5 %"}, "leveldb",
        [tied("rocksdb", equal=True), behind("sqlite", 2.8)],
        "Least energy per operation (counted) with leveldb or rocksdb (equal within 5 %): 3.55 mJ; 2.8× as much with "
        "sqlite.",
    ),
    "no difference of two": (
        "threads", ENERGY, 1, [tied(2)],
        "Energy per operation (counted): no difference shows between 1 and 2 threads, ratio 0.51 to 2.04.",
    ),
    "numbers in their order": (
        "threads", ENERGY, 4, [tied(1), tied(2)],
        "Energy per operation (counted): no difference shows between 1, 2 and 4 threads, ratio 0.51 to 2.04.",
    ),
    "no difference of many": (
        "threads", ENERGY, 1, [tied(level) for level in range(2, 10)],
        "Energy per operation (counted): no difference shows between 9 levels of threads, ratio 0.51 to 2.04.",
    ),
    "no difference that the model resolves": (
        "threads", ENERGY | {"resolved": 1.77}, 1, [tied(2, 1.42)],
        "Energy per operation (counted): no difference shows between 1 and 2 threads, ratio 0.71 to 2.84; the model "
        "resolves 1.77×.",
    ),
    "all equal": (
        "threads", ENERGY | {"equal_text": "within 5 %"}, 1, [tied(2, equal=True), tied(4, equal=True)],
        "Energy per operation (counted): equal within 5 % with 1, 2 and 4 threads.",
    ),
    "some equal": (
        "threads", ENERGY | {"equal_text": "within 5 %"}, 1, [tied(2, equal=True), tied(4, 1.1, equal=False)],
        "Energy per operation (counted): no difference shows between 1, 2 and 4 threads; 1 and 2 "
        "threads are equal within 5 %.",
    ),
    "without a test": (
        "threads", ENERGY, 1, [open_(2)],
        "Least energy per operation (counted) with 1 thread: 3.55 mJ; 1.5× as much with 2 threads; not tested.",
    ),
    "no ratio": (
        "database", {"label": "energy above idle (counted)", "value": "−0.3 J"}, "leveldb",
        [behind("sqlite", more="2 J")],
        "Lowest energy above idle (counted) with leveldb: −0.3 J; 2 J more with sqlite.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_case_has_its_sentence_of_at_most_25_words(case: str) -> None:
    factor, question, best, others, expected = CASES[case]
    text = sentence(Question(factor=factor, **question), best, others)
    assert text == expected
    assert len(text.split()) <= 25


@pytest.mark.parametrize(
    ("factors", "sentence", "expected"),
    [
        (("threads", "target"), {"shows": True, "at_most": "3.2×", "resolved": None},
         "The effect of threads depends on target: it differs by up to 3.2×."),
        (("threads", "target"), {"shows": True, "at_most": None, "resolved": None},
         "The effect of threads depends on target."),
        (("a", "b", "c"), {"shows": True, "at_most": None, "resolved": None},
         "The effects of a, b and c depend on each other."),
        (("threads", "target"), {"shows": False, "at_most": "1.1×", "resolved": None},
         "No interaction of threads and target shows."),
        (("threads", "target"), {"shows": False, "at_most": "1.42×", "resolved": 1.77},
         "No interaction of threads and target shows: 1.42× by the means, and the model resolves 1.77×."),
        (("threads", "target"), {"shows": None, "at_most": "3.2×", "resolved": None},
         "Whether the effects of threads and target depend on each other is not tested."),
    ],
)  # fmt: skip
def test_each_interaction_has_its_sentence(factors, sentence, expected) -> None:
    assert interaction_sentence(factors, **sentence) == expected


def test_a_level_is_named_so_that_a_reader_knows_what_it_is_of() -> None:
    assert names("database", ["leveldb"]) == "leveldb"
    assert names("database", ["2fast", "sqlite"]) == "database 2fast and sqlite"
    assert names("threads", [1, 2]) == "1 and 2 threads"
    assert names("threads", [1]) == "1 thread"
    assert names("target", [1_000_000]) == "target 1,000,000"
    assert names("eco.policy", ["eco", "local"], last="or") == "policy eco or local"
    assert names("database", list("abcde")) == "5 databases"
    assert names("target", [1, 2, 3, 4, 5]) == "5 levels of target"
    assert [one_level("database"), one_level("threads")] == ["database", "level of threads"]


def test_a_condition_is_named_by_its_levels() -> None:
    assert label({"workload": "read", "threads": 1, "target": 4000}) == "read, 1 thread, target 4,000"
    assert [capital(text) for text in ("read-intensive: x", "ycsb_a", "run.sh", "1 thread")] == [
        "Read-intensive: x", "ycsb_a", "run.sh", "1 thread",
    ]  # fmt: skip


def test_a_tie_without_an_interval_has_no_bound() -> None:
    """The estimated ratio bounds nothing: the true one may lie beyond it."""
    question = Question(factor="threads", **ENERGY)
    without = Ranked(2, 2.26, differs=False)
    said = "Energy per operation (counted): no difference shows between 1 and 2 threads"
    assert sentence(question, 1, [without]) == f"{said}."
    assert (
        sentence(question, 1, [Ranked(2, 2.26, differs=False, ratio_ci=(0.6, 8.54))]) == f"{said}, ratio 0.60 to 8.54."
    )
    question = Question(factor="threads", symbol="J", **ENERGY)
    signed = Ranked(2, None, "1 J", differs=False, difference_ci=(-2.0, 4.0))
    assert sentence(question, 1, [signed]) == f"{said}, difference −2.00 to 4.00 J."
