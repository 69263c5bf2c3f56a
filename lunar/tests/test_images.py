"""Volumes of version 2 in images/, which every later lunar reads that COMPATIBILITY.md promises this for:

- version-2.img.xz was unmounted; version-2.sql is its `.dump`.
- version-2-cut.img.xz lost its power when the log had records of each type, version-2-transaction.img.xz in a
  transaction after that whose pages had left the buffer. Recovery gives both the content of version-2-cut.sql.

format_reader.py reads them too, and the volumes that today's lunar makes of the same statements. It was written by
FORMAT.md, so a change of the format does not go unnoticed. Where the format changes on purpose before it is final:

    PYTHONPATH=lunar/tests python3 lunar/tests/test_images.py

makes the images anew with build/bin/lunar. Then they stay as they are, and a further version gets further images.
"""

import lzma
import select
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from format_reader import BEFORE, CHECKPOINT, CREATE, IMAGES, META, RECORDS, TRUNCATE, Volume, xxh32

REPOSITORY = Path(__file__).parents[2]
LUNAR = REPOSITORY / "build" / "bin" / "lunar"
FOLDER = Path(__file__).parent / "images"

TABLES = [
    "CREATE TABLE kinds (name TEXT PRIMARY KEY USING HASH, tiny TINYINT, small SMALLINT, int INT, big INTEGER,"
    " heat REAL, ok BOOLEAN NOT NULL, line TEXT, bytes BLOB)",
    "CREATE INDEX kinds_heat ON kinds (heat)",
    "CREATE INDEX kinds_line ON kinds (line) USING HASH",
    "INSERT INTO kinds VALUES ('least', -128, -32768, -2147483648, -9223372036854775808, -9e999, FALSE, '', X'')",
    "INSERT INTO kinds VALUES ('most', 127, 32767, 2147483647, 9223372036854775807, 9e999, TRUE, 'it''s two\nlines',"
    " X'00ff')",
    "INSERT INTO kinds VALUES ('none', NULL, NULL, NULL, NULL, NULL, TRUE, NULL, NULL)",
    "CREATE TABLE dropped (n INTEGER PRIMARY KEY)",
    "CREATE TABLE readings (place TEXT, id INTEGER PRIMARY KEY, heat REAL, level SMALLINT) CHECKSUM",
    "CREATE INDEX readings_heat ON readings (heat)",
    "CREATE INDEX readings_level ON readings (level) USING HASH",
    "CREATE TABLE paths (path TEXT PRIMARY KEY, owner TEXT, open BOOLEAN)",
    "CREATE INDEX paths_owner ON paths (owner)",
    "CREATE INDEX paths_open ON paths (open)",
    "CREATE TABLE numbers (n INT PRIMARY KEY USING HASH, root INTEGER)",
    "CREATE TABLE log (at INTEGER PRIMARY KEY, line TEXT) RING ROWS 20",
    "CREATE TABLE days (at INTEGER PRIMARY KEY USING HASH, line TEXT) RING AGE 10",
    "CREATE TABLE bytes (at INTEGER PRIMARY KEY, line TEXT) RING BYTES 1024",
    "CREATE TABLE pages (n INTEGER PRIMARY KEY, mark INT, content BLOB)",
    "DROP TABLE dropped",
]
ROWS = [
    *(f"INSERT INTO readings VALUES ('room {i % 7}', {i * 7 % 40}, {i / 4 - 9.5}, {i % 11 - 5})" for i in range(40)),
    *(f"INSERT INTO paths VALUES ('/usr/share/lunar/measurements/of/2026/{i * 31 % 56:03}', 'user {i % 9}', TRUE)"
      for i in range(56)),
    *(f"INSERT INTO numbers VALUES ({i * i * (-1) ** i}, {i})" for i in range(70)),
    *(f"INSERT INTO {table} VALUES ({i}, '{'x' * (i * 7 % 40)}')"
      for i in range(40) for table in ("log", "days", "bytes")),
    *(f"INSERT INTO pages VALUES ({i}, 0, X'{'5a' * (1500 if i < 3 else 370)}')" for i in range(36)),
]  # fmt: skip
CHANGES = [
    "DELETE FROM readings WHERE level = 3",
    "UPDATE readings SET place = 'a room with a longer name' WHERE id < 5",
    "UPDATE readings SET heat = heat + 100 WHERE id > 35",
    "DELETE FROM paths WHERE owner = 'user 4'",
    "UPDATE paths SET owner = 'nobody' WHERE owner = 'user 5'",
    "DELETE FROM numbers WHERE root > 60",
    "INSERT INTO numbers VALUES (1000000, 1000)",
    "DELETE FROM pages WHERE n = 2",
]
AFTER_UNMOUNT = [  # few, so that no checkpoint comes
    "INSERT INTO kinds VALUES ('after', 1, 2, 3, 4, 1.5, TRUE, 'a line', X'aa')",
    "UPDATE kinds SET heat = 2.5 WHERE name = 'after'",
    "UPDATE kinds SET line = 'a longer line' WHERE name = 'least'",
    "UPDATE numbers SET root = 7 WHERE n = 36",
    "DELETE FROM numbers WHERE n = 0",
    f"UPDATE pages SET content = X'{'66' * 900}' WHERE n = 1",
    "INSERT INTO log VALUES (70, 'the oldest row goes')",
    "CREATE TABLE late (n INTEGER PRIMARY KEY, content BLOB)",
    f"INSERT INTO late VALUES (1, X'{'77' * 600}')",
    "DROP TABLE late",
    "DELETE FROM days",
]
LOST = [
    "BEGIN",
    "UPDATE pages SET mark = 1",
    "UPDATE numbers SET root = 1000",
    "DELETE FROM pages WHERE n > 30",
    "UPDATE kinds SET tiny = 1",
    "INSERT INTO readings VALUES ('lost', 3000, 1, 1)",
    "DELETE FROM log",
]
FURTHER = [
    "INSERT INTO readings VALUES ('further', 2000, 0.5, 1)",
    "UPDATE paths SET owner = 'further' WHERE owner = 'user 3'",
    "DELETE FROM numbers WHERE root < 20",
    *(f"INSERT INTO log VALUES ({i}, 'further')" for i in range(100, 130)),
    "CREATE TABLE further (n INTEGER PRIMARY KEY)",
    "DROP TABLE days",
]


def lunar(*arguments: str | Path, stdin: str = "") -> str:
    done = subprocess.run([LUNAR, *arguments], input=stdin, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(image: Path, statements: list[str]) -> None:
    lunar("--buffer", "32K", image, stdin=";\n".join(statements) + ";\n")


class Image(NamedTuple):
    content: bytes
    dump: str


UNMOUNTED, AFTER_A_CUT, IN_A_TRANSACTION = ALL = ("version-2", "version-2-cut", "version-2-transaction")


def image_after(image: Path, statements: list[str]) -> bytes:
    """The image as a cut leaves it after these statements."""
    with subprocess.Popen([LUNAR, "--buffer", "32K", image], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        assert shell.stdin
        assert shell.stdout
        shell.stdin.write(f"{';'.join(statements)};SELECT n FROM numbers LIMIT 1;\n".encode())
        shell.stdin.flush()
        assert select.select([shell.stdout], [], [], 60)[0]  # the result: all before it have ended
        assert shell.stdout.readline()
        shell.kill()
    return image.read_bytes()


def make(folder: Path) -> dict[str, Image]:
    image = folder / "made.img"
    lunar("--format", "--size", "640K", "--log", "160K", "--tables", "20", image)
    run(image, TABLES + ROWS)
    run(image, CHANGES)
    made = {UNMOUNTED: Image(image.read_bytes(), lunar("--read-only", image, ".dump"))}
    for name, statements in ((AFTER_A_CUT, AFTER_UNMOUNT), (IN_A_TRANSACTION, LOST)):
        content = image_after(image, statements)
        image.write_bytes(content)
        made[name] = Image(content, lunar("--read-only", image, ".dump"))
    return made


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    return make(tmp_path_factory.mktemp("images"))


def dump_of(name: str) -> Path:
    return FOLDER / f"{UNMOUNTED if name == UNMOUNTED else AFTER_A_CUT}.sql"


def kept(name: str) -> Image:
    return Image(lzma.decompress((FOLDER / f"{name}.img.xz").read_bytes()), dump_of(name).read_text())


def expect_as_the_page_says(image: bytes, dump: str) -> None:
    """The image of an unmounted volume with this dump."""
    assert sorted(Volume(image).statements()) == sorted(dump.replace(";\n", ";\0").split("\0")[:-1])


@pytest.mark.parametrize("name", ALL)
def test_todays_lunar_reads_and_changes_the_volumes(name: str, tmp_path: Path) -> None:
    image = tmp_path / "kept.img"
    content, dump = kept(name)
    image.write_bytes(content)
    assert lunar("--read-only", image, ".dump") == dump
    assert image.read_bytes() == content
    assert lunar(image, ".check").startswith("ok: ")
    assert lunar(image, ".dump") == dump
    expect_as_the_page_says(image.read_bytes(), dump)
    run(image, FURTHER)
    assert lunar(image, ".check").startswith("ok: ")
    assert lunar(image, "SELECT place FROM readings WHERE id = 2000", "SELECT COUNT(*) FROM log") == "further\n20\n"
    expect_as_the_page_says(image.read_bytes(), lunar("--read-only", image, ".dump"))


def test_the_format_is_as_its_page_says(fresh: dict[str, Image]) -> None:
    for image in (kept(UNMOUNTED), fresh[UNMOUNTED]):
        volume = Volume(image.content)
        assert (volume.version, volume.twice) == (2, 1)
        assert [group.kind for group in volume.groups()] == [CHECKPOINT]
        expect_as_the_page_says(*image)
    assert fresh[UNMOUNTED].dump == kept(UNMOUNTED).dump


def test_the_log_is_as_the_page_of_the_format_says(fresh: dict[str, Image]) -> None:
    for images in ({name: kept(name) for name in ALL}, fresh):
        volume = Volume(images[AFTER_A_CUT].content)
        records = [record for group in volume.groups() if group.kind == RECORDS for record in volume.records(group)]
        assert {record.type for record in records} == set(range(1, 13))
        assert [r.content[:24].rstrip(b"\0") for r in records if r.type == CREATE] == [b"late"]
        (truncated,) = (r.table for r in records if r.type == TRUNCATE)
        assert volume.names[truncated] == "days"
        groups = Volume(images[IN_A_TRANSACTION].content).groups()
        assert {group.kind for group in groups} == {RECORDS, IMAGES, CHECKPOINT, BEFORE}
        assert {group.flags for group in groups if group.kind == RECORDS} == {1}
        assert images[IN_A_TRANSACTION].dump == images[AFTER_A_CUT].dump == kept(AFTER_A_CUT).dump


@pytest.mark.parametrize("name", ["paths", "paths_open"])
def test_a_table_with_what_a_later_version_added_is_refused(name: str, tmp_path: Path) -> None:
    volume = Volume(kept(UNMOUNTED).content)
    changed = bytearray(volume.image)
    (number,) = (number for number, known in volume.names.items() if known == name)
    first = volume.meta_at + 2 * number
    page = bytearray(volume.page(first, META))
    page[57] = 1
    page[:4] = xxh32(volume.volume ^ first, page[4:]).to_bytes(4, "little")
    for sector in (first, first + volume.copy):
        changed[512 * sector : 512 * sector + 512] = page
    image = tmp_path / "later.img"
    image.write_bytes(changed)
    for statement in ("SELECT COUNT(*) FROM paths WHERE open", "DELETE FROM paths", "DROP TABLE paths"):
        done = subprocess.run([LUNAR, image, statement], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1, statement
        assert done.stderr.startswith("lunar: not available in this mode or build")
    assert lunar(image, "SELECT COUNT(*) FROM log") == "20\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as empty:
        volumes = make(Path(empty))
    for name, made in volumes.items():
        (FOLDER / f"{name}.img.xz").write_bytes(lzma.compress(made.content, preset=9 | lzma.PRESET_EXTREME))
        dump_of(name).write_text(made.dump)
