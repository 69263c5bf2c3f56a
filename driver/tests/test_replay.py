"""--record and workload=replay: the replay performs the recorded operations."""

import gzip
from collections import Counter
from pathlib import Path

import pytest
from driving import Event, done_of, drive, events_from, returns_of

RECORDS = 300
OPERATIONS = 2000
SIZES = ("-p", f"recordcount={RECORDS}", "-p", f"operationcount={OPERATIONS}", "--seed", "3")
EVERYTHING = (
    *("-P", "workloada", "-p", "readproportion=0.3", "-p", "updateproportion=0.2", "-p", "insertproportion=0.2"),
    *("-p", "scanproportion=0.1", "-p", "readmodifywriteproportion=0.2", "-p", "fieldcount=2"),
)


def recorded(file: Path, *arguments: str) -> Event:
    return events_from("run", "-db", "noop", *EVERYTHING, *SIZES, "--record", file, *arguments)[-1]


def lines_of(trace: Path) -> list[list[str]]:
    header, *lines = trace.read_text().splitlines()
    assert header == "time_s,op,key,size"
    return [line.split(",") for line in lines]


def what_was_asked(trace: Path) -> list[list[str]]:
    return [line[1:] for line in lines_of(trace)]


def replayed(trace: Path, database: str, data: Path, *arguments: str) -> Event:
    where = ("-db", database, "-p", f"{database}.path={data}", "--durability", "none", "--seed", "1")
    what = ("-p", "workload=replay", "-p", f"trace={trace}", "-p", "replay.speed=max")
    events_from("load", *where, *what)
    return events_from("run", *where, *what, *arguments)[-1]


def test_a_trace_has_a_line_for_each_call_of_the_database(tmp_path: Path) -> None:
    """A read-modify-write is recorded as a read and an update."""
    trace = tmp_path / "trace.csv"
    end = recorded(trace)
    counted = Counter(operation for _, operation, _, _ in lines_of(trace))
    assert counted == {name.lower(): done_of(end, name) for name in ("READ", "UPDATE", "INSERT", "SCAN")}
    assert sum(counted.values()) == OPERATIONS + done_of(end, "READ-MODIFY-WRITE")


def test_a_read_modify_write_of_a_trace_is_measured_as_one(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,op,key,size\n0,rmw,a,100\n0,rmw,a,100\n")
    end = replayed(trace, "leveldb", tmp_path / "data")
    assert {name: sum(of.values()) for name, of in returns_of(end).items()} == {
        "READ": 2,
        "UPDATE": 2,
        "READ-MODIFY-WRITE": 2,
    }


@pytest.mark.parametrize("database", ["sqlite", "rocksdb"])
def test_a_replay_asks_for_the_recorded_operations_in_their_order_and_finds_every_row(
    database: str, tmp_path: Path
) -> None:
    trace, again = tmp_path / "trace.csv", tmp_path / "again.csv"
    end = recorded(trace)
    replay = replayed(trace, database, tmp_path / "data", "--record", str(again))
    assert replay["not_found"] == replay["failures"] == 0, returns_of(replay)
    for name in ("READ", "UPDATE", "INSERT", "SCAN"):
        assert done_of(replay, name) == done_of(end, name)
    assert what_was_asked(again) == what_was_asked(trace)


def test_the_comparison_rejects_a_trace_in_which_one_key_differs(tmp_path: Path) -> None:
    trace, other = tmp_path / "trace.csv", tmp_path / "other.csv"
    recorded(trace)
    lines = trace.read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if ",read," in line)
    lines[place] = lines[place].replace(",read,user", ",read,user1")
    other.write_text("\n".join(lines) + "\n")
    assert what_was_asked(other) != what_was_asked(trace)


def test_several_threads_replay_every_line_once(tmp_path: Path) -> None:
    trace, again = tmp_path / "trace.csv", tmp_path / "again.csv"
    recorded(trace)
    replay = replayed(trace, "leveldb", tmp_path / "data", "-threads", "3", "--record", str(again))
    assert replay["operations"] == len(lines_of(trace))
    assert sorted(what_was_asked(again)) == sorted(what_was_asked(trace))


def test_a_compressed_trace_is_read_as_it_is(tmp_path: Path) -> None:
    trace, packed = tmp_path / "trace.csv", tmp_path / "trace.csv.gz"
    recorded(trace)
    packed.write_bytes(gzip.compress(trace.read_bytes()))
    assert replayed(packed, "leveldb", tmp_path / "data")["operations"] == len(lines_of(trace))


def test_at_recorded_speed_operations_are_due_at_their_times_and_intended_latencies_count(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(
        "time_s,op,key,size\n" + "".join(f"{5 + number * 0.01:.3f},read,user{number},\n" for number in range(31))
    )
    events = events_from("run", "-db", "noop", "-p", "workload=replay", "-p", f"trace={trace}")
    active, end = (next(event for event in events if event["event"] == name) for name in ("active_end", "end"))
    begin = next(event for event in events if event.get("phase") == "active")
    assert active["monotonic_ns"] - begin["monotonic_ns"] >= 300_000_000  # 31 operations, 10 ms apart
    intended = [latency for latency in end["latencies"] if latency["measure"] == "intended"]
    assert [latency["count"] for latency in intended] == [31]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "time_s,op,key,size"),
        ("time_s,op,key,size\n", "no operations"),
        ("time,operation\n0,read\n", "time_s,op,key,size"),
        ("time_s,op,key,size\n0,read,a,\n1,fetch,b,\n", ".csv:3:"),
        ("time_s,op,key,size\n1,read,a,\n0,read,b,\n", ".csv:3:"),
        ("time_s,op,key,size\n0,update,a,\n", ".csv:2:"),
        ("time_s,op,key,size\n0,update,a,-1\n", ".csv:2:"),
        ("time_s,op,key,size\nnever,read,a,\n", ".csv:2:"),
        ("time_s,op,key,size\n0,read\n", ".csv:2:"),
        ("time_s,op,key,size\n0,read,%zz,\n", ".csv:2:"),
    ],
)
def test_a_trace_that_cannot_be_read_is_refused_in_one_line_with_its_place(
    text: str, expected: str, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(text)
    done = drive("run", "-db", "noop", "-p", "workload=replay", "-p", f"trace={trace}", "--quiet")
    assert done.returncode == 2, done.stdout + done.stderr
    assert expected in done.stderr
    assert str(trace) in done.stderr
    assert len(done.stderr.splitlines()) == 1
