"""The sentence of a client on its durability, read by the lab."""

from __future__ import annotations

import pytest

from edgejoule.dictionary.durability import broken_promise, promise_text
from edgejoule.findings.facts import session_caveats
from edgejoule.store import Run

BROKEN = "; this is weaker than the class asks for: its promise does not hold"


@pytest.mark.parametrize(
    ("how", "settings"),
    [
        (f"power: every write is synced{BROKEN}; appendonly=no; set on the server", "appendonly=no; set on the server"),
        (f"power: the log is synced; fsync=off{BROKEN}; the workers may differ", "fsync=off; the workers may differ"),
        (
            "power: acknowledged in memory; the journal is written and synced some 100 ms later; w=1, j=false; j was "
            f"set explicitly{BROKEN}",
            "the journal is written and synced some 100 ms later; w=1, j=false; j was set explicitly",
        ),
        (
            "power: the journal is synced before each write is acknowledged; w=1, j=true; the server keeps no journal "
            f"(storage.journal.enabled=false){BROKEN}",
            "w=1, j=true; the server keeps no journal (storage.journal.enabled=false)",
        ),
        (
            f"power: a stand-in, which has no journal; w=1, j=true, which it ignores{BROKEN}",
            "w=1, j=true, which it ignores",
        ),
    ],
    ids=["redis", "postgres", "mongodb", "mongodb without journal", "mongodb-stand-in"],
)
def test_a_broken_promise_is_its_settings_alone(how: str, settings: str) -> None:
    said = {"class": "power", "how": how}
    assert broken_promise(said) == settings
    assert promise_text(said) == f"does not hold: {settings}", "and not that every write is synced"
    assert broken_promise({**said, "asked": False}) is None


@pytest.mark.parametrize("said", [None, {}, {"class": "power", "how": "power: every write is synced; fsync=on"}])
def test_a_promise_that_holds_or_that_nobody_states_is_not_broken(said: dict[str, object] | None) -> None:
    assert broken_promise(said) is None
    assert promise_text(said) == (said or {}).get("how", "not stated")


def of_postgres(asked: dict[str, str], actual: str) -> Run:
    """A run: the server's settings, and synchronous_commit as the driver's session had it."""
    return Run(0, 0, {}, "finished", facts={"server": {"settings": asked}},
               database={"name": "postgres", "options": {"synchronous_commit": actual}})  # fmt: skip


def test_runs_of_an_earlier_release_whose_sessions_ignored_synchronous_commit_are_named() -> None:
    off, on = ({"synchronous_commit": value, "fsync": "on"} for value in ("off", "on"))
    embedded = Run(0, 0, {}, "finished", database={"name": "sqlite", "options": {"synchronous": "2"}})
    old = [of_postgres(off, "on"), of_postgres(on, "on"), of_postgres(off, "on"), embedded]
    assert session_caveats(old) == [
        "postgres.synchronous_commit = off had no effect in 2 runs, whose sessions had on: "
        "an earlier release ignored the option. Measure again."
    ]


@pytest.mark.parametrize("own", [{}, {"conf.synchronous_commit": "local"}])
def test_sessions_with_the_option_of_the_study_are_no_caveat(own: dict[str, str]) -> None:
    value = own.get("conf.synchronous_commit", "off")
    assert session_caveats([of_postgres({"synchronous_commit": "off", **own}, value)]) == []
