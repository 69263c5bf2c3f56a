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
HEARD_S = 60.0  # within which a policy is heard of and jobs end


class Control:
    """ecoctl: the program. socket: of a server's ecod."""

    def __init__(self, ecoctl: Path, socket: Path) -> None:
        self._ecoctl, self._socket = ecoctl, socket

    def __call__(self, *words: str) -> str:
        """What ecoctl says. Raises FederationError: it fails."""
        command: Sequence[str | Path] = [self._ecoctl, "--socket", self._socket, *words]
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
        """Of all servers; returns when this one has heard of it."""
        self("policy", name, "--shadow", "off")
        self._wait(lambda: in_force(self.view(), name), f"policy {name} is not heard of")

    def await_idle(self) -> None:
        """Returns when no server runs a job of another one."""
        self._wait(lambda: idle(self.view()), "jobs do not end")

    def _wait(self, holds: Callable[[], bool], otherwise: str) -> None:
        end = time.monotonic() + HEARD_S
        while not holds():
            if time.monotonic() > end:
                raise FederationError(f"{self._socket}: {otherwise} after {HEARD_S:g} s")
            time.sleep(0.1)


def in_force(view: Mapping[str, Any], policy: str, *, shadow: bool = False) -> bool:
    """Is this the policy that a server has heard of?"""
    told = view.get("policy", {})
    return bool(told.get("name") == policy and told.get("shadow", False) == shadow)


def idle(view: Mapping[str, Any]) -> bool:
    """No server runs a job of another one."""
    return not any(line["state"].get("jobs", 0) for line in view["servers"])
