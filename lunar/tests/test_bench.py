"""make bench-lunar, small, on real loop devices: what each setting says it reads from is where it reads from."""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench" / "bench.py"
BUFFERS, SKEWS, ENGINES = 2, 3, 3


@pytest.mark.root
def test_reads_come_from_the_page_cache_or_from_the_device_as_the_section_says(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = [sys.executable, BENCH, "--quick", "--only", "reads", "--json", figures]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    section = json.loads(figures.read_text())["sections"]["reads"]
    counts = {name: readings[0]["block"] for name, readings in section.items()}
    operations = {name: readings[0]["operations"] for name, readings in section.items()}
    reads = {name: block["reads"] / operations[name] for name, block in counts.items()}
    cached = [n for name, n in reads.items() if name.startswith("through the page cache")]
    past = [n for name, n in reads.items() if name.startswith("past the page cache")]
    assert len(cached) == BUFFERS * SKEWS * ENGINES
    assert len(past) == BUFFERS * SKEWS * (ENGINES + 1) + SKEWS  # a query cache; the device without a database
    assert statistics.median(cached) < 0.01  # not all of them: another process may have the kernel drop its cache
    assert min(past) > 0.2
    for name in section:
        if name.startswith("past") and "WAL" in name:
            assert counts[name]["bytes_read"] == pytest.approx(4096 * counts[name]["reads"], rel=0.05)
    assert done.stdout.count("bar >= 1:") == done.stdout.count("bar >= 2:") == SKEWS
