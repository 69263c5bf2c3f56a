"""What lies below a folder is read from the kernel's files: images, stacked devices, disks with model and transport."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgejoule.machine.block_devices import layers_below, layers_of, mount_of

USB = "sys/devices/pci0/usb4/4-1"
SDA = f"{USB}/4-1:1.0/host0/target0:0:0/0:0:0:0/block/sda"
CARD = "sys/devices/platform/soc/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0"


class Kernel:
    """A folder with /proc and /sys."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "sys/dev/block").mkdir(parents=True)
        self.write("proc/mounts", "/dev/root / ext4 rw 0 0\n")

    def write(self, name: str, text: str = "") -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def device(self, folder: str, number: str, **files: str) -> None:
        """files: content by name; "__" stands for a slash."""
        self.write(f"{folder}/dev", f"{number}\n")
        for name, text in files.items():
            self.write(f"{folder}/{name.replace('__', '/')}", f"{text}\n")
        (self.root / "sys/dev/block" / number).symlink_to(self.root / folder)

    def texts(self, number: str) -> list[str]:
        return [layer.text() for layer in layers_of(number, self.root)]


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


@pytest.mark.parametrize(("speed", "text"), [("480", "USB at 480 Mbit/s"), ("5000", "USB at 5000 Mbit/s")])
def test_a_disk_on_usb_has_its_negotiated_speed(kernel: Kernel, speed: str, text: str) -> None:
    kernel.write(f"{USB}/idVendor", "152d")
    kernel.write(f"{USB}/speed", f"{speed}\n")
    kernel.device(SDA, "8:0", device__model="Samsung SSD 850 ")
    kernel.device(f"{SDA}/sda1", "8:1", partition="1")
    assert kernel.texts("8:1") == kernel.texts("8:0") == [f"disk sda (Samsung SSD 850, {text})"]


@pytest.mark.parametrize(("kind", "text"), [("SD", "SD card"), ("MMC", "eMMC")])
def test_a_card_and_an_emmc_are_distinguished(kernel: Kernel, kind: str, text: str) -> None:
    kernel.device(CARD, "179:0", device__name="SC64G", device__type=kind)
    assert kernel.texts("179:0") == [f"disk mmcblk0 (SC64G, {text})"]


def test_a_disk_that_the_kernel_does_not_describe_has_its_name_alone(kernel: Kernel) -> None:
    kernel.device("sys/devices/virtual/block/zram0", "253:0")
    kernel.device("sys/devices/pci0/0000:00:02.0/virtio1/block/vda", "254:0")
    assert kernel.texts("253:0") == ["disk zram0"]
    assert kernel.texts("254:0") == ["disk vda (virtio)"]
    assert kernel.texts("9:9") == []


def test_a_stacked_device_names_every_disk_below(kernel: Kernel) -> None:
    for name, number in (("sda", "8:0"), ("sdb", "8:16")):
        kernel.device(f"sys/devices/pci0/ata{number[-1]}/host0/block/{name}", number)
    kernel.device("sys/devices/virtual/block/md0", "9:0")
    slaves = kernel.root / "sys/devices/virtual/block/md0/slaves"
    slaves.mkdir()
    for name, number in (("sda", "8:0"), ("sdb", "8:16")):
        (slaves / name).symlink_to(kernel.root / f"sys/devices/pci0/ata{number[-1]}/host0/block/{name}")
    assert kernel.texts("9:0") == ["stacked (md0)", "disk sda (SATA)", "disk sdb (SATA)"]


def test_an_image_names_the_file_system_that_it_lies_on(kernel: Kernel, tmp_path: Path) -> None:
    image = tmp_path / "memory of its own/image"
    image.parent.mkdir()
    image.write_text("")
    place = str(image.parent).replace(" ", "\\040")
    kernel.write("proc/mounts", f"/dev/root / ext4 rw 0 0\ntmpfs {place} tmpfs rw 0 0\n")
    kernel.device("sys/devices/virtual/block/loop0", "7:0", loop__backing_file=str(image))
    assert kernel.texts("7:0") == ["an image on tmpfs", "memory (tmpfs)"]


def test_of_mounts_at_one_place_the_last_counts(kernel: Kernel) -> None:
    kernel.write("proc/mounts", "/dev/a / ext4 rw 0 0\n/dev/b /x ext4 ro 0 0\n/dev/c /x xfs rw 0 0\n")
    mount = mount_of(Path("/x/y"), kernel.root)
    assert mount is not None
    assert (mount.device, mount.file_system) == ("/dev/c", "xfs")


def test_this_machine_has_layers_below_a_folder_or_says_none() -> None:
    layers = layers_below(Path("/var/tmp"))
    number = Path("/var/tmp").stat().st_dev
    if Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").exists():
        assert layers
        assert layers[-1].kind in ("disk", "memory")
