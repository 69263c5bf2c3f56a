"""Emulated instruments stay out of what measures: only `edgejoule conformance` imports edgejoule.testing."""

from __future__ import annotations

import ast
from pathlib import Path

import edgejoule

PACKAGE = Path(edgejoule.__file__).parent


def imports_testing(source: str) -> bool:
    """An import of edgejoule.testing or of a part of it, in any of its spellings, anywhere in the module."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "the package imports by full names"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return any(f"{name}.".startswith("edgejoule.testing.") for name in names)


def test_outside_tests_only_the_conformance_command_imports_emulated_instruments() -> None:
    modules = {path.relative_to(PACKAGE): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    importing = {
        str(path) for path, source in modules.items() if path.parts[0] != "testing" and imports_testing(source)
    }
    assert importing == {"cli/conformance.py"}


def test_the_rule_sees_every_spelling_of_the_import() -> None:
    assert imports_testing("import edgejoule.testing")
    assert imports_testing("from edgejoule import testing")
    assert imports_testing("from edgejoule.testing import registry")
    assert imports_testing("def f():\n    from edgejoule.testing.instruments.rapl import INSTRUMENT")
    assert not imports_testing("import edgejoule.testing_times\nfrom edgejoule.meters import rapl")
