"""Servers on a Java virtual machine: the folders of their jars, and the options that Java 17 needs to run them."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from edgejoule.database_servers.server import Installation, program

JAVA_MIN = 17
#: Packages of java.base that these servers open by reflection.
_BASE = (
    "java.io", "java.lang", "java.lang.module", "java.lang.reflect", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.loader", "jdk.internal.math",
    "jdk.internal.misc", "jdk.internal.module", "jdk.internal.ref", "jdk.internal.reflect", "jdk.internal.util",
    "jdk.internal.util.jar", "sun.nio.ch",
)  # fmt: skip
_OTHERS = (
    "java.logging/java.util.logging", "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.management/sun.management", "java.rmi/sun.rmi.registry", "java.rmi/sun.rmi.server",
    "java.rmi/sun.rmi.transport.tcp", "java.sql/java.sql", "jdk.management/com.sun.management.internal",
    "jdk.naming.dns/com.sun.jndi.dns",
)  # fmt: skip


def jars(name: str) -> Path:
    """Returns the folder of a server's or client's jars: $EDGEJOULE_SERVERS, else build/servers of the source tree,
    else of the current folder.
    """
    if named := os.environ.get("EDGEJOULE_SERVERS"):
        return Path(named) / name / "lib"
    source = next((p for p in Path(__file__).resolve().parents if (p / "lab/pyproject.toml").is_file()), Path())
    return source / "build/servers" / name / "lib"


def installation(name: str, jar: str) -> Installation:
    """Checks for the jar JAR-VERSION.jar of a server, and for a Java that runs it."""
    versions = [m[1] for p in jars(name).glob(f"{jar}-*.jar") if (m := re.fullmatch(rf"{jar}-([\d.]+)\.jar", p.name))]
    if not versions:
        return Installation(False, why=f"no {jar} in {jars(name)}", fix="make servers")
    if (java := java_version()) is None or java < JAVA_MIN:
        why = "there is no java" if java is None else f"it needs Java {JAVA_MIN}, and this is Java {java}"
        return Installation(False, why=why, fix="make servers")
    return Installation(True, max(versions))


@cache
def java_version() -> int | None:
    """Returns the major version of `java`; None without Java."""
    path = program("java")
    if path is None:
        return None
    with contextlib.suppress(OSError):  # much faster than a start of java
        release = (Path(path).resolve().parents[1] / "release").read_text()
        if version := re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', release):
            return int(version[1])
    output = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(version[1]) if version else None


def opened() -> list[str]:
    """Returns the flags that open these packages."""
    packages = [*(f"java.base/{name}" for name in _BASE), *_OTHERS]
    return [f"--{what}={package}=ALL-UNNAMED" for package in packages for what in ("add-opens", "add-exports")]


def java(class_path: Iterable[object], *arguments: str) -> list[str]:
    """Returns a program's argv. arguments: flags, the class, its arguments."""
    return [program("java") or "java", *opened(), "-cp", ":".join(map(str, class_path)), *arguments]
