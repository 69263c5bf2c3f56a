"""The page about printed ANOVA tables: its script on its data prints what the page says, and notices wrong figures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs/how-to/printed-anova-tables.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (result,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return str(result)


def script_prints(folder: Path, table: str) -> str:
    (folder / "printed_anova.py").write_text(block("python"))
    (folder / "table.csv").write_text(table)
    command = [sys.executable, "printed_anova.py", "table.csv", "9"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_the_script_prints_of_paper_003_what_the_page_says(tmp_path: Path) -> None:
    assert script_prints(tmp_path, block("csv")) == block("text")


def test_mutant_table_with_swapped_digits_disagrees_with_itself(tmp_path: Path) -> None:
    printed = script_prints(tmp_path, block("csv").replace("89.55", "98.55"))
    assert [line for line in printed.splitlines() if "THE ROWS DISAGREE" in line] == [printed.splitlines()[0]]


def test_mutant_df_of_one_row_disagrees(tmp_path: Path) -> None:
    assert script_prints(tmp_path, block("csv").replace("DBMS*Comm,4", "DBMS*Comm,3")).count("THE ROWS DISAGREE") == 6
