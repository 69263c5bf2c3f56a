"""Traces recorded elsewhere: headers, units, times, wrong cells, energies, a stored run, a file that grows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from edgejoule.cli.main import main
from edgejoule.errors import DataError, MeterError, UsageError
from edgejoule.meters.base import Meter, ValueKind
from edgejoule.meters.plugins.imported import Mapping, Recorder, guess, read_csv, trace_of
from edgejoule.meters.plugins.imported.columns import SCALES, TraceColumn
from edgejoule.meters.plugins.imported.meter import FollowedTrace
from edgejoule.meters.quantities import Role
from edgejoule.testing.examine import examine, run_once
from edgejoule.testing.instrument import Fault
from edgejoule.testing.instruments.imported import INSTRUMENT


def written(folder: Path, text: str) -> Path:
    path = folder / "trace.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("time_s,power_w", {"time": "time_s in s", "power": "power_w in W"}),
        (
            "Time(ms),Main(mA),Main Voltage(V)",  # Monsoon's tool
            {"time": "Time(ms) in ms", "current": "Main(mA) in mA", "voltage": "Main Voltage(V) in V"},
        ),
        ("Timestamp [us];P [mW];T [C]", {"time": "Timestamp [us] in us", "power": "P [mW] in mW"}),
        ("elapsed_ns\tenergy_uj", {"time": "elapsed_ns in ns", "energy": "energy_uj in uJ"}),
        ("t (s),U (V),I (µA)", {"time": "t (s) in s", "voltage": "U (V) in V", "current": "I (µA) in uA"}),
    ],
)
def test_columns_and_units_are_taken_from_the_header(tmp_path: Path, header: str, columns: dict[str, str]) -> None:
    places = max(header.count(mark) for mark in ",;\t") + 1
    mark = next(mark for mark in ",;\t" if header.count(mark) == places - 1)
    rows = "".join(mark.join([str(i), *["2"] * (places - 1)]) + "\n" for i in range(3))
    mapping = read_csv(written(tmp_path, f"{header}\n{rows}")).mapping
    result = {"time": mapping.time, **{str(role): column for role, column in mapping.roles.items()}}
    assert {name: f"{column.name} in {column.unit}" for name, column in result.items()} == columns


@pytest.mark.parametrize(
    ("header", "given", "message"),
    [
        (["a", "power_w"], Mapping(), "is recognised as a time"),
        (["time", "power_w"], Mapping(), "'time' has no unit"),
        (["time_s", "power"], Mapping(), "'power' has no unit"),
        (["time_s", "power_hp"], Mapping(), "unit 'hp'"),
        (["time_s", "P1 power_w", "P2 power_w"], Mapping(), "several columns are recognised as a power"),
        (["time_s", "current_a"], Mapping(), "current alone is no power"),
        (["time_s", "speed"], Mapping(), "one power, one energy, or voltage and current"),
        (["time_s", "power_w"], Mapping(roles={Role.POWER: TraceColumn("P")}), "no column is called 'P'"),
        (["time_s", "voltage_rms (V)", "current_rms (A)"], Mapping(), "apparent power, not active power"),
        (
            ["time_s", "Urms (V)", "Irms (A)"],
            Mapping(TraceColumn("time_s"), {Role.VOLTAGE: TraceColumn("Urms (V)")}),
            "apparent power",
        ),
        (["time_s", "voltage (Vrms)", "current (A)"], Mapping(), "apparent power"),
        (
            ["time_s", "Ueff (V)", "current (A)"],
            Mapping(roles={Role.VOLTAGE: TraceColumn("Ueff (V)")}),
            "apparent power",
        ),
        (
            ["time_s", "voltage_v", "current_a"],
            Mapping(None, {Role.VOLTAGE: TraceColumn("voltage_v")}, 5.0),
            "remove the constant",
        ),
    ],
)
def test_an_ambiguous_header_is_refused_with_a_message(header: list[str], given: Mapping, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        guess(header, given)


#: The first lines that Joulescope's program writes (statistics, twice a second).
JOULESCOPE = """\
#time,current,voltage,power,charge,energy
0.0,0.2,5,1,0,0
0.5,0.4,5,2,0.2,1
1.0,0.4,5,2,0.4,2
1.5,0.8,5,4,0.8,4
"""


def test_statistics_of_joulescope_s_program_are_read_as_they_are(tmp_path: Path) -> None:
    recorded = read_csv(written(tmp_path, JOULESCOPE))
    trace = trace_of(recorded, Recorder(0.01, 0.0))
    assert recorded.value.tolist() == [1, 2, 2, 4]
    assert trace.channel.kind is ValueKind.INTERVAL_MEAN  # each line has the mean since the line before
    code, out, _ = ran(written(tmp_path, JOULESCOPE), "--gain-rel", 0, "--offset-w", 0, "--json")
    assert (code, json.loads(out)["intervals"][0]["energy_j"]) == (0, pytest.approx(4.0))
    total = read_csv(written(tmp_path, JOULESCOPE), Mapping(roles={Role.ENERGY: TraceColumn("energy")}))
    assert (total.is_energy, total.value.tolist()) == (True, [0, 1, 2, 4])


def test_statistics_of_joulescope_s_program_are_followed_from_their_header_on(tmp_path: Path) -> None:
    path = written(tmp_path, JOULESCOPE.partition("\n")[0] + "\n")
    meter = FollowedTrace(str(path), 0.01, 0.0, 0.5)
    meter.open()
    assert meter.channels()[0].kind is ValueKind.INTERVAL_MEAN
    with path.open("a") as file:
        file.write(JOULESCOPE.partition("\n")[2])
    (block,) = meter.poll()
    assert block.value.tolist() == [1, 2, 2, 4]


def test_a_comment_with_as_many_columns_as_the_data_is_their_header(tmp_path: Path) -> None:
    recorded = read_csv(written(tmp_path, "# made by a logger\n# time_s power_w\n# time_s;power_w\n0;1,5\n1;2,5\n"))
    assert recorded.value.tolist() == [1.5, 2.5]
    with pytest.raises(
        UsageError, match=r"trace.csv:2: expected a header with the names of the 2 columns, got numbers"
    ):
        read_csv(written(tmp_path, "# made by a logger, with care, in May\n0,1\n1,2\n"))


@pytest.mark.parametrize("name", ["timestamp", "time", "Date"])
def test_a_time_whose_cells_are_in_iso_8601_needs_no_unit(tmp_path: Path, name: str) -> None:
    text = f"\ufeff{name};power_w\r\n2026-01-01T00:00:00Z;1,5\r\n2026-01-01 00:00:02Z;2,5\r\n"
    recorded = read_csv(written(tmp_path, text))
    assert (recorded.t_ns.tolist(), recorded.value.tolist()) == ([0, 2_000_000_000], [1.5, 2.5])
    assert recorded.origin_ns == 1_767_225_600_000_000_000


def test_all_units_that_are_missing_are_named_with_their_options(tmp_path: Path) -> None:
    path = written(tmp_path, "time,current,Main Voltage (hp)\n0,1,5\n1,1,5\n")
    with pytest.raises(UsageError) as caught:
        read_csv(path)
    assert str(caught.value) == (
        f"{path}:1: column 'time' has no unit; column 'Main Voltage (hp)' has unit 'hp'; column 'current' has no unit. "
        "State them: --time time --time-unit UNIT (s, ms, us, ns, iso) --voltage 'Main Voltage (hp):UNIT' (V, mV) "
        "--current current:UNIT (A, mA, uA, nA)"
    )
    reason = FollowedTrace(str(path), 0.01, 0.0, 0.1, voltage="Main Voltage (hp):V").probe().reason
    assert 'time = "time:UNIT" (s, ms, us, ns, iso) current = "current:UNIT" (A, mA, uA, nA)' in reason


def test_a_current_with_a_voltage_that_is_given_is_a_power(tmp_path: Path) -> None:
    path = written(tmp_path, "Timestamp(ms),Current(uA),D0-D7\n0,1000,0\n1,2000,0\n2,3000,0\n")  # nRF Power Profiler
    result = read_csv(path, Mapping(voltage_v=5.0))
    np.testing.assert_allclose(result.value, [0.005, 0.010, 0.015])
    assert result.t_ns.tolist() == [0, 1_000_000, 2_000_000]


def test_comments_decimal_commas_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff# made by a logger\n\ntime (s);power (W)\n0,5;1,25\n1,5;2,5\n")
    result = read_csv(path)
    assert result.value.tolist() == [1.25, 2.5]
    assert result.t_ns.tolist() == [0, 1_000_000_000]


@pytest.mark.parametrize("rows", ["0;1,250\n1;1.5\n", "0.5;1,250\n1.5;2,500\n", "0;1,250.5\n1;2,250.5\n"])
def test_commas_and_points_among_the_numbers_are_refused(tmp_path: Path, rows: str) -> None:
    with pytest.raises(UsageError, match="some numbers have a comma and some a point"):
        read_csv(written(tmp_path, "time (s);power (W)\n" + rows))


def test_words_among_decimal_commas_are_missing_numbers(tmp_path: Path) -> None:
    result = read_csv(written(tmp_path, "time (s);power (W)\n0,5;1,25\n1,5;n.a.\n2,5;2,5\n"))
    assert np.isnan(result.value).tolist() == [False, True, False]


def test_times_in_iso_8601_keep_their_nanoseconds_and_their_zone(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "time [iso],power_w\n2026-01-01T00:00:00.000000001Z,1\n2026-01-01T01:00:01.5+01:00,2\n2026-01-01T00:00:02,3\n",
    )
    result = read_csv(path)
    assert result.t_ns.tolist() == [0, 1_499_999_999, 1_999_999_999]
    assert result.origin_ns == 1_767_225_600_000_000_001


def test_a_cell_that_is_no_number_is_missing_with_its_line(tmp_path: Path) -> None:
    result = read_csv(written(tmp_path, "time_s,power_w\n0,1\n1,\n2,overload\n3,1e308\n4,5\n"))
    assert np.isnan(result.value).tolist() == [False, True, True, True, False]
    assert result.reasons == {1: "line 3: no number", 2: "line 4: no number", 3: "line 5: no number"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time_s,power_w\n0,1\n2,1\n1,1\n", "line 4: the time is not after"),
        ("time_s,power_w\n0,1\nx,1\n", "line 3: the time is no number"),
        ("time [iso],power_w\n2026-01-01T00:00:00,1\nnever,1\n", "line 3: 'never' is no time"),
        ("time [iso],power_w\n2026-01-01T00:00:00,1\n9999-12-31T23:59:59Z,1\n", "line 3: .* 146 years from 1970"),
        ("time [iso],power_w\n0001-01-01T00:00:00+14:00,1\n2026-01-01T00:00:00,1\n", "line 2: .* 146 years"),
        ("time_s,power_w\n0,1\n1e11,1\n", "line 3: the time is above 146 years; is its unit s?"),
        ("time_s,power_w\n0,1\n1e300,1\n", "line 3: the time is no number"),
        ("time_s,power_w\n0,1\n", "lines with readings: 1"),
    ],
)
def test_wrong_times_are_refused_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_csv(written(tmp_path, text))


@pytest.mark.parametrize(("text", "message"), [("", "is empty"), ("0,1\n1,2\n", "a header")])
def test_a_file_without_a_header_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_csv(written(tmp_path, text))


def test_a_running_total_is_an_accumulator(tmp_path: Path) -> None:
    recorded = read_csv(written(tmp_path, "time_s,energy_wh\n0,1\n1,1.001\n2,1.003\n"))
    trace = trace_of(recorded, Recorder(0.01, 0.0))
    assert trace.channel.kind is ValueKind.ACCUMULATOR
    np.testing.assert_allclose(np.diff(trace.value), [3.6, 7.2])


UNITS = "W 1 mW 1e-3 uW 1e-6 kW 1e3 V 1 mV 1e-3 A 1 mA 1e-3 uA 1e-6 nA 1e-9 J 1 mJ 1e-3 uJ 1e-6 kJ 1e3 Wh 3600 mWh 3.6"


def test_every_unit_has_its_factor() -> None:
    units = f"{UNITS} kWh 3.6e6".split()
    factors = {unit: factor for scales in SCALES.values() for unit, factor in scales.items()}
    assert factors == {unit: float(factor) for unit, factor in zip(units[::2], units[1::2], strict=True)}


RAMP = "time_s,power_w\n" + "".join(f"{i / 10},{2 + i / 100}\n" for i in range(101))  # 2 W to 3 W in 10 s: 25 J


def ran(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, [str(argument) for argument in ("import", *arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_the_energy_of_the_whole_and_of_a_part_is_reported_with_its_uncertainty(tmp_path: Path) -> None:
    path = written(tmp_path, RAMP)
    code, out, _ = ran(path, "--gain-rel", 0.01, "--offset-w", 0.05, "--json")
    (whole,) = json.loads(out)["intervals"]
    assert code == 0
    assert whole["energy_j"] == pytest.approx(25.0)
    assert whole["uncertainty_k2_j"] == pytest.approx(2 * np.hypot(0.25, 0.5), rel=1e-3)
    assert whole["method"] == "measured"
    code, out, _ = ran(path, "--gain-rel", 0.01, "--offset-w", 0, "--from", 2.5, "--to", 7.5, "--json")
    assert json.loads(out)["intervals"][0]["energy_j"] == pytest.approx(12.5)
    code, out, _ = ran(path, "--gain-rel", 0.01, "--offset-w", 0)
    assert (code, "25" in out, "measured" in out) == (0, True, True)


def test_a_part_can_be_named_by_wall_clock(tmp_path: Path) -> None:
    path = written(tmp_path, "time_s,power_w\n" + "".join(f"{1_767_225_600 + i},2\n" for i in range(20)))
    where = "--from", "2026-01-01T00:00:05", "--to", "2026-01-01T00:00:10Z"
    code, out, _ = ran(path, "--gain-rel", 0, "--offset-w", 0, *where, "--json")
    assert code == 0
    assert json.loads(out)["intervals"][0]["energy_j"] == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "--gain-rel and --offset-w"),
        (("--gain-rel", 0.01, "--offset-w", 0, "--from", 5, "--to", 2), 2, "before it begins"),
        (("--gain-rel", 0.01, "--offset-w", 0, "--from", "2026-01-01T00:00:00"), 2, "no wall-clock"),
        (("--gain-rel", 0.01, "--offset-w", 0, "--to", 60), 1, "has no reading"),
        (("--gain-rel", 0.01, "--offset-w", 0, "--from", "nan"), 2, "'nan': expected s"),
        (("--gain-rel", 0.01, "--offset-w", 0, "--to", "1e300"), 2, "'1e300': expected s"),
        (("--gain-rel", 0.01, "--offset-w", 0, "--power", "power_w:hp"), 2, "no unit of power"),
        (("--gain-rel", 0.01, "--offset-w", 0, "--run", 1), 2, "--attach"),
        (("--gain-rel", "nan", "--offset-w", 0), 2, "no finite number"),
        (("--gain-rel", 0.01, "--offset-w", "inf"), 2, "no finite number"),
    ],
)
def test_invalid_options_are_refused_with_a_message(tmp_path: Path, arguments: tuple, code: int, message: str) -> None:
    result, _, err = ran(written(tmp_path, RAMP), *arguments)
    assert result == code
    assert message in err


def test_energy_below_zero_is_doubted(tmp_path: Path) -> None:
    lines = "".join(f"{i},{-2.0 if i else -1.9}\n" for i in range(20))
    code, out, _ = ran(written(tmp_path, f"time_s,power_w\n{lines}"), "--gain-rel", 0.01, "--offset-w", 0)
    assert code == 3
    assert "wrong way round" in out
    code, out, _ = ran(written(tmp_path, RAMP), "--gain-rel", 0.01, "--offset-w", 0)
    assert (code, "wrong way round" in out) == (0, False)


def test_a_gap_is_reported_and_ends_with_the_code_for_flags(tmp_path: Path) -> None:
    lines = RAMP.splitlines(keepends=True)
    path = written(tmp_path, "".join(lines[:40] + lines[43:]))
    code, out, _ = ran(path, "--gain-rel", 0, "--offset-w", 0)
    assert code == 3
    assert "gap" in out


def trace_without(cells: dict[int, str | None]) -> str:
    """A trace of 2 W at 10 readings a second for 100 s. cells: reading -> what stands there; None: no line."""
    lines = (f"{i / 10},{cells.get(i, '2')}\n" for i in range(1001) if cells.get(i, "") is not None)
    return "time_s,power_w\n" + "".join(lines)


@pytest.mark.parametrize(
    ("cells", "readings", "gaps", "note"),
    [
        ({}, "1,001", "none", None),
        (dict.fromkeys(range(200, 220), ""), "981 of 1,001", "2.1 %",
         "power: 2.1 % of the time is in 1 gap (line 202: no number), filled with the mean power"),
        (dict.fromkeys(range(200, 220), "NaN"), "981 of 1,001", "2.1 %", "20 of 1,001 readings have no number"),
        (dict.fromkeys(range(200, 220)), "981", "2.1 %", "1 gap (no sample in time)"),
        (dict.fromkeys(range(7, 1000, 50), ""), "981 of 1,001", "none",
         "20 of 1,001 readings have no number; straight lines between their neighbours replace them"),
        (dict.fromkeys(range(981, 1001), ""), "981 of 1,001", "2.0 %", "1 gap (after the last sample)"),
    ],
    ids=["whole", "empty cells", "NaN", "a hole in time", "single cells", "empty cells at the end"],
)  # fmt: skip
def test_missing_readings_and_gaps_stand_beside_the_energy(
    tmp_path: Path, cells: dict[int, str | None], readings: str, gaps: str, note: str | None
) -> None:
    path = written(tmp_path, trace_without(cells))
    code, out, _ = ran(path, "--gain-rel", 0.01, "--offset-w", 0)
    assert code == (0 if note is None else 3)
    (row,) = [line for line in out.splitlines() if line.startswith("trace  ")]
    assert re.split(r" {2,}", row)[-2:] == [readings, gaps]
    assert "100.0%" not in out
    assert note is None or note in " ".join(out.split())
    (interval,) = json.loads(ran(path, "--gain-rel", 0.01, "--offset-w", 0, "--json")[1])["intervals"]
    missing = sum(text is not None for text in cells.values())
    assert (interval["readings"], interval["readings_missing"]) == (1001 - len(cells) + missing, missing)


def test_errors_of_rounding_are_no_uncertainty(tmp_path: Path) -> None:
    path = written(tmp_path, "time_s,power_w\n" + "".join(f"{i / 10},{1 + i / 1000}\n" for i in range(50)))
    assert (
        "uncertainty (k=1) of gain 0.05 J, offset 0.0049 J\n" in ran(path, "--gain-rel", 0.01, "--offset-w", 0.001)[1]
    )
    assert "uncertainty" not in ran(path, "--gain-rel", 0, "--offset-w", 0)[1]


def test_a_trace_without_any_number_is_one_gap(tmp_path: Path) -> None:
    path = written(tmp_path, "time_s,power_w\n" + "".join(f"{i},\n" for i in range(50)))
    code, out, _ = ran(path, "--gain-rel", 0, "--offset-w", 0)
    assert code == 1
    assert re.search(r"none +0 of 50 +all\n", out)


def test_a_small_gap_is_never_rounded_away(tmp_path: Path) -> None:
    lines = "".join(f"{i / 100},2\n" for i in range(20_001) if not 500 < i < 506)
    code, out, _ = ran(written(tmp_path, f"time_s,power_w\n{lines}"), "--gain-rel", 0.01, "--offset-w", 0)
    assert code == 3
    (row,) = [line for line in out.splitlines() if line.startswith("trace  ")]
    assert row.endswith("  < 0.1 %")


def test_a_running_total_counts_on_through_missing_readings(tmp_path: Path) -> None:
    lines = "".join(f"{i / 10},{'' if 200 <= i < 220 else i / 5}\n" for i in range(1001))
    code, out, _ = ran(written(tmp_path, f"time_s,energy_j\n{lines}"), "--gain-rel", 0.01, "--offset-w", 0)
    assert code == 3
    assert "200.0 ± 4.0" in out
    assert "energy: 20 of 1,001 readings have no number; a running total counts on meanwhile" in " ".join(out.split())


def test_means_that_are_missing_one_after_the_other_are_one_gap(tmp_path: Path) -> None:
    path = written(tmp_path, trace_without(dict.fromkeys(range(200, 220), "")))
    code, out, _ = ran(path, "--mean", "--gain-rel", 0.01, "--offset-w", 0)
    assert code == 3
    assert "2.0 % of the time is in 1 gap (line 202: no number), filled" in " ".join(out.split())


@pytest.mark.parametrize("width", ["40", "60", "80"])
def test_a_narrow_terminal_breaks_no_word_of_an_import(
    tmp_path: Path, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, trace_without({300: ""}))
    whole = set(ran(path, "--gain-rel", 0.01, "--offset-w", 0)[1].split())
    monkeypatch.setenv("COLUMNS", width)
    narrow = re.sub("Not shown.*", "", ran(path, "--gain-rel", 0.01, "--offset-w", 0)[1], flags=re.DOTALL)
    lines = narrow.split("\n\n", 1)[1]
    assert max(map(len, narrow.splitlines())) <= int(width)
    assert [word for word in lines.split() if word not in whole] == []


def test_a_message_names_at_most_twelve_columns() -> None:
    with pytest.raises(UsageError, match=r"There are: c0, .*, c11 and 28 more$"):
        guess([f"c{i}" for i in range(40)], Mapping())


def test_wall_clock_times_are_dates_for_people(tmp_path: Path) -> None:
    path = written(tmp_path, "time_s,power_w\n" + "".join(f"{1_767_225_600 + i},2\n" for i in range(20)))
    assert "from 2026-01-01 00:00:00 UTC" in ran(path, "--gain-rel", 0, "--offset-w", 0)[1]


def test_many_lines_are_read_as_arrays(tmp_path: Path) -> None:
    time_s = np.arange(100_000) / 5000
    path = tmp_path / "trace.csv"
    np.savetxt(path, np.column_stack([time_s, 2 + np.sin(time_s)]), "%.4f", ",", header="time_s,power_w", comments="")
    assert len(read_csv(path).value) == 100_000


def test_the_follower_keeps_the_contract_and_declines_until_everything_is_named(tmp_path: Path) -> None:
    assert isinstance(FollowedTrace(), Meter)
    assert not FollowedTrace().probe().available
    path = written(tmp_path, "")
    assert "must be stated" in FollowedTrace(str(path)).probe().reason
    assert "is empty" in FollowedTrace(str(path), 0.01, 0.0, 0.1).probe().reason
    with pytest.raises(UsageError, match="colour"):
        FollowedTrace(colour="red")
    with pytest.raises(MeterError, match="is empty"):
        FollowedTrace(str(path), 0.01, 0.0, 0.1).open()


def test_a_file_that_grows_is_followed_from_its_end_line_by_line(tmp_path: Path) -> None:
    path = written(tmp_path, "time_s,power_w\n0.0,9\n")
    meter = FollowedTrace(str(path), 0.01, 0.0, 0.1)
    meter.open()
    assert meter.poll() == []
    with path.open("a") as file:
        file.write("0.1,1\n0.2,\nstop\n0.3,3\n0.4")
    (block,) = meter.poll()
    assert block.t_ns.tolist() == [100_000_000, 200_000_000, 300_000_000]
    np.testing.assert_array_equal(block.value, [1.0, np.nan, 3.0])
    with path.open("a") as file:
        file.write(",4\n0.1,7\n")
    (block,) = meter.poll()
    assert block.value.tolist() == [4.0]
    path.unlink()
    assert meter.poll() == []
    meter.close()
    meter.close()


def test_reports_the_joules_of_an_emulated_logger() -> None:
    ideal = run_once(INSTRUMENT, 1, ideal=True)
    assert abs(ideal.error_j) / ideal.known_j < 1e-4
    assert examine(INSTRUMENT, range(1, 4)).wrong_unflagged == 0


@pytest.mark.parametrize("fault", sorted(INSTRUMENT.faults))
def test_no_wrong_figure_without_a_flag_when_things_go_wrong(fault: Fault) -> None:
    assert examine(INSTRUMENT, range(1, 2), fault).wrong_unflagged == 0
