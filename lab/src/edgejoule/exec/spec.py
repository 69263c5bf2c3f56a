"""Converts the options of `edgejoule exec` to an experiment, as TOML that `edgejoule run` accepts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import tomli_w

from edgejoule.exec.options import CONTROL, OneCommand, Request, parameter_of
from edgejoule.experiment.command import SHELL
from edgejoule.meters.base import Method

FIRST = 10  # blocks of the first stage
PRECISION = 1.05
IDLE_S = 0.5
#: The analysed responses; the first decides. A model's error does not shrink with runs, so CPU time decides there.
MEASURED = ("energy_j", "energy_net_j", "active_s", "cpu_s")
MODELLED = ("cpu_s", "energy_j", "energy_net_j", "active_s")


def spec_text(
    request: Request,
    method: Method,
    *,
    meter: str | None = None,
    profile: str | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """Returns the whole experiment.toml. meter, profile, options: in the form of the spec's table `meter`."""
    arms = arms_of(request)
    chosen = {"prefer": [meter] if meter else None, "profile": profile, "options": options or None}
    meter_table = {key: value for key, value in chosen.items() if value}
    spec = {
        "name": experiment_name(request.commands),
        "question": _question(request),
        "factors": {"workload": [arm.name for arm in arms], **request.parameters},
        "fixed": {"database": "none"},
        "workloads": {arm.name: _workload(arm, request) for arm in arms},
        "design": _design(request, len(arms)),
        "timing": {"idle_s": IDLE_S},
        "analysis": {"responses": list(MODELLED if method is Method.MODELLED else MEASURED)},
        **({"meter": meter_table} if meter_table else {}),
    }
    return tomli_w.dumps(spec)


def arms_of(request: Request) -> tuple[OneCommand, ...]:
    """Returns the commands, and with --control a second copy of the first one."""
    if not request.control:
        return request.commands
    first = request.commands[0]
    return (*request.commands, OneCommand(control_name(first.name), first.command, first.around, first.output))


def control_name(name: str) -> str:
    """Returns the name of the A/A arm of a command."""
    return f"{name} ({CONTROL})"


def experiment_name(commands: Sequence[OneCommand]) -> str:
    """Builds a name from the programs: exec-gzip-zstd."""
    programs = [_program(one) for one in commands]
    name = "-".join(["exec", *dict.fromkeys(programs)])
    return name[:60].rstrip("-._")


def _program(one: OneCommand) -> str:
    command_line = one.command if isinstance(one.command, str) else one.command[0]
    first = (command_line.split() or ["command"])[0].rsplit("/", 1)[-1]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", first).strip("-._") or "command"


def _question(request: Request) -> str:
    names = [one.name for one in request.commands]
    if len(names) == 1:
        by = f" at each {' and '.join(map(parameter_of, request.parameters))}" if request.parameters else ""
        return f"What does {names[0]!r} cost{by}?"
    return f"Which of {len(names)} commands costs the least?"


def _workload(arm: OneCommand, request: Request) -> dict[str, Any]:
    around = {key: value for key, value in vars(arm.around).items() if value is not None}
    shell = request.shell if request.shell != SHELL else None
    texts = [arm.command, *around.values()]
    return {
        "command": arm.command,
        **({"shell": shell} if shell and any(isinstance(text, str) for text in texts) else {}),
        "cwd": "{folder}",
        **({"env": request.env} if request.env else {}),
        **({"stdin": request.stdin} if request.stdin else {}),
        **({"output": arm.output} if arm.output and not request.phase else {}),
        **around,
        **({"warmup": request.warmup} if request.warmup else {}),
        **({"ignore_failure": True} if request.ignore_failure else {}),
        **({"phase": request.phase} if request.phase else {}),
    }


def _design(request: Request, arms: int) -> dict[str, Any]:
    cells = arms * math.prod(len(values) for values in request.parameters.values())
    order = {"order": "one-after-another"} if request.in_turn and cells > 1 else {}
    if request.runs is not None:
        return {"replications": request.runs, **order}
    most = math.floor(
        request.budget_s / (cells * 2 * IDLE_S)
    )  # an upper bound: it assumes that the commands take no time
    stages = {"kind": "stein", "first": FIRST, "precision": PRECISION, "budget_s": request.budget_s}
    return {"replications": min(10_000, max(FIRST, most)), **order, "sequential": stages}
