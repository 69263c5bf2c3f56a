"""Every command's --help fits 80 columns, ends with examples, and has a summary that its group shows in full."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from edgejoule.cli.main import main


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


@pytest.mark.parametrize("path", list(commands(main)), ids=" ".join)
def test_the_help_of_a_command_is_readable_in_a_terminal(path: tuple[str, ...]) -> None:
    text = CliRunner().invoke(main, [*path, "--help"], env={"COLUMNS": "80"}).output
    options, _, examples = text.partition("\nOptions:\n")
    assert f"    edgejoule {' '.join(path)}" in examples, "the examples stand at the end, below the options"
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "Example" not in options
    assert "..." not in examples.partition("Commands:")[2].partition("Example")[0], "a summary is cut off"


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_help_imports_no_library_of_the_figures(name: str) -> None:
    """Of a command and of its subcommands: SciPy, pandas and the experiment's model take most of a second."""
    paths = [path for path in commands(main) if path[:1] == (name,)]
    program = (
        "import sys\nfrom edgejoule.cli.main import main\n"
        f"for path in {paths}: main([*path, '--help'], standalone_mode=False)\n"
        "print(sorted({'scipy', 'pandas', 'pydantic', 'jinja2'} & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "[]\n")
