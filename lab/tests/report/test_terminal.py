"""The terminal: outputs at 80, 120 and 200 columns and on a pipe, some at 40, compared with lab/tests/golden/.

EDGEJOULE_GOLDEN=write rewrites the files; read the difference before you commit it. Figures are synthetic, and what
depends on the machine is given.
"""

from __future__ import annotations

import fcntl
import math
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from edgejoule import doctor
from edgejoule.cli import databases, meters, run_study, terminal
from edgejoule.cli.main import main
from edgejoule.cli.progress import StudyProgress
from edgejoule.databases import checks, driver
from edgejoule.databases.driver import Adapter
from edgejoule.doctor import Examination, Fact
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import read_spec
from edgejoule.findings.experiments import flag_text
from edgejoule.findings.run_tables import value_text
from edgejoule.findings.text import number
from edgejoule.meters.base import Availability, Domain, Method
from edgejoule.meters.discovery import Candidate
from edgejoule.stats.figures import p_text
from edgejoule.store import Intervals, ResponseValue, Run, RunData, Store

GOLDEN = Path(__file__).parents[1] / "golden"
WRITE = os.environ.get("EDGEJOULE_GOLDEN") == "write"
BREAKS = Path(__file__).parents[1] / "stats/data/warpbreaks.csv"
WIDTHS = ("80", "120", "200", "piped")
NARROW = ("analyse", "list", "show", "show-run")  # golden outputs at 40 columns too
UNBREAKABLE = re.compile(r"\S{41,}")  # as long as this a word may be broken

SPEC = """\
name = "tiny"
question = "Which embedded database costs the fewest joules per operation, and does it depend on the mix?"

[factors]
database = ["sqlite", "leveldb"]
workload = ["mixed", "read-intensive"]

[fixed]
recordcount = 2000
operationcount = 500000
maxexecutiontime = 108
requestdistribution = "zipfian"

[workloads.mixed]
readproportion = 0.5
updateproportion = 0.5

[workloads.read-intensive]
readproportion = 1.0
updateproportion = 0.0

[design]
replications = 3
seed = 5

[analysis]
responses = ["energy_per_op_uj", "throughput_ops_s", "read_latency_us_p99"]
"""
DRY_RUN = ("run", "experiment.toml", "--dry-run", "--meter", "board-profile", "--profile", "generic-x86")

COMMANDS: dict[str, tuple[str, ...]] = {
    "help": ("--help",),
    "run-help": ("run", "--help"),
    "dry-run": DRY_RUN,
    "dry-run-full": (*DRY_RUN, "--full"),
    "dry-run-many": (*DRY_RUN, "--set", f"factors.threads={list(range(1, 13))}"),
    "show": ("show",),
    "show-run": ("show", "--run", "2"),
    "list": ("list",),
    "analyse": ("analyse", str(BREAKS), "--response", "breaks", "--factors", "wool,tension"),
    "export": ("export", "--csv"),
    "doctor": ("doctor",),
    "meters": ("meters",),
    "databases": ("databases",),
    "options": ("databases", "redis"),
}
FAILED = "the driver ended with code 1: database leveldb: IO error: No space left on device"
OTHERS = {3: 0.25, 5: 0.087, 11: 0.31}


@pytest.fixture
def in_folder(make_store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store and a spec, with the time of the experiment and the machine given."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    (tmp_path / "store.db").write_bytes(stored(make_store))
    (tmp_path / "experiment.toml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDGEJOULE_STORE", "store.db")
    monkeypatch.setattr(doctor, "examine", lambda *_: EXAMINATION)
    monkeypatch.setattr(databases, "adapters", lambda: {adapter.name: adapter for adapter in ADAPTERS})
    monkeypatch.setattr(meters, "discovered", lambda _: [Candidate(m.name, m, m.probe()) for m in METERS])
    return tmp_path


_STORED: list[bytes] = []  # building one takes seconds


def stored(make_store) -> bytes:
    """The file of a store with one experiment, whose time is given."""
    if not _STORED:
        with make_store(failed={7: FAILED}, other_cpu=OTHERS, planned_only=frozenset({44})) as store:
            path = store.path
            store._db.execute("UPDATE experiments SET created_realtime_ns = ?", (1_764_079_200 * 10**9,))
            store._db.commit()
        _STORED.append(path.read_bytes())
    return _STORED[0]


class GivenMeter:
    """A meter with given texts."""

    def __init__(self, name: str, method: Method, describe: str, availability: Availability) -> None:
        self.name, self.method, self.domain = name, method, Domain.BOARD
        self._describe, self._availability = describe, availability

    def probe(self) -> Availability:
        return self._availability

    def describe(self) -> str:
        return self._describe

    def open(self) -> None: ...

    def close(self) -> None: ...


METERS = [
    GivenMeter(
        "modbus", Method.MEASURED, "the wall's supply by Peacefair PZEM-004T v3.0 over Modbus (±0.6% ±0 W, k=2)",
        Availability(False, "no host and no serial port is named",
                     'name one: modbus = { host = "192.0.2.7", profile = "sdm630" } or { port = "/dev/ttyUSB0" }'),
    ),
    GivenMeter(
        "hwmon", Method.MEASURED, "power of supply rails by a monitor chip (INA219, INA226, INA3221 and others)",
        Availability(False, "/sys/class/hwmon does not exist: no chip has a driver loaded"),
    ),
    GivenMeter(
        "rapl", Method.COUNTED, "the processor packages' own energy counters (RAPL, ±10% assumed; not the whole board)",
        Availability(True, "2 packages: package-0, package-1"),
    ),
]  # fmt: skip

_CPUFREQ = "/sys has no cpufreq: the kernel, or the host of a virtual machine, hides it"


def _speed(
    mb_s: float, per_s: float | None = None, median_us: float | None = None, p99_us: float | None = None
) -> dict[str, float | None]:
    return {"mb_s": mb_s, "per_s": per_s, "median_us": median_us, "p99_us": p99_us}


EXAMINATION = Examination(
    (
        Fact("machine", "processor", "Synthetic CPU", "Synthetic CPU @ 2.10GHz"),
        Fact("machine", "memory_bytes", 25232932864, "23.5 GiB"),
        Fact("machine", "virtual_machine", True, "yes: its host hides counters and shares the processor"),
        Fact("processor", "governor", None, "", _CPUFREQ),
        Fact("processor", "khz_now", None, "", _CPUFREQ),
        Fact("processor", "temperature_c", None, "", "/sys has no thermal zone with a reading"),
        Fact("storage", "path", "/srv", "/srv/a-folder-with-a-long-name/and-one-more-below-it/for-the-databases"),
        Fact("storage", "mount_options", "rw", "rw, relatime, discard, errors=remount-ro, resuid=65534, resgid=65534"),
        Fact(
            "storage",
            "below",
            ["an image on ext4", "disk mmcblk0 (SC64G, SD card)"],
            "an image on ext4, disk mmcblk0 (SC64G, SD card)",
        ),
        Fact("storage speed", "scratch_file_bytes", 32 << 20, "32.0 MiB"),
        Fact("storage speed", "dd_write_4kb", _speed(14.1), "14.1 MB/s"),
        Fact("storage speed", "dd_read_4kb", None, "", "the page cache keeps the file: it lies in memory"),
        Fact("storage speed", "direct_write_1mb", _speed(15.25, 14.5, 68_900.2, 121_004.0), "15.3 MB/s"),
        Fact("storage speed", "direct_random_read_4kb", _speed(1_240.5, 302_861.3, 3.3, 17.8), "1,240 MB/s"),
        Fact("storage speed", "sync_random_write_4kb", _speed(0.75, 183.1, 4222.0, 8017.0), "0.75 MB/s"),
        Fact("meter", "meter", "rapl", "Energy: COUNTED by rapl (board); a real meter: edgejoule meters"),
    ),
    (
        "a virtual machine's figures depend on its host's other load: measure on the machine itself",
        "other programs use 21% of the processor: stop them; their energy is measured too",
    ),
)

ADAPTERS = [
    Adapter("leveldb", True, "LevelDB: log-structured merge tree, in process", "1.23", {}, None),
    Adapter("mongodb", True, "a stand-in for MongoDB in tests (mongo-java-server): its costs are not those of MongoDB",
            "stand-in: mongo-java-server 1.47.0, not MongoDB", {}, None),
    Adapter("redis", False, "Redis: hash tables in memory, in a separate process", None,
            {"persistence": ("none; rdb: snapshots, as Redis has them by default; aof-always: every write in a log, "
                             "synced before it is acknowledged", "rdb"),
             "password": ("password; visible in the process list, so prefer password_env or password_file", ""),
             "timeout_ms": ("time limit of an operation; after it the operation fails and the driver reconnects",
                            "10000")},
            "make servers ONLY=redis"),
]  # fmt: skip


def output_of(arguments: tuple[str, ...], width: str) -> str:
    done = CliRunner().invoke(
        main, arguments, prog_name="edgejoule", env={"COLUMNS": None if width == "piped" else width}
    )
    assert done.exit_code in (0, 3), done.output
    return done.output


def end_of_a_run(width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The lines of some runs and of the end, as `edgejoule run` prints them."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if width != "piped":
        monkeypatch.setenv("COLUMNS", width)
    with Store.open(Path("store.db")) as store:
        experiment = store.find()
        watcher = StudyProgress(terminal.messages(), "modelled")
        plan = make_plan(experiment.spec)
        watcher._spec, watcher._todo, watcher._runs = experiment.spec, plan, len(plan)  # as started() leaves it
        watcher._label_width = max(len(planned.label()) for planned in plan)
        for each in store.runs(experiment.id)[:12]:
            watcher.ran(each)
    run_study._finish(Path("store.db"), experiment, terminal.console(), None, False)
    captured = capsys.readouterr()
    return captured.err + captured.out


def compare(name: str, width: str, text: str) -> None:
    file = GOLDEN / f"{name}.{width}.txt"
    if WRITE:
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"{file} differs; EDGEJOULE_GOLDEN=write rewrites it"


def faults(text: str, width: str) -> Iterator[str]:
    """Lines that are wider than the terminal or end with a blank."""
    for line in text.splitlines():
        if width != "piped" and len(line) > int(width):
            yield f"{len(line)} columns: {line}"
        if line != line.rstrip():
            yield f"trailing blank: {line!r}"


@pytest.mark.parametrize(
    ("name", "width"), [*((name, width) for name in COMMANDS for width in WIDTHS), *((name, "40") for name in NARROW)]
)
@pytest.mark.usefixtures("in_folder")
def test_a_command_prints_what_it_should(name: str, width: str) -> None:
    text = output_of(COMMANDS[name], width)
    if name == "export":
        width_of_csv, text = "piped", "".join(line + "\n" for line in text.splitlines()[:3])
    else:
        width_of_csv = width
    assert list(faults(text, width_of_csv)) == []
    compare(name, width, text)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.usefixtures("in_folder")
def test_a_run_ends_with_progress_answer_and_report(
    width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = end_of_a_run(width, capsys, monkeypatch)
    assert list(faults(text, width)) == []
    assert text.splitlines()[-1] == "report: synthetic-1.html"
    compare("run", width, text)


@pytest.mark.usefixtures("in_folder")
@pytest.mark.parametrize("name", ["show", "meters", "doctor", "databases"])
def test_a_narrow_terminal_breaks_no_word(name: str) -> None:
    whole = set(output_of(COMMANDS[name], "piped").split())
    narrow = re.sub(r"\nNot shown at .*?\.\n", "", output_of(COMMANDS[name], "80"), flags=re.DOTALL)
    torn = [word for word in narrow.split() if word not in whole]
    assert [word for word in torn if not any(UNBREAKABLE.match(other) and word in other for other in whole)] == []


@pytest.mark.parametrize("colourless", [False, True])
def test_a_terminal_has_its_own_width_and_colours(in_folder: Path, colourless: bool) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment |= {"NO_COLOR": "1"} if colourless else {}
    text = in_terminal(["show"], 80, environment)
    assert re.sub(r"\x1b\[[0-9;]*m", "", text) == (GOLDEN / "show.80.txt").read_text(encoding="utf-8")
    assert bool(re.search(r"\x1b\[(?:\d+;)*3\dm", text)) != colourless


def in_terminal(arguments: list[str], columns: int, environment: dict[str, str]) -> str:
    """Runs the command in a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    command = [sys.executable, "-c", "from edgejoule.cli.main import main; main()", *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        chunks = list(iter(lambda: read(ours), b""))
    os.close(ours)
    assert process.returncode == 0
    return b"".join(chunks).decode().replace("\r\n", "\n")


def read(terminal_end: int) -> bytes:
    try:
        return os.read(terminal_end, 65536)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"], ["no-such-command"]])
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    script = (
        f"import sys\nsys.argv = ['edgejoule', *{arguments}]\nfrom edgejoule.cli.main import main\n"
        "try:\n    main()\nfinally:\n    print('imported:', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    imported = done.stdout.splitlines()[-1].split()
    assert "click" in imported
    assert sorted({"numpy", "scipy", "pydantic", "rich", "jinja2"} & set(imported)) == []


def test_a_summary_is_the_first_sentence_of_the_commands_help() -> None:
    eco = main.on_demand["eco"].load()
    for name, command in {**main.on_demand, **eco.on_demand}.items():
        assert command.summary == command.load().get_short_help_str(limit=200), name
        assert len(command.summary) <= 62


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), ""),
        (("other programs took 25 % of the CPU; the watts are not usable",), "other programs 25 % CPU"),
        (("the board was held back: throttled", "other programs took 8.7 % of the CPU; the watts are not usable",
          "other programs wrote 22.3 MB to the page cache, the run 0.1 MB"), "other programs 8.7 % CPU, 1 more"),
        (("other programs wrote 1,104.0 MB to the page cache, the run 6,256.3 MB",), "other programs wrote 1,104.0 MB"),
        (("other programs wrote 1,104.0 MB, the run 6,256.3 MB",), "other programs wrote 1,104.0 MB"),
        (("the driver itself took 12% of the CPU time, bound 10%",), "driver 12 % CPU"),
        (("the clock of ppk2: the exchanges exclude it", "the clock of ppk2: the exchanges exclude it"),
         "the clock of ppk2"),
        (("nobody has ever shortened a sentence such as this one",), "nobody has ever shortened a …"),
    ],
)  # fmt: skip
def test_a_flag_has_a_short_form(flags: tuple[str, ...], text: str) -> None:
    assert flag_text(flags) == text


def test_a_difference_that_is_a_rounding_error_is_shown_as_zero() -> None:
    assert value_text(ResponseValue("energy_net_j", -2e-16, "J", "modelled")) == "0"
    assert value_text(ResponseValue("energy_net_j", -2e-6, "J", "modelled")) == "-0.000002"


def test_a_value_of_a_hundred_digits_has_an_exponent() -> None:
    assert value_text(ResponseValue("device_bytes", 123_456_789_012, "byte", "timed")) == "123,456,789,012"
    assert value_text(ResponseValue("size", 1e99, "1", "timed")) == "1×10⁹⁹"
    assert number(1e99) == "1×10⁹⁹"
    assert number(-2.5e14) == "−250,000,000,000,000"


@pytest.fixture
def without_leveldb(in_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder on a machine without LevelDB."""
    known = dict(driver.adapters())
    absent = replace(known["leveldb"], available=False, fix="apt-get install libleveldb-dev, then make build")
    monkeypatch.setattr(driver, "adapters", lambda: {**known, "leveldb": absent})
    return in_folder


def planned(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, [*DRY_RUN, *arguments], env={"COLUMNS": None})
    return done.exit_code, done.output


@pytest.mark.usefixtures("without_leveldb")
def test_a_dry_run_marks_what_cannot_run_here_and_names_the_way() -> None:
    code, text = planned()
    assert code == 0
    assert re.search(r"^sqlite +mixed +3 +at most 1 min 50 s$", text, re.MULTILINE)
    assert re.search(r"^leveldb +mixed +3 +at most 1 min 50 s +no$", text, re.MULTILINE)
    assert "! leveldb is not available here: apt-get install libleveldb-dev, then make build" in text
    assert text.endswith("6 of 12 runs can be done here; --keep-going makes them\n")


@pytest.mark.usefixtures("without_leveldb")
def test_a_dry_run_without_a_possible_run_shows_the_plan_and_fails() -> None:
    code, text = planned("--set", 'factors.database=["leveldb"]')
    assert code == 1
    assert "6 runs of 2 cells" in text
    assert "0 of 6 runs can be done here" in text
    assert text.splitlines()[-1] == "edgejoule: no run of the plan can be done here"
    code, text = planned("--set", 'factors.database=["leveldb"]', "--json")
    assert code == 1
    assert '"level' in text


@pytest.mark.usefixtures("in_folder")
def test_a_dry_run_without_its_meter_shows_the_plan_and_fails() -> None:
    done = CliRunner().invoke(main, [*DRY_RUN[:3], "--meter", "serial"], env={"COLUMNS": None})
    assert done.exit_code == 1
    assert "12 runs of 4 cells" in done.output
    assert "! meter serial cannot be used here: " in done.output


@pytest.mark.usefixtures("in_folder")
def test_a_dry_run_names_the_rights_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "DROP_CACHES", "/nowhere")
    code, text = planned("--set", 'factors.cache=["warm", "cold"]')
    assert code == 0
    assert '! cache = "cold" needs root' in text
    assert text.endswith("12 of 24 runs can be done here; --only FACTOR=LEVEL makes them\n")


@pytest.mark.usefixtures("in_folder")
def test_a_dry_run_of_resume_shows_the_runs_that_are_left() -> None:
    spec = SPEC.replace("maxexecutiontime = 108\n", "")
    Path("experiment.toml").write_text(spec)
    read = read_spec(Path("experiment.toml")).spec
    with Store.open(Path("store.db")) as store:
        plan = make_plan(read)
        made = store.create_experiment(read, spec, plan, energy_words="", energy_min_ratio=None, environment={})
        for done in plan[:7]:
            store.record(made, Run(done.index, done.block, done.levels, "finished"), RunData())
    code, text = planned("--resume", "--full")
    assert code == 0
    assert re.findall(r"^ *(\d+) +\d ", text, re.MULTILINE) == ["8", "9", "10", "11", "12"]
    assert "5 runs of " in text
    Path("experiment.toml").write_text(spec.replace("seed = 5", "seed = 6"))
    code, text = planned("--resume")
    assert code == 2
    assert "nothing to resume" in text


def with_earlier_runs(values: dict[str, float]) -> str:
    """The dry run of an experiment whose runs are stored. values: response -> the logarithm's step between blocks."""
    text = Path("experiment.toml").read_text()
    spec = read_spec(Path("experiment.toml")).spec
    with Store.open(Path("store.db")) as store:
        plan = make_plan(spec)
        made = store.create_experiment(spec, text, plan, energy_words="", energy_min_ratio=None, environment={})
        for done in plan:
            responses = tuple(
                ResponseValue(name, math.exp(step * (done.block - 1)), "", "measured", 0.0)
                for name, step in values.items()
            )
            times = Intervals(10**9, 3 * 10**9, 4 * 10**9, True)
            run = Run(done.index, done.block, done.levels, "finished", responses=responses, intervals=times)
            store.record(made, run, RunData())
    return planned()[1]


@pytest.mark.usefixtures("in_folder")
def test_the_difference_shown_follows_the_spread_of_earlier_runs() -> None:
    text = with_earlier_runs({"energy_per_op_uj": 0.1})
    assert re.search(r"^as in earlier runs +10 % +1\.59×$", text, re.MULTILINE)
    assert "earlier runs: the spread of their energy_per_op_uj\n" in text
    assert "12 runs of 4 cells, order randomised-blocks, seed 5; about 1 min, from earlier runs in store.db" in text


@pytest.mark.usefixtures("in_folder")
def test_the_difference_shown_is_that_of_the_headlines_response() -> None:
    spec = Path("experiment.toml")
    spec.write_text(spec.read_text().replace("[analysis]\n", '[analysis]\nheadline = "throughput_ops_s"\n'))
    text = with_earlier_runs({"energy_per_op_uj": 0.1, "throughput_ops_s": 5.0})
    assert re.search(r"^as in earlier runs +500 % +more than 100×$", text, re.MULTILINE)
    assert "these runs cannot rank the levels of database by throughput_ops_s: raise design.replications" in text


@pytest.mark.parametrize(("p", "text"), [(0.0123, "p = 0.0123"), (2e-9, "p < 0.0001"), (None, "no p")])
def test_a_p_value_in_a_sentence_has_one_sign(p: float | None, text: str) -> None:
    assert p_text(p) == text
