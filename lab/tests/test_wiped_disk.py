"""A whole disk is wiped for a run only where the user names it and nobody else needs it. Loop devices are the disks."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from edgejoule.cli.main import main
from edgejoule.errors import StoreError
from edgejoule.machine.block_devices import mounts
from edgejoule.machine.file_system import FileSystem, MadeFileSystem, run_command
from edgejoule.machine.wiped_disk import Disk, Wiping
from edgejoule.store import Run, Store

SIZE_MB = 400


class LoopDisk:
    """A loop device over an image. Its serial number is the image's path."""

    def __init__(self, image: Path, size_mb: int = SIZE_MB, *options: str) -> None:
        self.image = image
        with image.open("wb") as file:
            file.truncate(size_mb << 20)
        self.device = run_command(["losetup", "--find", "--show", *options, str(image)]).strip()

    @property
    def serial(self) -> str:
        return str(self.image)

    def write(self, text: bytes, offset: int) -> None:
        with Path(self.device).open("r+b", buffering=0) as disk:
            disk.seek(offset)
            disk.write(text)

    def read(self, size: int, offset: int) -> bytes:
        with Path(self.device).open("rb", buffering=0) as disk:
            disk.seek(offset)
            return disk.read(size)

    def remove(self) -> None:
        for mount in mounts():
            if mount.device == self.device:
                run_command(["umount", mount.place])
        with contextlib.suppress(StoreError):
            run_command(["losetup", "--detach", self.device])


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[LoopDisk]:
    disk = LoopDisk(tmp_path / "disk.img")
    yield disk
    disk.remove()


def permitted(disk: LoopDisk, **more: Any) -> Wiping:
    return Wiping(run_command, {disk.serial}, **more)


def refusal(disk: LoopDisk, **more: Any) -> str:
    """Why the disk may not be wiped; empty if it may. The reason must be the same where it would be wiped."""
    wiping = permitted(disk, **more)
    reason = wiping.why_not(disk.device)
    if reason is None:
        return ""
    before = disk.read(1 << 20, 0)
    with pytest.raises(StoreError) as raised, wiping.claimed(disk.device):
        pass
    assert str(raised.value) == reason
    assert disk.read(1 << 20, 0) == before
    return reason


@pytest.mark.root
def test_an_empty_disk_that_the_user_names_may_be_wiped_and_stays_untouched_until_then(disk: LoopDisk) -> None:
    assert refusal(disk) == ""
    disk.write(b"\xff" * (1 << 20), 0)  # erased flash
    assert refusal(disk) == ""
    assert disk.read(1 << 20, 0) == b"\xff" * (1 << 20)


@pytest.mark.root
def test_a_disk_that_the_user_does_not_name_is_refused_with_its_serial_number(disk: LoopDisk) -> None:
    reason = Wiping(run_command).why_not(disk.device)
    assert f"--wipe {disk.serial} permits it (an image on " in str(reason)
    assert "0.4 GB" in str(reason)
    other = Wiping(run_command, {"another"}).why_not(disk.device)
    assert f"--wipe names another; --wipe {disk.serial} permits it" in str(other)


@pytest.mark.root
def test_a_mounted_disk_is_refused(disk: LoopDisk, tmp_path: Path) -> None:
    run_command(["mkfs.ext4", "-q", disk.device])
    place = tmp_path / "in use"
    place.mkdir()
    run_command(["mount", disk.device, str(place)])
    assert f"{disk.device} is mounted at {place}" in refusal(disk)


@pytest.mark.root
def test_a_disk_mounted_where_this_program_cannot_see_it_is_refused(disk: LoopDisk, tmp_path: Path) -> None:
    run_command(["mkfs.ext4", "-q", disk.device])
    elsewhere = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", f"mount {disk.device} {tmp_path} && echo mounted && read wait"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert elsewhere.stdout is not None
    try:
        if elsewhere.stdout.readline() != "mounted\n":
            pytest.skip("no mount namespace can be made here")
        assert "another program has claimed it" in refusal(disk)
    finally:
        elsewhere.communicate("\n", timeout=10)


@pytest.mark.root
def test_swap_space_is_refused(disk: LoopDisk) -> None:
    run_command(["mkswap", disk.device])
    assert "it has swap, which no run has made" in refusal(disk)
    try:
        run_command(["swapon", disk.device])
    except StoreError as error:
        pytest.skip(f"the kernel takes no swap space: {error}")
    try:
        assert f"{disk.device} is swap space" in refusal(disk)
    finally:
        run_command(["swapoff", disk.device])


@pytest.mark.root
@pytest.mark.parametrize(
    ("table", "line", "refused"),
    [
        ("fstab", "{device} /data ext4 defaults 0 2", True),
        ("fstab", "# {device} /data ext4 defaults 0 2", False),
        ("fstab", "/dev/nowhere /data ext4 defaults 0 2", False),
        ("fstab", "UUID=11111111-2222-4333-8444-555555555555 /data ext4 defaults 0 2", True),
        ("fstab", "UUID=11111111-2222-4333-8444-555555555556 /data ext4 defaults 0 2", False),
        ("fstab", 'LABEL="films" /data ext4 defaults 0 2', True),
        ("fstab", "LABEL=music /data ext4 defaults 0 2", False),
        ("crypttab", "secret {device} none luks", True),
        ("crypttab", "secret UUID=11111111-2222-4333-8444-555555555555", True),
    ],
)
def test_a_disk_that_is_mounted_at_boot_is_refused(
    disk: LoopDisk, tmp_path: Path, table: str, line: str, refused: bool
) -> None:
    (tmp_path / table).write_text(f"proc /proc proc defaults 0 0\n{line.format(device=disk.device)}\n")
    if "UUID=" in line or "LABEL=" in line:
        run_command(
            ["mkfs.ext4", "-q", "-U", "11111111-2222-4333-8444-555555555555", "-L", "films", disk.device]
        )  # the file system alone is refused too, later
    assert (f"{tmp_path / table} names it" in refusal(disk, etc=tmp_path)) == refused


@pytest.mark.root
def test_what_no_run_has_made_is_refused_with_the_way_to_make_the_disk_empty(disk: LoopDisk) -> None:
    run_command(["mkfs.ext4", "-q", "-L", "edgejoule", disk.device])
    assert "it has ext4, which no run has made" in refusal(disk), "a label is not enough"
    run_command(["wipefs", "--all", disk.device])
    assert "data of an unknown kind" in refusal(disk), "what was on it lies there still"
    disk.write(bytes(1 << 20), 0)
    assert refusal(disk) == ""
    disk.write(b"a lunar volume, or encrypted data without a header", 4096)
    assert f"wipefs --all {disk.device}; dd if=/dev/zero of={disk.device} bs=1M count=1" in refusal(disk)
    disk.write(bytes(1 << 20), 0)
    disk.write(b"EFI PART", (SIZE_MB << 20) - 512)
    assert "data of an unknown kind in its first or last MiB" in refusal(disk), "the copy of a partition table"


@pytest.mark.root
def test_an_image_that_another_loop_device_has_too_is_refused(disk: LoopDisk, tmp_path: Path) -> None:
    link = tmp_path / "another name.img"
    link.hardlink_to(disk.image)
    twin = run_command(["losetup", "--find", "--show", str(link)]).strip()
    try:
        assert f"{twin} has the same bytes" in refusal(disk)
    finally:
        run_command(["losetup", "--detach", twin])
    assert refusal(disk) == ""


@pytest.mark.root
def test_a_disk_with_partitions_is_refused_and_a_partition_too(tmp_path: Path) -> None:
    disk = LoopDisk(tmp_path / "disk.img", SIZE_MB, "--partscan")
    partition = f"{disk.device}p1"
    try:
        disk.write(
            bytes(446) + bytes([0, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 12, 0]) + bytes(48) + b"\x55\xaa", 0
        )
        assert "it has dos, which no run has made" in refusal(disk)
        run_command(["addpart", disk.device, "1", "2048", "786432"])
        assert f"it has partitions: {partition}" in refusal(disk)
        assert "it is no whole disk but of type part" in str(permitted(disk).why_not(partition))
    finally:
        run_command(["delpart", disk.device, "1"])
        disk.remove()


@pytest.mark.root
def test_a_disk_below_another_loop_device_is_refused(disk: LoopDisk) -> None:
    upper = run_command(["losetup", "--find", "--show", disk.device]).strip()
    try:
        assert f"{upper} lies on it" in refusal(disk)
    finally:
        run_command(["losetup", "--detach", upper])


@pytest.mark.root
def test_the_disk_of_the_system_and_of_the_study_are_refused(disk: LoopDisk, tmp_path: Path) -> None:
    run_command(["mkfs.ext4", "-q", disk.device])
    place = tmp_path / "results"
    place.mkdir()
    run_command(["mount", disk.device, str(place)])
    assert f"it is the disk of {place}/store" in refusal(disk, folders=[place / "store"])
    number = Path("/").stat().st_dev
    system = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not system.exists():
        pytest.skip("the kernel shows no disk of /")
    device = f"/dev/{system.resolve().name}"
    reason = str(Wiping(run_command, {"any"}).why_not(device))
    assert "it is the disk of /" in reason or "it is no whole disk" in reason


@pytest.mark.root
def test_a_read_only_and_a_small_disk_are_refused(tmp_path: Path) -> None:
    for size_mb, options, message in ((SIZE_MB, ["--read-only"], "it is read-only"), (64, [], "less than 300 MiB")):
        disk = LoopDisk(tmp_path / "disk.img", size_mb, *options)
        try:
            assert message in refusal(disk)
        finally:
            disk.remove()


@pytest.mark.root
def test_a_file_and_a_device_that_is_not_there_are_no_disks(tmp_path: Path) -> None:
    for device in (tmp_path / "file", tmp_path / "absent"):
        if device.name == "file":
            device.write_text("")
        assert "is no block device" in str(Wiping(run_command, {"any"}).why_not(str(device)))


@pytest.mark.root
def test_a_device_without_a_medium_is_named(disk: LoopDisk) -> None:
    run_command(["losetup", "--detach", disk.device])
    assert "is a medium in it?" in str(permitted(disk).why_not(disk.device))


SDB = {"path": "/dev/sdb", "maj:min": "999:0", "type": "disk", "serial": "S1", "size": 64 << 30, "ro": False,
       "mountpoint": None, "uuid": None, "label": None, "partuuid": None, "partlabel": None}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "children", "message"),
    [
        ({}, [], ""),
        ({"serial": None}, [], "no serial number by which --wipe could name it"),
        ({}, [{"type": "raid1", "path": "/dev/md0"}], "it is a part of /dev/md0 (raid1)"),
        ({}, [{"type": "part", "path": "/dev/sdb1"}], "it has partitions: /dev/sdb1"),
        ({}, [{"type": "part", "path": "/dev/sdb1", "children": [
            {**SDB, "type": "lvm", "path": "/dev/mapper/a-b", "mountpoint": "/home"}]}],
         "/dev/mapper/a-b is mounted at /home"),
        ({}, [{"type": "crypt", "path": "/dev/mapper/c"}], "it is a part of /dev/mapper/c (crypt)"),
        ({"mountpoint": "[SWAP]"}, [], "/dev/sdb is swap space"),
        ({"type": "lvm"}, [], "it is no whole disk but of type lvm"),
    ],
)  # fmt: skip
def test_what_lsblk_shows_is_understood(
    tmp_path: Path, changed: dict[str, Any], children: list[dict[str, Any]], message: str
) -> None:
    wiping, disk = Wiping(lambda words: "", {"S1"}, etc=tmp_path), shown_by_lsblk(changed, children)
    reason = wiping._in_use(disk) or wiping._not_permitted(disk)
    assert message in (reason or "")
    assert (reason is None) == (message == "")


def test_another_disk_with_the_same_serial_number_is_seen(tmp_path: Path) -> None:
    listed = json.dumps({"blockdevices": [{"path": path, "serial": "S1"} for path in ("/dev/sdb", "/dev/sdc")]})
    wiping = Wiping(lambda words: listed if words[0] == "lsblk" else "", {"S1"}, etc=tmp_path)
    assert "/dev/sdc has the same bytes" in str(wiping._twin(shown_by_lsblk({}, [])))


@pytest.mark.parametrize("name", ["PARTUUID=0AA0-01", 'PARTLABEL="boot"', "UUID=1-2-3"])
def test_a_table_that_names_a_partition_names_the_disk(tmp_path: Path, name: str) -> None:
    (tmp_path / "fstab").write_text(f"{name} /data ext4 defaults 0 2\n")
    wiping = Wiping(lambda words: "", {"S1"}, etc=tmp_path)
    part = {"type": "part", "path": "/dev/sdb1", "partuuid": "0aa0-01", "partlabel": "boot", "uuid": "1-2-3"}
    assert f"fstab names it ({name})" in str(wiping._named(shown_by_lsblk({}, [part])))
    assert wiping._named(shown_by_lsblk({}, [])) is None


def shown_by_lsblk(changed: dict[str, Any], children: list[dict[str, Any]]) -> Disk:
    top = {**SDB, **changed, "children": [{**SDB, **child} for child in children]}
    size, nodes = 64 << 30, list(_nodes(top))
    return Disk("/dev/sdb", "/dev/sdb", "999:0", str(top["type"]), top["serial"], size, False, nodes)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("children", ()):
        yield from _nodes(child)


@pytest.mark.root
def test_the_claim_is_held_until_the_file_system_is_made_and_the_next_run_knows_it(
    disk: LoopDisk, tmp_path: Path
) -> None:
    claimed: list[str] = []

    def command(words: Sequence[str]) -> str:
        if words[0].startswith("mkfs"):
            with pytest.raises(OSError, match="busy"):
                os.close(os.open(disk.device, os.O_RDONLY | os.O_EXCL))
            claimed.append(words[0])
        return run_command(words)

    wiping = permitted(disk)
    made = MadeFileSystem(tmp_path / "data", command, wiping)
    for options in ("", "-O ^has_journal"):
        mounted = made.make(FileSystem("ext4", "noatime", 0, options, disk.device))
        (line,) = [text for text in Path("/proc/self/mounts").read_text().splitlines() if f" {mounted} " in text]
        assert line.split()[0] == disk.device, "the disk itself, no loop device on it"
        assert {"noatime", "noinit_itable"} <= set(line.split()[3].split(","))
        features = run_command(["dumpe2fs", "-h", disk.device])
        assert ("has_journal" in features) == (options == "")
        (mounted / "file").write_text("of the run")
        reason = wiping.why_not(disk.device)
        assert "is mounted at" in str(reason)
        made.remove()
        assert wiping.why_not(disk.device) is None, "the file system of an earlier run may go"
    assert claimed == ["mkfs.ext4"] * 2
    assert run_command(["losetup", "--associated", disk.device]) == ""
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.root
def test_a_part_of_the_disk_is_used_if_a_size_is_given(disk: LoopDisk, tmp_path: Path) -> None:
    made = MadeFileSystem(tmp_path / "data", run_command, permitted(disk))
    mounted = made.make(FileSystem("ext4", size_mb=300, device=disk.device))
    blocks = os.statvfs(mounted)
    assert blocks.f_blocks * blocks.f_frsize < 300 << 20
    made.make(FileSystem("ext4", size_mb=0, device=disk.device))
    blocks = os.statvfs(mounted)
    assert blocks.f_blocks * blocks.f_frsize > 300 << 20
    with pytest.raises(StoreError, match="has 400 MiB, and filesystem_mb with all executions is 401"):
        made.make(FileSystem("ext4", size_mb=401, device=disk.device))
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.root
def test_a_study_killed_while_a_file_system_is_made_leaves_no_loop_device_on_the_disk(disk: LoopDisk) -> None:
    code = textwrap.dedent(f"""
        import time
        from edgejoule.machine.file_system import run_command
        from edgejoule.machine.wiped_disk import Wiping
        with Wiping(run_command, {{{disk.serial!r}}}).claimed({disk.device!r}) as claimed:
            with claimed.writable() as target:
                print(target, flush=True)
                time.sleep(60)
    """)
    study = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert study.stdout is not None
    upper = study.stdout.readline().strip()
    assert run_command(["losetup", "--associated", disk.device]).startswith(f"{upper}:")
    assert f"{upper} lies on it" in refusal(disk), "the claim of the other study stands as well"
    study.kill()
    study.communicate()
    assert run_command(["losetup", "--associated", disk.device]) == ""
    assert refusal(disk) == ""


@pytest.mark.root
def test_xfs_is_recognised_as_well(disk: LoopDisk, tmp_path: Path) -> None:
    made = MadeFileSystem(tmp_path / "data", run_command, permitted(disk))
    for size_mb in (0, 320):
        mounted = made.make(FileSystem("xfs", "noatime", size_mb, "-m crc=1 -d agcount=2", disk.device))
        assert [mount.file_system for mount in mounts() if mount.place == str(mounted)] == ["xfs"]
    made.remove()
    assert refusal(disk) == ""


@pytest.mark.root
def test_a_disk_that_comes_to_be_used_between_two_runs_is_refused(disk: LoopDisk, tmp_path: Path) -> None:
    made = MadeFileSystem(tmp_path / "data", run_command, permitted(disk))
    made.make(FileSystem("ext4", size_mb=0, device=disk.device))
    made.remove()
    disk.write(bytes(1 << 20), 0)
    run_command(["mkfs.ext4", "-q", disk.device])
    with pytest.raises(StoreError, match="it has ext4, which no run has made"):
        made.make(FileSystem("ext4", size_mb=0, device=disk.device))
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.root
def test_without_permission_no_disk_is_wiped(disk: LoopDisk, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="permits it"):
        MadeFileSystem(tmp_path / "data").make(FileSystem("ext4", size_mb=0, device=disk.device))
    assert disk.read(1 << 20, 0) == bytes(1 << 20)


STUDY = """
name = "disks"
question = "?"
[factors]
database = ["sqlite"]
mkfs_options = ["-O has_journal", "-O ^has_journal"]
[fixed]
workload = "workloada"
recordcount = 200
operationcount = {operations}
filesystem = "ext4"
filesystem_device = "{device}"
[design]
replications = 2
[timing]
idle_s = 0.1
[meter]
run_s_min = 0
prefer = ["board-profile"]
[analysis]
responses = ["throughput_ops_s"]
"""


def spec_of(disk: LoopDisk, folder: Path, operations: int = 500) -> Path:
    spec = folder / "disks.toml"
    spec.write_text(STUDY.format(device=disk.device, operations=operations))
    return spec


def edgejoule(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["run", *map(str, arguments)])
    return done.exit_code, " ".join(done.output.split())


def runs_in(store: Path) -> Sequence[Run]:
    with Store.open(store) as opened:
        return opened.runs(opened.find().id)


@pytest.mark.root
def test_a_study_wipes_the_disk_for_each_run_and_records_what_lies_below(disk: LoopDisk, tmp_path: Path) -> None:
    spec, store = spec_of(disk, tmp_path), tmp_path / "s.db"
    code, output = edgejoule(spec, "--store", store)
    assert (code, store.exists()) == (2, False)
    assert f"--wipe {disk.serial} permits it" in output
    code, output = edgejoule(spec, "--store", store, "--dry-run")
    assert code == 1
    assert f"each run wipes {disk.device} and makes ext4 on it (not permitted, see below): an image on " in output
    assert f"--wipe {disk.serial} permits it" in output
    code, output = edgejoule(spec, "--store", store, "--dry-run", "--wipe", disk.serial)
    assert (code, "not permitted" in output, disk.read(1 << 20, 0)) == (0, False, bytes(1 << 20))
    code, output = edgejoule(spec, "--store", store, "--wipe", disk.serial)
    assert code in (0, 3), output
    runs = runs_in(store)
    assert [run.status for run in runs] == ["finished"] * 4
    for run in runs:
        storage = run.facts["storage"]
        assert (storage["device"], storage["file_system"]) == (disk.device, "ext4")
        assert storage["below"][0].startswith("an image on ")
        assert not {"read", "write"} & set(run.facts["other_programs"]["exceeded"])
    page = next(tmp_path.glob("disks-*.html")).read_text()
    assert "below it: an image on " in page
    code, output = edgejoule(spec, "--store", store, "--resume")
    assert (code, "nothing to resume" in output or "permits it" in output) == (2, True)


@pytest.mark.root
def test_the_plan_as_json_names_the_disk_and_why_it_may_not_be_wiped(disk: LoopDisk, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["run", str(spec_of(disk, tmp_path)), "--dry-run", "--json"])
    (wiped,) = json.loads(done.stdout)["wiped"]
    assert wiped["device"] == disk.device
    assert f"--wipe {disk.serial}" in wiped["refused"]


def test_a_permission_that_no_run_needs_is_refused(tmp_path: Path) -> None:
    spec = tmp_path / "plain.toml"
    text = STUDY.replace('filesystem_device = "{device}"', "").format(operations=1)
    spec.write_text(text)
    code, output = edgejoule(spec, "--dry-run", "--wipe", "S1")
    assert (code, "no run of the plan has a filesystem_device" in output) == (2, True)


@pytest.mark.root
def test_the_mount_of_a_killed_study_is_removed_and_the_disk_wiped_again(disk: LoopDisk, tmp_path: Path) -> None:
    spec, store = spec_of(disk, tmp_path, operations=2_000_000), tmp_path / "s.db"
    code = textwrap.dedent(f"""
        from edgejoule.cli.main import main
        main(["run", {str(spec)!r}, "--store", {str(store)!r}, "--wipe", {disk.serial!r}])
    """)
    study = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    mounted = f"{disk.device} {tmp_path}/data/filesystem "
    limit = time.monotonic() + 60
    while mounted not in Path("/proc/self/mounts").read_text() and time.monotonic() < limit:
        time.sleep(0.05)
    os.kill(study.pid, signal.SIGKILL)
    study.wait()
    time.sleep(1)  # the driver dies with it
    assert mounted in Path("/proc/self/mounts").read_text()
    exit_code, output = edgejoule(spec_of(disk, tmp_path), "--store", store, "--wipe", disk.serial)
    assert exit_code in (0, 3), output
    assert len([run for run in runs_in(store) if run.status == "finished"]) == 4
    assert mounted not in Path("/proc/self/mounts").read_text()
