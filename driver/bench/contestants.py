"""The drivers to compare, ours and the peers, with their command lines.

A peer is a program that the user built outside this repository (Java YCSB: jars that Maven downloads). The tables list
a peer without a path as absent.
"""

import json
import re
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from process import BenchError
from work import Work, assignments


class Contestant(ABC):
    """A driver under measurement."""

    name: str
    footprint: bool = True  # whether start-up and throttled runs are measured
    quirks: tuple[str, ...] = ()  # notes under the table: differences from the other drivers
    operations: ClassVar[dict[str, int]]  # of a long run on the null database: about 1 s of CPU time

    @abstractmethod
    def null_command(self, work: Work) -> list[str]:
        """Returns the command for a run on the driver's own null database."""

    def engine_command(self, engine: str, options: dict[str, str], work: Work) -> list[str]:
        """Returns the command for a run on a real database."""
        raise NotImplementedError(f"{self.name} {engine}")


class Edgejoule(Contestant):
    """edgejoule-driver, which reports its resource use in its events."""

    name = "edgejoule-driver"
    quirks = ("edgejoule-driver, noop: folds every byte of keys, field names and values into a checksum",)
    operations: ClassVar = {"C": 8_000_000, "A": 8_000_000, "load": 2_000_000}

    def __init__(self, program: Path, events: Path) -> None:
        self.program = program
        self._events = events

    def null_command(self, work: Work) -> list[str]:
        """Returns the command for a run on noop."""
        return self._command("noop", {}, work)

    def engine_command(self, engine: str, options: dict[str, str], work: Work) -> list[str]:
        """Returns the command with a measurement of the driver's own share."""
        return [*self._command(engine, options, work), "--driver-share"]

    def insert_one_command(self, engine: str, options: dict[str, str], records: int) -> list[str]:
        """Returns the command that adds one record to a database and waits until it has settled."""
        only_insert = {"readproportion": "0", "updateproportion": "0", "insertproportion": "1"}
        return self._command(engine, options | only_insert, Work("C", records, 1))

    def engines(self) -> set[str]:
        """Returns the databases built in."""
        listed = subprocess.run([self.program, "databases"], capture_output=True, text=True, check=True).stdout
        return set(re.findall(r"^(\w+): ", listed, re.MULTILINE))

    def event(self, kind: str) -> dict[str, Any]:
        """Returns the last event of that kind in the last run."""
        events = [json.loads(line) for line in self._events.read_text().splitlines()]
        event: dict[str, Any] = next(event for event in reversed(events) if event["event"] == kind)
        return event

    def cpu_ns(self, kind: str) -> float | None:
        """Returns the CPU time from the first operation to that event of the last run."""
        usage = self.event(kind)["usage"]
        parts = usage["cpu_user_ns"], usage["cpu_system_ns"]
        return None if None in parts else float(sum(parts))

    def _command(self, database: str, options: dict[str, str], work: Work) -> list[str]:
        command = [str(self.program), "load" if work.is_load else "run", "-db", database]
        command += [*assignments(work.properties() | options), "-threads", str(work.threads), "--seed", "1"]
        if work.target_ops_s is not None:
            command += ["-target", str(work.target_ops_s)]
        return [*command, "--quiet", "-json", str(self._events)]


class JavaYcsb(Contestant):
    """Java YCSB core 0.17.0 on one of its database classes."""

    def __init__(self, name: str, database: str, class_path: str) -> None:
        self.name = name
        self._database = database
        self._class_path = class_path

    def null_command(self, work: Work) -> list[str]:
        """Returns the command for the database class of the constructor."""
        command = ["java", "-cp", self._class_path, "site.ycsb.Client", "-load" if work.is_load else "-t"]
        command += ["-db", self._database, "-p", "basicdb.verbose=false", "-threads", str(work.threads)]
        command += ["-p", "workload=site.ycsb.workloads.CoreWorkload", *assignments(work.properties())]
        return command if work.target_ops_s is None else [*command, "-target", str(work.target_ops_s)]


class JavaYcsbBasic(JavaYcsb):
    """Java YCSB on its own null database."""

    operations: ClassVar = {"C": 4_000_000, "A": 3_000_000, "load": 800_000}
    quirks = (
        "Java YCSB 0.17.0, BasicDB (verbose=false): looks at no key and no value, so that YCSB never makes the values;",
        "  its garbage collector and JIT compiler are part of its CPU time, as in every Java YCSB",
    )


class JavaYcsbFold(JavaYcsb):
    """Java YCSB on java/FoldDB.java in this folder."""

    operations: ClassVar = {"C": 4_000_000, "A": 3_000_000, "load": 400_000}
    quirks = ("Java YCSB, FoldDB (java/FoldDB.java): asks for every value and folds every byte, as noop does",)
    footprint = False


class GoYcsb(Contestant):
    """go-ycsb."""

    name = "go-ycsb"
    quirks = (
        "go-ycsb, basic (verbose off, no delay): looks at no key and no value; its collector is part of its CPU time",
    )
    operations: ClassVar = {"C": 1_200_000, "A": 800_000, "load": 100_000}

    def __init__(self, program: Path) -> None:
        self.program = program

    def null_command(self, work: Work) -> list[str]:
        """Returns the command for its database basic, which is silent by default."""
        command = [str(self.program), "load" if work.is_load else "run", "basic", *assignments(work.properties())]
        command += ["-p", "debug.pprof=127.0.0.1:0", "--threads", str(work.threads)]
        return command if work.target_ops_s is None else [*command, "--target", str(work.target_ops_s)]


class YcsbCpp(Contestant):
    """YCSB-cpp."""

    name = "YCSB-cpp"
    quirks = (
        "YCSB-cpp, basic (silent): writes keys and values to a stream that is in the failed state, which drops them,",
        "  under one lock for all threads; it makes the pseudo-random bytes of the values itself, one draw a byte",
    )
    operations: ClassVar = {"C": 3_000_000, "A": 2_000_000, "load": 300_000}

    def __init__(self, program: Path) -> None:
        self.program = program

    def null_command(self, work: Work) -> list[str]:
        """Returns the command for its database basic, made silent."""
        return self.engine_command("basic", {"basic.silent": "true"}, work)

    def engine_command(self, engine: str, options: dict[str, str], work: Work) -> list[str]:
        """Returns the command for the binding of that name."""
        command = [str(self.program), "-load" if work.is_load else "-run", "-db", engine]
        command += ["-threads", str(work.threads), *assignments(work.properties() | options)]
        return command if work.target_ops_s is None else [*command, "-p", f"limit.ops={work.target_ops_s}"]


@dataclass(frozen=True)
class Field:
    """The drivers that take part, and the absent ones with the reason."""

    ours: Edgejoule
    peers: list[Contestant]
    absent: list[str]

    @property
    def all(self) -> list[Contestant]:
        """Returns all drivers, ours first."""
        return [self.ours, *self.peers]


def java_ycsb(folder: Path) -> list[Contestant]:
    """Returns Java YCSB on both database classes. Maven copies the jars into the folder on first use."""
    jars, classes = folder / "jars", folder / "classes"
    here = Path(__file__).parent
    if not any(jars.glob("core-*.jar")):
        print("fetching Java YCSB with Maven ...", file=sys.stderr)
        copy = [
            "mvn",
            "-q",
            "-B",
            "-f",
            str(here / "pom.xml"),
            "dependency:copy-dependencies",
            f"-DoutputDirectory={jars}",
        ]
        _make(copy, "Maven could not fetch site.ycsb:core:0.17.0; --no-java measures without it")
    class_path = f"{jars}/*"
    compile_fold = ["javac", "-cp", class_path, "-d", str(classes), str(here / "java" / "FoldDB.java")]
    _make(compile_fold, "java/FoldDB.java could not be compiled; --no-java measures without it")
    return [
        JavaYcsbBasic("Java YCSB", "site.ycsb.BasicDB", class_path),
        JavaYcsbFold("Java YCSB, FoldDB", "FoldDB", f"{class_path}:{classes}"),
    ]


def _make(command: list[str], failure: str) -> None:
    try:
        made = subprocess.run(command, check=False).returncode == 0
    except OSError:
        made = False
    if not made:
        raise BenchError(failure)
