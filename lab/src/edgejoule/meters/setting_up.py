"""How a meter is connected: the section `## Setting up` of the README.md beside its plug-in.

The plug-in is not imported for this, only its package is searched: the text helps most where it cannot be loaded.
"""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path

HEADING = "Setting up"


def setting_up(plugin: EntryPoint) -> str | None:
    """The section's Markdown without its heading; None where the plug-in's package has none."""
    readme = _readme(plugin)
    return None if readme is None else section(readme, HEADING)


def section(markdown: str, heading: str) -> str | None:
    """The text below a heading of the second level, up to the next of the same or the first level."""
    lines = markdown.splitlines()
    code = _in_code(lines)
    starts = [i for i, line in enumerate(lines) if line.strip() == f"## {heading}" and not code[i]]
    if not starts:
        return None
    begin = starts[0] + 1
    ends = (i for i in range(begin, len(lines)) if re.match(r"##? ", lines[i]) and not code[i])
    return "\n".join(lines[begin : next(ends, len(lines))]).strip() or None


def _in_code(lines: list[str]) -> list[bool]:
    """Whether each line is inside a fenced block, where `# ` begins a comment and no heading."""
    inside, result = False, []
    for line in lines:
        fence = line.startswith("```")
        result.append(inside or fence)
        inside ^= fence
    return result


def _readme(plugin: EntryPoint) -> str | None:
    for folder in _folders(plugin.module):
        try:
            return (folder / "README.md").read_text(encoding="utf-8")
        except OSError:
            continue
    return None


def _folders(module: str) -> list[Path]:
    """The module's own folder where it is a package, else its package's."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(place) for place in spec.submodule_search_locations]
    return [Path(spec.origin).parent] if spec.origin else []
