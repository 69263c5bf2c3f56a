"""The driver's standard output and standard error have Java YCSB's format, so that the same programs can read both.

The report's sections, the order of their measurements and the form of each value are compared with those of the real
jar on an equal database. The exporters' text is compared byte for byte with that of the jar's exporters for the same
measurements. Two differences are intended: the driver has no sections for garbage collectors, and the order of Java's
sections is that of a hash table.
"""

import json
import re
import shutil
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest
from driving import drive
from java_ycsb import Properties, java, properties, ycsb, ycsb_client
from ycsb_text import Line, lines_of

pytestmark = pytest.mark.java

RECORDS = 100
WORKLOADS = Path(__file__).resolve().parents[1] / "workloads"
BINDING = "edgejoule.ycsb.SqliteDB"
EXPORTERS = "site.ycsb.measurements.exporter."

Structure = dict[str, list[tuple[str, str]]]


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("output") / "loaded.sqlite"
    ycsb("load", BINDING, properties(recordcount=RECORDS, dataintegrity="true", db__url=f"jdbc:sqlite:{path}"))
    return path


@pytest.fixture
def database(loaded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(loaded, tmp_path / "database.sqlite"))


def driver_text(database: Path, values: Properties, workload: str, command: str = "run") -> str:
    done = drive(command, "-db", "sqlite", *arguments(database, values, workload), "--quiet")
    assert done.returncode == 0, done.stderr
    return done.stdout


def arguments(database: Path, values: Properties, workload: str) -> list[str]:
    assigned = [f"{name}={value}" for name, value in (*values, ("sqlite.path", str(database)))]
    assigned.append("failure_share_max=1")  # Java accepts a run in which every operation failed
    file = WORKLOADS / f"workload{workload}"
    return ["-P", str(file), "--seed", "1", *[word for pair in assigned for word in ("-p", pair)]]


def java_text(database: Path, values: Properties, workload: str, command: str = "run") -> str:
    where = properties(db__url=f"jdbc:sqlite:{database}")
    return ycsb(command, BINDING, values + where, options=["-P", WORKLOADS / f"workload{workload}"])


def form(value: str) -> str:
    """Returns the form of a number."""
    return "whole" if value.isdigit() else "double" if re.fullmatch(r"\d+\.\d+(E-?\d+)?", value) else value


def structure(lines: list[Line]) -> Structure:
    """Returns the sections, each with its measurements in order and the forms of their values."""
    sections: Structure = {}
    for section, of_section in groupby(lines, key=lambda line: line.section):
        if section.startswith("TOTAL_GC"):
            continue
        assert section not in sections, f"[{section}] is in two places"
        sections[section] = [(line.measurement, form(line.value)) for line in of_section]
    assert next(iter(sections)) == "OVERALL"
    return sections


SIZES = properties(recordcount=RECORDS, operationcount=400, requestdistribution="uniform")
HALF_MISSING = properties(recordcount=2 * RECORDS)
CASES = {
    **{f"workload {letter}": (letter, ()) for letter in "abcdef"},
    "verified": ("a", properties(dataintegrity="true")),
    "intended": ("f", properties(measurement__interval="intended", target=2000)),
    "both": ("f", properties(measurement__interval="both", target=2000)),
    "both, without a target": ("a", properties(measurement__interval="both")),
    "both, half of the records missing": ("f", HALF_MISSING + properties(measurement__interval="both", target=2000)),
    "half of the records missing": ("f", HALF_MISSING),
    "errors apart": ("f", HALF_MISSING + properties(latencytrackederrors="NOT_FOUND,ERROR")),
    "each error apart": ("f", HALF_MISSING + properties(reportlatencyforeacherror="true")),
    "percentiles": ("c", properties(hdrhistogram__percentiles="0,1,2,3,4,11,12,13,21,50,99,99.9,99.99,100")),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_reports_what_java_ycsb_reports(case: str, database: Path, tmp_path: Path) -> None:
    workload, values = CASES[case]
    javas = java_text(Path(shutil.copy(database, tmp_path / "for_java.sqlite")), SIZES + values, workload)
    assert structure(lines_of(driver_text(database, SIZES + values, workload))) == structure(lines_of(javas))


def test_a_load_reports_what_java_ycsb_reports(tmp_path: Path) -> None:
    values = properties(recordcount=RECORDS)
    ours, javas = (text(tmp_path / text.__name__, values, "a", "load") for text in (driver_text, java_text))
    assert structure(lines_of(ours)) == structure(lines_of(javas))


def test_an_operation_that_never_succeeded_has_a_count_of_zero_and_no_latencies(database: Path) -> None:
    values = SIZES + properties(insertorder="ordered")
    ours = structure(lines_of(driver_text(database, values, "c")))
    javas = structure(lines_of(java_text(database, values, "c")))
    assert ours.keys() == javas.keys()
    # Java's mean is NaN and its minimum latency the largest number.
    assert ours.pop("READ") == [javas["READ"][0], javas.pop("READ")[-1]]
    assert ours == javas


def without(measurement: str) -> Callable[[list[Line]], list[Line]]:
    return lambda lines: [line for line in lines if line.measurement != measurement]


MUTANTS: dict[str, Callable[[list[Line]], list[Line]]] = {
    "a measurement less": without("99thPercentileLatency(us)"),
    "a section less": lambda lines: [line for line in lines if line.section != "CLEANUP"],
    "a section of another name": lambda lines: [
        Line(line.section.replace("READ", "GET"), line.measurement, line.value) for line in lines
    ],
    "another order": lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]],
    "a whole number as a double": lambda lines: [
        Line(line.section, line.measurement, line.value + ".0" if line.value.isdigit() else line.value)
        for line in lines
    ],
}


def test_the_comparison_rejects_other_reports(database: Path) -> None:
    expected = structure(lines_of(java_text(database, SIZES, "a")))
    lines = lines_of(driver_text(database, SIZES, "a"))
    assert structure(lines) == expected
    for name, mutant in MUTANTS.items():
        assert structure(mutant(lines)) != expected, name


def exported_by_java(exporter: str, lines: list[Line]) -> str:
    kinds = {"whole": "long", "double": "double"}
    asked = [f"{line.section}\t{line.measurement}\t{kinds[form(line.value)]}\t{line.value}\n" for line in lines]
    return java("edgejoule.ycsb.Export", EXPORTERS + exporter, stdin="".join(asked)).stdout


def lines_of_json(text: str, exporter: str) -> list[Line]:
    array = text if exporter.startswith("JSONArray") else "[" + text.replace("} {", "}, {") + "]"
    objects = json.loads(array, parse_float=str, parse_int=str)
    return [Line(each["metric"], each["measurement"], each["value"]) for each in objects]


@pytest.mark.parametrize(
    "exporter", ["TextMeasurementsExporter", "JSONMeasurementsExporter", "JSONArrayMeasurementsExporter"]
)
def test_an_exporter_writes_the_bytes_that_java_ycsb_s_own_writes(exporter: str, database: Path) -> None:
    file = database.with_name("report")
    values = SIZES + HALF_MISSING + properties(exporter=EXPORTERS + exporter, exportfile=file)
    assert driver_text(database, values, "f") == ""
    text = file.read_text()
    lines = lines_of(text) if exporter.startswith("Text") else lines_of_json(text, exporter)
    assert len(lines) > 30
    expected = exported_by_java(exporter, lines)
    assert text == expected
    for mutant in (text.replace(",", ";", 1), text.replace(" ", "  ", 1), text + "\n"):
        assert mutant != expected


def status_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if " sec: " in line]


NUMBER = re.compile(r"\d+(\.\d+)?|∞")
OPERATION = re.compile(r"\[(\S+): ([^\]]+)\] ")
ESTIMATE = re.compile(r"(?<=est completion in )(\d+ (day|hour|minute|second)s? )+")  # its units depend on the machine


def grammar(line: str) -> tuple[str, dict[str, str]]:
    """Returns a status line without its numbers, and the labels of each operation in it."""
    operations = {name: re.sub(r"=[^,]+", "=", said) for name, said in OPERATION.findall(line)}
    return NUMBER.sub("N", ESTIMATE.sub("TIME ", OPERATION.sub("", line))), operations


def fullest(lines: list[str]) -> str:
    """Returns the line with the most operations, except the last one: on a busy machine a second may have none."""
    return max(lines[:-1], key=lambda line: len(grammar(line)[1]))


def test_status_lines_are_those_of_java_ycsb(database: Path) -> None:
    values = SIZES + HALF_MISSING + properties(operationcount=2600, target=1000, status__interval=1)
    where = properties(db__url=f"jdbc:sqlite:{database}")
    options: list[str | Path] = ["-P", WORKLOADS / "workloadf", "-s"]
    javas = status_lines(ycsb_client("run", BINDING, values + where, options=options).stderr)
    ours = status_lines(drive("run", "-db", "sqlite", *arguments(database, values, "f"), "-s").stderr)
    # Java's first lines include the database's start, its last one the closing.
    during, last = grammar(fullest(javas)), grammar(javas[-1])
    del last[1]["CLEANUP"]
    line = fullest(ours)
    assert grammar(line) == during
    assert grammar(ours[-1]) == last
    for mutant in (line.replace("Avg", "Mean"), line.replace(" current ", " "), ours[-1]):
        assert grammar(mutant) != during
