"""The examples for firmware developers need only a C compiler."""

import re
import subprocess
from pathlib import Path

import pytest

LUNAR = Path(__file__).parents[1]
STRICT = "CFLAGS=-O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def logger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logger")
    run("make", "-C", LUNAR, "logger", f"BUILD={folder}", STRICT)
    return folder / "logger"


@pytest.mark.slow
def test_the_demo_finds_every_acknowledged_row_after_25_cuts(tmp_path: Path) -> None:
    printed = run("make", "-C", LUNAR, "demo", f"BUILD={tmp_path}", STRICT)
    assert "The power went 25 times" in printed
    assert re.search(r"Every acknowledged row was there each time: \d\d+ rows", printed)
    costs = re.findall(r"^22 bytes.*?(\d+) +(\d+) +(\d\.\d\d) +", printed, re.MULTILINE)
    assert len(costs) == 4
    assert all(float(flushes) >= 1 for _, _, flushes in costs)
    assert "nothing damaged" in printed


@pytest.mark.slow
def test_the_logger_continues_where_it_stopped(logger: Path, tmp_path: Path) -> None:
    image = tmp_path / "card.img"
    image.write_bytes(bytes(1 << 20))
    assert [run(logger, image) for _ in range(2)] == ["10 readings\n", "20 readings\n"]


def test_the_logger_continues_when_its_ring_is_full(tmp_path: Path) -> None:
    source = (LUNAR / "examples" / "logger.c").read_text()
    (tmp_path / "logger.c").write_text(source.replace("24 * 60 * 60", "15"))
    sources = [*(LUNAR / "src").glob("*/*.c"), LUNAR / "ports" / "posix.c", tmp_path / "logger.c"]
    run("cc", "-std=c11", f"-I{LUNAR}/include", f"-I{LUNAR}/ports", "-o", tmp_path / "logger", *sources)
    image = tmp_path / "card.img"
    image.write_bytes(bytes(1 << 20))
    printed = [run(tmp_path / "logger", image) for _ in range(4)]
    assert printed == ["10 readings\n", "15 readings\n", "15 readings\n", "15 readings\n"]


def test_the_logger_reports_why_a_card_is_of_no_use(logger: Path, tmp_path: Path) -> None:
    image = tmp_path / "small.img"
    image.write_bytes(bytes(1024))
    done = subprocess.run([logger, image], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "the device is too small" in done.stderr


def version() -> str:
    header = (LUNAR / "include" / "lunar.h").read_text()
    parts = re.findall(r"^#define LUNAR_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.MULTILINE)
    stated = re.findall(r'^#define LUNAR_VERSION "(.*)"$', header, re.MULTILINE)
    assert stated == [".".join(parts)]
    return stated[0]


def test_the_version_is_the_projects() -> None:
    project = (LUNAR.parent / "CMakeLists.txt").read_text()
    assert f"project(edgejoule VERSION {version()} " in project
    for page in ("README.md", "docs/COMPATIBILITY.md"):
        assert f"version {version()}" in (LUNAR / page).read_text()


def test_the_amalgamation_has_its_origin_and_compiles(tmp_path: Path) -> None:
    run("python3", LUNAR / "amalgamate.py", tmp_path)
    for name in ("lunar.c", "lunar.h"):
        lines = (tmp_path / name).read_text().splitlines()
        assert re.fullmatch(rf"/\* lunar {re.escape(version())}, commit ([0-9a-f]{{12,}}(-dirty)?|unknown)\.", lines[0])
        assert lines[1] == " * SPDX-License-Identifier: Apache-2.0 */"
    run("cc", "-std=c11", "-fsyntax-only", tmp_path / "lunar.c")


@pytest.mark.slow
def test_another_cmake_project_adds_lunar(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(other C)\n"
        f"add_subdirectory({LUNAR} lunar)\nadd_executable(logger {LUNAR}/examples/logger.c)\n"
        "target_link_libraries(logger PRIVATE lunar_posix)\n"
    )
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build")
    run("cmake", "--build", tmp_path / "build", "--target", "logger")
    image = tmp_path / "card.img"
    image.write_bytes(bytes(1 << 20))
    assert run(tmp_path / "build" / "logger", image) == "10 readings\n"
