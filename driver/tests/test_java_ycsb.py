"""The driver compared with the real Java YCSB 0.17.0: equal requests, and databases that both can use.

Each test compares two samples of requests with at least a million draws each: one by Java YCSB, whose generators are
also seeded, and one by the driver. The same comparison must reject mutants of the driver.
"""

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from java_ycsb import (
    RECORDER,
    SEED,
    Counts,
    Properties,
    Sample,
    compare,
    driver_sample,
    java,
    java_sample,
    properties,
)
from numpy.typing import NDArray
from ycsb_laws import FNV_OFFSET, counts, fnv, latest_ages, scrambled_keys

pytestmark = pytest.mark.java

ACCEPTED = 0.01
REJECTED = 1e-6
DRAWS = 1_000_000
WITH_INSERTS = 1_200_000  # operations, of which more than DRAWS ask for a key
RECORDS = 1000
# For these YCSB reserves six keys per record, just below the driver's limit (ADR 026).
MORE_RECORDS = 40_000

# A mutant: the counts of a faulty driver.
Mutant = Callable[[], Counts]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert RECORDER.exists(), f"{RECORDER} is not built: run `make test-java`"
    return tmp_path_factory.mktemp("java")


@dataclass
class Case:
    """One dimension of one workload, and the mutants that it must reject."""

    name: str
    dimension: str
    values: Properties
    mutants: dict[str, Mutant] = field(default_factory=dict)
    threads: int = 1
    runs: int = 1

    def changed(self, **changes: object) -> Mutant:
        """Returns a mutant: the driver itself with other properties."""
        return lambda: self.asked_by_driver(self.values + properties(**changes))

    def asked_by_driver(self, values: Properties) -> Counts:
        return driver_sample(self.dimension, values, threads=self.threads, runs=self.runs)[self.dimension]


def only(**values: object) -> Properties:
    """Returns a workload of `values` that only reads, unless they set other operations."""
    usual: dict[str, object] = {
        "recordcount": RECORDS,
        "operationcount": DRAWS,
        "readproportion": 1,
        "updateproportion": 0,
    }
    return properties(**(usual | values))


def keys(law: str, **values: object) -> Case:
    return Case(f"keys, {law}", "key", only(requestdistribution=law, insertorder="ordered", **values))


def shifted(sample: Counts) -> Counts:
    return {str(int(cell) + 1): count for cell, count in sample.items()}


def request_cases() -> Iterator[Case]:
    case = keys("uniform")
    case.mutants = {"one key fewer": case.changed(insertcount=RECORDS - 1)}
    yield case

    case = keys("zipfian")
    case.mutants = {
        "theta 0.98": case.changed(zipfian__theta=0.98),
        "no absolute value": lambda: counts(scrambled_keys(RECORDS, DRAWS, 0, SEED, absolute=False), "user"),
        "FNV off by one": lambda: counts(scrambled_keys(RECORDS, DRAWS, 0, SEED, offset=FNV_OFFSET + 1), "user"),
        "modulus one too small": lambda: counts(scrambled_keys(RECORDS - 1, DRAWS, 0, SEED), "user"),
    }
    yield case

    case = keys("zipfian")
    case.name, case.threads = "keys, zipfian, 4 threads", 4
    case.mutants = {"theta 0.98": case.changed(zipfian__theta=0.98)}
    yield case

    case = keys(
        "zipfian", recordcount=MORE_RECORDS, operationcount=WITH_INSERTS, readproportion=0.9, insertproportion=0.1
    )
    case.name = "keys, zipfian with inserts"
    case.mutants = {
        "half the key space reserved": lambda: counts(
            scrambled_keys(MORE_RECORDS, WITH_INSERTS, 0.1, SEED, reserve=1), "user"
        ),
    }
    yield case

    case = keys("latest")
    case.mutants = {"theta 0.98": case.changed(zipfian__theta=0.98)}
    yield case

    case = keys("latest", operationcount=WITH_INSERTS, readproportion=0.95, insertproportion=0.05)
    case.name, case.dimension = "age, latest with inserts", "age"
    case.mutants = {"eta corrected": lambda: counts(latest_ages(RECORDS, WITH_INSERTS, 0.05, True, SEED))}
    yield case

    case = keys("hotspot", hotspotdatafraction=0.2, hotspotopnfraction=0.8)
    case.mutants = {
        "fractions swapped": case.changed(hotspotdatafraction=0.8, hotspotopnfraction=0.2),
        "one hot key more": case.changed(hotspotdatafraction=0.201),
    }
    yield case

    case = keys("exponential")
    case.mutants = {
        "percentile 94": case.changed(exponential__percentile=94),
        "fraction 1/7": case.changed(exponential__frac=1 / 7),
    }
    yield case


def operation_cases() -> Iterator[Case]:
    mix = only(readproportion=0.5, updateproportion=0.3, insertproportion=0.15, scanproportion=0.05)
    case = Case("operations", "operation", mix)
    case.mutants = {
        "half a percent fewer reads": case.changed(readproportion=0.495, updateproportion=0.305),
        "inserts and scans swapped": case.changed(insertproportion=0.05, scanproportion=0.15),
    }
    yield case

    case = Case("operations, weights that add up to 3", "operation", only(readproportion=1, updateproportion=2))
    case.mutants = {"weights taken as shares": case.changed(readproportion=1, updateproportion=0)}
    yield case

    scans = only(readproportion=0, scanproportion=1, minscanlength=1, maxscanlength=100)
    case = Case("scan lengths, uniform", "scan_length", scans)
    case.mutants = {
        "one too long at most": case.changed(maxscanlength=101),
        "one too long at least": case.changed(minscanlength=2),
        "zipfian": case.changed(scanlengthdistribution="zipfian"),
    }
    yield case

    scans = only(readproportion=0, scanproportion=1, maxscanlength=100, scanlengthdistribution="zipfian")
    case = Case("scan lengths, zipfian", "scan_length", scans)
    case.mutants = {
        "one too long": lambda: shifted(case.asked_by_driver(case.values)),
        "range one too wide": case.changed(maxscanlength=101),
    }
    yield case


def field_cases() -> Iterator[Case]:
    updates = {"readproportion": 0, "updateproportion": 1, "fieldlength": 200, "minfieldlength": 10}
    for law in ("uniform", "zipfian"):
        case = Case(f"field lengths, {law}", "field_length", only(fieldlengthdistribution=law, **updates))
        case.mutants = {
            "one byte less at least": case.changed(minfieldlength=9),
            "one byte more at most": case.changed(fieldlength=201),
        }
        yield case
    one = only(operationcount=2 * DRAWS, readallfields="false", readproportion=0.5, updateproportion=0.5)
    for dimension in ("field_read", "field_written"):
        case = Case(f"fields, {dimension}", dimension, one)
        case.mutants = {"the last never": case.changed(fieldcount=9)}
        yield case


def report(name: str, text: object) -> None:
    print(f"{name:<45} {text}")


def check(case: Case, folder: Path) -> None:
    expected = java_sample(folder, case.dimension, case.values, threads=case.threads)[case.dimension]
    comparison = compare(expected, case.asked_by_driver(case.values))
    report(case.name, comparison)
    for name, mutant in case.mutants.items():
        rejected = compare(expected, mutant())
        report(f"  mutant: {name}", rejected)
        assert rejected.p < REJECTED, f"the mutant is not distinguished from the driver: {name}: {rejected}"
    assert comparison.p > ACCEPTED, f"{case.name}: {comparison}"


CASES = [*request_cases(), *operation_cases(), *field_cases()]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_driver_asks_for_what_java_ycsb_asks_for(case: Case, folder: Path) -> None:
    check(case, folder)


def test_the_laws_that_the_mutants_are_made_of_are_java_ycsbs(folder: Path) -> None:
    values = keys(
        "zipfian", recordcount=MORE_RECORDS, operationcount=WITH_INSERTS, readproportion=0.9, insertproportion=0.1
    ).values
    expected = java_sample(folder, "key", values)["key"]
    assert compare(expected, counts(scrambled_keys(MORE_RECORDS, WITH_INSERTS, 0.1, SEED), "user")).p > ACCEPTED
    values = keys("latest", operationcount=WITH_INSERTS, readproportion=0.95, insertproportion=0.05).values
    expected = java_sample(folder, "age", values)["age"]
    assert compare(expected, counts(latest_ages(RECORDS, WITH_INSERTS, 0.05, False, SEED))).p > ACCEPTED


def dips(ages: Counts) -> bool:
    """The distribution of the newest keys: high for the newest two, almost zero behind them, higher for older ones."""
    return ages["1"] > 20 * ages.get("2", 0) and ages.get("2", 0) < ages["20"]


def test_the_ages_of_latest_dip_behind_the_newest_keys(folder: Path) -> None:
    values = keys("latest", operationcount=WITH_INSERTS, readproportion=0.95, insertproportion=0.05).values
    for sample in (java_sample(folder, "age", values)["age"], driver_sample("age", values)["age"]):
        report("ages 0, 1, 2, 3, 20 of latest", [sample.get(age, 0) for age in ("0", "1", "2", "3", "20")])
        assert dips(sample)
    corrected = counts(latest_ages(RECORDS, WITH_INSERTS, 0.05, True, SEED))
    report("  mutant: eta corrected", [corrected.get(age, 0) for age in ("0", "1", "2", "3", "20")])
    assert not dips(corrected)


def test_read_modify_writes_have_their_share(folder: Path) -> None:
    values = only(readproportion=0.5, readmodifywriteproportion=0.5)

    def transactions(sample: Sample) -> Counts:
        both = sample["operation"]["UPDATE"]
        return {"read": sample["operation"]["READ"] - both, "read-modify-write": both}

    comparison = compare(
        transactions(java_sample(folder, "operation", values)), transactions(driver_sample("operation", values))
    )
    report("read-modify-writes", comparison)
    assert comparison.p > ACCEPTED
    other = only(readproportion=0.505, readmodifywriteproportion=0.495)
    mutant = compare(
        transactions(java_sample(folder, "operation", values)), transactions(driver_sample("operation", other))
    )
    report("  mutant: half a percent fewer", mutant)
    assert mutant.p < REJECTED


def test_field_lengths_follow_a_histogram_in_a_file(folder: Path) -> None:
    weights = [5, 0, 20, 40, 3, 12]

    def updates(name: str, buckets: list[int]) -> Properties:
        file = folder / name
        file.write_text("BlockSize\t10\n" + "".join(f"{i}\t{weight}\n" for i, weight in enumerate(buckets)))
        law = {"fieldlengthdistribution": "histogram", "fieldlengthhistogram": file}
        return only(readproportion=0, updateproportion=1, **law)

    values = updates("histogram", weights)
    expected = java_sample(folder, "field_length", values)["field_length"]
    comparison = compare(expected, driver_sample("field_length", values)["field_length"])
    report("field lengths, histogram", comparison)
    assert comparison.p > ACCEPTED
    mutants = {
        "the last bucket at its own length": [*weights, 0],
        "weights taken from the next bucket": weights[1:] + weights[:1],
    }
    for name, buckets in mutants.items():
        mutant = compare(expected, driver_sample("field_length", updates(name, buckets))["field_length"])
        report(f"  mutant: {name}", mutant)
        assert mutant.p < REJECTED


VALUES = {"operationcount": 100, "readproportion": 0, "updateproportion": 1, "fieldlength": 102}
RUNS = 150


def by_place(sample: Sample) -> dict[str, Counts]:
    places: dict[str, Counts] = {}
    for cell, count in sample["byte"].items():
        place, value = cell.split(":")
        places.setdefault(place, {})[value] = count
    return places


def test_every_byte_of_a_value_has_the_law_of_its_place(folder: Path) -> None:
    expected = by_place(java_sample(folder, "byte", only(**(VALUES | {"operationcount": 100 * RUNS}))))
    sample = by_place(driver_sample("byte", only(**VALUES), runs=RUNS))
    random = np.random.default_rng(SEED)
    uniform = counts(random.integers(ord(" "), ord("~") + 1, sum(sample["0"].values())))
    for place, counted in sample.items():
        comparison = compare(expected[place], counted)
        report(f"bytes, place {place} of 6", comparison)
        assert comparison.p > ACCEPTED
        mutants = {"uniform bytes": uniform, "the next place's alphabet": sample[str((int(place) + 1) % 6)]}
        for name, mutant in mutants.items():
            rejected = compare(expected[place], mutant)
            report(f"  mutant: {name}", rejected)
            assert rejected.p < REJECTED


def test_neighbouring_bytes_share_the_bits_that_they_share_in_java(folder: Path) -> None:
    expected = java_sample(folder, "byte", only(**(VALUES | {"operationcount": 100 * RUNS})))["shared"]
    comparison = compare(expected, driver_sample("byte", only(**VALUES), runs=RUNS)["shared"])
    report("bits shared by neighbours", comparison)
    assert comparison.p > ACCEPTED
    draws = sum(expected.values()) // 12
    mutant = compare(expected, {f"{place}:{bits}": draws for place in (1, 2, 4) for bits in range(4)})
    report("  mutant: neighbours without a bond", mutant)
    assert mutant.p < REJECTED


@pytest.mark.parametrize("law", ["hashed", "ordered"])
def test_one_thread_inserts_in_the_order_of_java(law: str, folder: Path) -> None:
    values = properties(recordcount=RECORDS, insertorder=law, zeropadding=24)
    expected = java_sample(folder, "order", values, command="load")["order"]
    assert len(expected) == RECORDS
    assert driver_sample("order", values, command="load")["order"] == expected
    other = {"hashed": "ordered", "ordered": "hashed"}[law]
    for mutant in (properties(insertorder=other), properties(zeropadding=25)):
        assert driver_sample("order", values + mutant, command="load")["order"] != expected


@pytest.mark.parametrize("threads", [1, 4])
def test_sequential_requests_pass_over_all_keys_alike(threads: int, folder: Path) -> None:
    values = only(requestdistribution="sequential", operationcount=2500, insertstart=100, insertcount=800)
    expected = java_sample(folder, "key", values, threads=threads)["key"]
    assert set(expected.values()) == {3, 4}
    assert driver_sample("key", values, threads=threads)["key"] == expected
    mutant = driver_sample("key", values + properties(insertstart=101), threads=threads)["key"]
    assert mutant != expected


def fields_of(sample: Sample) -> list[set[str]]:
    """Returns the numbers of fields read and written per operation."""
    return [set(sample.get(dimension, {})) for dimension in ("fields_asked", "fields_written")]


def test_fields_are_asked_for_and_written_alike(folder: Path) -> None:
    half = {"operationcount": 1000, "readproportion": 0.5, "updateproportion": 0.5}
    cases = [
        only(**half),
        only(**half, readallfields="false", writeallfields="true"),
        only(operationcount=1000, readproportion=0, insertproportion=1, fieldcount=3),
        only(operationcount=1000, readproportion=0, scanproportion=1, readallfields="false"),
    ]
    dimensions = "fields_asked,fields_written"
    expected = [fields_of(java_sample(folder, dimensions, values)) for values in cases]
    assert [fields_of(driver_sample(dimensions, values)) for values in cases] == expected
    # No case equals another.
    assert all(one != other for one, other in combinations(expected, 2))


NUMBERS = [0, 1, 7, 999, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 10**10, 2**62, 2**63 - 1]


def test_hashes_names_and_values_are_those_of_java() -> None:
    numbers = NUMBERS + [int(number) for number in np.random.default_rng(SEED).integers(0, 2**63, 200)]
    arguments = [str(number) for number in numbers]
    expected = java("edgejoule.ycsb.Golden", *arguments).stdout.splitlines()
    assert len(expected) == (1 + 8) * len(numbers) + 12
    done = golden(arguments)
    report("golden vectors", f"{len(expected)} lines: hashes, names, values")
    assert sorted(done) == sorted(expected)
    for name, mutant in golden_mutants(np.array(numbers)).items():
        differing = sum(line != changed for line, changed in zip(done, map(mutant, done), strict=True))
        report(f"  mutant: {name}", f"{differing} lines differ")
        assert sorted(map(mutant, done)) != sorted(expected), name


def other_field(match: re.Match[str]) -> str:
    return {"0": "1", "1": "0"}[match[0]]


def golden_mutants(numbers: NDArray[np.int64]) -> dict[str, Callable[[str], str]]:
    """Returns lines of golden() as a faulty driver would print them."""

    def hashed(**fault: Any) -> Callable[[str], str]:
        hashes = {f"hash {number} ": value for number, value in zip(numbers, fnv(numbers, **fault), strict=True)}
        return lambda line: "".join(f"{begin}{hashes[begin]}" for begin in hashes if line.startswith(begin)) or line

    return {
        "no absolute value": hashed(absolute=False),
        "FNV off by one": hashed(offset=FNV_OFFSET + 1),
        "a zero more where padding is 24": lambda line: re.sub(r"^(key \S+ 24 .* user)", r"\g<1>0", line),
        "the other field's value": lambda line: re.sub(r"(?<= field)[01]", other_field, line),
        "a value cut one byte short": lambda line: line[:-1] if line.startswith("value ") else line,
    }


def golden(numbers: list[str]) -> list[str]:
    done = subprocess.run([RECORDER, "golden", *numbers], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()
