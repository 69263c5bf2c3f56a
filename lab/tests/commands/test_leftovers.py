"""What a killed study of commands leaves behind does not disturb the next one."""

from __future__ import annotations

import os
from pathlib import Path

from .test_command_study import Bench, _short_machine_check  # noqa: F401 a fixture


def test_a_fifo_of_a_killed_study_is_removed_and_waits_for_nobody(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 'command = ["sleep", "0.1"]')
    (tmp_path / "data").mkdir()
    for name in ("run-1-output", "run-7-output"):
        os.mkfifo(tmp_path / "data" / name)
    bench.run()
    assert bench.runs()[0].status == "finished"
    assert not list((tmp_path / "data").glob("run*"))
