"""The report says on one line where data lay and what lies below, and which levels lay there."""

from __future__ import annotations

import pytest

from edgejoule.findings.facts import circumstances
from edgejoule.findings.storage import storage_lines, storage_text
from edgejoule.store import Run

CARD = {"file_system": "ext4", "mount_options": "rw,noatime", "device": "/dev/mmcblk0p2",
        "below": ["disk mmcblk0 (SC64G, SD card)"]}  # fmt: skip
IMAGE = {"file_system": "ext4", "mount_options": "rw", "device": "/dev/loop0",
         "below": ["an image on ext4", "disk vda (virtio)"]}  # fmt: skip


def run(index: int, storage: dict[str, object] | None, **levels: str) -> Run:
    settings = {"file_system": {"kind": "ext4"}}
    return Run(index, 0, levels, "finished", facts={"storage": storage} if storage else {}, settings=settings)


@pytest.mark.parametrize(
    ("storage", "text"),
    [
        (CARD, "ext4 (rw, noatime) on /dev/mmcblk0p2; below it: disk mmcblk0 (SC64G, SD card)"),
        (IMAGE, "ext4 (rw) on /dev/loop0; below it: an image on ext4, disk vda (virtio)"),
        ({**IMAGE, "below": None, "mount_options": None}, "ext4 (options unknown) on /dev/loop0"),
        ({k: v for k, v in CARD.items() if k != "below"}, "ext4 (rw, noatime) on /dev/mmcblk0p2"),
    ],
)
def test_a_run_names_what_lies_below(storage: dict[str, object], text: str) -> None:
    assert storage_text(storage) == text
    assert f"data on {text}" in circumstances(run(0, storage))


def test_each_storage_has_its_levels_and_one_alone_has_none() -> None:
    images = [run(i, {**IMAGE, "device": f"/dev/loop{i}"}, database="sqlite", data_path="/image") for i in range(2)]
    text = "ext4 (rw) on a loop device; below it: an image on ext4, disk vda (virtio)"
    assert storage_lines(images) == [("", text)]
    cards = [run(2, CARD, database="sqlite", data_path="/card"), run(3, None, database="sqlite", data_path="/card")]
    assert storage_lines([*images, *cards]) == [("data_path /image", text), ("data_path /card", storage_text(CARD))]
    assert storage_lines([]) == []
