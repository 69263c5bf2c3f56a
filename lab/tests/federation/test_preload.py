"""Programs with their own RocksDB run under libeco-preload.so as without it, and report why."""

from __future__ import annotations

import ctypes.util
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[3] / "build"
PRELOAD = BUILD / "lib/libeco-preload.so"
pytestmark = pytest.mark.skipif(not PRELOAD.exists(), reason="make eco builds libeco-preload.so")

JAVA = """
import org.rocksdb.*;

public class OpenDatabase {
  public static void main(String[] arguments) throws Exception {
    RocksDB.loadLibrary();
    try (Options options = new Options().setCreateIfMissing(true).setWriteBufferSize(65536);
         RocksDB database = RocksDB.open(options, arguments[0])) {
      for (int i = 0; i < 20_000; i++) database.put(("key " + i).getBytes(), new byte[50]);
      database.compactRange();
      System.out.println("done, " + database.get("key 19999".getBytes()).length + " bytes");
    }
  }
}
"""
PYTHON = """
import sys, rocksdict

database = rocksdict.Rdict(sys.argv[1])
for i in range(1000):
    database[i] = "value"
print("done,", database[999])
database.close()
"""
# The C interface, for a program that is linked to a library and for one that loads it for itself.
C = """
#include <stdio.h>
#include <string.h>
typedef struct rocksdb_options_t rocksdb_options_t;
typedef struct rocksdb_writeoptions_t rocksdb_writeoptions_t;
typedef struct rocksdb_t rocksdb_t;
rocksdb_options_t* rocksdb_options_create(void);
void rocksdb_options_set_create_if_missing(rocksdb_options_t*, unsigned char);
rocksdb_t* rocksdb_open(const rocksdb_options_t*, const char*, char**);
rocksdb_writeoptions_t* rocksdb_writeoptions_create(void);
void rocksdb_put(rocksdb_t*, const rocksdb_writeoptions_t*, const char*, size_t, const char*, size_t, char**);
void rocksdb_close(rocksdb_t*);

int main(int argc, char** argv) {
  char* error = NULL;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* database = argc == 2 ? rocksdb_open(options, argv[1], &error) : NULL;
  if (error == NULL) rocksdb_put(database, rocksdb_writeoptions_create(), "key", 3, "value", 5, &error);
  puts(error == NULL ? "done" : error);
  if (error == NULL) rocksdb_close(database);
  return error != NULL;
}
"""
CTYPES = """
import ctypes, sys

rocksdb = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL)
for name in ("rocksdb_options_create", "rocksdb_open"):
    getattr(rocksdb, name).restype = ctypes.c_void_p
error = ctypes.c_char_p()
options = ctypes.c_void_p(rocksdb.rocksdb_options_create())
rocksdb.rocksdb_options_set_create_if_missing(options, 1)
database = rocksdb.rocksdb_open(options, sys.argv[2].encode(), ctypes.byref(error))
assert error.value is None, error.value
rocksdb.rocksdb_close(ctypes.c_void_p(database))
print("done")
"""


def run(
    command: Sequence[str | Path], settings: Path | None = None, extra: Mapping[str, str] | None = None
) -> list[str]:
    """Run with the library; return eco's lines. The program must end well and print "done", as it does without."""
    environment = {name: value for name, value in os.environ.items() if name != "ECO_CONFIG"} | dict(extra or {})
    environment["LD_PRELOAD"] = str(PRELOAD)
    if settings:
        environment["ECO_CONFIG"] = str(settings)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-1000:]
    assert done.stdout.startswith("done")
    return [line for line in done.stderr.splitlines() if line.startswith("eco:")]


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    file = tmp_path / "eco.toml"
    file.write_text('worker = "127.0.0.1:1"\n')
    return file


def jni_jar(release: str) -> Path:
    """RocksJava as Maven has it."""
    folder = BUILD / "test-jars"
    jar = folder / f"rocksdbjni-{release}.jar"
    if not jar.exists():
        copy = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact=org.rocksdb:rocksdbjni:{release}"]
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([*copy, f"-DoutputDirectory={folder}"], check=True, cwd=folder)
    return jar


@pytest.mark.java
@pytest.mark.parametrize("configured", [True, False], ids=["with settings", "without settings"])
@pytest.mark.parametrize("release", ["7.8.3", "9.10.0"])
def test_java_runs_as_without_eco_and_reports_that_its_library_has_rocksdb_within_itself(
    tmp_path: Path, settings: Path, release: str, configured: bool
) -> None:
    program = tmp_path / "OpenDatabase.java"
    program.write_text(JAVA)
    command = ["java", "-cp", jni_jar(release), program, tmp_path / "db"]
    (line,) = run(command, settings if configured else None)
    within = re.escape(f" contains RocksDB {release}; eco needs the shared library of RocksDB ")
    assert re.fullmatch(rf"eco: not attached: \S+librocksdbjni\S+{within}\S+", line)


@pytest.mark.java
@pytest.mark.parametrize("release", ["9.10.0"])
def test_a_program_that_is_linked_to_a_shared_rocksdb_of_another_release_runs_as_without_eco(
    tmp_path: Path, settings: Path, release: str
) -> None:
    with zipfile.ZipFile(jni_jar(release)) as jar:
        library = jar.extract("librocksdbjni-linux64.so", tmp_path)
    (tmp_path / "program.c").write_text(C)
    program = tmp_path / "program"
    subprocess.run(["cc", "-o", program, tmp_path / "program.c", library, f"-Wl,-rpath,{tmp_path}"], check=True)
    (line,) = run([program, tmp_path / "db"], settings)
    assert f"librocksdbjni-linux64.so contains RocksDB {release}" in line


@pytest.mark.slow
def test_a_python_module_with_rocksdb_within_itself_runs_as_without_eco(tmp_path: Path, settings: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", tmp_path / "modules", "rocksdict==0.3.29"]
    subprocess.run(install, check=True)
    command = [sys.executable, "-c", PYTHON, tmp_path / "db"]
    (line,) = run(command, settings, {"PYTHONPATH": str(tmp_path / "modules")})
    assert re.fullmatch(r"eco: not attached: \S+rocksdict\S+ contains RocksDB [\d.]+; eco needs .*", line)


def test_a_program_that_loads_the_shared_rocksdb_for_itself_alone_gets_eco(tmp_path: Path, settings: Path) -> None:
    library = ctypes.util.find_library("rocksdb")
    if library is None:
        pytest.skip("RocksDB is not installed as a shared library")
    (line,) = run([sys.executable, "-c", CTYPES, library, tmp_path / "db"], settings)
    assert re.fullmatch(rf"eco: attached to RocksDB [\d.]+ by {re.escape(str(settings))}", line)
