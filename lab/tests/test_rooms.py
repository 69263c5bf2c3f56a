"""tools/rooms.py: includes and imports point one way, and ARCHITECTURE.md's diagram is current."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/rooms.py"
TABLE = """
[parts.engine]
folder = "engine"
rooms = [{ name = "low" }, { name = "high" }]

[parts.app]
folder = "app/src/app"
package = "app"
rooms = [{ name = "errors", places = ["errors.py"] }, { name = "base" }, { name = "top" }]
"""
FILES = {
    "engine/low/low.h": "",
    "engine/high/high.c": '#include "low.h"\n#include <stdio.h>\n#include "generated.pb.h"\n',
    "engine/tests/low_test.c": '#include "high.h"\n',
    "app/src/app/errors.py": "",
    "app/src/app/base/__init__.py": "from app.errors import Any\n",
    "app/src/app/top/__init__.py": "from app import base\nimport app.base\nimport json\n",
}


def rooms(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, TOOL, "--root", root, *options]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository whose includes and imports point downwards."""
    marks = "<!-- rooms: written by tools/rooms.py --write -->\n<!-- end of rooms -->"
    for name, text in {**FILES, "tools/rooms.toml": TABLE, "ARCHITECTURE.md": f"# A\n\n{marks}\n\nmore\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_this_repository_has_no_upward_edge_and_a_current_diagram() -> None:
    done = rooms(ROOT, "--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_tree_that_points_downwards_passes(tree: Path) -> None:
    assert rooms(tree).stderr == ""


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("engine/low/low.h", '#include "high/high.h"', "engine/low/low.h: uses engine/high/high.h"),
        ("app/src/app/base/more.py", "def f():\n    from app.top import g\n", "app/high"),
        ("app/src/app/errors.py", "import app.base", "app/src/app/errors.py: uses app/src/app/base/__init__.py"),
        ("app/src/app/stray.py", "", "app/src/app/stray.py: is in no room"),
    ],
    ids=["include", "import inside a function", "import of a package", "file in no room"],
)
def test_an_upward_edge_and_a_file_in_no_room_are_reported(tree: Path, file: str, text: str, fault: str) -> None:
    (tree / "engine/high/high.h").write_text("")
    (tree / file).write_text(text)
    done = rooms(tree)
    assert done.returncode == 1
    assert fault.replace("app/high", "app/top is not below app/base") in done.stderr


def test_the_diagram_is_written_and_a_stale_one_is_reported(tree: Path) -> None:
    assert rooms(tree, "--check").returncode == 1
    assert rooms(tree, "--write").returncode == 0
    page = (tree / "ARCHITECTURE.md").read_text()
    assert "engine  low < high" in page
    assert page.endswith("-->\n\nmore\n")
    assert rooms(tree, "--check").stderr == ""
    (tree / "tools/rooms.toml").write_text(TABLE.replace('{ name = "low" }', '{ name = "low" }, { name = "middle" }'))
    assert "the diagram of the rooms is stale" in rooms(tree, "--check").stderr
