"""A run ends at its time limit or at a signal, whatever its clients wait for."""

import signal
import subprocess
import time

from driving import DRIVER, drive

# YCSB would reserve 10^11 keys for the expected inserts, with 10 existing keys.
ENDLESS = ["-db", "noop", "-P", "workloade", "-p", "recordcount=10", "-p", "operationcount=1000000000000"]


def test_maxexecutiontime_ends_a_run_that_foresees_far_more_inserts_than_there_are_records() -> None:
    done = drive("run", *ENDLESS, "-p", "maxexecutiontime=1", "--quiet", timeout_s=20)
    assert done.returncode == 0, done.stderr
    assert "[SCAN], Return=OK" in done.stdout


def test_an_interruption_ends_a_run_that_foresees_far_more_inserts_than_there_are_records() -> None:
    command = [DRIVER, "run", *ENDLESS, "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        try:
            _, stderr = running.communicate(timeout=20)
        finally:
            running.kill()
    assert running.returncode == 130
    assert "interrupted (SIGINT)" in stderr
