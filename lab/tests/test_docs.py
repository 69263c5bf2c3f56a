"""Pages name what exists: links, anchors, paths in backticks; and lists name every response and command."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from source_files import source_files

from edgejoule.cli.main import _COMMANDS
from edgejoule.dictionary.responses import RESPONSES, is_latency

ROOT = Path(__file__).resolve().parents[2]
WHERE = "docs/where.md"
FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^()\s]+(?:\([^()]*\))?)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
# A path has only these; anything else in backticks is code. NAME stands for a name that the reader chooses.
PATH = re.compile(r"[A-Za-z0-9_.+-]+(?:/[A-Za-z0-9_.+-]+)*/?")
ENDINGS = {
    "c", "cc", "cmake", "css", "h", "j2", "java", "js", "json", "jsonl", "md", "py", "sh", "toml", "txt", "xml", "csv",
}  # fmt: skip
# Written by a build, a run or a command, and therefore not in the repository.
MADE = ("build/", "results/", "lib/", "bin/", ".venv/", "firmware/")
# What was so when it was written: its links are checked, its paths are not.
HISTORY = ("CHANGELOG.md", "docs/adr/")
ENTRY_POINTS = {"edgejoule.meters", "edgejoule.conformance"}  # groups, the second of which is no module


def anchors(page: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page; equal headings are numbered."""
    result: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number = 0
        while (name := anchor if number == 0 else f"{anchor}-{number}") in result:
            number += 1
        result.add(name)
    return result


def dead_links(root: Path, page: str) -> list[str]:
    """Relative links of the page whose file or anchor does not exist."""
    text = CODE.sub("", FENCE.sub("", (root / page).read_text()))
    dead = []
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (root / page).parent / path if path else root / page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target.read_text())):
            dead.append(f"{page}: {link}")
    return dead


def dead_paths(root: Path, page: str, files: set[str]) -> list[str]:
    """Paths in backticks that no file or folder has: relative to the page, or the end of a tracked path.

    Of docs/where.md every path, relative to the repository; of other pages those with a folder and a source's ending.
    """
    if page.startswith(HISTORY):
        return []
    is_strict = page == WHERE
    folders = {str(parent) for name in files for parent in Path(name).parents} if is_strict else set()
    dead = []
    for code in CODE.findall(FENCE.sub("", (root / page).read_text())):
        path = code.partition(":")[0].rstrip("/") if is_strict else code
        if "/" not in code or not PATH.fullmatch(code) or "NAME" in code or code.startswith(MADE):
            continue
        if is_strict:
            is_dead = path not in files and path not in folders
        elif path.rpartition(".")[2] in ENDINGS:
            is_dead = not ((root / page).parent / path).exists() and not any(
                name == path or name.endswith(f"/{path}") for name in files
            )
        else:
            is_dead = False
        if is_dead:
            dead.append(f"{page}: {code}")
    return dead


def dead_modules(root: Path, page: str, files: set[str]) -> list[str]:
    """Modules of the package `edgejoule` in backticks that do not exist; a module may be followed by a name in it."""
    if page.startswith(HISTORY):
        return []
    dead = []
    for code in CODE.findall(FENCE.sub("", (root / page).read_text())):
        if not re.fullmatch(r"edgejoule(\.[a-z_]+)+", code) or code in ENTRY_POINTS:
            continue
        place = "lab/src/" + code.replace(".", "/")
        named = {f"{place}.py", f"{place}/__init__.py", f"{place.rpartition('/')[0]}.py"}
        if not named & files:
            dead.append(f"{page}: {code}")
    return dead


def faults(root: Path) -> list[str]:
    """What the pages of a repository name and it does not have."""
    files = set(source_files(root))
    pages = sorted(name for name in files if name.endswith(".md"))
    return [
        fault
        for page in pages
        for fault in (*dead_links(root, page), *dead_paths(root, page, files), *dead_modules(root, page, files))
    ]


def dead_names(root: Path, files: set[str]) -> list[str]:
    """Names of code in backticks of docs/where.md that no file named below the same heading has as a word."""
    dead = []
    for section in re.split(r"^#+ ", FENCE.sub("", (root / WHERE).read_text()), flags=re.MULTILINE)[2:]:
        codes = CODE.findall(section)
        named = {path for code in codes for path in (code, f"{code}__init__.py") if path in files}
        words = {word for path in named for word in re.findall(r"\w+", (root / path).read_text())}
        for name in codes:
            if re.fullmatch(r"\w*[A-Za-z]\w*", name) and not name.endswith("NAME") and name not in words | files:
                dead.append(f"{WHERE}, {section.splitlines()[0]}: {name}")
    return dead


def test_names_of_code_in_where_exist() -> None:
    assert dead_names(ROOT, set(source_files(ROOT))) == []


def test_a_dead_name_in_where_is_a_fault(tree: Path) -> None:
    (tree / "src/a.c").write_text("int main(void);\n")
    page = "# Where\n\n## src\n\n### A meter\n\n1. `main`, `gone` in `src/a.c`; `LN_X_NAME`.\n"
    (tree / WHERE).write_text(page)
    assert dead_names(tree, set(source_files(tree))) == ["docs/where.md, A meter: gone"]


def test_what_pages_of_this_repository_name_exists() -> None:
    assert faults(ROOT) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository whose pages name only existing files."""
    for name, text in {
        "docs/where.md": "# Where\n\n| a meter | `src/a.c`, `src/`, `src/NAME.c` |\n",
        "docs/guide.md": "# A guide, `first`\n\n[source](../src/a.c) [below](#steps-1) `src/a.c` `a/b`\n\n"
        "## Steps\n\n## Steps\n\n```\n[x](absent.md) `src/absent.c`\n```\n",
        "README.md": "[guide](docs/guide.md#a-guide-first) `[x](absent.md)` [web](https://example.org/absent.md)\n",
        "src/a.c": "",
        "lab/src/edgejoule/study/run.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True, timeout=60)
    return tmp_path


def test_pages_that_name_what_exists_pass(tree: Path) -> None:
    assert faults(tree) == []


@pytest.mark.parametrize(
    ("page", "more", "fault"),
    [
        ("README.md", "[g](docs/absent.md)", "README.md: docs/absent.md"),
        ("README.md", "[g](docs/guide.md#absent)", "README.md: docs/guide.md#absent"),
        ("docs/guide.md", "[g](#steps-2)", "docs/guide.md: #steps-2"),
        ("docs/guide.md", "`src/absent.c`", "docs/guide.md: src/absent.c"),
        ("docs/where.md", "`src/absent.c`", "docs/where.md: src/absent.c"),
        ("docs/where.md", "`a.c/`, `docs/absent/`", "docs/where.md: a.c/"),
        ("docs/where.md", "`src/absent`", "docs/where.md: src/absent"),
        ("README.md", "`edgejoule.study.run.measure` `edgejoule.run`", "README.md: edgejoule.run"),
    ],
    ids=["link", "anchor", "anchor of the page", "path", "path of where.md", "end of a path", "no ending", "module"],
)
def test_a_dead_link_anchor_or_path_is_a_fault(tree: Path, page: str, more: str, fault: str) -> None:
    with (tree / page).open("a") as file:
        file.write(f"\n{more}\n")
    assert fault in faults(tree)


def without_reader(root: Path, index: str) -> list[str]:
    """Pages beside the index, or linked from it, whose first paragraph names no reader. Decisions are left out."""
    text = FENCE.sub("", (root / index).read_text())
    linked = {(root / index).parent / link.partition("#")[0] for link in LINK.findall(text)}
    pages = {path.resolve() for path in (*linked, *(root / index).parent.rglob("*.md")) if path.suffix == ".md"}
    named = sorted(str(path.relative_to(root.resolve())) for path in pages)
    return [
        name
        for name in named
        if not name.startswith("docs/adr/") and not re.match(r"# .+\n\nFor \w[^\n]*: [\w`]", (root / name).read_text())
    ]


def test_every_page_begins_with_its_reader_and_purpose(tree: Path) -> None:
    assert without_reader(ROOT, "docs/README.md") == []
    assert without_reader(tree, "docs/guide.md") == ["docs/guide.md", "docs/where.md"]


def unnamed_responses(dictionary: str) -> list[str]:
    """Responses without a row. Latencies have one row for all."""
    rows = [line.split("|")[1] for line in dictionary.splitlines() if line.startswith("|")]
    named = {name for row in rows for name in CODE.findall(row)}
    return [name for name in RESPONSES if not is_latency(name) and name not in named]


def unnamed_commands(page: str) -> list[str]:
    """Commands without a place in the first column of a table."""
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("|")]
    named = {re.sub("^edgejoule ", "", code).split()[0] for cell in cells for code in CODE.findall(cell)}
    return [name for name in _COMMANDS if name not in named]


def test_every_response_has_a_row_in_the_dictionary() -> None:
    dictionary = (ROOT / "schemas/README.md").read_text()
    assert unnamed_responses(dictionary) == []
    assert unnamed_responses(dictionary.replace("`longest_gap_s`", "`gap_s`")) == ["longest_gap_s"]


def test_every_command_has_a_row_in_the_readme_of_lab() -> None:
    page = (ROOT / "lab/README.md").read_text()
    assert unnamed_commands(page) == []
    assert unnamed_commands(page.replace("`edgejoule doctor`", "`edgejoule nurse`")) == ["doctor"]
