"""One property file, read by the driver and by an experiment: the same verdict, and runs with the same properties."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from edgejoule.databases.system_under_test import system_of
from edgejoule.errors import UsageError
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import load_spec

DRIVER = Path(__file__).resolve().parents[2] / "build/bin/edgejoule-driver"
SPEC = """\
name = "kinds"
question = "?"
[factors]
database = ["noop"]
workload = ["one"]
[workloads.one]
file = "own"
[design]
replications = 1
"""

pytestmark = pytest.mark.skipif(not DRIVER.exists(), reason="edgejoule-driver is not built: make build")


def core(**mix: float) -> str:
    """One of Java YCSB's six core workloads, in its form."""
    shares = {"read": 0.0, "update": 0.0, "scan": 0.0, "insert": 0.0} | mix
    lines = [f"{name}proportion={share:g}" for name, share in shares.items()]
    head = "# Yahoo! Cloud System Benchmark\n\nrecordcount=1000\noperationcount=1000\n"
    return head + "workload=site.ycsb.workloads.CoreWorkload\n\nreadallfields=true\n\n" + "\n".join(lines) + "\n\n"


BASE = "recordcount=100\noperationcount=50\n"
ACCEPTED = {
    "A": core(read=0.5, update=0.5) + "requestdistribution=zipfian\n",
    "B": core(read=0.95, update=0.05) + "requestdistribution=zipfian\n",
    "C": core(read=1) + "requestdistribution=zipfian\n",
    "D": core(read=0.95, insert=0.05) + "requestdistribution=latest\n",
    "E": core(scan=0.95, insert=0.05)
    + "requestdistribution=zipfian\n\nmaxscanlength=100\n\nscanlengthdistribution=uniform\n",
    "F": core(read=0.5, readmodifywrite=0.5) + "requestdistribution=zipfian\n",
    "an earlier YCSB's class": BASE + "workload=com.yahoo.ycsb.workloads.CoreWorkload\n",
    "hdrhistogram": BASE + "hdrhistogram.percentiles=50, 95,99.9\nhdrhistogram.fileoutput=true\n"
    "hdrhistogram.output.path=/x\n",
    "no percentiles": BASE + "hdrhistogram.percentiles=\n",
    "another database": BASE + "jdbc.driver=org.h2.Driver\ndb.url=jdbc:h2:x\ndb.user=sa\ndb.passwd=\nmongodb.url=x\n"
    "cassandra.readconsistencylevel=ONE\n",
    "measurement": BASE + "measurementtype=timeseries\ntimeseries.granularity=2000\nmeasurement.interval=both\n"
    "measurement.raw.output_file=x\nmeasurement.trackjvm=true\n",
    "the client's": BASE + "exporter=site.ycsb.measurements.exporter.JSONMeasurementsExporter\nstatus=true\n"
    "status.interval=5\nlabel=x\ndb=site.ycsb.BasicDB\ndotransactions=true\nspin.sleep=false\ntable=usertable\n",
    "htrace": BASE + "htrace.sampler.classes=x\n",
    "retries": BASE + "core_workload_insertion_retry_limit=3\ncore_workload_insertion_retry_interval=1.5\n",
    "threads and target": BASE + "threadcount=3\ntarget=100000\nfailure_share_max=0.5\nlongest_gap_s_max=7.5\n",
    "a fractional target": BASE + "operationcount=1\ntarget=5000.5\n",
    "CRLF": (BASE + "fieldcount=3\nreadproportion=1\nupdateproportion=0\n").replace("\n", "\r\n"),
    "a byte order mark": "\ufeff" + BASE,
    "continued lines": BASE + "field\\\n  length\\\n  =\\\n   7\nfieldcount=\\\n  4\n",
    "a continued line at the end": BASE + "fieldcount=4\\",
    "comments": "#recordcount=1\n! fieldcount=2\n  # operationcount=3\n# continued \\\n" + BASE,
    "escapes": BASE + "field\\u0063ount=\\u0034\n\\writeallfields=true\nfieldnameprefix=a\\tb\\=c\\u00e9\\u20ac\\:\n",
    "separators": "recordcount 100\noperationcount:50\nfieldcount = 4\nfieldlength : 9\nzeropadding\t2\n",
    "a separator within the value": BASE + "fieldnameprefix=a=b:c d\n",
    "duplicate keys": BASE + "fieldcount=3\nfieldcount=5\nrecordcount=100\n",
    "an empty value": BASE + "exportfile=\nfieldnameprefix=\n",
    "blanks around numbers": BASE
    + "fieldcount= 4 \nreadproportion=.5\t\nupdateproportion=5.e-1\nwriteallfields=TRUE\n",
    "percentages": BASE + "readproportion=95\nupdateproportion=5\n",
    "other spaces are no ends of lines": BASE + "fieldnameprefix=a\x0bb\x1cc\x85d\u2028e\n",
    "another kind": "workload=fillrandom\nnum=100\nwrites=50\nvalue_size=10\ncompression_ratio=1\n",
}
REFUSED = {
    "an unknown name": BASE + "readpropotion=0.5\n",
    "a misspelt name with a dot": BASE + "measurment.interval=op\n",
    "a misspelt database": BASE + "sqlte.path=/x\n",
    "no number": BASE + "fieldcount=many\n",
    "an exponent in a count": BASE + "fieldcount=1e1\n",
    "a sign": BASE + "fieldcount=+5\n",
    "underscores": BASE + "fieldcount=1_0\nreadproportion=0_1\n",
    "a share below 0": BASE + "readproportion=-0.1\n",
    "no finite number": BASE + "readproportion=inf\n",
    "no flag": BASE + "writeallfields=yes\n",
    "another choice": BASE + "requestdistribution=zipf\n",
    "a blank behind a choice": BASE + "requestdistribution=zipfian \n",
    "a measurement type": BASE + "measurementtype=none\n",
    "an interval": BASE + "measurement.interval=none\n",
    "no percentile": BASE + "hdrhistogram.percentiles=95,,99\n",
    "an exporter": BASE + "exporter=CsvExporter\n",
    "no thread": BASE + "threadcount=0\n",
    "a class of another workload": BASE + "workload=site.ycsb.workloads.TimeSeriesWorkload\n",
    "a line without separator": BASE + "fieldcount\n",
    "a line without key": BASE + "=5\n",
    "half an escape": BASE + "fieldnameprefix=\\u00e\n",
    "a property of another kind": "workload=fillrandom\nnum=100\nreadproportion=1\n",
    "retries of another kind": "workload=fillrandom\nnum=100\ncore_workload_insertion_retry_limit=1\n",
}


def driven(*arguments: str, folder: Path) -> tuple[int, str, dict[str, Any]]:
    """Returns exit code, messages, and what the run had in force."""
    line = [str(DRIVER), *arguments, "-json", "-"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder, timeout=60)
    events = [json.loads(text) for text in done.stdout.split("\n") if text.startswith("{")]
    start = next((event for event in events if event["event"] == "start"), {})
    for name in ("limit", "interval"):  # of a load; an experiment's load repeats no failed insert
        start.get("workload", {}).pop(f"core_workload_insertion_retry_{name}", None)
    return done.returncode, done.stderr, {name: start.get(name) for name in ("workload", "threads", "target_ops_s")}


def planned(folder: Path) -> list[str]:
    (folder / "experiment.toml").write_text(SPEC)
    (run,) = make_plan(load_spec(folder / "experiment.toml"))
    return system_of(run).arguments("run", folder / "data")  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_file_that_the_driver_takes_is_a_workload_with_the_same_properties(tmp_path: Path, name: str) -> None:
    (tmp_path / "own").write_bytes(ACCEPTED[name].encode())
    code, message, by_file = driven("run", "-db", "noop", "-P", "own", "-p", "db=noop", folder=tmp_path)
    assert code == 0, message
    code, message, by_experiment = driven(*planned(tmp_path), folder=tmp_path)
    assert code == 0, message
    assert by_experiment == by_file


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_the_driver_refuses_is_no_workload(tmp_path: Path, name: str) -> None:
    (tmp_path / "own").write_bytes(REFUSED[name].encode())
    code, message, _ = driven("run", "-db", "noop", "-P", "own", folder=tmp_path)
    assert code != 0
    assert "own:" in message
    with pytest.raises(UsageError):
        planned(tmp_path)
