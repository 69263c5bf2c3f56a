"""With --in-step the driver waits for a line before it works, and for another before it closes."""

import json
import subprocess
import time

import pytest
from driving import DRIVER, drive

SMALL = ["-db", "noop", "-p", "recordcount=500", "-p", "operationcount=2000", "--seed", "1", "--quiet", "-json", "-"]


def started() -> subprocess.Popen[str]:
    command = [str(DRIVER), "run", *SMALL, "--in-step"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def read_until(process: subprocess.Popen[str], event: str) -> dict[str, object]:
    assert process.stdout is not None
    for line in process.stdout:
        result = json.loads(line)
        if result["event"] == event:
            return result
    raise AssertionError(f"no {event}")


def say(process: subprocess.Popen[str]) -> int:
    assert process.stdin is not None
    said_ns = time.monotonic_ns()
    process.stdin.write("\n")
    process.stdin.flush()
    return said_ns


def test_it_works_and_closes_on_command() -> None:
    with started() as process:
        read_until(process, "start")
        time.sleep(0.2)
        first_ns = say(process)
        assert read_until(process, "active_end")["active_start_ns"] >= first_ns
        read_until(process, "settled")
        time.sleep(0.2)
        second_ns = say(process)
        assert read_until(process, "end")["monotonic_ns"] >= second_ns
        assert process.wait(10) == 0


def test_it_ends_when_no_command_can_arrive_any_more() -> None:
    with started() as process:
        read_until(process, "start")
        assert process.stdin is not None
        process.stdin.close()
        assert "standard input closed" in read_until(process, "error")["message"]
        assert process.wait(10) != 0


def test_it_can_be_interrupted_while_it_waits() -> None:
    with started() as process:
        read_until(process, "start")
        process.terminate()
        assert process.wait(10) == 130


@pytest.mark.parametrize("arguments", [["load", "-db", "noop", "--in-step"]])
def test_a_load_keeps_no_step(arguments: list[str]) -> None:
    done = drive(*arguments)
    assert done.returncode == 2
    assert "--in-step: only for run" in done.stderr
