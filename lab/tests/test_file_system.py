"""Where the data lie, as a factor: folders without root, file systems and mount options with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from edgejoule.cli.main import main
from edgejoule.databases.loads import OWN_FOLDER
from edgejoule.errors import StoreError
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import make_plan
from edgejoule.machine.file_system import FileSystem, MadeFileSystem, run_command
from edgejoule.store import Run, Store


class Machine:
    """mkfs, losetup, mount and umount as far as they are asked here. fails: a program that does not work."""

    def __init__(self, folder: Path, fails: str = "", *, direct: bool = True) -> None:
        self.root, self._fails, self._direct = folder / "root", fails, direct
        self.mounts = self.root / "proc/mounts"
        self.mounts.parent.mkdir(parents=True)
        self.mounts.write_text("proc /proc proc rw 0 0\n")
        self.loops: dict[str, str] = {}
        self.said: list[str] = []

    def __call__(self, command: Sequence[str]) -> str:
        self.said.append(" ".join(command))
        if command[0] == self._fails:
            raise StoreError(f"{command[0]}: no")
        return str(getattr(self, command[0].replace(".", "_"))(list(command[1:])) or "")

    def mkfs_ext4(self, command: list[str]) -> None: ...

    def losetup(self, command: list[str]) -> str:
        if command[0] == "--associated":
            return "".join(f"{d}: [1]:2 ({i})\n" for d, i in self.loops.items() if i == command[1])
        if command[0] == "--detach":
            del self.loops[command[1]]
            return ""
        if "--direct-io=on" in command and not self._direct:
            raise StoreError("losetup: Invalid argument")
        self.loops[f"/dev/loop{len(self.loops)}"] = command[-1]
        return f"/dev/loop{len(self.loops) - 1}\n"

    def mount(self, command: list[str]) -> None:
        place = command[-1].replace(" ", "\\040")
        self.mounts.write_text(f"{self.mounts.read_text()}{command[-2]} {place} ext4 rw 0 0\n")

    def umount(self, command: list[str]) -> None:
        place = command[0].replace(" ", "\\040")
        lines = self.mounts.read_text().splitlines(keepends=True)
        self.mounts.write_text("".join(line for line in lines if f" {place} " not in line))

    @property
    def left(self) -> list[str]:
        return [*self.loops, *self.mounts.read_text().splitlines()[1:]]


def made_on(machine: Machine, folder: Path) -> MadeFileSystem:
    return MadeFileSystem(folder, machine, root=machine.root)


def test_one_is_made_mounted_with_its_options_and_nothing_is_left(tmp_path: Path) -> None:
    machine, folder = Machine(tmp_path), tmp_path / "with a space"
    made = made_on(machine, folder)
    mounted = made.make(FileSystem("ext4", "noatime,commit=30", 300))
    assert f"mount -t ext4 -o noatime,commit=30 /dev/loop0 {mounted}" in machine.said
    assert made.image.stat().st_size == 300 << 20
    assert made.image.stat().st_blocks < 1000, "the image takes only what is written to it"
    made.remove()
    made.remove()
    assert (machine.left, list(folder.iterdir())) == ([], [])


def test_where_the_file_system_below_knows_no_direct_access_the_loop_device_does_without(tmp_path: Path) -> None:
    machine = Machine(tmp_path, direct=False)
    made_on(machine, tmp_path / "data").make(FileSystem("ext4"))
    assert list(machine.loops) == ["/dev/loop0"]


def test_options_of_mkfs_reach_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    made = made_on(machine, tmp_path / "data")
    made.make(FileSystem("ext4", mkfs_options="-O ^has_journal -m 0"))
    assert f"mkfs.ext4 -q -F -O ^has_journal -m 0 {made.image}" in machine.said


def test_a_folder_behind_a_symbolic_link_is_unmounted_too(tmp_path: Path) -> None:
    machine, folder = Machine(tmp_path), tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    made = made_on(machine, tmp_path / "link")
    made.make(FileSystem("ext4"))
    machine.mounts.write_text(machine.mounts.read_text().replace("/link/", "/folder/"))  # as the kernel names it
    made.remove()
    assert made_on(machine, folder).mounted.exists() is False


@pytest.mark.parametrize("program", ["mkfs.ext4", "mount", "losetup"])
def test_one_that_fails_half_way_leaves_nothing(tmp_path: Path, program: str) -> None:
    machine = Machine(tmp_path, "" if program == "losetup" else program)
    if program == "losetup":
        machine.losetup = lambda command: "" if command[0] == "--associated" else _no(command)  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        made_on(machine, tmp_path / "data").make(FileSystem("ext4"))
    assert (machine.left, list((tmp_path / "data").iterdir())) == ([], [])


def _no(command: Sequence[str]) -> str:
    raise StoreError("losetup: no")


def test_leftovers_of_a_crash_are_removed_before_the_next(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    made_on(machine, tmp_path / "data").make(FileSystem("ext4"))
    again = made_on(machine, tmp_path / "data")
    again.make(FileSystem("ext4"))
    assert len(machine.left) == 2, "one loop device, one mount"
    again.remove()
    assert machine.left == []


def test_a_mutant_that_ignores_leftovers_is_detected(tmp_path: Path, monkeypatch) -> None:
    machine = Machine(tmp_path)
    made_on(machine, tmp_path / "data").make(FileSystem("ext4"))
    monkeypatch.setattr(MadeFileSystem, "remove", lambda made: None)
    made_on(machine, tmp_path / "data").make(FileSystem("ext4"))
    assert len(machine.left) > 2


def test_a_program_that_fails_is_reported_with_its_own_message() -> None:
    with pytest.raises(StoreError, match="such file or directory"):
        run_command(["ls", "/no/such/place"])
    with pytest.raises(StoreError, match="no-such-program"):
        run_command(["no-such-program"])
    hint = "echo 'mount: bad option' >&2; echo ' dmesg(1) may have more information' >&2; exit 1"
    with pytest.raises(StoreError, match="mount: bad option;"):
        run_command(["sh", "-c", hint])


def spec_of(fixed: dict[str, object]) -> Spec:
    return Spec.model_validate({
        "name": "p", "question": "?", "factors": {"database": ["sqlite"], "workload": ["workloadb"]},
        "fixed": {"recordcount": 10, "operationcount": 10, **fixed}, "design": {"replications": 2},
    })  # fmt: skip


def test_the_plan_reports_where_each_run_lies() -> None:
    run = make_plan(spec_of({"filesystem": "xfs", "mount_options": "noatime", "data_path": "/mnt/sd"}))[0]
    assert (run.file_system, run.data_path) == (FileSystem("xfs", "noatime"), "/mnt/sd")
    assert "filesystem" not in run.properties


STUDY = """
name = "places"
question = "?"
[factors]
database = ["sqlite"]
{factors}
[fixed]
workload = "workloada"
recordcount = 200
operationcount = {operations}
durability = "process"
{fixed}
[design]
replications = 2
{design}
[timing]
idle_s = 0.1
[meter]
run_s_min = 0
prefer = ["board-profile"]
[analysis]
responses = ["throughput_ops_s"]
"""


def written(folder: Path, factors: str, fixed: str = "", design: str = "", operations: int = 500) -> Path:
    spec = folder / "places.toml"
    spec.write_text(STUDY.format(factors=factors, fixed=fixed, design=design, operations=operations))
    return spec


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ('mount_options = "noatime"', "give filesystem too"),
        ('filesystem = "ext4"\nmount_options = "noatime;reboot"', "with commas"),
        ('filesystem = "ext4"\nmount_options = "noatime,bind"', "bind is not for"),
        ('filesystem = "ntfs"', "expected one of ext4, xfs"),
        ('filesystem = "xfs"\nfilesystem_mb = 100', "at least 300"),
        ('mkfs_options = "-m 0"', "give filesystem too"),
        ('filesystem_device = "/dev/sdb"', "give filesystem too"),
        ('filesystem = "ext4"\nfilesystem_device = "sdb"', "expected a disk, such as /dev/disk/by-id/"),
        ('filesystem = "ext4"\nfilesystem_device = "/dev/sdb"\ndata_path = "/mnt"', "where an image lies"),
        ('filesystem = "ext4"\nmkfs_options = "-O"', "expected options of mkfs.ext4 with their values"),
        ('filesystem = "ext4"\nmkfs_options = "-U random"', "expected options of mkfs.ext4 with their values"),
        ('filesystem = "ext4"\nmkfs_options = "sdb -m 0"', "expected options of mkfs.ext4 with their values"),
        ('filesystem = "ext4"\nmkfs_options = "-d /etc"', "expected options of mkfs.ext4 with their values"),
        ('filesystem = "ext4"\nmkfs_options = "-J device=UUID:1"', "names another device or the UUID"),
        ('filesystem = "xfs"\nmkfs_options = "-m uuid=1"', "names another device or the UUID"),
        ('filesystem = "xfs"\nmkfs_options = "-O ^has_journal"', "expected options of mkfs.xfs with their values"),
        ('data_path = "sd"', "whole path"),
        ('filesystem = "ext4"', 'is made for each run; set load = "run", or "fresh"'),
    ],
)
def test_an_impossible_request_is_refused_with_its_reason(tmp_path: Path, fixed: str, message: str) -> None:
    design = 'load = "block"' if "made for each run" in message else ""
    done = CliRunner().invoke(main, ["run", "--dry-run", str(written(tmp_path, "threads = [1]", fixed, design))])
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def runs_of(folder: Path, spec: Path) -> Sequence[Run]:
    done = CliRunner().invoke(main, ["run", str(spec), "--store", str(folder / "s.db")])
    assert done.exit_code in (0, 3), done.output
    with Store.open(folder / "s.db") as store:
        return store.runs(store.find().id)


@pytest.mark.parametrize(
    "design", ["", *(pytest.param(f'load = "{load}"', marks=pytest.mark.slow) for load in ("fresh", "block"))]
)
def test_a_storage_path_is_a_factor_without_root(tmp_path: Path, design: str) -> None:
    places = [tmp_path / "a", tmp_path / "b"]
    for place in places:
        place.mkdir()
    runs = runs_of(tmp_path, written(tmp_path, f"data_path = {[str(p) for p in places]}".replace("'", '"'), "", design))
    assert len(runs) == 4
    for run in runs:
        assert str(run.facts["storage"]["path"]).startswith(f"{run.levels['data_path']}/{OWN_FOLDER}/")
        in_a_bare_chroot = not any(line.split()[1] == "/" for line in Path("/proc/mounts").read_text().splitlines())
        assert run.facts["storage"]["file_system"] or in_a_bare_chroot  # there /proc/mounts does not name the root
    assert [sorted(p.name for p in place.rglob("*")) for place in places] == [[OWN_FOLDER, "lock"]] * 2


def test_a_path_that_is_not_there_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    spec = written(tmp_path, f'data_path = ["{tmp_path}/no", "{tmp_path}"]')
    done = CliRunner().invoke(main, ["run", str(spec), "--store", str(tmp_path / "s.db")])
    assert done.exit_code == 2
    assert "is no folder that this user may write to" in done.output
    assert not (tmp_path / "s.db").exists()


@pytest.fixture
def clean(tmp_path: Path) -> Iterator[Path]:
    """A folder in which nothing may be mounted in the end."""
    yield tmp_path
    left = [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(tmp_path) in line]
    loops = run_command(["losetup", "--list", "--noheadings", "--output", "BACK-FILE"])
    MadeFileSystem(tmp_path / "data").remove()
    assert left == []
    assert str(tmp_path) not in loops


@pytest.mark.root
def test_file_system_and_mount_options_are_factors_with_root(clean: Path) -> None:
    spec = written(clean, 'filesystem = ["ext4", "xfs"]\nmount_options = ["noatime", "sync"]', "filesystem_mb = 400")
    runs = runs_of(clean, spec)
    assert len(runs) == 8
    for run in runs:
        storage = run.facts["storage"]
        assert storage["file_system"] == run.levels["filesystem"]
        assert str(run.levels["mount_options"]) in storage["mount_options"].split(",")
        assert storage["device"].startswith("/dev/loop")
        assert not {"read", "write"} & set(run.facts["other_programs"]["exceeded"])


@pytest.mark.root
def test_the_journal_is_a_factor_with_root(clean: Path) -> None:
    factors = 'filesystem = ["ext4"]\nmkfs_options = ["-O has_journal", "-O ^has_journal"]'
    store = clean / "s.db"
    runs = runs_of(clean, written(clean, factors, "filesystem_mb = 400"))
    assert len(runs) == 4
    for run in runs:
        assert run.facts["storage"]["below"][0].startswith("an image on ")
    done = CliRunner().invoke(main, ["show", "--run", "1", "--store", str(store)])
    assert "below it: an image on " in " ".join(done.output.split())


@pytest.mark.root
def test_mounts_of_a_killed_study_are_removed(clean: Path) -> None:
    fixed = 'filesystem = "ext4"\nfilesystem_mb = 400'
    spec = written(clean, "threads = [1]", fixed, operations=2_000_000)
    code = textwrap.dedent(f"""
        from edgejoule.cli.main import main
        main(["run", {str(spec)!r}, "--store", {str(clean / "s.db")!r}])
    """)
    study = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    mounted = str(clean / "data" / "filesystem")
    limit = time.monotonic() + 60
    while mounted not in Path("/proc/self/mounts").read_text() and time.monotonic() < limit:
        time.sleep(0.05)
    os.kill(study.pid, signal.SIGKILL)
    study.wait()
    time.sleep(1)  # the driver dies with it
    assert mounted in Path("/proc/self/mounts").read_text()
    runs = runs_of(clean, written(clean, "threads = [1]", fixed))
    assert len(runs) == 2
