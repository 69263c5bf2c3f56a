"""The command line `lunar`, interactive and in scripts."""

import fcntl
import json
import lzma
import os
import pty
import random
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
LUNAR = REPOSITORY / "build" / "bin" / "lunar"
READINGS = "CREATE TABLE readings (id INTEGER PRIMARY KEY, place TEXT, heat REAL, ok BOOLEAN NOT NULL);"
ROWS = "INSERT INTO readings VALUES (1, 'roof', 20.5, TRUE), (2, 'cellar', 12, TRUE), (3, NULL, NULL, FALSE);"


def run(*arguments: str | Path, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([LUNAR, *arguments], input=stdin, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def out(*arguments: str | Path, stdin: str = "") -> str:
    return run(*arguments, stdin=stdin).stdout


def complaint(*arguments: str | Path, stdin: str = "", code: int = 1) -> str:
    return run(*arguments, stdin=stdin, code=code).stderr


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "disk.img"
    run("--format", "--size", "16M", path, READINGS + ROWS)
    return path


def test_results_come_in_four_formats(image: Path) -> None:
    query = "SELECT * FROM readings"
    assert out(image, query) == "1|roof|20.5|TRUE\n2|cellar|12.0|TRUE\n3|NULL|NULL|FALSE\n"
    assert out("--csv", image, query) == "id,place,heat,ok\n1,roof,20.5,TRUE\n2,cellar,12.0,TRUE\n3,,,FALSE\n"
    assert [json.loads(line) for line in out("--json", image, query).splitlines()] == [
        {"id": 1, "place": "roof", "heat": 20.5, "ok": True},
        {"id": 2, "place": "cellar", "heat": 12.0, "ok": True},
        {"id": 3, "place": None, "heat": None, "ok": False},
    ]
    assert out("--table", image, query).splitlines() == [
        "id  place   heat  ok",
        "--  ------  ----  -----",
        " 1  roof    20.5  TRUE",
        " 2  cellar  12.0  TRUE",
        " 3  NULL    NULL  FALSE",
    ]
    assert out(image, ".mode csv", "SELECT COUNT(*) AS n FROM readings") == "n\n3\n"
    assert '"list of mine" is not a format' in complaint(image, ".mode 'list of mine'")


def test_statements_come_from_arguments_files_and_standard_input(image: Path, tmp_path: Path) -> None:
    script = tmp_path / "a script.sql"
    script.write_text("-- two statements\nSELECT id\n FROM readings WHERE place = 'a;b';\n\nSELECT 'it''s' AS x\n"
                      " FROM readings LIMIT 1; .tables;")  # fmt: skip
    assert complaint(image, "-f", script).startswith(f"lunar: {script}:6: ")
    script.write_text("SELECT id FROM readings LIMIT 1;\n.tables\nSELECT 'no semicolon' AS x FROM readings LIMIT 1")
    assert out(image, "-f", script, "SELECT 2 FROM readings LIMIT 1") == "1\nreadings\nno semicolon\n2\n"
    assert out(image, f".read '{script}'") == "1\nreadings\nno semicolon\n"
    assert out(image, stdin="SELECT id\nFROM readings\nLIMIT 1;") == "1\n"
    assert out(image, "-f", "-", stdin="SELECT id FROM readings LIMIT 1") == "1\n"
    assert out(image, "", ";", " ;; SELECT id FROM readings LIMIT 1;; -- that is all") == "1\n"
    script.write_text(f".read '{script}'\n")
    assert ".read is nested too deeply" in complaint(image, f".read '{script}'")


def test_a_row_is_there_before_the_next_statement_is(image: Path) -> None:
    with subprocess.Popen([LUNAR, image], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        for number in (1, 2, 3):
            shell.stdin.write(f"SELECT id\nFROM readings WHERE id = {number};\n")
            assert shell.stdout.readline() == f"{number}\n"
        shell.stdin.close()
        assert shell.wait(timeout=10) == 0


def test_an_error_names_the_word_and_its_place(image: Path) -> None:
    assert complaint(image, "SELECT wheat\nFROM readings") == (
        'lunar: the table has no column of this name: "wheat"\n  SELECT wheat\n         ^^^^^\n'
    )
    text = complaint(image, stdin="SELECT id FROM readings;\nSELECT id\n\tFROM 'ö' x;\n")
    assert text.startswith("lunar: standard input:3: ")
    assert text.splitlines()[1:] == ["   FROM 'ö' x;", "        ^^^"]
    assert complaint(image, "INSERT INTO readings VALUES (4, 'x', 1, NULL)") == 'lunar: may not be NULL: "ok"\n'
    twice = "INSERT INTO readings VALUES (1, 'x', 1, TRUE);"
    wanted = 'lunar: standard input:2: a row with this key exists already: "1"\n'
    for ahead in ("SELECT id FROM readings;\n", "-- a comment\n", "SELECT id FROM readings; /* and\n", "\n"):
        end = "*/ " if "/*" in ahead else ""
        assert complaint(image, stdin=ahead + end + twice) == wanted
    far = complaint(image, "SELECT " + "id, " * 200 + "wheat, " + "id, " * 200 + "id FROM readings").splitlines()
    assert far[2].index("^") == far[1].index("wheat")
    assert max(map(len, far)) < 120
    assert "unknown command" in complaint(image, ".table")
    assert "usage: .import FILE TABLE" in complaint(image, ".import x")


def test_the_first_error_ends_a_script_and_takes_back_what_is_open(image: Path) -> None:
    done = run(image, stdin="BEGIN; DELETE FROM readings;\nSELECT 1;\nSELECT id FROM readings;\n", code=1)
    assert done.stdout == ""
    assert "the open transaction was rolled back" in done.stderr
    assert out(image, "SELECT COUNT(*) FROM readings") == "3\n"
    assert "rolled back" in run(image, "BEGIN; DELETE FROM readings", code=1).stderr
    assert out(image, "SELECT COUNT(*) FROM readings") == "3\n"


def test_an_image_is_made_and_never_overwritten_by_accident(tmp_path: Path) -> None:
    image = tmp_path / "new.img"
    assert "--size 64M creates one" in complaint("--format", image)
    assert not image.exists()
    made = run("--format", "--size", "1M", "--sector-bytes", "4096", "--tables", "3", image).stderr
    assert "an empty volume of 1 MiB, sectors of 4096 bytes" in made
    assert "up to 3 tables" in made
    assert out(image, READINGS, ".tables", ".stat").startswith("readings\nmode|full\nsector_bytes|4096\n")
    assert "there is a lunar volume on it; --force overwrites it" in complaint("--format", "--size", "2M", image)
    assert out(image, ".tables") == "readings\n"
    run("--format", "--force", "--size", "2M", image)
    assert image.stat().st_size == 2 << 20
    assert out(image, ".tables") == ""
    notes = tmp_path / "notes.txt"
    notes.write_text("dear diary\n" * 50000)
    assert "it is not empty; --force" in complaint("--format", notes)
    assert notes.read_text().startswith("dear diary")
    empty = tmp_path / "empty.img"
    empty.write_bytes(bytes(1 << 20))
    run("--format", empty, READINGS)
    for size, given in (("8K", "8 KiB"), ("1", "1 byte")):
        text = complaint("--format", "--size", size, tmp_path / "small.img")
        assert f"{given} is too small; a volume has at least 64 KiB" in text
        assert not (tmp_path / "small.img").exists()
    for size in ("0", "-5M"):
        text = complaint("--format", "--size", size, tmp_path / "none.img", code=2)
        assert "--size: a size is greater than 0" in text
    assert "--format" in complaint("--size", "1M", image, code=2)


def test_a_failed_open_is_reported_with_its_remedy(image: Path, tmp_path: Path) -> None:
    assert "lunar --format --size 64M" in complaint(tmp_path / "none.img", ".tables")
    zeros = tmp_path / "zeros.img"
    zeros.write_bytes(bytes(1 << 20))
    assert "there is no lunar volume on the device; `lunar --format` creates one" in complaint(zeros, ".tables")
    assert "neither an image file nor a block device" in complaint(tmp_path, ".tables")
    truncated = tmp_path / "truncated.img"
    truncated.write_bytes(image.read_bytes()[: image.stat().st_size // 2])
    assert "`truncate -s SIZE COPY`" in complaint(truncated, ".tables")
    os.truncate(truncated, image.stat().st_size)
    assert out(truncated, "--read-only", ".tables") == "readings\n"
    text = tmp_path / "text.md"
    text.write_text("# A page\n" * 100)
    assert complaint(text, ".tables") == f"lunar: {text}: not a lunar volume\n"
    assert "none.csv: No such file or directory" in complaint(image, ".import none.csv readings")
    with image.open("r+b") as file:
        file.truncate(1 << 20)
    assert "smaller than the volume on it" in complaint(image, ".tables")


def damage(image: Path, text: bytes) -> None:
    """Overwrites the block of the row that contains the text."""
    data = bytearray(image.read_bytes())
    at = data.rindex(text)
    data[at - at % 512 - 1024 : at - at % 512 + 8] = b"\xff" * 1032
    image.write_bytes(data)


def test_a_damaged_volume_is_reported_and_what_can_be_read_is_saved(image: Path) -> None:
    run(image, "CREATE TABLE other (k INTEGER PRIMARY KEY); INSERT INTO other VALUES (1)")
    assert out(image, ".check") == run(image, ".check").stdout
    rows = ",".join(f"({key}, 'row {key}')" for key in range(3000))
    run(image, "CREATE TABLE long (k INTEGER PRIMARY KEY, v TEXT); INSERT INTO long VALUES " + rows)
    damage(image, b"cellar")
    text = complaint(image, ".check")
    assert text.startswith("lunar: damaged: ")
    assert "table readings; sector" in text
    saved = image.with_name("saved.csv")
    for table, rows in (("other", 1), ("long", 3000)):
        run(image, f".export {table} {saved}")
        assert saved.read_text().count("\n") == rows + 1
    damage(image, b"row 2000")
    text = complaint(image, f".export long {saved}")
    report = re.search(r"cannot be read to its end: .*\n  rows before that, which were written: (\d+)", text)
    assert report is not None
    assert 0 < int(report[1]) < 2000
    assert saved.read_text().count("\n") == int(report[1]) + 1
    before = image.read_bytes()
    text = complaint("--read-only", image, f".export long {saved}")
    report = re.search(r"long is damaged: (\d+) rows were written, all that can be read; lost: (\d+) rows\n", text)
    assert report is not None
    rows_left, lost = map(int, report.groups())
    assert rows_left + lost == 3000
    assert 0 < lost < 80  # those of three sectors
    assert saved.read_text().count("\n") == rows_left + 1
    assert image.read_bytes() == before
    assert complaint(image, "SELECT COUNT(*) FROM long WHERE v <> ''").startswith("lunar: ")
    assert complaint("--read-only", image, ".export long /dev/stdout").count("long is damaged") == 1
    assert out(image, ".repair long") == f"long: {rows_left} rows; given up: {lost} rows, 0 blocks of rows\n"
    assert out(image, "SELECT COUNT(*) FROM long WHERE v <> ''") == f"{rows_left}\n"


def test_another_process_is_kept_out(image: Path) -> None:
    with image.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "another process has it open" in complaint(image, ".tables")
        assert "another process has it open" in complaint("--read-only", image, ".tables")
        assert "another process has it open" in complaint("--format", "--force", image)
        fcntl.flock(file, fcntl.LOCK_SH)
        assert "another process has it open" in complaint(image, ".tables")
        assert out("--read-only", image, ".tables") == "readings\n"


def test_read_only_leaves_every_byte_as_it_is(image: Path) -> None:
    with subprocess.Popen([LUNAR, image], stdin=subprocess.PIPE, text=True) as shell:  # cut off with a log to replay
        assert shell.stdin is not None
        shell.stdin.write("INSERT INTO readings VALUES (4, 'new', 1, TRUE);\n")
        shell.stdin.flush()
        deadline = time.monotonic() + 60
        while b"new" not in image.read_bytes() and time.monotonic() < deadline:
            time.sleep(0.01)
        shell.kill()
    before = image.read_bytes()
    image.chmod(0o444)
    assert out("--read-only", image, "SELECT place FROM readings WHERE id = 4", ".schema").startswith("new\nCREATE")
    assert "only SELECT and EXPLAIN" in complaint("--read-only", image, "DELETE FROM readings")
    assert "--read-only" in complaint("--read-only", image, ".import /dev/null readings")
    assert image.read_bytes() == before


def test_a_transaction_that_is_left_open_is_rolled_back_and_the_exit_code_reports_it(image: Path) -> None:
    assert "rolled back" in complaint(image, "BEGIN", "INSERT INTO readings VALUES (4, 'new', 1, TRUE)")
    assert out(image, "SELECT COUNT(*) FROM readings") == "3\n"


def test_a_damaged_log_is_reported_and_skipped_only_where_that_is_asked_for(image: Path) -> None:
    with subprocess.Popen([LUNAR, image], stdin=subprocess.PIPE, text=True) as shell:
        assert shell.stdin is not None
        for key in range(4, 10):
            shell.stdin.write(f"INSERT INTO readings VALUES ({key}, 'new{key}', 1, TRUE);\n")
        shell.stdin.flush()
        deadline = time.monotonic() + 60
        while b"new9" not in image.read_bytes() and time.monotonic() < deadline:
            time.sleep(0.01)
        shell.kill()
    content = bytearray(image.read_bytes())
    content[content.index(b"new5")] ^= 1
    image.write_bytes(content)
    assert "damaged" in complaint(image, "SELECT COUNT(*) FROM readings")
    assert image.read_bytes() == content
    assert out("--read-only", "--skip-damage", image, "SELECT COUNT(*) FROM readings") == "4\n"


SCHEMAS = [
    'CREATE TABLE "a ""b""" (k TINYINT PRIMARY KEY, "select" SMALLINT NOT NULL, c INT, d INTEGER, e REAL, f BOOLEAN, '
    "g TEXT, h BLOB);",
    "CREATE TABLE hashed (k TEXT PRIMARY KEY USING HASH, v BLOB) RING ROWS 20000;",
]


def test_a_schema_makes_the_same_table(tmp_path: Path) -> None:
    for number, statement in enumerate(SCHEMAS):
        image = tmp_path / f"{number}.img"
        run("--format", "--size", "1M", image, statement)
        assert out(image, ".schema") == statement + "\n"
    assert out(image, ".indexes") == "hashed|k|HASH|primary key\n"
    assert out(image, ".schema HASHED") == SCHEMAS[1] + "\n"
    assert 'no table "x"' in complaint(image, ".schema x")


@pytest.mark.parametrize("options", [[], ["--read-only"]])
@pytest.mark.parametrize("command", [".export readings {}", ".dump {}"])
def test_an_export_does_not_replace_the_volume(image: Path, tmp_path: Path, options: list[str], command: str) -> None:
    before = image.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(image)
    for path in (image, link, image.parent / "." / image.name):
        assert complaint(*options, image, command.format(path)).endswith(": it is the volume itself\n")
    assert out("--read-only", image, "SELECT COUNT(*) FROM readings") == "3\n"
    assert len(image.read_bytes()) == len(before)


def test_an_export_to_a_full_device_names_no_removed_file(image: Path) -> None:
    assert complaint(image, ".export readings /dev/full").endswith("/dev/full: No space left on device\n")
    assert Path("/dev/full").exists()


def test_a_dump_keeps_every_bit_of_a_real(tmp_path: Path) -> None:
    source, copy, seed = tmp_path / "a.img", tmp_path / "b.img", random.Random(1)
    reals = [seed.uniform(-100, 100) * 10.0 ** seed.randint(-300, 300) for _ in range(1000)]
    reals += [seed.uniform(-100, 100) for _ in range(1000)] + [5e-324, 1.7976931348623157e308, 0.1, -0.0, 1e23]
    rows = tmp_path / "reals.csv"
    rows.write_text("n,r\n" + "".join(f"{n},{real!r}\n" for n, real in enumerate(reals)))
    run("--format", "--size", "16M", source, "CREATE TABLE t (n INTEGER PRIMARY KEY, r REAL)", f".import {rows} t")
    run(source, f".dump {tmp_path / 'dump.sql'}")
    run("--format", "--size", "16M", copy, f".read {tmp_path / 'dump.sql'}")
    for image in (source, copy):
        assert [float(line) for line in out(image, "SELECT r FROM t").split()] == reals


def test_export_and_import_give_the_same_values(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    choose = random.Random(seed)

    def text() -> str:
        return (
            "'" + "".join(choose.choices("ab \",\\|\n\r\t;X''öNULL", k=choose.randrange(12))).replace("'", "''") + "'"
        )

    def either(value: str) -> str:
        return value if choose.random() < 0.8 else "NULL"

    image, csv, again = tmp_path / "1.img", tmp_path / "t.csv", tmp_path / "again.csv"
    run(
        "--format",
        "--size",
        "16M",
        "--log",
        "4M",
        image,
        'CREATE TABLE t (a INTEGER PRIMARY KEY, "b,""" REAL, c TEXT, d BLOB, e BOOLEAN)',
    )

    def row(key: int) -> str:
        real = str(choose.choice([1e300, -0.1, 5e-324, 3, choose.gauss(0, 1)]))
        blob = "X'" + choose.randbytes(choose.randrange(6)).hex() + "'"
        return f"({key}, {either(real)}, {either(text())}, {either(blob)}, {either(choose.choice(['TRUE', 'FALSE']))})"

    values = [row(key) for key in {choose.randrange(-(1 << 63), 1 << 63) for _ in range(500)}]
    run(image, "-f", "-", stdin=f"INSERT INTO t VALUES {','.join(values)}")
    query = "SELECT * FROM t ORDER BY a"
    first = out("--json", image, query)
    run(image, f".export t {csv}", "DELETE FROM t", f".import {csv} t", f".export t {again}")
    assert out("--json", image, query) == first
    assert again.read_bytes() == csv.read_bytes()
    assert first.count("\n") == len(values)


def test_import_takes_columns_by_name_and_leaves_the_others_null(image: Path, tmp_path: Path) -> None:
    csv = tmp_path / "some.csv"
    csv.write_bytes(b'\xef\xbb\xbfok,ID,place\r\ntrue,7,""\r\n0,8,\r\n')
    run(image, f".import {csv} Readings")
    assert out("--csv", image, "SELECT * FROM readings WHERE id > 3") == 'id,place,heat,ok\n7,"",,TRUE\n8,,,FALSE\n'


@pytest.mark.parametrize(
    ("lines", "says", "rows"),
    [
        ("id,ok\n10,1\n11,1\nx,1\n12,1\n", 'line 4, column id: "x": expected an integer', 2),
        ("id,ok\n10,1\n11\n", "line 3: 1 fields, but the first line names 2", 1),
        ("id,ok\n10,1\n1,1\n12,1\n", "line 3: a row with the key 1 exists already", 1),
        ("id,ok\n10,1\n11,\n", "line 3: column ok: it is NOT NULL", 1),
        ('id,ok\n10,1\n11,"1\n', "line 3: the quote that begins here is not closed", 1),
        ("id,okay\n10,1\n", 'has no column "okay"', 0),
        ("id,ok,ID\n10,1,1\n", 'the column "ID" appears twice', 0),
        ("", "its first line must name the columns", 0),
    ],
)
def test_import_reports_which_line_is_wrong_and_keeps_those_before(
    image: Path, tmp_path: Path, lines: str, says: str, rows: int
) -> None:
    csv = tmp_path / "some.csv"
    csv.write_text(lines)
    text = complaint(image, f".import {csv} readings")
    assert says in text
    assert rows == 0 or f"rows imported: {rows}, " in text
    assert out(image, "SELECT COUNT(*) FROM readings") == f"{3 + rows}\n"


def test_import_loses_no_row_to_a_short_log(tmp_path: Path) -> None:
    image, csv = tmp_path / "disk.img", tmp_path / "t.csv"
    keys = random.Random(7).sample(range(1 << 30), 5000)
    csv.write_text("k,v\n" + "".join(f"{key},{key}\n" for key in keys))
    run("--format", "--size", "4M", "--log", "40K", image, "CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    assert "larger log" in complaint(image, "BEGIN; INSERT INTO t VALUES " + ",".join(f"({key}, 0)" for key in keys))
    for mode in ("full", "none"):
        run("--mode", mode, "--buffer", "32K", image, "DELETE FROM t WHERE k >= 0 AND k < 1000", f".import {csv} t")
        assert out(image, "SELECT COUNT(*), MAX(k), MIN(v) FROM t") == f"5000|{max(keys)}|{min(keys)}\n"
        assert out(image, ".check").startswith("ok")
        run(image, "DROP TABLE t", "CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    assert "transactions" in complaint(image, "BEGIN", f".import {csv} t")


def test_a_full_volume_is_reported_and_works_after_a_drop(tmp_path: Path) -> None:
    image, csv = tmp_path / "disk.img", tmp_path / "t.csv"
    csv.write_text("k,v\n" + "".join(f"{key},{'x' * 900}\n" for key in range(3000)))
    run("--format", "--size", "1M", image, "CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
    text = complaint(image, f".import {csv} t")
    assert "the device is full; delete rows or drop a table" in text
    report = re.search(r"line (\d+): .*\n  rows imported: (\d+), ", text)
    assert report is not None
    assert int(report[1]) == int(report[2]) + 2
    assert out(image, "SELECT COUNT(*) FROM t") == f"{report[2]}\n"
    run(image, "DROP TABLE t", READINGS + ROWS, ".check")


def test_the_reason_of_a_failed_format_is_in_the_message(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        file.truncate(1 << 20)
    limited = f"trap '' XFSZ; ulimit -f 20; {LUNAR} --format {image}"  # writes fail beyond 20 KiB
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, f"lunar: {image}: the device failed: File too large\n")


def test_a_host_without_room_is_reported_and_what_was_committed_stays(tmp_path: Path) -> None:
    image, csv = tmp_path / "disk.img", tmp_path / "t.csv"
    run("--format", "--size", "16M", image, "CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
    csv.write_text("k,v\n" + "".join(f"{key},{'x' * 900}\n" for key in range(8000)))
    limited = f"trap '' XFSZ; ulimit -f 6000; {LUNAR} {image} '.import {csv} t'"  # writes fail beyond 6 MB
    text = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=60).stderr
    assert "File too large" in text
    report = re.search(r"rows imported: (\d+), ", text)
    assert report is not None
    assert 1000 <= int(report[1]) < 8000
    assert out(image, "SELECT COUNT(*) FROM t", ".check").startswith(f"{report[1]}\nok")


def test_the_largest_rows_and_long_statements_work(image: Path) -> None:
    large = "x" * 64000
    run(image, READINGS.replace("readings", "large"))
    run(image, "-f", "-", stdin=f"INSERT INTO large VALUES (1,'{large}',0,FALSE)")
    assert out(image, "SELECT place FROM large ORDER BY heat") == large + "\n"
    many = ",".join(f"({number},NULL,NULL,TRUE)" for number in range(10, 2000))
    run(image, stdin=f"INSERT INTO readings VALUES {many};")
    assert out(image, "SELECT COUNT(*) FROM readings") == "1993\n"
    assert out(image, stdin="SELECT id FROM readings WHERE id IN (" + "1," * 300000 + "2);") == "1\n2\n"


def test_a_reader_that_leaves_ends_it_quietly(image: Path) -> None:
    run(image, stdin="INSERT INTO readings VALUES " + ",".join(f"({k},'x',NULL,TRUE)" for k in range(10, 5000)))
    select_all = "SELECT * FROM readings;" * 20
    done = subprocess.run(
        ["bash", "-c", f"{LUNAR} {image} '{select_all}' | head -1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "1|roof|20.5|TRUE\n141\n"
    assert done.stderr == ""
    with Path("/dev/full").open("w") as full:
        failed = subprocess.run([LUNAR, image, select_all], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert failed.returncode == 1
    assert failed.stderr == "lunar: standard output: No space left on device\n"
    assert "/dev/full: No space left on device" in complaint(image, ".export readings /dev/full")


@pytest.mark.parametrize("mode", ["full", "metadata"])
def test_ctrl_c_takes_back_the_statement(tmp_path: Path, mode: str) -> None:
    image, csv = tmp_path / "disk.img", tmp_path / "t.csv"
    rows = 20000
    csv.write_text("k,v,s\n" + "".join(f"{key},0,{'x' * 40}\n" for key in range(rows)))
    run("--format", "--size", "256M", "--log", "64M", image, "CREATE TABLE t (k INT PRIMARY KEY, v INT, s TEXT)")
    run("--mode", "data", image, f".import {csv} t")
    for seconds in (0.1, 0.25, 0.4):
        update = ["UPDATE t SET v = v + 1"] * 1000
        with subprocess.Popen(
            [LUNAR, "--mode", mode, "--buffer", "64K", image, *update], stderr=subprocess.PIPE, text=True
        ) as shell:
            time.sleep(seconds)
            shell.send_signal(signal.SIGINT)
            try:
                errors = shell.communicate(timeout=30)[1]
            finally:
                shell.kill()
        assert shell.returncode == 130
        assert errors.startswith("lunar: interrupted")
        least, most, count = out(image, "SELECT MIN(v), MAX(v), COUNT(*) FROM t").strip().split("|")
        assert least == most
        assert count == str(rows)
        assert out(image, ".check").startswith("ok")


class Terminal:
    """An interactive session in a pseudo-terminal."""

    def __init__(self, *arguments: str | Path, home: Path) -> None:
        environment = {**os.environ, "HOME": str(home), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.execve(LUNAR, [str(LUNAR), *map(str, arguments)], environment)
        self.seen = ""

    def wait_for(self, text: str) -> str:
        deadline = time.monotonic() + 60
        while text not in self.seen:
            ready, _, _ = select.select([self.descriptor], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{text!r} did not come, but {self.seen!r}"
            try:
                self.seen += os.read(self.descriptor, 65536).decode()
            except OSError:
                assert text in self.seen, f"{text!r} did not come, but {self.seen!r}"
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def exit_code(self) -> int:
        deadline = time.monotonic() + 60
        while (ended := os.waitpid(self.pid, os.WNOHANG))[0] == 0:
            assert time.monotonic() < deadline, f"it does not end, but {self.seen!r}"
            time.sleep(0.01)
        self.pid = 0
        return os.waitstatus_to_exitcode(ended[1])

    def close(self) -> None:
        os.close(self.descriptor)
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(image: Path, tmp_path: Path) -> Iterator[Terminal]:
    person = Terminal(image, home=tmp_path)
    yield person
    person.close()


def test_a_person_at_the_prompt_is_answered_and_errors_do_not_end_it(terminal: Terminal, tmp_path: Path) -> None:
    terminal.wait_for(".help lists commands")
    terminal.wait_for("lunar> ")
    terminal.type("SELECT place\n")
    terminal.wait_for("  ...> ")
    terminal.type("FROM readings WHERE id = 1;\n")
    terminal.wait_for("roof")
    terminal.wait_for("lunar> ")
    terminal.type("SELECT wheat FROM readings;\n")
    terminal.wait_for("error: the table has no column of this name")
    terminal.wait_for("^^^^^")
    terminal.wait_for("lunar> ")
    terminal.type("SELECT 1, then I think again\x03")
    terminal.wait_for("lunar> ")
    terminal.type(".tables\n")
    terminal.wait_for("readings\r\n")
    terminal.wait_for("lunar> ")
    terminal.type("\x04")
    assert terminal.exit_code() == 0
    history = tmp_path / ".lunar_history"
    assert not history.exists() or "FROM" in history.read_text()


def test_what_is_typed_may_be_in_utf_8(terminal: Terminal) -> None:
    terminal.wait_for("lunar> ")
    terminal.type("UPDATE readings SET place = 'Höhle' WHERE id = 1;\n")
    terminal.wait_for("lunar> ")
    terminal.type("SELECT place, id FROM readings WHERE place = 'Höhle';\n")
    terminal.wait_for("Höhle|1")
    terminal.type(".quit\n")
    assert terminal.exit_code() == 0


def test_a_name_with_control_characters_does_not_reach_the_terminal(image: Path, tmp_path: Path) -> None:
    run(image, stdin='CREATE TABLE "red \x1b[31m" (k INTEGER PRIMARY KEY);')
    assert '"red \x1b[31m"' in out(image, ".schema")  # another shell reads it again
    person = Terminal(image, ".schema", home=tmp_path)
    person.wait_for(r'CREATE TABLE "red \x1b[31m" (')
    person.close()


def test_a_message_about_a_name_with_control_characters_escapes_them(image: Path) -> None:
    for command in ('SELECT * FROM "red \x1b[31m";', '.import rows.csv "red \x1b[31m"'):
        message = complaint(image, command)
        assert "\x1b" not in message
        assert r"red \x1b[31m" in message


def test_a_column_with_control_characters_is_escaped_in_a_table(image: Path) -> None:
    run(image, stdin="CREATE TABLE t (k INTEGER PRIMARY KEY, \"red \x1b[31m\n\" TEXT); INSERT INTO t VALUES (1, 'a');")
    assert out("--table", image, "SELECT * FROM t").splitlines()[0].split("  ") == ["k", r"red \x1b[31m\n"]


def test_a_command_takes_a_name_with_doubled_quotes_as_sql_does(image: Path, tmp_path: Path) -> None:
    run(image, stdin='CREATE TABLE "sel""ect" (k INTEGER PRIMARY KEY); INSERT INTO "sel""ect" VALUES (7);')
    for name in ('"sel""ect"', "'sel\"ect'"):
        run(image, f".export {name} {tmp_path / 'rows.csv'}")
        assert (tmp_path / "rows.csv").read_text() == "k\n7\n"


def test_ctrl_c_at_the_prompt_ends_the_statement_and_not_the_program(terminal: Terminal) -> None:
    terminal.wait_for("lunar> ")
    terminal.type("INSERT INTO readings VALUES " + ",".join(f"({key},'',0,TRUE)" for key in range(10, 60)) + ";\n")
    terminal.wait_for("lunar> ")
    terminal.type("SELECT id FROM readings\n\x03")
    terminal.wait_for("lunar> ")
    terminal.type("SELECT COUNT(*) FROM readings;\n")
    terminal.wait_for("53")
    terminal.type(".quit\n")
    assert terminal.exit_code() == 0


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A volume with 330 MB of allocation map: its check takes more than a second."""
    image = tmp_path_factory.mktemp("large") / "disk.img"
    run("--format", "--size", "512G", image, READINGS, "INSERT INTO readings VALUES (1, 'roof', 20.5, TRUE)")
    yield image
    image.unlink()


def test_ctrl_c_stops_a_check(large: Path) -> None:
    with subprocess.Popen([LUNAR, large, ".check"], stderr=subprocess.PIPE, text=True) as shell:
        time.sleep(0.4)
        shell.send_signal(signal.SIGINT)
        errors = shell.communicate(timeout=30)[1]
    assert (shell.returncode, errors) == (130, "lunar: interrupted\n")


def test_a_check_shows_its_progress_on_a_terminal_and_goes_back_to_the_prompt(large: Path, tmp_path: Path) -> None:
    person = Terminal(large, home=tmp_path)
    try:
        person.wait_for("lunar> ")
        person.type(".check\n")
        person.wait_for(" chunks, 0 rows, 0 index entries")
        person.type("\x03")
        person.wait_for("interrupted")
        person.wait_for("lunar> ")
        person.type("SELECT COUNT(*) FROM readings;\n")
        person.wait_for("1\r\n")
        person.type(".check\n.quit\n")
        person.wait_for("ok: tables: 1, rows: 1, index entries: 1")
        assert person.exit_code() == 0
    finally:
        person.close()


def test_help_and_version_are_reported(image: Path) -> None:
    text = out("--help")
    for word in ("Examples:", ".import FILE TABLE", "--read-only", "lunar bdtest"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 120
    assert re.fullmatch(r"lunar \d+\.\d+\.\d+\n", out("--version"))
    assert ".schema [TABLE]" in out(image, ".help")
    assert "--buffer" in complaint("--buffer", "1K", image, ".tables", code=2)
    modes = "--mode: expected none, disorder, metadata, data or full, found safe\n"
    assert complaint("--mode", "safe", image, ".tables", code=2).startswith(modes)
    assert out("--mode", "NONE", image, ".stat").startswith("mode|none\n")
    assert "--tables: Value 0 not in range 1 to 65535\n" in complaint("--format", "--tables", "0", image, code=2)
    assert "--csv excludes --json" in complaint("--csv", "--json", image, ".tables", code=2)
    assert "above 0, found 0" in complaint("bdtest", "predict", "--rows-per-day", "0", code=2)
    assert "IMAGE" in complaint(code=2).upper()


def test_the_device_tester_is_a_subcommand(tmp_path: Path) -> None:
    card = tmp_path / "card.img"
    card.write_bytes(bytes(4 << 20))
    assert "lunar bdtest check" in out("bdtest", "--help")
    assert out("bdtest", "check", card).count("ok  ") >= 3
    assert "rows/s at most" in out("bdtest", "predict", "--row-bytes", "64", "--buffer-bytes", "2664")
    assert "lunar bdtest: " in complaint("bdtest", "check", tmp_path / "none.img")


@pytest.mark.parametrize("content", [b"five\n", bytes(600) + b"x", bytes(600_000) + b"x"])
@pytest.mark.parametrize("command", [("--format",), ("--format", "--size", "1M"), ("bdtest", "check"),
                                     ("bdtest", "cost"), ("bdtest", "write", "--note", "-")])  # fmt: skip
def test_a_file_that_is_not_empty_is_overwritten_only_with_force(
    tmp_path: Path, content: bytes, command: tuple[str, ...]
) -> None:
    file = tmp_path / "thesis.txt"
    file.write_bytes(content)
    text = complaint(*command, file)
    assert text.endswith("it is not empty; --force overwrites it\n") or "it has no sectors" in text
    assert file.read_bytes() == content


def test_the_device_tester_overwrites_a_file_with_force(tmp_path: Path) -> None:
    card = tmp_path / "card.img"
    card.write_bytes(bytes((4 << 20) - 1) + b"x")
    assert out("bdtest", "check", "--force", card).count("ok  ") >= 3


def with_closed(descriptors: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    closing = " ".join(f"{descriptor}>&-" for descriptor in descriptors)
    command = ["bash", "-c", f'exec "$0" "$@" {closing}', LUNAR, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("descriptors", ["0", "1", "2", "01", "12", "012"])
def test_a_closed_descriptor_is_never_the_image(image: Path, tmp_path: Path, descriptors: str) -> None:
    before = out(image, "SELECT * FROM readings", ".check")
    for statement in ("SELECT * FROM readings", "SELECT * FROM nothing", ".export readings /dev/stdout"):
        with_closed(descriptors, image, statement)
        assert out(image, "SELECT * FROM readings", ".check") == before
    card = tmp_path / "card.img"
    card.write_bytes(bytes(1 << 20))
    with_closed(descriptors, "bdtest", "check", "--seed", "1", card)
    assert b"ok  " not in card.read_bytes()


def test_output_that_cannot_be_written_is_an_error(image: Path) -> None:
    closed = with_closed("1", image, "SELECT * FROM readings")
    assert (closed.returncode, closed.stderr) == (1, "lunar: standard output: Bad file descriptor\n")
    for arguments in (["--help"], ["bdtest", "predict"], ["bdtest", "--help"], [image, ".tables"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run([LUNAR, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (1, "lunar: standard output: No space left on device\n")
    with Path("/dev/full").open("w") as full:
        assert subprocess.run([LUNAR, image, "SELECT"], stderr=full, timeout=60).returncode == 1


@pytest.mark.parametrize("name", ["SHELL.md", "GUIDE.md"])
def test_the_commands_of_the_guides_print_what_the_guides_say(tmp_path: Path, name: str) -> None:
    environment = {**os.environ, "PATH": f"{LUNAR.parent}:{os.environ['PATH']}"}
    page = (REPOSITORY / "lunar" / "docs" / name).read_text()
    (tmp_path / "lunar").symlink_to(REPOSITORY / "lunar")
    (tmp_path / "firmware").mkdir()
    for program in re.findall(r"^```c\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        (tmp_path / "firmware" / "main.c").write_text(program)
    commands = 0
    for block in re.findall(r"^```\n(\$ .*?)^```", page, re.MULTILINE | re.DOTALL):
        for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            done = subprocess.run(
                ["bash", "-c", f"exec 2>&1; {command}"],
                cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60,
            )  # fmt: skip
            assert done.stdout == printed, command
            commands += 1
    assert commands >= 9


def test_a_dump_makes_the_same_volume(tmp_path: Path) -> None:
    old, new, dumped = tmp_path / "old.img", tmp_path / "new.img", tmp_path / "all.sql"
    run("--format", "--size", "1M", old)
    statements = [
        'CREATE TABLE "group" (i INTEGER PRIMARY KEY USING HASH, r REAL, "a ""b" TEXT, b BLOB, o BOOLEAN NOT NULL)',
        'CREATE INDEX by_r ON "group" (r)',
        'CREATE INDEX by_b ON "group" (b) USING HASH',
        "INSERT INTO \"group\" VALUES (-9223372036854775808, 9e999, 'it''s', X'', TRUE)",
        "INSERT INTO \"group\" VALUES (9223372036854775807, -9e999, '', X'00ff', FALSE)",
        "INSERT INTO \"group\" VALUES (1, -0.0, 'two\nlines; -- /* \0 \r\n', NULL, TRUE)",
        'INSERT INTO "group" VALUES (2, 1e-320, NULL, NULL, TRUE)',
        "CREATE TABLE log (at BIGINT PRIMARY KEY, n TINYINT) RING ROWS 3",
        *[f"INSERT INTO log VALUES ({at}, {at - 5})" for at in range(10)],
        "CREATE TABLE empty (name TEXT PRIMARY KEY)",
    ]
    run(old, stdin=";".join(statements))
    run("--read-only", old, f".dump {dumped}")
    run("--format", "--size", "2M", new)
    run("--mode", "metadata", new, f".read {dumped}")
    assert out(new, ".dump") == out(old, ".dump") == dumped.read_text()
    for query in ('SELECT * FROM "group" ORDER BY i', "SELECT * FROM log", ".schema", ".indexes"):
        assert out(new, query) == out(old, query)
    assert out(new, "SELECT at FROM log") == "7\n8\n9\n"
    assert out(new, ".check").startswith("ok: tables: 3, rows: 7, ")
    assert complaint(new, ".dump /nowhere/all.sql") == "lunar: /nowhere/all.sql: No such file or directory\n"
    damage(old, b"two\nlines")
    assert "table group cannot be read to its end" in complaint(old, ".dump")


IMAGES = Path(__file__).parent / "images"


def test_a_volume_of_the_previous_format_is_refused_and_its_dump_is_read(tmp_path: Path) -> None:
    """images/version-1.* is a volume and its `.dump`, both by the last lunar of version 1."""
    old, new = tmp_path / "old.img", tmp_path / "new.img"
    old.write_bytes(lzma.decompress((IMAGES / "version-1.img.xz").read_bytes()))
    before = old.read_bytes()
    assert complaint(old, ".tables") == (
        f"lunar: {old}: the volume has version 1 of the format, and this lunar has version 2\n"
        "  `.dump FILE` of a lunar of version 1 writes it as SQL, and `.read FILE` of this one reads that\n"
    )
    assert old.read_bytes() == before
    run("--format", "--size", "1M", new)
    run("--mode", "metadata", new, f".read {IMAGES / 'version-1.sql'}")
    assert out(new, ".dump") == (IMAGES / "version-1.sql").read_text()
    assert out(new, ".check").startswith("ok: tables: 2, rows: 43, index entries: 49, ")
