"""`edgejoule doctor`: what to change on this machine before a study."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgejoule.cli.common import Number, console, echo_json, json_option, messages

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from edgejoule.doctor import Examination


@click.command(
    epilog="""\b
    Examples:
      edgejoule doctor
      edgejoule doctor --data /media/sd --seconds 5
      edgejoule doctor --seconds 0 --json"""
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    help="The folder for the databases' files; default: the current one.",
)
@click.option(
    "--seconds",
    type=Number(0, 60),
    default=2.0,
    show_default=True,
    help="Duration of each of the seven storage tests and of filling their file; 0: no storage test.",
)
@json_option
def doctor(data: Path, seconds: float, as_json: bool) -> None:
    """Check this machine and its storage before a study.

    Prints facts about the machine and the changes that would make its figures more reliable. Writes a scratch file of
    at most 256 MiB five times and removes it; changes nothing else.
    """
    from rich.text import Text

    from edgejoule.doctor import examine

    with _progress() as on_test:
        examination = examine(data, seconds, Path("/"), on_test)
    if as_json:
        echo_json(examination.to_json())
        return
    out = console()
    _print_facts(out, examination)
    _print_speeds(out, examination)
    out.print()
    for advice in examination.advice:
        out.print(Text(f"! {advice}", style="yellow"))
    if not examination.advice:
        out.print("Nothing stands in the way of a study here.")


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Shows on a terminal which storage test runs."""
    with messages().status("examining this machine", refresh_per_second=4) as status:
        yield lambda test: status.update(f"testing the storage: {test}")


def _name(name: str) -> str:
    for unit in ("_bytes", "_c", "_per_s", "_bits"):
        name = name.removesuffix(unit)
    return name.replace("khz_", "frequency_").replace("_", " ").replace("4kb", "4 KB")


def _print_facts(out: Console, examination: Examination) -> None:
    """Prints a row for each known fact, and one for all that are not known."""
    from rich.text import Text

    from edgejoule.cli.layout import print_rows
    from edgejoule.doctor import SPEED

    known = [fact for fact in examination.facts if fact.why is None and fact.group != SPEED]
    unknown = [fact for fact in examination.facts if fact.why is not None]
    rows: list[tuple[str | Text, ...]] = []
    for group, facts in groupby(known, lambda f: f.group):
        for i, fact in enumerate(facts):
            rows.append((Text(group if i == 0 else "", style="bold"), _name(fact.name), fact.words))
    if unknown:
        names = ", ".join(_name(fact.name) for fact in unknown)
        text = f"{names}; `edgejoule doctor --json` has the reasons"
        rows.append((Text("not known", style="bold"), f"{len(unknown)} facts", text))
    print_rows(out, (), rows)


#: Names of the storage tests, by fact.
_TESTS = {
    "dd_write_4kb": "write 4 KB blocks, as dd",
    "dd_read_4kb": "read 4 KB blocks, as dd",
    "direct_write_1mb": "write 1 MB, direct",
    "direct_read_1mb": "read 1 MB, direct",
    "direct_random_write_4kb": "write random 4 KB, direct",
    "direct_random_read_4kb": "read random 4 KB, direct",
    "sync_random_write_4kb": "write random 4 KB, synced",
}


def _print_speeds(out: Console, examination: Examination) -> None:
    """Prints a table of the storage tests and how they were made; nothing without tests."""
    from edgejoule.cli.layout import print_rows, print_wrapped
    from edgejoule.findings.text import number

    speeds = {test: examination.value(name) for name, test in _TESTS.items()}
    if not any(speeds.values()):
        return
    rows = []
    for test, speed in speeds.items():
        times = [speed["per_s"], speed["median_us"], speed["p99_us"]] if speed and speed["median_us"] else [None] * 3
        mb_s = number(speed["mb_s"]) if speed else "not measured"
        rows.append((test, mb_s, *("" if figure is None else f"{figure:,.0f}" for figure in times)))
    size = next(fact.words for fact in examination.facts if fact.name == "scratch_file_bytes")
    out.print()
    print_rows(out, ("storage test", "MB/s", "requests/s", "median µs", "99 % µs"), rows, numeric=(1, 2, 3, 4))
    print_wrapped(
        out,
        f"As dd: dd bs=4k conv=fdatasync, and dd bs=4k after the page cache was dropped. Direct: past the page cache, "
        f"one request at a time. Each test in a file of {size}.",
    )
