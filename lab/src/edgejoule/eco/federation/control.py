"""Controls a running federation as an operator does: ecoctl at one of its servers."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgejoule.errors import FederationError

DECISIONS_MAX = 1000  # that an ecod keeps
CONTROL_TIMEOUT_S = 60.0  # limit for a policy to arrive and for jobs to end


class Control:
    """Controls a server through `ecoctl`, the program. socket: the control socket of the server's ecod."""

    def __init__(self, ecoctl: Path, socket: Path) -> None:
        self._ecoctl, self._socket = ecoctl, socket

    def __call__(self, *arguments: str) -> str:
        """Runs ecoctl and returns its output. Raises FederationError if it fails."""
        command: Sequence[str | Path] = [self._ecoctl, "--socket", self._socket, *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise FederationError(f"{self._ecoctl}: cannot be started: {error.strerror}") from error
        if done.returncode:
            raise FederationError(done.stderr.strip())
        return done.stdout

    def view(self) -> dict[str, Any]:
        """The federation as the server sees it: proto/eco.proto's FederationView."""
        view: dict[str, Any] = json.loads(self("servers", "--json"))
        return view

    def decisions(self, since_s: float = 0) -> list[dict[str, Any]]:
        """Decisions that this server made or asked for since then (Unix time): LoggedDecision of proto/eco.proto."""
        log = json.loads(self("decisions", "--json", "--last", str(DECISIONS_MAX)))
        return [each for each in log.get("decisions", []) if each.get("at_s", 0) >= since_s]

    def set_policy(self, name: str) -> None:
        """Sets the policy of all servers. Returns when this server has received it."""
        self("policy", name, "--shadow", "off")
        self._wait(lambda: in_force(self.view(), name), f"policy {name} is not received")

    def await_idle(self) -> None:
        """Returns when no server runs a job of another one."""
        self._wait(lambda: idle(self.view()), "jobs do not end")

    def _wait(self, holds: Callable[[], bool], otherwise: str) -> None:
        end = time.monotonic() + CONTROL_TIMEOUT_S
        while not holds():
            if time.monotonic() > end:
                raise FederationError(f"{self._socket}: {otherwise} after {CONTROL_TIMEOUT_S:g} s")
            time.sleep(0.1)


def in_force(view: Mapping[str, Any], policy: str, *, shadow: bool = False) -> bool:
    """Returns whether the server has received this policy."""
    policy_in_view = view.get("policy", {})
    return bool(policy_in_view.get("name") == policy and policy_in_view.get("shadow", False) == shadow)


def idle(view: Mapping[str, Any]) -> bool:
    """Returns whether no server runs a job of another one."""
    return not any(line["state"].get("jobs", 0) for line in view["servers"])
