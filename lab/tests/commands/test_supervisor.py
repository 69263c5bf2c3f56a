"""A command under the supervisor: its figures, its failures, and no process left whatever happens."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import jsonschema
import pytest

from edgejoule.commands.supervisor import Supervised, remove_left_marks, supervisor_path
from edgejoule.errors import CommandError

from .supervised import alive, all_ended, await_processes, command, new_token, python

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"

# A process that only SIGKILL ends, in a separate session, below a parent that has exited.
STUBBORN = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)
    os._exit(0)
os.wait()
"""


def test_a_repetition_has_times_usage_and_exit_code(tmp_path: Path) -> None:
    before_ns = time.monotonic_ns()
    burning = "sum(range(3_000_000)); open('data', 'wb').write(bytes(1 << 20))"
    (repetition,) = Supervised(python(tmp_path, burning), timeout_s=60).run()
    assert before_ns <= repetition.start_ns < repetition.end_ns <= time.monotonic_ns()
    assert (repetition.exit_code, repetition.signal, repetition.failure) == (0, None, None)
    assert repetition.cpu_user_s + repetition.cpu_system_s > 0
    assert repetition.rss_peak_bytes > 1 << 20
    assert repetition.voluntary_switches + repetition.involuntary_switches > 0
    assert repetition.ended == 0


def test_bytes_made_dirty_for_storage_are_those_of_children_too() -> None:
    if not Path("/proc/self/io").exists():
        pytest.skip("this kernel does not count the bytes of processes")
    writing = "dd if=/dev/zero of=a bs=64k count=16 conv=fsync status=none; (dd if=a of=b bs=64k status=none; sync b) &"
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # /tmp may lie in memory
        (repetition,) = Supervised(command(Path(folder), "sh", "-c", writing + " wait"), timeout_s=60).run()
    assert repetition.write_bytes is not None
    assert repetition.write_bytes >= 2 << 20


def test_cpu_time_of_two_hundred_short_children_and_of_orphans_is_counted(tmp_path: Path) -> None:
    children = """
import os, time
def burn(seconds):
    while time.process_time() < seconds: pass
for _ in range(100):
    if os.fork() == 0:
        if os.fork() == 0: burn(0.002)  # an orphan, as its parent does not wait
        os._exit(0)
    os.wait()
for _ in range(100):
    if os.fork() == 0:
        burn(0.002)
        os._exit(0)
for _ in range(100): os.wait()
"""
    (repetition,) = Supervised(python(tmp_path, children), timeout_s=60).run()
    assert repetition.cpu_user_s + repetition.cpu_system_s >= 0.4 * 0.9  # orphans that end after the command are cut


def test_usage_ends_with_the_command_also_where_a_descendant_continues(tmp_path: Path) -> None:
    burning = """
import os, signal, time
reading, writing = os.pipe()
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.setsid()
    while time.process_time() < 0.1: pass
    os.write(writing, b"r")
    while True: pass
os.read(reading, 1)
"""
    (repetition,) = Supervised(python(tmp_path, burning), timeout_s=60).run()
    assert repetition.ended == 1
    used_s, took_s = repetition.cpu_user_s + repetition.cpu_system_s, (repetition.end_ns - repetition.start_ns) / 1e9
    assert used_s >= 0.1, "what it used until the command's exit is counted"
    # Two processes, and the supervisor's own delay; the second between SIGTERM and SIGKILL would be beyond it.
    assert used_s < took_s * 2 + 0.5


def test_a_failed_command_is_distinguished_from_a_killed_one(tmp_path: Path) -> None:
    (failed,) = Supervised(command(tmp_path, "sh", "-c", "exit 7"), timeout_s=60).run()
    assert (failed.exit_code, failed.signal, failed.failure) == (7, None, "ended with exit code 7")
    (killed,) = Supervised(command(tmp_path, "sh", "-c", "kill -SEGV $$"), timeout_s=60).run()
    assert (killed.exit_code, killed.signal, killed.failure) == (None, signal.SIGSEGV, "was killed by SIGSEGV")


def test_a_failed_start_is_no_repetition(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("echo\n")
    (tmp_path / "text").write_text("echo\n")
    (tmp_path / "lost").write_text("#!/nonexistent/interpreter\n")
    for name in ("text", "lost"):
        (tmp_path / name).chmod(0o755)
    for argv, message in (
        (["no-such-program"], "no-such-program: no program of this name is on PATH"),
        (["./missing"], "./missing does not exist"),
        (["./plain"], "./plain is not executable"),
        (["./text"], "neither a binary of this machine nor a script that begins with '#!'"),
        (["./lost"], "its interpreter does not exist"),
        ([str(tmp_path)], "is a folder, not a program"),
        (["sh", "x" * 300_000], "Argument list too long"),
    ):
        with pytest.raises(CommandError, match=message.replace("(", r"\(")):
            Supervised(command(tmp_path, *argv), timeout_s=60).run()


def test_marks_that_a_killed_program_left_are_removed_and_those_of_a_living_one_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    making = (
        "from edgejoule.commands.supervisor import Supervised, SupervisedCommand\n"
        "from pathlib import Path; import sys\n"
        "made = Supervised(SupervisedCommand(['x'], {}, Path('.'), None, None), timeout_s=1); made._make_marks()\n"
    )
    for ending in (left, "sys.stdout.write('made'); sys.stdout.flush(); sys.stdin.read()"):
        command = [sys.executable, "-c", making + ending]
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        assert process.stdout is not None
        process.stdout.read(4)
        if ending == left:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # its pipe closes before it has ended
    assert len(list(tmp_path.glob("*/1"))) == 2
    remove_left_marks()
    assert len(list(tmp_path.glob("*/1"))) == 1
    process.communicate()
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_or_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="none"):
        Supervised(command(tmp_path / "none", "true"), timeout_s=60).run()
    with pytest.raises(CommandError, match="no-input"):
        Supervised(command(tmp_path, "cat", stdin=tmp_path / "no-input"), timeout_s=60).run()


def test_repetitions_follow_each_other(tmp_path: Path) -> None:
    repetitions = Supervised(command(tmp_path, "true"), timeout_s=60, repeat=5).run()
    assert len(repetitions) == 5
    for earlier, later in itertools.pairwise(repetitions):
        assert earlier.end_ns <= later.start_ns


def test_repetitions_fill_a_time(tmp_path: Path) -> None:
    repetitions = Supervised(command(tmp_path, "sleep", "0.03"), timeout_s=60, repeat_for_s=0.1).run()
    assert repetitions[-1].end_ns - repetitions[0].start_ns >= 0.1e9
    assert len(repetitions) > 1
    assert len(Supervised(command(tmp_path, "true"), timeout_s=60, repeat_for_s=0).run()) == 1


def test_repetitions_end_with_the_first_failure(tmp_path: Path) -> None:
    failing = command(tmp_path, "sh", "-c", "echo >> runs; test $(wc -l < runs) -lt 3")
    repetitions = Supervised(failing, timeout_s=60, repeat=5).run()
    assert [r.exit_code for r in repetitions] == [0, 0, 1]


def test_failures_can_be_kept_but_a_death_by_signal_ends_the_repetitions(tmp_path: Path) -> None:
    failing = command(tmp_path, "sh", "-c", "echo >> runs; test $(wc -l < runs) -lt 3 || kill -9 $$; exit 2")
    repetitions = Supervised(failing, timeout_s=60, repeat=5, ignore_failure=True).run()
    assert [(r.exit_code, r.signal) for r in repetitions] == [(2, None), (2, None), (None, 9)]


def test_each_repetition_reads_its_input_and_writes_its_output_again(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("once\n")
    repetitions = Supervised(command(tmp_path, "cat", stdin=tmp_path / "input"), timeout_s=60, repeat=3).run()
    assert len(repetitions) == 3
    assert (tmp_path / "output").read_text() == "once\n"


def test_arguments_need_not_be_utf8(tmp_path: Path) -> None:
    Supervised(command(tmp_path, "printf", "%s", b"\xff\xfe"), timeout_s=60).run()
    assert (tmp_path / "output").read_bytes() == b"\xff\xfe"
    with pytest.raises(CommandError, match="\ufffd: no program"):
        Supervised(command(tmp_path, b"\xff"), timeout_s=60).run()


def test_the_command_inherits_neither_descriptors_nor_signals(tmp_path: Path) -> None:
    """Python ignores SIGPIPE; pytest holds descriptors."""
    asking = "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"
    with (tmp_path / "held").open("wb") as held:
        os.set_inheritable(held.fileno(), True)
        Supervised(python(tmp_path, asking), timeout_s=60).run()
        descriptors = (tmp_path / "output").read_text()
        assert descriptors == "[0, 1, 2, 3]\n"  # the last one is that of the folder which is listed
    Supervised(command(tmp_path, "cat", "/proc/self/status"), timeout_s=60).run()
    status = dict(line.split(":\t", 1) for line in (tmp_path / "output").read_text().splitlines())
    internal = 1 << 31 | 1 << 32  # signals 32 and 33 belong to the C library: sigaction() refuses them
    assert {int(status[mask], 16) & ~internal for mask in ("SigBlk", "SigIgn", "SigCgt")} == {0}


def test_closed_standard_files_are_opened_on_nothing(tmp_path: Path) -> None:
    closing = f'exec "{supervisor_path()}" --report-fd 3 -- sh -c "cat; echo" 3>report 0<&- 1>&- 2>&-'
    subprocess.run(["sh", "-c", closing], cwd=tmp_path, check=True)
    assert '"exit_code": 0' in (tmp_path / "report").read_text()


def test_a_script_that_kills_its_process_group_does_not_kill_the_supervisor(tmp_path: Path) -> None:
    (repetition,) = Supervised(command(tmp_path, "sh", "-c", "kill -KILL 0"), timeout_s=60).run()
    assert repetition.signal == signal.SIGKILL


def test_descendants_left_behind_are_ended_and_counted(tmp_path: Path) -> None:
    token = new_token()
    shell = "setsid sleep 1000 & nohup sleep 1000 & (sleep 1000 & sleep 1000 &) ; sleep 1000 & kill -STOP $!"
    (repetition,) = Supervised(command(tmp_path, "sh", "-c", shell, token=token), timeout_s=60).run()
    assert (repetition.exit_code, repetition.ended) == (0, 5)
    assert not alive(token)
    (repetition,) = Supervised(python(tmp_path, STUBBORN, token), timeout_s=60).run()
    assert repetition.ended == 1
    assert not alive(token)


def test_two_hundred_processes_left_behind_are_ended(tmp_path: Path) -> None:
    token = new_token()
    shell = "i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i+1)); done"
    (repetition,) = Supervised(command(tmp_path, "sh", "-c", shell, token=token), timeout_s=60).run()
    assert repetition.ended == 200
    assert not alive(token)


def test_zombies_left_behind_did_not_run(tmp_path: Path) -> None:
    """A child that ended and was not waited for; its parent sleeps."""
    zombie = (
        "import os, time\nif os.fork() == 0:\n    if os.fork() == 0: os._exit(0)\n    time.sleep(1000)\ntime.sleep(.1)"
    )
    (repetition,) = Supervised(python(tmp_path, zombie), timeout_s=60).run()
    assert repetition.ended == 1


def test_a_command_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    token = new_token()
    with pytest.raises(CommandError, match=r"sh took longer than 0.3 s and was stopped"):
        Supervised(command(tmp_path, "sh", "-c", "sleep 1000 & sleep 1000", token=token), timeout_s=0.3).run()
    assert not alive(token)


def test_stop_ends_everything_from_another_thread(tmp_path: Path) -> None:
    token = new_token()
    supervised = Supervised(python(tmp_path, STUBBORN + "time.sleep(1000)", token), timeout_s=60)
    stopper = threading.Thread(target=lambda: (await_processes(token, 2), supervised.stop()))
    stopper.start()
    with pytest.raises(CommandError, match="was stopped"):
        supervised.run()
    stopper.join()
    assert not alive(token)


def test_stop_before_the_start_lets_nothing_begin(tmp_path: Path) -> None:
    supervised = Supervised(command(tmp_path, "touch", "begun"), timeout_s=60)
    supervised.stop()
    with pytest.raises(CommandError, match="was stopped"):
        supervised.run()


def test_a_killed_supervisor_leaves_neither_the_command_nor_its_session(tmp_path: Path) -> None:
    token = new_token()
    supervised = Supervised(command(tmp_path, "sh", "-c", "sleep 1000 & sleep 1000", token=token), timeout_s=60)

    def kill() -> None:
        processes = await_processes(token, 4)  # supervisor, shell, two sleeps
        os.kill(min(processes), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(CommandError, match=r"supervisor of sh was killed by SIGKILL"):
        supervised.run()
    killer.join()
    assert all_ended(token)


def test_kept_descendants_run_until_they_are_stopped(tmp_path: Path) -> None:
    token = new_token()
    supervised = Supervised(command(tmp_path, "sh", "-c", "sleep 1000 & cat", token=token), timeout_s=60, keep=True)
    (repetition,) = supervised.run()
    assert repetition.failure is None
    assert len(alive(token)) == 2  # the supervisor and sleep
    supervised.stop()
    assert not alive(token)
    supervised.stop()


def reports_of(folder: Path, *argv: str) -> list[str]:
    """What the supervisor reports of a command that it is asked to end after a short time."""
    with (folder / "reports").open("w+") as reports, contextlib.suppress(subprocess.TimeoutExpired):
        command = [str(supervisor_path()), f"--report-fd={reports.fileno()}", *argv]
        with subprocess.Popen(command, cwd=folder, pass_fds=(reports.fileno(),)) as process:
            try:
                process.wait(timeout=2)
            finally:
                process.terminate()
    return (folder / "reports").read_text().splitlines()


def test_reports_and_golden_examples_follow_the_schema(tmp_path: Path) -> None:
    schema = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "supervisor-event.schema.json").read_text()))
    marks = tmp_path / "marks"
    os.mkfifo(marks)
    reported = [
        *reports_of(tmp_path, f"--marks={marks}", "--repeat=2", "--", "sh", "-c", f"echo load >> {marks}"),
        *reports_of(tmp_path, "--", "sh", "-c", "kill -9 $$"),
        *reports_of(tmp_path, "--", "sleep", "1000"),
        *reports_of(tmp_path, "--", "./missing"),
    ]
    golden = (SCHEMAS / "examples/supervisor-events.jsonl").read_text().splitlines()
    for lines in (reported, golden):
        events = [json.loads(line) for line in lines]
        for event in events:
            schema.validate(event)
        assert {e["event"] for e in events} == {"start", "exit", "mark", "end", "stopped", "error"}


PARENT = """
import os, sys
from pathlib import Path
from edgejoule.commands.supervisor import Supervised, SupervisedCommand
env = {"PATH": os.environ["PATH"], "EDGEJOULE_TEST_TOKEN": sys.argv[1]}
Supervised(SupervisedCommand(["sh", "-c", sys.argv[2]], env, Path.cwd(), None, None), timeout_s=60, repeat=1000).run()
"""
TREE = "setsid sleep 0.1 & sh -c 'sleep 0.05; sleep 0.05' & sleep 0.02; nohup sleep 1000 & wait %1"


def kill_parent_after(seconds: float, folder: Path) -> bool:
    """Start the command in a process of ours, kill that by SIGKILL; true: nothing is left."""
    token = new_token()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", PARENT, token, TREE], cwd=folder, env=env) as parent:
        await_processes(token, 1)
        time.sleep(seconds)
        parent.kill()
    return all_ended(token)


def test_the_death_of_edgejoule_ends_everything(tmp_path: Path) -> None:
    assert kill_parent_after(0.1, tmp_path)


@pytest.mark.slow
def test_a_hundred_deaths_of_edgejoule_in_random_phases_leave_no_process(tmp_path: Path) -> None:
    seed = time.time_ns()
    print(f"seed {seed}")
    moments = random.Random(seed)
    assert all(kill_parent_after(moments.uniform(0, 0.4), tmp_path) for _ in range(100))


def test_a_report_that_nobody_reads_ends_everything(tmp_path: Path) -> None:
    token = new_token()
    reading, writing = os.pipe()
    argv = [str(supervisor_path()), f"--report-fd={writing}", "--", "sh", "-c", "sleep 1000 & sleep 1000"]
    env = {"PATH": os.environ["PATH"], "EDGEJOULE_TEST_TOKEN": token}
    with subprocess.Popen(argv, cwd=tmp_path, env=env, pass_fds=(writing,)) as process:
        os.close(writing)
        await_processes(token, 4)
        os.close(reading)
        assert process.wait(timeout=20) == 1
    assert not alive(token)
