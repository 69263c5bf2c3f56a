"""edgejoule-driver as its users and lab see it: input files, output lines and exit status."""

import contextlib
import json
import os
import pty
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from driving import DRIVER, REPOSITORY, Event, drive, events_of
from hdrh.histogram import HdrHistogram

SCHEMA = jsonschema.Draft202012Validator(json.loads((REPOSITORY / "schemas" / "driver-event.schema.json").read_text()))
SMALL = ["-p", "recordcount=1000", "-p", "operationcount=5000", "--seed", "1"]


def run_events(*arguments: str, command: str = "run", database: str = "noop") -> list[Event]:
    done = drive(command, "-db", database, *SMALL, "-json", "-", *arguments)
    assert done.returncode == 0, done.stderr
    return events_of(done.stdout)


@pytest.mark.parametrize("workload", [f"workload{letter}" for letter in "abcdef"])
@pytest.mark.parametrize("command", ["load", "run"])
def test_every_event_is_valid_against_the_schema(command: str, workload: str) -> None:
    events = run_events("-P", workload, "--driver-share", "-threads", "2", command=command)
    for event in events:
        SCHEMA.validate(event)
    names = [event["event"] for event in events]
    assert names[0] == "start"
    assert names[-1] == "end"
    assert [event["phase"] for event in events if event["event"] == "phase"] == [
        "open",
        "active",
        "settle",
        "driver_share",
        "close",
    ]
    assert names.index("active_end") < names.index("settled") < names.index("end")


def test_the_schema_rejects_an_event_without_usage() -> None:
    event = next(event for event in run_events() if event["event"] == "active_end")
    del event["usage"]
    assert not SCHEMA.is_valid(event)


def test_operations_add_up_over_intervals_latencies_and_end() -> None:
    events = run_events("-P", "workloada", "-target", "20000", "--interval-ms", "50")
    intervals = [event for event in events if event["event"] == "interval"]
    end = events[-1]
    assert len(intervals) > 2
    assert sum(interval["operations"] for interval in intervals) == 5000
    assert intervals[-1]["operations_total"] == end["operations"] == 5000
    service = [latency for latency in end["latencies"] if latency["measure"] == "service"]
    intended = [latency for latency in end["latencies"] if latency["measure"] == "intended"]
    assert sum(latency["count"] for latency in service) == 5000
    assert [latency["count"] for latency in intended] == [latency["count"] for latency in service]


def test_the_usage_of_the_active_interval_is_read_once_before_anything_is_written() -> None:
    events = run_events("-P", "workloada", "-threads", "2", "--interval-ms", "10")
    last_interval = [event for event in events if event["event"] == "interval"][-1]
    active_end = next(event for event in events if event["event"] == "active_end")
    assert active_end["monotonic_ns"] == last_interval["monotonic_ns"]
    assert active_end["usage"] == last_interval["usage"]


def test_the_peak_of_memory_is_the_run_s_and_not_the_driver_share_s() -> None:
    # Each stream of updates has a buffer for a value of this size: one for the run, one for the driver's share.
    field_bytes = 64 << 20
    updates = ["-p", "readproportion=0", "-p", "updateproportion=1", "-p", "operationcount=2"]
    arguments = ["-P", "workloada", *updates, "-p", "fieldcount=1", "-p", f"fieldlength={field_bytes}"]
    alone = run_events(*arguments)[-1]["rss_peak_bytes"]
    with_share = run_events(*arguments, "--driver-share")[-1]["rss_peak_bytes"]
    assert alone > field_bytes
    assert with_share - alone < field_bytes // 2


def decoded_differs(latency: Event) -> bool:
    histogram = HdrHistogram.decode(latency["hdr"])
    percentiles = {"p50_ns": 50, "p90_ns": 90, "p95_ns": 95, "p99_ns": 99, "p999_ns": 99.9}
    return histogram.get_total_count() != latency["count"] or any(
        min(histogram.get_value_at_percentile(percent), latency["max_ns"]) != latency[name]
        for name, percent in percentiles.items()
    )


def test_latencies_are_decoded_by_python_hdrhistogram_to_the_same_counts_and_percentiles() -> None:
    latencies = run_events("-P", "workloadf", "-threads", "2")[-1]["latencies"]
    assert {latency["operation"] for latency in latencies} == {"READ", "UPDATE", "READ-MODIFY-WRITE"}
    assert not any(decoded_differs(latency) for latency in latencies)


def test_the_comparison_of_histograms_rejects_another_histogram() -> None:
    latency = run_events("-P", "workloadc")[-1]["latencies"][0]
    other = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in range(latency["count"]):
        other.record_value(value + 1)
    assert decoded_differs({**latency, "hdr": other.encode().decode()})


def test_the_same_seed_gives_the_same_checksum() -> None:
    assert run_events("-P", "workloada")[-1]["checksum"] == run_events("-P", "workloada")[-1]["checksum"]
    other = drive("run", "-db", "noop", *SMALL[:-1], "2", "-P", "workloada", "-json", "-")
    assert events_of(other.stdout)[-1]["checksum"] != run_events("-P", "workloada")[-1]["checksum"]


def test_the_text_is_that_of_ycsb() -> None:
    lines = drive("run", "-db", "noop", *SMALL, "-P", "workloadc").stdout.splitlines()
    assert lines[0].startswith("[OVERALL], RunTime(ms), ")
    assert lines[1].startswith("[OVERALL], Throughput(ops/sec), ")
    assert [line.rsplit(", ", 1)[0] for line in lines[2:9]] == [
        "[READ], Operations",
        "[READ], AverageLatency(us)",
        "[READ], MinLatency(us)",
        "[READ], MaxLatency(us)",
        "[READ], 95thPercentileLatency(us)",
        "[READ], 99thPercentileLatency(us)",
        "[READ], Return=OK",
    ]
    assert lines[2] == "[READ], Operations, 5000"
    assert lines[9] == "[CLEANUP], Operations, 1"


def test_a_run_without_a_number_of_operations_ends_by_time() -> None:
    arguments = ["-p", "recordcount=1000", "-p", "operationcount=0", "-p", "maxexecutiontime=1", "-target", "1000"]
    done = drive("run", "-db", "noop", *arguments, "-json", "-", "--seed", "1")
    events = events_of(done.stdout)
    assert done.returncode == 0
    assert events[-1]["event"] == "end"
    assert events[-1]["operations"] > 0
    assert all(event["operations_planned"] is None for event in events if event["event"] == "interval")


def test_what_was_done_while_warming_up_is_not_counted() -> None:
    events = run_events("-P", "workloadc", "--warmup", "0.05")
    assert [event["phase"] for event in events if event["event"] == "phase"][:3] == ["open", "warmup", "active"]
    assert events[-1]["operations"] == 5000
    assert events[-1]["latencies"][0]["count"] == 5000


def test_a_warm_up_obeys_the_rate(tmp_path: Path) -> None:
    # Each operation inserts a row, so the database's count gives the operations of the warm-up.
    place = ["-db", "sqlite", "-p", f"sqlite.path={tmp_path / 'database'}", "-p", "recordcount=10", "--seed", "1"]
    assert drive("load", *place).returncode == 0
    inserts = ["-p", "readproportion=0", "-p", "updateproportion=0", "-p", "insertproportion=1"]
    limits = ["-p", "operationcount=10", "--warmup", "0.5", "-target", "100"]
    assert drive("run", *place, *inserts, *limits).returncode == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "database")) as database:
        (rows,) = database.execute("SELECT count(*) FROM usertable").fetchone()
    warm_up = rows - 10 - 10
    assert 1 <= warm_up <= 51


def test_the_intervals_report_how_the_rate_changed() -> None:
    arguments = ["-p", "recordcount=10", "-p", "operationcount=900", "--seed", "1", "--interval-ms", "100"]
    done = drive("run", "-db", "noop", *arguments, "--rate", "steps:100@0.5,1600@0.5", "-threads", "2", "-json", "-")
    events = events_of(done.stdout)
    assert events[0]["rate"] == "steps:100@0.5,1600@0.5"
    assert events[0]["target_ops_s"] == 850
    begin = next(event["active_start_ns"] for event in events if event["event"] == "active_end")
    early = [e for e in events if e["event"] == "interval" and e["monotonic_ns"] < begin + 450_000_000]
    # No operation begins before it is due, however slow the machine is.
    assert sum(interval["operations"] for interval in early) <= 50
    assert events[-1]["operations"] == 900


def test_the_latencies_of_the_intervals_add_up_to_those_of_the_run() -> None:
    events = run_events("-P", "workloadf", "-target", "20000", "-threads", "2", "--interval-ms", "20")
    intervals = [event for event in events if event["event"] == "interval"]
    whole = {(each["operation"], each["measure"]): each["count"] for each in events[-1]["latencies"]}
    sums: dict[tuple[str, str], int] = {}
    for interval in intervals:
        for each in interval["latencies"]:
            name = (each["operation"], each["measure"])
            sums[name] = sums.get(name, 0) + each["count"]
    assert sums == whole
    assert len([interval for interval in intervals if interval["latencies"]]) > 2


def test_status_lines_are_those_of_ycsb() -> None:
    arguments = [
        "-s",
        "-p",
        "status.interval=1",
        "-target",
        "1000",
        "-p",
        "operationcount=1500",
        "--interval-ms",
        "100",
    ]
    *during, last = drive("run", "-db", "noop", *SMALL, *arguments, "-P", "workloadc").stderr.splitlines()
    begin = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d\d\d \d+ sec: \d+ operations; [.\d]+ current ops/sec; "
    read = r"\[READ: Count=\d+, Max=\d+, Min=\d+, Avg=[.\d]+, 90=\d+, 99=\d+, 99.9=\d+, 99.99=\d+\] "
    assert re.fullmatch(begin + r"est completion in \d+ second " + read, during[0])
    assert re.fullmatch(begin + read, last)
    assert "1500 operations" in last


def test_reads_before_write_are_those_of_the_measured_operations(tmp_path: Path) -> None:
    place = ["-db", "leveldb", "-p", f"leveldb.path={tmp_path / 'database'}", *SMALL]
    assert drive("load", *place).returncode == 0
    done = drive("run", *place, "-P", "write-intensive", "-p", "update=merge", "--warmup", "0.05", "-json", "-")
    assert events_of(done.stdout)[-1]["read_before_write"] == 5000


@pytest.mark.parametrize(
    ("database", "properties", "semantics", "reads"),
    [
        ("leveldb", [], "merge", 2500),
        ("leveldb", ["writeallfields=true"], "put", 0),
        ("leveldb", ["fieldcount=1"], "put", 0),
        ("leveldb", ["writeallfields=true", "update=put"], "put", 0),
        ("leveldb", ["writeallfields=true", "update=merge"], "merge", 2500),
        ("leveldb", ["updateproportion=0", "insertproportion=0.5"], None, 0),
        ("rocksdb", ["writeallfields=true"], "put", 0),
        ("lmdb", ["writeallfields=true"], "put", 0),
        ("sqlite", ["writeallfields=true"], "native", 0),
    ],
)
def test_an_update_of_all_fields_reads_nothing_unless_merge_is_set(
    tmp_path: Path, database: str, properties: list[str], semantics: str | None, reads: int
) -> None:
    options = [option for text in properties for option in ("-p", text)]
    place = ["-db", database, "-p", f"{database}.path={tmp_path / 'database'}", *SMALL, "-P", "workloada", *options]
    assert drive("load", *place).returncode == 0
    start, *_, end = events_of(drive("run", *place, "-json", "-").stdout)
    assert start["update_semantics"] == semantics
    assert end["read_before_write"] == pytest.approx(reads, rel=0.1)  # updates are drawn: 2,500 ± 35 of 5,000


def test_the_checksum_is_that_of_the_measured_operations() -> None:
    # One record, always read whole, so all operations are alike.
    alike = ["-P", "workloadc", "-p", "recordcount=1"]
    assert run_events(*alike, "--warmup", "0.05")[-1]["checksum"] == run_events(*alike)[-1]["checksum"]


REFUSED = [
    (["-P", "no-such-file"], "no-such-file: cannot be read"),
    (["-p", "recordcuont=1"], "did you mean recordcount?"),
    (["-p", "recordcount"], "expected key=value"),
    (["-p", "recordcount=0"], "recordcount=0: expected a number from 1"),
    (["-p", "operationcount=9" + 30 * "9"], "expected a number up to 9223372036854775807\n"),
    (["--rate", "file:/tmp"], "rate file:/tmp: expected a file; this is a directory\n"),
    (["-p", "recordcount=ten"], "recordcount=ten: expected a whole number"),
    (["-p", "readproportion=-1"], "readproportion=-1: expected a proportion >= 0"),
    (["-p", "readproportion=0", "-p", "updateproportion=0"], "all proportions are 0"),
    (["-p", "requestdistribution=zipf"], "expected one of: uniform, zipfian, latest"),
    (["-p", "sqlite.path=/x"], "unknown property sqlite.path: an option of sqlite, but the database is noop"),
    (["-p", "dataintegrity=true"], "noop keeps none"),
    (["-p", "update=blind"], "update=blind: expected one of: auto, merge, put"),
    (["-p", "update=put"], "update=put: an update of one field would lose the others; expected writeallfields=true"),
    (["-threads", "0"], "threadcount=0: expected a number from 1"),
    (["-threads", "many"], "threadcount=many: expected a whole number"),
    (["-target", "-5"], "target=-5: expected operations per second"),
    (["-target", "1e-300"], "-target: target=1e-300: expected operations per second from 1e-6 to 1e9"),
    (["-target", "1e300"], "-target: target=1e300: expected operations per second from 1e-6 to 1e9"),
    (["--rate", "1e-300"], "rate 1e-300: expected a rate from 1e-6"),
    (["--rate", ""], "--rate: rate=: expected operations per second, or steps:"),
    (["-p", "workload="], "workload=: unknown; expected one of"),
    (["--seed", "-1"], "--seed -1: expected a whole number from 0 to 18446744073709551615"),
    (["--seed", "18446744073709551616"], "--seed 18446744073709551616: expected a whole number"),
    (["--seed", "0x10"], "--seed 0x10: expected a whole number"),
    (["--seed", ""], '--seed "": expected a whole number'),
    (["--interval-ms", "9"], "--interval-ms 9: expected a whole number from 10"),
    (["--interval-ms", "-1"], "--interval-ms -1: expected a whole number from 10"),
    (["--driver-share-max", "nan"], "--driver-share-max nan: expected a number from 0 to 1"),
    (["--warmup", "inf"], "--warmup inf: expected a number from 0"),
    (["-load"], "-load: contradicts the command run; expected the command load"),
    (["-P", "workloadx"], "did you mean workloada?"),
    (["-P", "/dev/zero"], "/dev/zero: is a device; expected a property file"),
    (["-p", "threads=4"], "unknown property threads; did you mean threadcount?"),
    (["-p", "recordcount\x1b[31m\n=4"], r"unknown property recordcount\x1b[31m\n"),
    (["-p", "fieldlengthdistribution=histogram"], "expected the file that fieldlengthhistogram names"),
    (["--rate", "fast"], "rate fast: expected operations per second, or steps:"),
    (["--rate", "100", "-target", "100"], "either a rate or a target, not both"),
    (["-p", "workload=tpcc"], "workload=tpcc: unknown; expected one of: site.ycsb.workloads.CoreWorkload"),
    (["--durability", "some"], "durability=some: expected one of: none, process, power"),
    (["--driver-share-max", "2"], "--driver-share-max"),
    (["-json", "/no/such/directory/run.jsonl"], "cannot be written"),
    (["--die-with-parent=me"], "--die-with-parent=me: expected the process id"),
    (["--no-such-option"], "--no-such-option"),
]


@pytest.mark.parametrize(("arguments", "expected"), REFUSED)
def test_what_cannot_be_done_is_refused_in_one_line(arguments: list[str], expected: str) -> None:
    done = drive("run", "-db", "noop", *SMALL, *arguments)
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_an_unknown_database_is_refused_with_those_there_are() -> None:
    done = drive("run", "-db", "oracle", *SMALL)
    assert done.returncode == 2
    assert "-db oracle: unknown database; expected one of:" in done.stderr
    assert "noop" in done.stderr


def test_a_refusal_is_an_error_event_too(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    drive("run", "-db", "noop", *SMALL, "-p", "recordcuont=1", "-json", str(log))
    (event,) = events_of(log.read_text())
    SCHEMA.validate(event)
    assert event["kind"] == "usage"


def test_a_full_disk_ends_the_run_with_one_line() -> None:
    done = drive("run", "-db", "noop", *SMALL, "-json", "/dev/full")
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_notes_that_cannot_be_written_end_no_run() -> None:
    with Path("/dev/full").open("w") as full:
        arguments = [DRIVER, "run", "-db", "noop", *SMALL[:-2]]  # no seed: the driver prints a random one
        done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=full, timeout=60, check=False)
    assert done.returncode == 0
    assert b"[READ], Operations" in done.stdout


GIBIBYTE = 1 << 30


@pytest.mark.parametrize(
    ("limits", "arguments", "expected"),
    [
        ({resource.RLIMIT_AS: GIBIBYTE // 4}, ["-p", "fieldlength=1000000000"], "not enough memory"),
        (
            {resource.RLIMIT_AS: 4 * GIBIBYTE, resource.RLIMIT_STACK: GIBIBYTE},  # also the size of a thread's stack
            ["-threads", "8"],
            "cannot start client thread",
        ),
    ],
)
def test_what_the_system_refuses_ends_the_run_with_one_line_and_an_error_event(
    tmp_path: Path, limits: dict[int, int], arguments: list[str], expected: str
) -> None:
    log = tmp_path / "run.jsonl"
    done = subprocess.run(
        [DRIVER, "run", "-db", "noop", *SMALL, *arguments, "-json", log],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: [resource.setrlimit(what, (most, most)) for what, most in limits.items()],
    )
    assert done.returncode == 1
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1
    last = events_of(log.read_text())[-1]
    SCHEMA.validate(last)
    assert (last["event"], last["kind"]) == ("error", "system")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_ends_the_run_in_good_order(tmp_path: Path, stop: signal.Signals) -> None:
    log = tmp_path / "run.jsonl"
    arguments = ["-p", "recordcount=1000", "-p", "operationcount=1000000000", "-target", "1000", "--seed", "1"]
    process = subprocess.Popen([DRIVER, "run", "-db", "noop", *arguments, "-json", str(log)], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (log.exists() and '"active"' in log.read_text()):
        time.sleep(0.01)
    process.send_signal(stop)
    _, message = process.communicate(timeout=30)
    assert process.returncode == 130
    assert message.decode() == f"edgejoule-driver: interrupted ({stop.name})\n"
    last = events_of(log.read_text())[-1]
    SCHEMA.validate(last)
    assert (last["event"], last["kind"]) == ("error", "interrupted")


@pytest.mark.parametrize("database", ["leveldb", "rocksdb", "sqlite"])
def test_a_run_whose_settling_fails_has_failed(tmp_path: Path, database: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    log = tmp_path / "run.jsonl"
    place = ["-db", database, "-p", f"{database}.path={data / 'database'}", "-p", "recordcount=10", "--seed", "1"]
    assert drive("load", *place).returncode == 0
    limits = ["-p", "operationcount=0", "-p", "maxexecutiontime=2", "-target", "100", "-P", "write-intensive"]
    process = subprocess.Popen([DRIVER, "run", *place, *limits, "-json", log], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (log.exists() and '"active"' in log.read_text()):
        time.sleep(0.01)
    data.rename(tmp_path / "gone")  # at once: LevelDB may create a file meanwhile
    _, message = process.communicate(timeout=60)
    last = events_of(log.read_text())[-1]
    SCHEMA.validate(last)
    assert process.returncode == 1
    assert (last["event"], last["kind"]) == ("error", "database")
    assert message.startswith("edgejoule-driver: settling: ")
    assert str(data) in message
    assert len(message.splitlines()) == 1


def is_running(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def driver_whose_parent_was_killed(tmp_path: Path, *arguments: str) -> int:
    log = tmp_path / "run.jsonl"
    endless = [DRIVER, "run", "-db", "noop", "-p", "recordcount=1000", "-p", "operationcount=0"]
    limits = ["-p", "maxexecutiontime=1000", "-target", "10", "-json", log]
    command = [str(word) for word in [*endless, *limits, *arguments]]
    script = f"import subprocess, time; print(subprocess.Popen({command!r}).pid, flush=True); time.sleep(1000)"
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert parent.stdout is not None
    process_id = int(parent.stdout.readline())
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (log.exists() and '"active"' in log.read_text()):
        time.sleep(0.01)
    assert is_running(process_id)
    parent.kill()
    parent.wait()
    parent.stdout.close()  # the driver has inherited the other end
    return process_id


def test_the_driver_dies_with_its_parent_when_asked(tmp_path: Path) -> None:
    process_id = driver_whose_parent_was_killed(tmp_path, "--die-with-parent")
    deadline = time.monotonic() + 30
    while is_running(process_id) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(process_id)


def test_the_driver_outlives_its_parent_when_not_asked(tmp_path: Path) -> None:
    process_id = driver_whose_parent_was_killed(tmp_path)
    time.sleep(0.2)
    assert is_running(process_id)
    os.kill(process_id, signal.SIGKILL)


def test_the_driver_dies_at_once_when_its_parent_has_ended_already() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert drive("run", "-db", "noop", *SMALL, f"--die-with-parent={ended.pid}").returncode == -signal.SIGKILL
    assert drive("run", "-db", "noop", *SMALL, f"--die-with-parent={os.getpid()}").returncode == 0


def progress_on_a_terminal(*arguments: str) -> str:
    controller, terminal = pty.openpty()
    done = subprocess.run(
        [DRIVER, "run", "-db", "noop", *SMALL, "-target", "20000", "--interval-ms", "50", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        timeout=60,
        check=True,
    )
    assert done.returncode == 0
    os.close(terminal)
    seen = b""
    try:
        while chunk := os.read(controller, 65536):
            seen += chunk
    except OSError:  # the end of a terminal whose other side is closed
        pass
    os.close(controller)
    return seen.decode()


def test_progress_is_a_bar_on_a_terminal_and_nothing_when_quiet() -> None:
    assert "operations/s" in progress_on_a_terminal()
    assert progress_on_a_terminal("--quiet") == ""


def test_options_of_other_databases_in_a_file_are_noted_and_ignored(tmp_path: Path) -> None:
    shared = tmp_path / "shared.properties"
    shared.write_text("mongodb.url=mongodb://host\nspin.sleep=true\n")
    done = drive("run", "-db", "noop", *SMALL, "-P", str(shared))
    assert done.returncode == 0
    assert "of other databases, ignored: mongodb.url" in done.stderr
    assert "without effect here: spin.sleep (waiting threads sleep)" in done.stderr


def test_databases_lists_noop() -> None:
    assert "noop: " in drive("databases").stdout
    assert "noop" in [entry["name"] for entry in json.loads(drive("databases", "--json").stdout)]


def test_the_commands_of_ycsb_may_say_what_the_command_says() -> None:
    for arguments in (["load", "-load"], ["-load"], ["run", "-t"], ["-t"]):
        done = drive(*arguments, "-db", "noop", *SMALL)
        assert done.returncode == 0, done.stderr
        assert ("[INSERT]" in done.stdout) == ("-load" in arguments)
    refused = drive("load", "-t", "-db", "noop", *SMALL)
    assert refused.returncode == 2
    assert "-t: contradicts the command load" in refused.stderr


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (["--record", "f", "-json", "f"], "--record f: is the file of -json"),
        (["-json", "f", "-p", "exportfile=./f"], "exportfile ./f: is the file of -json"),
        (["--record", "link/f", "-p", "exportfile=f"], "exportfile f: is the file of --record"),
    ],
)
def test_two_outputs_into_one_file_are_refused(tmp_path: Path, outputs: list[str], expected: str) -> None:
    (tmp_path / "link").symlink_to(".")
    done = drive("run", "-db", "noop", *SMALL, *outputs, cwd=tmp_path)
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("output", [["--record", "t"], ["-json", "t"], ["-p", "exportfile=t"]])
@pytest.mark.parametrize("data", [["-p", "workload=replay", "-p", "trace=t"], ["-P", "t"], ["--rate", "file:t"]])
def test_no_output_overwrites_an_input(tmp_path: Path, output: list[str], data: list[str]) -> None:
    file = tmp_path / "t"
    file.write_text("kept")
    done = drive("run", "-db", "noop", *data, *output, cwd=tmp_path)
    assert done.returncode == 2
    assert file.read_text() == "kept"
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("descriptors", ["0", "1", "2", "12", "012"])
def test_a_closed_descriptor_is_never_a_file_of_the_database(tmp_path: Path, descriptors: str) -> None:
    closing = " ".join(f"{descriptor}>&-" for descriptor in descriptors)
    closed = ["bash", "-c", f'exec "$0" "$@" {closing}']
    records = ["-p", "recordcount=1000", "-p", "operationcount=1000", "--seed", "1"]
    records += ["-p", f"lunar.path={tmp_path}/l", "-p", f"lunar.size_bytes={8 << 20}"]
    done = drive("load", "-db", "lunar", *records, "-threads", "2", starter=closed)
    if "1" in descriptors:
        assert done.returncode == 1
        if "2" not in descriptors:
            assert done.stderr.endswith("the report cannot be written to standard output: Bad file descriptor\n")
    else:
        assert done.returncode == 0
        assert "[OVERALL]" in done.stdout
    reading = [*records, "-p", "readproportion=1", "-p", "updateproportion=0", "-json", "-"]
    end = events_of(drive("run", "-db", "lunar", *reading).stdout)[-1]
    assert (end["operations"], end["failures"]) == (1000, 0)
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"[OVERALL]" in file.read_bytes()]


def test_a_message_shows_no_bytes_that_a_terminal_could_obey(tmp_path: Path) -> None:
    file = tmp_path / "random.properties"
    file.write_bytes(b"k\xc3\xa9y\x1b[2J\xff\x9b\xc2\x9b31m\xe2\x82=1\n")
    done = subprocess.run([DRIVER, "run", "-db", "noop", "-P", file], capture_output=True, timeout=60)
    assert "unknown property k\u00e9y\\x1b[2J\\xff\\x9b\\xc2\\x9b31m\\xe2\\x82;".encode() in done.stderr


def test_a_server_that_is_not_there_is_asked_for_once() -> None:
    server = ["-p", "postgres.host=127.0.0.1", "-p", "postgres.port=1"]
    done = drive("run", "-db", "postgres", *SMALL, *server)
    if "not built" in done.stderr or "unknown database" in done.stderr:
        pytest.skip("built without the adapter of PostgreSQL")
    assert done.stderr.count("server running") == 1
    assert "Connection refused; is a server running at 127.0.0.1:1? Set postgres.host" in done.stderr
    assert "\\t" not in done.stderr


def test_an_unknown_command_is_named() -> None:
    commands = "load, run, databases, workloads, verify-durability"
    assert drive("foo").stderr == f"edgejoule-driver: unknown command foo; expected one of {commands}; see --help\n"
    assert drive("--foo").stderr == "edgejoule-driver: unknown option --foo; see --help\n"


def test_outputs_may_be_separate_files_or_none(tmp_path: Path) -> None:
    for outputs in (["--record", "r", "-json", "j"], ["--record", "/dev/null", "-json", "/dev/null"]):
        assert drive("run", "-db", "noop", *SMALL, *outputs, "-p", "exportfile=e", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(("given", "taken"), [("010", 10), ("18446744073709551615", 2**64 - 1)])
def test_a_seed_is_decimal(given: str, taken: int) -> None:
    done = drive("run", "-db", "noop", *SMALL[:-2], "-json", "-", "--seed", given)
    assert events_of(done.stdout)[0]["seed"] == taken


def test_a_hangup_ends_no_run_that_was_started_to_ignore_it(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    limits = ["-p", "operationcount=1000", "-target", "1000"]
    process = subprocess.Popen(
        [DRIVER, "run", "-db", "noop", *SMALL, *limits, "-json", str(log)],
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (log.exists() and '"active"' in log.read_text()):
        time.sleep(0.01)
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=30) == 0
    assert events_of(log.read_text())[-1]["event"] == "end"


def test_workloads_lists_the_properties_and_the_files_that_come_with_the_driver() -> None:
    listed = drive("workloads").stdout
    core, _, files = listed.partition("Property files that -P accepts by name:")
    assert {"requestdistribution", "keytype", "zipfian.theta", "batchsize", "threadcount"} <= set(core.split())
    assert "YCSB's properties, with YCSB's meanings and defaults:" in core
    bundled = {path.name for path in (REPOSITORY / "driver" / "workloads").iterdir() if path.suffix != ".md"}
    assert set(files.split()) == bundled


def test_a_property_file_may_begin_with_a_byte_order_mark_and_come_through_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbfrecordcount=7\r\n")
    done = drive("load", "-db", "noop", "-P", tmp_path / "marked", "--seed", "1")
    assert "[INSERT], Operations, 7\n" in done.stdout
    marked = (tmp_path / "marked").read_text()
    line = [DRIVER, "load", "-db", "noop", "-P", "/dev/stdin", "--seed", "1"]
    piped = subprocess.run(line, input=marked, capture_output=True, text=True, timeout=60, check=True)
    assert "[INSERT], Operations, 7\n" in piped.stdout


def test_a_property_file_of_more_than_16_mib_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as large:
        large.truncate((16 << 20) + 1)
    done = drive("run", "-db", "noop", "-P", tmp_path / "large")
    assert done.returncode == 2
    assert "has more than 16 MiB" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["databases"], ["databases", "--json"], ["workloads"], ["--help"], ["--version"]]
)
def test_a_listing_that_cannot_be_written_is_no_success(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [DRIVER, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False, text=True
        )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_shared_memory_that_a_killed_client_left_causes_no_warning() -> None:
    """libmongoc names its shared memory after the process id. A fork that executes the driver keeps its id."""
    script = """
import os, sys
left = f"/dev/shm/mongoc-{os.getpid()}"
os.close(os.open(left, os.O_CREAT | os.O_EXCL, 0))
os.execv(sys.argv[1], [sys.argv[1], "databases"])
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, DRIVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        left = Path(f"/dev/shm/mongoc-{process.pid}")
        try:
            errors = process.communicate(timeout=60)[1]
        finally:
            left.unlink(missing_ok=True)
    assert (process.returncode, errors) == (0, "")


@pytest.fixture
def own_driver(tmp_path: Path) -> Path:
    """Returns a copy of the driver with its adapters. Skips if they are linked into it."""
    adapters = DRIVER.parent.parent / "lib/edgejoule"
    if not (adapters / "adapter-sqlite.so").exists():
        pytest.skip("SQLite's adapter is no module of this driver")
    (tmp_path / "bin").mkdir()
    shutil.copy(DRIVER, tmp_path / "bin")
    shutil.copytree(adapters, tmp_path / "lib/edgejoule")
    return tmp_path / "bin" / DRIVER.name


def refusal(driver: Path) -> str:
    done = subprocess.run(
        [driver, "run", "-db", "sqlite", "-P", "workloada"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_an_adapter_that_is_not_there_is_reported_with_the_remedy(own_driver: Path) -> None:
    module = own_driver.parent.parent / "lib/edgejoule/adapter-sqlite.so"
    module.unlink()
    assert "-db sqlite: not in this build; install libsqlite3-dev" in refusal(own_driver)
    listed = subprocess.run([own_driver, "databases"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert "sqlite: not in this build" in listed
    shutil.rmtree(module.parent)
    assert re.search(r"-db sqlite: cannot be loaded: no /.*/lib/edgejoule beside the program", refusal(own_driver))


def test_an_adapter_of_another_build_is_refused(own_driver: Path) -> None:
    module = own_driver.parent.parent / "lib/edgejoule/adapter-sqlite.so"
    old, other = b"0.1.0 GNU ", b"9.9.9 GNU "
    assert module.read_bytes().count(old) == 1
    module.write_bytes(module.read_bytes().replace(old, other))
    assert re.search(
        r"adapter-sqlite.so belongs to another build: 9.9.9 GNU .*; this driver is 0.1.0 GNU ", refusal(own_driver)
    )


def test_only_the_adapter_that_is_asked_for_is_loaded() -> None:
    if not (DRIVER.parent.parent / "lib/edgejoule").exists():
        pytest.skip("the adapters are linked with this driver")
    command = [DRIVER, "run", "-db", "noop", *SMALL, "-target", "100", "-json", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        next(line for line in process.stdout or [] if '"active"' in line)
        maps = Path(f"/proc/{process.pid}/maps").read_text()
        process.kill()
    loaded = {Path(line.split()[-1]).name for line in maps.splitlines() if "/" in line}
    assert DRIVER.name in loaded
    assert not {name for name in loaded if name.startswith(("adapter-", "librocksdb", "libpq", "libssl"))}


def written_bytes(events: list[Event], moment: str = "settled") -> int | None:
    written: int | None = next(event for event in events if event["event"] == moment)["usage"]["process_write_bytes"]
    return written


@pytest.mark.parametrize("own", ["events to a pipe", "events to a file", "a recorded trace", "lines of progress"])
def test_noop_writes_nothing_whatever_the_driver_writes_for_itself(own: str, tmp_path: Path) -> None:
    log = tmp_path / "events.json"
    extra = {
        "events to a pipe": ["-json", "-"],
        "events to a file": ["-json", log],
        "a recorded trace": ["-json", log, "--record", tmp_path / "trace.csv"],
        "lines of progress": ["-json", log, "-s", "-p", "status.interval=1"],
    }[own]
    arguments = ["-P", "workloada", "-p", "recordcount=1000", "-p", "operationcount=2400", "-target", "2000"]
    done = drive("run", "-db", "noop", *arguments, "--interval-ms", "10", *extra)
    assert done.returncode == 0, done.stderr
    events = events_of(log.read_text() if log.exists() else done.stdout)
    assert sum(event["event"] == "interval" for event in events) > 20
    assert {written_bytes(events, moment) for moment in ("active_end", "settled")} == {0}


def test_a_database_writes_the_same_however_many_events_the_driver_writes(tmp_path: Path) -> None:
    arguments = ["-db", "leveldb", "-P", "workloada", "-p", "recordcount=100", "-p", "fieldlength=10", "--seed", "1"]
    written = {}
    for interval_ms in ("10", "60000"):
        path = f"leveldb.path={tmp_path / interval_ms}"
        drive("load", *arguments, "-p", path)
        done = drive("run", *arguments, "-p", path, "-p", "operationcount=500", "-target", "500", "-json", "-",
                     "--interval-ms", interval_ms)  # fmt: skip
        assert done.returncode == 0, done.stderr
        written[interval_ms] = written_bytes(events_of(done.stdout))
    assert written["10"] == written["60000"]
    assert written["10"] is not None
    assert written["10"] > 250 * 100  # about half of the operations write a row of 100 bytes


@pytest.mark.parametrize(
    ("rate", "scheduled_s"),
    [
        ([], None),
        (["-target", "10000"], 0.1),
        (["--rate", "steps:20000@0.04,1000@1"], 0.04 + 0.2),
        (["--rate", "steps:500@1,0@30", "-p", "operationcount=500"], 1),
        (["--rate", "steps:5000@0.1,0@0.1"], 0.3),
    ],
)
def test_the_end_of_active_reports_how_long_the_rate_takes_for_its_operations(
    rate: list[str], scheduled_s: float | None
) -> None:
    events = run_events("-P", "workloadc", "-p", "operationcount=1000", *rate)
    scheduled_ns = next(event for event in events if event["event"] == "active_end")["scheduled_ns"]
    assert scheduled_ns == (None if scheduled_s is None else pytest.approx(scheduled_s * 1e9))


def test_a_time_limit_never_makes_the_rate_take_longer_than_the_run() -> None:
    """Two operations are due in 1 s; the third one would be due after 1.25 s."""
    events = run_events("-P", "workloadc", "-p", "operationcount=0", "-p", "maxexecutiontime=1", "-target", "1.6")
    active_end = next(event for event in events if event["event"] == "active_end")
    assert active_end["scheduled_ns"] == active_end["monotonic_ns"] - active_end["active_start_ns"]


MISSED = [
    (["-target", "900000000"], "does not sustain 900,000,000/s, reached "),
    (["--rate", "steps:900000000@1,0@9"], "does not sustain steps:900000000@1,0@9: the operations took "),
]


@pytest.mark.parametrize(("rate", "message"), MISSED)
def test_a_rate_that_is_missed_is_reported(rate: list[str], message: str) -> None:
    run = ["run", "-db", "noop", *SMALL, "-P", "workloadc", *rate]
    stderr = drive(*run).stderr
    assert f"edgejoule-driver: {message}" in stderr
    assert "latencies from the due time are in the lines [Intended-...] with -p measurement.interval=both" in stderr
    assert message not in drive(*run, "--quiet").stderr


def test_a_rate_that_is_sustained_is_not_reported() -> None:
    # A stall of the machine at the end counts: 40 ms of 4 s are 1 %.
    limits = ["-target", "1000", "-p", "operationcount=0", "-p", "maxexecutiontime=4"]
    assert "does not sustain" not in drive("run", "-db", "noop", *SMALL, "-P", "workloadc", *limits).stderr
