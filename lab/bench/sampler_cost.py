"""Cost of sampling: CPU time of the native sampler and of the thread that requests its readings, divided by elapsed
time.

Uses emulated trees in memory (--tree, default /dev/shm). Each row is several runs of the whole chain: meter, sampler
thread, native program. Peers: the same meters polled from Python, and a program that only sleeps. Run it on an idle
machine:
.venv/bin/python lab/bench/sampler_cost.py
"""

import argparse
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from edgejoule.machine.files import read_text
from edgejoule.meters.plugins.hwmon import Hwmon
from edgejoule.meters.plugins.profile import BoardProfile
from edgejoule.meters.plugins.rapl import Rapl
from edgejoule.meters.sampler import Sampler

RANGE_UJ = 262_143_328_850
Polled = Rapl | Hwmon | BoardProfile


def by_python(path: Path) -> str:
    """Polls the meter from Python, by a separate transport."""
    return read_text(path)


def rapl_tree(root: Path, zones: int) -> Path:
    """Creates a powercap tree."""
    for number in range(zones):
        zone = root / f"intel-rapl:{number}"
        zone.mkdir(parents=True)
        for name, text in (("name", f"package-{number}"), ("max_energy_range_uj", RANGE_UJ), ("energy_uj", 123456789)):
            (zone / name).write_text(f"{text}\n")
    return root


def hwmon_tree(root: Path) -> Path:
    """Creates the tree of an INA3221 with three rails."""
    chip = root / "hwmon0"
    chip.mkdir(parents=True)
    (chip / "name").write_text("ina3221\n")
    for i in (1, 2, 3):
        for name, text in ((f"in{i}_input", 5000), (f"curr{i}_input", 400), (f"shunt{i}_resistor", 5000)):
            (chip / name).write_text(f"{text}\n")
    return root


def shares(meter: Polled, interval_s: float | None, duration_s: float) -> tuple[float, float, int]:
    """Returns the share of a core of the native program and of the sampling thread, and rows read per second."""
    meter.open()
    sampler = Sampler(meter, interval_s)
    sampler.start()
    begin_cpu_s = meter.helper_cpu_s()
    time.sleep(duration_s)
    trace, *_ = sampler.stop()
    cost = sampler.cost()
    native = (meter.helper_cpu_s() - begin_cpu_s) / cost.elapsed_s
    meter.close()
    return native, cost.core_share - native, round(len(trace) / cost.elapsed_s)


def line(name: str, make: Callable[[], Polled], interval_s: float | None, runs: int, duration_s: float) -> None:
    """Runs and prints one row."""
    results = [shares(make(), interval_s, duration_s) for _ in range(runs)]
    totals = " ".join(f"{100 * (native + thread):5.2f}" for native, thread, _ in results)
    median = sorted(results, key=lambda x: x[0] + x[1])[runs // 2]
    print(
        f"{name:34} {totals} % of a core; program {median[0]:.2%}, thread {median[1]:.2%}, {median[2]} rows/s",
        flush=True,
    )


def sleeper(duration_s: float) -> float:
    """Builds a C program that only sleeps 1,000 times a second, to measure the cost of waking up here."""
    source = (
        "#include <time.h>\n#include <stdio.h>\nint main(void){struct timespec t,c;clock_gettime(CLOCK_MONOTONIC,&t);"
        f"for(int i=0;i<{round(duration_s * 1000)};i++){{t.tv_nsec+=1000000;if(t.tv_nsec>=1000000000){{t.tv_nsec-="
        "1000000000;t.tv_sec++;}clock_nanosleep(CLOCK_MONOTONIC,TIMER_ABSTIME,&t,0);}clock_gettime("
        'CLOCK_PROCESS_CPUTIME_ID,&c);printf("%f",c.tv_sec+c.tv_nsec/1e9);}'
    )
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "sleeper"
        subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", program], input=source.encode(), check=True)
        return float(subprocess.run([program], capture_output=True, check=True).stdout) / duration_s


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="lines whose names contain this")
    parser.add_argument("--tree", type=Path, default=Path("/dev/shm"))
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(dir=options.tree))
    try:
        one, five = rapl_tree(root / "one", 1), rapl_tree(root / "five", 5)
        chip = hwmon_tree(root / "chip")
        lines: list[tuple[str, Callable[[], Polled], float | None]] = []
        for hz in (1000, 5000):
            lines += [
                (f"rapl, 1 zone, {hz} Hz", lambda hz=hz: Rapl(one, interval_s=1 / hz), None),
                (f"rapl, 5 zones, {hz} Hz", lambda hz=hz: Rapl(five, interval_s=1 / hz), None),
                (f"hwmon, 3 rails (6 files), {hz} Hz", lambda hz=hz: Hwmon(chip, interval_s=1 / hz), None),
            ]
        lines += [
            ("rapl, 1 zone, 1000 Hz from Python", lambda: Rapl(one, read=by_python), 1e-3),
            ("rapl, 5 zones, 1000 Hz from Python", lambda: Rapl(five, read=by_python), 1e-3),
            ("rapl, 1 zone, 20 Hz from Python", lambda: Rapl(one, read=by_python), None),
            ("rapl, 1 zone, 20 Hz", lambda: Rapl(one), None),
            ("rapl, 5 zones, 20 Hz from Python", lambda: Rapl(five, read=by_python), None),
            ("rapl, 5 zones, 20 Hz", lambda: Rapl(five), None),
            ("board-profile, 20 Hz from Python", lambda: BoardProfile(read=by_python), None),
            ("board-profile, 20 Hz", BoardProfile, None),
        ]
        for name, make, interval_s in (each for each in lines if options.only in each[0]):
            line(name, make, interval_s, options.runs, options.seconds)
        asleep = " ".join(f"{100 * sleeper(options.seconds):5.2f}" for _ in range(options.runs))
        print(f"{'waking up 1000 times a second':34} {asleep} % of a core: a C program that only sleeps")
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
