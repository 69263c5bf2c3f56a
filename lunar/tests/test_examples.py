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
