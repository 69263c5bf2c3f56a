"""What a killed program left."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from edgejoule.eco.federation.leftovers import new_folder


def test_the_folder_of_a_killed_run_is_removed_by_the_next(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in (f"ej-{gone.pid}-abc", f"ej-{os.getpid()}-abc", "ej-other"):
        (tmp_path / name / "db").mkdir(parents=True)
    made = new_folder(tmp_path)
    left = {entry.name for entry in tmp_path.iterdir()}
    assert left == {f"ej-{os.getpid()}-abc", "ej-other", made.name}
