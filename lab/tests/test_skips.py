"""tools/skips.py refuses a skipped test whose reason is not listed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools/skips.py"
PYTEST = """<testsuites><testsuite><testcase classname="t" name="one"/>
<testcase classname="t" name="two"><skipped type="{kind}" message="{reason}">t.py:1: {reason}</skipped></testcase>
</testsuite></testsuites>"""
CTEST = """<testsuite><testcase name="Database.is_there" classname="Database.is_there" status="notrun">
<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] Database.is_there
a_test.cc:26: Skipped
{reason}
[  SKIPPED ] Database.is_there (0 ms)
</system-out></testcase></testsuite>"""


def judged(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "junit.xml").write_text(text)
    return subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("form", [PYTEST, CTEST])
def test_a_listed_reason_is_accepted(form: str, tmp_path: Path) -> None:
    done = judged(tmp_path, form.format(kind="pytest.skip", reason="root may write everywhere"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", [PYTEST, CTEST])
@pytest.mark.parametrize("reason", ["eco is not built", "no server of redis is installed (make servers)"])
def test_a_missing_program_is_refused(form: str, reason: str, tmp_path: Path) -> None:
    done = judged(tmp_path, form.format(kind="pytest.skip", reason=reason))
    assert done.returncode == 1
    assert reason in done.stderr
    assert "two" in done.stderr or "Database.is_there" in done.stderr


def test_an_expected_failure_is_refused(tmp_path: Path) -> None:
    done = judged(tmp_path, PYTEST.format(kind="pytest.xfail", reason="known"))
    assert done.returncode == 1
    assert "known" in done.stderr


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no JUnit file" in done.stderr
