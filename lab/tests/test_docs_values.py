"""Tables and figures of the pages equal what the programs, the models and the headers say."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from doc_commands import ROOT, help_of, pages, printed_by

from edgejoule.cli import common, streams
from edgejoule.cli.main import main
from edgejoule.clocks import marker
from edgejoule.dictionary.responses import RESPONSES, is_latency
from edgejoule.errors import EdgejouleError, UsageError
from edgejoule.experiment.model import json_schema

CODE = re.compile(r"`([^`\n]+)`")
DATABASES = ("leveldb", "lmdb", "lunar", "mongodb", "noop", "postgres", "redis", "rocksdb", "sqlite")
PACKAGING = tomllib.loads((ROOT / "lab/pyproject.toml").read_text())["project"]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def without_fences(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)


def first_cells(text: str, heading: str) -> list[str]:
    """The first cells of the rows of the table whose heading row begins so."""
    below = text[text.index(f"| {heading} |") :].splitlines()[2:]
    rows: list[str] = []
    for line in below:
        if not line.startswith("|"):
            break
        rows.append(re.split(r"(?<!\\)\|", line)[1])
    return rows


def differences(stated: set[str], existing: set[str]) -> list[str]:
    """What a page lacks, and what it has and nothing else knows."""
    return sorted([*(f"lacks {x}" for x in existing - stated), *(f"has {x}" for x in stated - existing)])


def long_options(text: str) -> set[str]:
    """The long options of a program's help, without dashes; those of every program are left out."""
    return set(re.findall(r"^ +(?:-\w, ?)?--([a-z][\w-]*)", text, re.MULTILINE)) - {"help", "version"}


# The driver.

YCSB = {"db", "P", "p", "threads", "target", "s", "l", "load", "t"}


def driver_options(page: str) -> set[str]:
    named = {
        o
        for cell in first_cells(page, "further option")
        for c in CODE.findall(cell)
        for o in re.findall(r"^--?([\w-]+)", c)
    }
    return named - {"p"}


def test_the_drivers_readme_has_every_option() -> None:
    page, existing = read("driver/README.md"), long_options(help_of("edgejoule-driver", "run")) - YCSB
    assert differences(driver_options(page), existing) == []
    assert differences(driver_options(page.replace("`--warmup", "`--warmop")), existing) == [
        "has warmop",
        "lacks warmup",
    ]


def test_ycsbs_options_that_the_page_names_exist() -> None:
    (stated,) = re.findall(r"its options `([^`]+)` work unchanged", read("driver/README.md"))
    assert {word.removeprefix("-") for word in stated.split()} == YCSB
    listed = help_of("edgejoule-driver", "run")
    for name in YCSB - {"load", "t"}:  # these two choose the subcommand
        assert re.search(rf"^ +--?{name} ", listed, re.MULTILINE), name


def unknown_settings(text: str, known: set[str]) -> list[str]:
    """Settings of databases in backticks, such as `sqlite.journal_mode`, that no database has."""
    named = {
        match[0]
        for code in CODE.findall(without_fences(text))
        for match in re.finditer(rf"\b(?:{'|'.join(DATABASES)})\.[a-z][a-z_]*\b(?![-.\w/(])", code)
    }
    endings = {".c", ".h", ".cc", ".md", ".conf", ".db", ".toml", ".org", ".com", ".io", ".py", ".so", ".img", ".exe"}
    return sorted(name for name in named - known if name[name.index(".") :] not in endings)


def test_settings_of_databases_that_pages_name_exist() -> None:
    known = set(re.findall(r"^  ([a-z]+\.\w+)", printed_by("edgejoule-driver", "databases"), re.MULTILINE))
    servers = "".join(path.read_text() for path in (ROOT / "lab/src/edgejoule/database_servers").glob("*.py"))
    known |= {"rocksdb.dbstats"}  # a property of RocksDB itself
    known |= {f"{name}.{key}" for name in DATABASES for key in re.findall(r'"([a-z_]+)"', servers)}
    assert [(page, names) for page in pages() if (names := unknown_settings(read(page), known))] == []
    assert unknown_settings("`sqlite.jurnal_mode`", known) == ["sqlite.jurnal_mode"]


# eco.


def test_every_command_of_ecoctl_is_on_a_page() -> None:
    text = read("docs/tutorials/federation.md") + read("eco/ecod/README.md")
    commands = re.findall(
        r"^  ([a-z]+) ", help_of("ecoctl").partition("Subcommands:")[2].partition("Examples:")[0], re.MULTILINE
    )
    assert len(commands) >= 8
    assert [name for name in commands if not re.search(rf"\becoctl {name}\b", text)] == []


@pytest.mark.parametrize("program", ["ecod", "ecoctl", "eco-sim", "eco-calibrate", "lunar", "edgejoule-driver"])
def test_options_of_programs_that_pages_name_exist(program: str) -> None:
    text = help_of(program)
    known = long_options(text) | {"help", "version", "help-all"}
    below = text.partition("Subcommands:")[2].partition("Examples:")[0]
    for name in re.findall(r"^  ([a-z-]+)  ", below, re.MULTILINE):
        known |= long_options(help_of(program, name))
    if program == "lunar":
        for name in ("check", "write", "verify", "cost", "predict"):
            known |= long_options(help_of("lunar", "bdtest", name))
    named = [
        (page, code, option)
        for page in pages()
        for code in CODE.findall(without_fences(read(page)))
        if re.match(rf"(?:sudo )?(?:build/bin/)?{program}(?: |$)", code)
        for option in re.findall(r"(?<=\s)--([a-z][\w-]*)", code.partition(" -- ")[0])
    ]
    assert [(page, code) for page, code, option in named if option not in known] == []


# lunar.


def test_lunars_page_has_every_dot_command_and_option() -> None:
    page, text = read("lunar/docs/SHELL.md"), help_of("lunar")
    commands = set(re.findall(r"^(\.[a-z]+)", text, re.MULTILINE))
    stated = {c.split()[0] for cell in first_cells(page, "command") for c in CODE.findall(cell)}
    assert differences(stated, commands) == []
    existing = long_options(text)
    assert [o for o in re.findall(r"--([a-z][a-z-]+)", page) if o not in existing | {"help", "version"}] == []


SIZES = """#include <stdio.h>
#include "lunar.h"
int main(void) {
  printf("%zu %zu %zu %u %u\\n", sizeof(struct lunar), sizeof(struct lunar_table), sizeof(struct lunar_cursor),
         (unsigned)LUNAR_BUFFER_BYTES_MIN(512), (unsigned)LUNAR_BUFFER_BYTES_MIN(4096));
}
"""


def test_lunars_pages_have_the_sizes_of_its_header(tmp_path: Path) -> None:
    (tmp_path / "sizes.c").write_text(SIZES)
    command = ["cc", f"-I{ROOT / 'lunar/include'}", "-o", tmp_path / "sizes", tmp_path / "sizes.c"]
    subprocess.run(command, check=True, timeout=60)
    printed = subprocess.run([tmp_path / "sizes"], capture_output=True, text=True, check=True).stdout
    lunar, table, cursor, small, large = (int(n) for n in printed.split())  # pointers of 64 bits, as on RV64
    guide = read("lunar/docs/GUIDE.md")
    assert f"| {lunar} (RV64)," in guide
    assert f"| {table}, {cursor} (RV64) |" in guide
    for page in (guide, read("lunar/README.md")):
        assert re.search(rf"\b{small:,} (bytes )?with sectors of 512, {large:,} with 4,096", page)


def test_the_guide_and_the_readme_state_the_same_stack_and_rom() -> None:
    """lunar/tests/test_ports.py compares the README's stack with the emulated boards."""
    guide, readme = read("lunar/docs/GUIDE.md"), read("lunar/README.md")
    (stack,) = re.findall(r"At most ([\d,]+) bytes on RV64", readme)
    assert f"| {stack} in the basic build on RV64" in guide
    ((basic, without_sql, full),) = re.findall(r"RV64: ([\d.]+) / ([\d.]+) / ([\d.]+) KB", guide)
    assert (
        f"| {basic} KB basic, {without_sql} KB with everything but SQL, {full} KB with SQL (RV64, linked) |" in readme
    )


def test_the_basic_builds_ram_and_rom_are_the_same_on_all_pages() -> None:
    """The README's RAM includes the stack, the bench's does not."""
    readme, bench = read("lunar/README.md"), read("lunar/bench/README.md")
    ((ram, rom, stack),) = re.findall(
        r"\| RAM \| ([\d,]+) bytes on RV64.*?\| ROM \| ([\d.]+) KB basic.*?At most ([\d,]+) bytes on RV64",
        readme,
        re.DOTALL,
    )
    (objects,) = re.findall(r"basic build ([\d.]+),", read("lunar/docs/DESIGN.md"))
    without_stack = int(ram.replace(",", "")) - int(stack.replace(",", ""))
    assert f"| lunar basic | {objects}, {rom} | {without_stack:,}: handle, table, buffer |" in bench


# lab.


def test_the_page_on_energy_has_the_times_of_a_marker() -> None:
    (burst, pattern, quiet) = re.findall(
        r"A burst lasts ([\d.]+) s: the pattern of ([\d.]+) s and ([\d.]+) s of\s+quiet on either side",
        read("docs/explanation/energy.md"),
    )[0]
    times = (marker.BURST_S, len(marker.CHIPS) * marker.CHIP_S, marker.QUIET_S)
    assert (burst, pattern, quiet) == tuple(f"{seconds:.1f}" for seconds in times)
    said = CliRunner().invoke(main, ["clock", "mark", "--help"]).output
    assert f"for {pattern} s in a known pattern" in re.sub(r"\s+", " ", said)


def test_pages_and_help_name_the_same_minutes_for_make_demo() -> None:
    (minutes,) = re.findall(r"make demo .*then (\w+) minutes", read("README.md"))
    assert f"about {minutes} minutes" in read("experiments/first-look/README.md")
    assert f"({minutes} minutes after the build)" in read("Makefile")


def test_the_dictionary_has_the_unit_of_every_response() -> None:
    rows = [re.split(r"(?<!\\)\|", line) for line in read("schemas/README.md").splitlines() if line.startswith("|")]
    units = {name: row[2].strip() for row in rows if len(row) > 4 for name in CODE.findall(row[1])}
    wrong = [
        (name, units[name], response.unit)
        for name, response in RESPONSES.items()
        if not is_latency(name) and units[name] != response.unit
    ]
    assert wrong == []


def keys_of(schema: dict[str, Any]) -> Iterator[str]:
    """The last part of every key that an experiment may have."""
    for model in (schema, *schema["$defs"].values()):
        yield from model.get("properties", {})


def test_labs_readme_names_every_key_of_an_experiment() -> None:
    page = read("lab/README.md")
    named = set(re.findall(r"[a-z][a-z0-9_]*", page))
    filled_in = {"sha256"}  # by the reader of the experiment
    assert sorted(set(keys_of(json_schema())) - named - filled_in) == []


def test_exit_codes_are_those_of_the_program() -> None:
    page = read("lab/README.md")
    for code, meaning in (
        (EdgejouleError.exit_code, "failure"),
        (UsageError.exit_code, "a wrong option"),
        (common.EXIT_FLAGGED, "finished with flagged runs"),
        (common.EXIT_INTERRUPTED, "interrupted"),
        (streams.EXIT_NO_READER, "the reader of the output ended"),
    ):
        assert f"| {code} | {meaning}" in page


FOLDERS = {"perf-energy": "perf", "board-profile": "profile", "trace": "imported"}
SEAMS = {
    "devices",
    "events",
    "fetch",
    "library",
    "machine",
    "packages",
    "read_from",
}  # for tests, as paths and callables


def options_of(point: str) -> list[str]:
    """The options of a meter: what its constructor takes, without seams for tests."""
    module, _, attribute = point.partition(":")
    parameters = inspect.signature(getattr(import_module(module), attribute)).parameters.values()
    return [
        p.name
        for p in parameters
        if p.name not in SEAMS
        and p.kind is not p.VAR_KEYWORD
        and not (isinstance(p.default, Path) or callable(p.default))
    ]


@pytest.mark.parametrize("name", PACKAGING["entry-points"]["edgejoule.meters"])
def test_the_page_of_a_meter_has_its_options(name: str) -> None:
    options = options_of(PACKAGING["entry-points"]["edgejoule.meters"][name])
    page = read(f"lab/src/edgejoule/meters/plugins/{FOLDERS.get(name, name)}/README.md")
    named = {word.replace("-", "_") for code in re.findall("`([^`]+)`", page) for word in re.findall(r"\w[\w-]*", code)}
    assert [option for option in options if option not in named] == []
    if "| option |" in page:
        stated = {code for cell in first_cells(page, "option") for code in CODE.findall(cell)}
        assert sorted(stated - set(options)) == []


def test_extras_that_pages_install_exist() -> None:
    for page in pages():
        for extra in re.findall(r"edgejoule\[(\w+)\]", read(page)):
            assert extra in PACKAGING["optional-dependencies"], (page, extra)


def test_versions_of_python_are_those_that_the_package_takes() -> None:
    (least,) = re.findall(r">=(3\.\d+)", PACKAGING["requires-python"])
    for page in pages():
        assert [v for v in re.findall(r"Python (3\.\d+)", read(page)) if v != least] == [], page


# Versions and bars.


def test_the_releases_of_rocksdb_that_pages_name_are_those_that_eco_offloads() -> None:
    """eco knows the text form of each release that it offloads."""
    source = read("eco/offload/compaction_text.cc")
    releases = re.findall(r'same_release\(release, "([\d.]+)"\)\) return TextForm', source)
    assert len(releases) == 2
    for page in ("eco/README.md", "docs/tutorials/federation.md"):
        assert f"RocksDB {releases[0]} and {releases[1]}" in read(page)


def test_the_drivers_bars_are_those_of_its_benchmark() -> None:
    source = read("driver/bench/null_database.py")
    (bars,) = re.findall(r"^BARS_NS = (\{[^}]*\})", source, re.MULTILINE)
    (rss,) = re.findall(r"^RSS_BAR_MB = (\d+)", source, re.MULTILINE)
    rows = re.findall(r"^\| ([^|]+) \|.*\| (\d+) \|$", read("driver/README.md"), re.MULTILINE)
    assert dict(rows) | {**{k: str(v) for k, v in ast.literal_eval(bars).items()}, "peak RSS, MB": rss} == dict(rows)
