"""A certificate authority and a certificate for each server, made with OpenSSL's command as the guide does."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgejoule.errors import FederationError

DAYS = "30"
_EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Keys:
    """PEM files of one server."""

    ca: Path
    certificate: Path
    key: Path


def make_keys(folder: Path, hosts: Mapping[str, Sequence[str]]) -> dict[str, Keys]:
    """Of servers, each with the IP addresses by which it is reached.

    For tests and emulations: the authority's key stays in the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ca, ca_key = folder / "ca.pem", folder / "ca.key"
    _openssl("req", "-x509", *_EC, "-keyout", ca_key, "-out", ca, "-days", DAYS, "-subj", "/CN=edgejoule eco")
    made = {}
    for name, addresses in hosts.items():
        keys = Keys(ca, folder / f"{name}.pem", folder / f"{name}.key")
        request, names = folder / f"{name}.csr", folder / f"{name}.names"
        names.write_text("subjectAltName=" + ",".join(f"IP:{address}" for address in addresses) + "\n")
        _openssl("req", *_EC, "-keyout", keys.key, "-out", request, "-subj", f"/CN={name}")
        _openssl(
            "x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-days", DAYS,
            "-extfile", names, "-out", keys.certificate,
        )  # fmt: skip
        made[name] = keys
    return made


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise FederationError(f"openssl {arguments[0]}: {done.stderr.strip()}")
