"""Creates the data that a command's runs start from: once, by its `load`, as a snapshot like the driver's loads."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgejoule.commands.client import OWN_FOLDER, data_folder, surroundings
from edgejoule.commands.programs import run_beside
from edgejoule.database_servers.server import DatabaseServer
from edgejoule.database_servers.serving import keep_data_only, serving
from edgejoule.errors import DatabaseError
from edgejoule.experiment.command import filled, shown

if TYPE_CHECKING:
    from edgejoule.experiment.plan import PlannedRun


def load_content(run: PlannedRun) -> dict[str, Any]:
    """Returns what determines the content of a command's load, apart from its database."""
    command = run.command
    assert command is not None
    return {
        "load": filled(shown(command.load), run.values) if command.load else "",
        "shell": command.shell,
        "env": {name: filled(value, run.values) for name, value in command.env.items()},
        "sha256": dict(command.sha256),
    }


def load_by_command(
    run: PlannedRun, server: DatabaseServer | None, path: Path, timeout_s: float, settle_s: float
) -> float:
    """Run the `load` of a run on an empty folder; the time it took, in s. Raises DatabaseError."""
    data = data_folder(run, path, server=server is not None)
    data.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    with serving(server) if server else nullcontext() as served:
        around = surroundings(run, data, served)
        run_beside(around, "load", data, path.parent / "load-output", timeout_s)
        took_s = time.monotonic() - begin
        settled = server.await_settled(settle_s) if server else None
    if settled and not settled.complete:
        raise DatabaseError(f"the load has not settled within {settle_s:g} s: {settled.how}")
    if server:
        keep_data_only(server, beside=OWN_FOLDER)
    return took_s
