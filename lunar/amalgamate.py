"""Makes one lunar.c of src/, for projects that add a file rather than a folder: amalgamate.py OUTPUT_FOLDER

lunar.h is copied beside it. What two files of src/ name alike and keep to themselves gets the file's name in front.
What the files share is static here: nothing but lunar.h's functions can be seen from outside, and the compiler may fit
the others into each other.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

LUNAR = Path(__file__).parent
ROOMS = ["device", "pages", "space", "index", "rows", "tables", "recovery", "api", "sql"]  # from the lowest
HEADERS = ["modules.h", "format.h", "device/checksum.h", *(f"{room}/{room}.h" for room in ROOMS)]
FUNCTION = re.compile(r"^static [^;={]*?\b(\w+)\(", re.MULTILINE)
VARIABLE = re.compile(r"^static [^;={(]*?\b(\w+)(?=\[| = )", re.MULTILINE)
TAG = re.compile(r"^struct (\w+) \{", re.MULTILINE)
ENUMERATION = re.compile(r"^enum (\w+ )?\{(.*?)\}", re.MULTILINE | re.DOTALL)
MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)
STATIC = "static __attribute__((unused))"  # a build may leave modules out
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
OWN_INCLUDE = re.compile(r'^#include "([\w./]+\.h)"\n', re.MULTILINE)
SHARED = re.compile(r"^(?=(?:int|void|u?int\d+_t\*?|struct \w+\*) ln_\w+\()", re.MULTILINE)
# Comments, strings and members stay as they are; a word comes with what decides whether it is a tag or a call.
TOKEN = re.compile(r"""/\*.*?\*/|"(?:\\.|[^"\\])*"|(?:\.|->)\w+|(?:\bstruct )?\b[A-Za-z_]\w*\(?""", re.DOTALL)


def sources() -> list[str]:
    """The library's files, as src/MODULES has them."""
    lines = (LUNAR / "src" / "MODULES").read_text().splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def own_names(text: str) -> set[str]:
    """What a file declares for itself alone: tags as `struct x`, functions as `x(`, and constants."""
    code = COMMENT.sub("", text)
    bodies = [body for _, body in ENUMERATION.findall(code)]
    constants = {name for body in bodies for name in re.findall(r"\b([A-Z]\w*)\b(?= *[,=}]|\s*$)", body)}
    tags = {f"struct {name}" for name in TAG.findall(code)}
    return constants | tags | {f"{name}(" for name in FUNCTION.findall(code)} | set(VARIABLE.findall(code))


def renamed(text: str, names: set[str], prefix: str) -> str:
    """The text with the prefix before these names."""
    code = COMMENT.sub("", text)
    # A function's name that no variable has is renamed where its address is taken, too.
    functions = {name[:-1] for name in names if name.endswith("(")}
    alone = {name for name in functions if not re.search(rf"\b(?!return)\w+[ *]+{name} *[;,=)\[]|, {name}[;\[]", code)}

    def replacement(token: re.Match[str]) -> str:
        word = token[0]
        if word.startswith("struct "):
            return f"struct {prefix}_{word[7:].rstrip('(')}" if word.rstrip("(") in names else word
        return f"{prefix}_{word}" if word in names or word in alone else word

    return TOKEN.sub(replacement, text)


def banner(file: str) -> str:
    """What stands before each file's text."""
    return f"\n/* ---- {file} ---- */\n\n"


def origin() -> str:
    """The version, the commit and the licence, as a comment."""
    version = re.search(r'^#define LUNAR_VERSION "(.*)"$', (LUNAR / "include" / "lunar.h").read_text(), re.MULTILINE)
    assert version
    describe = ["git", "-C", str(LUNAR), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        commit = subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    return f"/* lunar {version[1]}, commit {commit}.\n * SPDX-License-Identifier: Apache-2.0 */\n"


def amalgamated() -> str:
    """All headers, then all sources."""
    texts = {file: (LUNAR / "src" / file).read_text() for file in sources()}
    counts = Counter(name for text in texts.values() for name in own_names(text))
    parts = [
        "/* The whole library in one file, made by amalgamate.py from src/. */\n\n",
        f"#define LN_SHARED {STATIC}\n",
    ]
    for header in HEADERS:
        parts += [
            banner(header),
            OWN_INCLUDE.sub(lambda i: i[0] if i[1] == "lunar.h" else "", (LUNAR / "src" / header).read_text()),
        ]
    for file, text in texts.items():
        shared = {name for name in own_names(text) if counts[name] > 1}
        parts += [banner(file), renamed(OWN_INCLUDE.sub("", text), shared, f"ln_{Path(file).stem}")]
        parts += [f"#undef {macro}\n" for macro in MACRO.findall(text)]
    return SHARED.sub("LN_SHARED ", "".join(parts))


def main(arguments: list[str]) -> int:
    """Writes lunar.c and lunar.h."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: amalgamate.py OUTPUT_FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lunar.c").write_text(origin() + amalgamated())
    (folder / "lunar.h").write_text(origin() + (LUNAR / "include" / "lunar.h").read_text())
    print(folder / "lunar.c", folder / "lunar.h", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
