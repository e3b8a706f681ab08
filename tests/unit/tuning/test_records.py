"""The file of records: what is found in it, how it changes, and what is said of a damaged one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aboard.base import file_lock
from aboard.errors import InputError
from aboard.target import Knob, Target
from aboard.tuning import record_file
from aboard.tuning.choice import TunedPart, Tuning, choose, region
from aboard.tuning.key import toolchain
from aboard.tuning.record_file import Records, store
from aboard.tuning.records import Provenance, Recorded, TuningRecord, by_key
from support import tuning_records
from support.device import device

BOARD = "arm/mps2_an386"


@pytest.fixture(autouse=True)
def fake() -> Iterator[None]:
    knobs = (Knob("rows", (4, 1, 8), "Rows of a tile"), Knob("fast", (False, True), "Whether it hurries"))
    with device((), tuning=lambda target: knobs):
        yield


def place(workload: str = "conv", target: str = f"{BOARD} + fake") -> TunedPart:
    whole = Target(target)
    return region(whole, whole.devices[0], "fake", workload)


def picked(tuning: Tuning, part: TunedPart) -> tuple[dict[str, Any], str]:
    """Returns values and origin of the chosen point."""
    found = choose(tuning, part)
    return dict(found.values), found.origin


def record(workload: str = "conv", rows: int | str = 8, **further: Any) -> TuningRecord:
    values = {"rows": rows, **further}
    return tuning_records.record(f"{BOARD} + fake", workload, values, count=100)


def test_what_is_stored_is_found(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "tuning.json"
    store(path, [record(), record("pool", 1, fast=True)])
    found = Records(path, required=True)
    assert picked(found, place()) == ({"rows": 8, "fast": False}, "record")
    assert picked(found, place("pool")) == ({"rows": 1, "fast": True}, "record")
    assert picked(found, place("other")) == ({"rows": 4, "fast": False}, "default")
    assert found.choose(place(target="arm/mps2_an385 + fake")).origin == "default"
    assert found.choose(place(target=f"{BOARD} + fake -model=v2")).origin == "default"


def test_a_record_is_that_of_a_device_in_its_surroundings(tmp_path: Path) -> None:
    store(tmp_path / "t.json", [record()])
    found = Records(tmp_path / "t.json")
    # What compiles the device's code differs.
    assert found.choose(place(target=f"{BOARD} -opt=size + fake")).origin == "default"
    # Attributes that change neither the device nor its code.
    assert found.choose(place(target=f"{BOARD} -input=kept -ram-max=64K + fake")).origin == "record"
    # Another device beside it.
    both = Target(f"{BOARD} + fake + cmsis-nn")
    assert found.choose(region(both, both.devices[0], "fake", "conv")).origin == "record"


def test_boards_with_one_soc_share_records(tmp_path: Path) -> None:
    one, other = ("arduino/nano_33_ble + fake", "nordic/nrf52840dk + fake")
    store(tmp_path / "t.json", [tuning_records.record(one, "conv", {"rows": 8})])
    assert Records(tmp_path / "t.json").choose(place(target=other)).origin == "record"
    assert Records(tmp_path / "t.json").choose(place(target=f"{BOARD} + fake")).origin == "default"


def test_a_record_of_another_toolchain_is_left_aside(tmp_path: Path) -> None:
    store(tmp_path / "t.json", [tuning_records.record(f"{BOARD} + fake", "conv", {"rows": 8}, compiler="acc 1.0")])
    here = toolchain(place().target)
    origin = f"default, as the record is of acc 1.0, not of {here}"
    assert picked(Records(tmp_path / "t.json"), place()) == ({"rows": 4, "fast": False}, origin)
    store(tmp_path / "t.json", [record()])
    assert Records(tmp_path / "t.json").choose(place()).origin == "record"
    # The toolchain that a user names counts.
    zig = Records(tmp_path / "t.json", toolchain="zig").choose(place()).origin
    assert zig.startswith("default, as the record is of acc 1.0, not of zig ")
    assert f"; of {here}, not of zig " in zig


def test_a_record_takes_the_place_of_the_one_before_and_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    store(path, [record(), record("pool", 1)])
    store(path, [record(rows=4)])
    rows = {key.workload: entry.values["rows"] for key, entry in Records(path).entries.items()}
    assert rows == {"conv": 4, "pool": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.json"]


def test_the_order_of_storing_does_not_show(tmp_path: Path) -> None:
    one, other = tmp_path / "1.json", tmp_path / "2.json"
    store(one, [record(), record("pool")])
    store(other, [record("pool")])
    store(other, [record()])
    assert one.read_bytes() == other.read_bytes()
    assert set(json.loads(one.read_text())["records"][0]) == {
        *("soc", "core", "kind", "opt", "toolchain"),
        *("workload", "values", "unit", "count", "spread", "calls"),
    }


def test_a_record_of_another_version_is_left_aside(tmp_path: Path) -> None:
    store(tmp_path / "t.json", [record(rows=16), record("pool", columns=2)])
    found = Records(tmp_path / "t.json")
    assert picked(found, place()) == (
        {"rows": 4, "fast": False},
        "default, as the record is of another version: value of rows, got 16, expected one of: 4, 1, 8",
    )
    assert "no such knob, got columns, expected one of: fast, rows" in found.choose(place("pool")).origin


def test_without_a_file_there_are_no_records(tmp_path: Path) -> None:
    assert Records(tmp_path / "none.json").choose(place()).origin == "default"


def test_the_file_is_the_users_own_or_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv(record_file.VARIABLE, raising=False)
    assert record_file.default_path() == tmp_path / "aboard" / "tuning.json"
    monkeypatch.setenv("ABOARD_TUNING", str(tmp_path / "mine.json"))
    assert record_file.default_path() == tmp_path / "mine.json"


GOOD = {
    "soc": "v/s",
    "core": "cortex-m4",
    "kind": "npu",
    "opt": "balanced",
    "toolchain": "gcc 1",
    "workload": "w",
    "values": {"rows": 1},
    "count": 3,
}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"{", "records are damaged, got Invalid JSON"),
        (
            b"\xff\xfe",
            "records are damaged, got no UTF-8, expected what `aboard tune` writes. Remove the file and tune",
        ),
        (json.dumps({"format": 1, "records": []}).encode(), "got Input should be 3 at format"),
        (json.dumps({"records": [{**GOOD, "values": {"rows": 1.5}}]}).encode(), "at records.0.values.rows"),
        (json.dumps({"records": [{**GOOD, "date": "today"}]}).encode(), "at records.0.date"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        Records(path).choose(place())
    assert str(caught.value).startswith(f"{path}: records are damaged")
    assert text in str(caught.value)
    with pytest.raises(InputError, match="records are damaged"):
        store(path, [record()])
    assert path.read_bytes() == content


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"none\.json: records cannot be read, got No such file .* Run it with --tuning"
    ):
        Records(tmp_path / "none.json", required=True)
    with pytest.raises(InputError, match=r"records cannot be read, got Is a directory, .* Name another with --tuning"):
        Records(tmp_path).choose(place())
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"records cannot be (written|read), got (File exists|Not a directory)"):
        store(tmp_path / "file" / "t.json", [record()])


def test_records_of_instructions_that_an_older_version_wrote_are_read(tmp_path: Path) -> None:
    older = {**record().model_dump(exclude_none=True), "instructions": 100}
    older = {key: value for key, value in older.items() if key not in {"unit", "count", "spread"}}
    (tmp_path / "t.json").write_text(json.dumps({"format": 2, "records": [older]}))
    assert list(Records(tmp_path / "t.json").entries.values()) == [record()]
    assert Records(tmp_path / "t.json").choose(place()).origin == "record"


NUCLEO = "st/nucleo_f746zg + fake"


def ticks(rows: int, **further: Any) -> TuningRecord:
    at = {"unit": "ticks", "clock_hz": 216_000_000, "wait_states": 7, **further}
    return tuning_records.record(NUCLEO, "conv", {"rows": rows}, **at)


def test_ticks_at_the_clock_of_the_board_go_before_instructions(tmp_path: Path) -> None:
    counted = tuning_records.record(NUCLEO, "conv", {"rows": 1})
    store(tmp_path / "t.json", [ticks(8), counted])
    found = Records(tmp_path / "t.json")
    assert len(found.entries) == 2
    assert found.choose(place(target=NUCLEO)).values["rows"] == 8
    slower = by_key([ticks(8, clock_hz=16_000_000, wait_states=0), counted])
    assert Recorded(slower).choose(place(target=NUCLEO)).values["rows"] == 1


def test_records_that_are_stale_are_named() -> None:
    entries = by_key([ticks(8), ticks(8, clock_hz=16_000_000, wait_states=0), ticks(16, clock_hz=216_000_000)])
    entries |= by_key([tuning_records.record(NUCLEO, "pool", {"rows": 1}, compiler="acc 1.0"), record()])
    stale = {found.workload: reason for found, reason in Recorded(entries).stale(Target(NUCLEO))}
    reasons = sorted(reason for _, reason in Recorded(entries).stale(Target(NUCLEO)))
    assert reasons[0].startswith("of acc 1.0, not of ")
    assert reasons[1:] == [
        "of another version: value of rows, got 16, expected one of: 4, 1, 8",
        "of ticks at 16 MHz with 0 wait states, not at 216 MHz with 7 wait states",
    ]
    assert set(stale) == {"conv", "pool"}
    only = Recorded(by_key([ticks(8, clock_hz=None, wait_states=None)])).choose(place(target=NUCLEO))
    assert only.origin == ("default, as the record is of ticks at an unknown clock, not at 216 MHz with 7 wait states")


def test_where_a_record_comes_from_changes_nothing(tmp_path: Path) -> None:
    made = Provenance(board="st/nucleo_f746zg (serial)", date="2026-01-31", version="0.1", tick_hz=216_000_000)
    told = tuning_records.record(f"{BOARD} + fake", "conv", {"rows": 8}, provenance=made)
    store(tmp_path / "t.json", [told])
    assert list(Records(tmp_path / "t.json").entries.values()) == [told]
    assert picked(Recorded(by_key([told])), place()) == picked(Recorded(by_key([record()])), place())


def test_what_another_tuner_stored_meanwhile_is_kept_if_it_costs_no_more(tmp_path: Path) -> None:
    path = tmp_path / "t.json"

    def made(rows: int, count: int) -> TuningRecord:
        return tuning_records.record(f"{BOARD} + fake", "conv", {"rows": rows}, count=count)

    def rows() -> list[object]:
        return [entry.values["rows"] for entry in Records(path).entries.values()]

    store(path, [made(4, 90)])
    known = Records(path).entries
    store(path, [made(8, 80)], known)
    assert rows() == [8]
    store(path, [made(1, 85)], known)
    assert rows() == [8]
    store(path, [made(1, 70)], known)
    assert rows() == [1]
    # A measurement of one's own replaces what was known, also if it costs more now.
    store(path, [made(4, 95)], Records(path).entries)
    assert rows() == [4]


_WRITER = """
import sys
from pathlib import Path
from aboard.tuning.record_file import store
from aboard.tuning.records import TuningRecord
for number in range(20):
    fields = dict(soc="", core="c", kind="k", opt="o", toolchain="t", values={}, count=1)
    store(Path(sys.argv[1]), [TuningRecord(workload=f"{sys.argv[2]}{number}", **fields)], {})
"""


def test_the_records_of_tuners_that_write_at_once_merge(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(path), name]) for name in ("a", "b", "c")]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert {key.workload for key in Records(path).entries} == {f"{name}{n}" for name in "abc" for n in range(20)}


def test_a_folder_that_stays_locked_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_file, "_PATIENCE_S", 0.05)
    held = os.open(tmp_path, os.O_RDONLY)
    try:
        assert file_lock.take(held)
        with pytest.raises(InputError, match=r"t\.json: records cannot be written, got a folder .* End that proc"):
            store(tmp_path / "t.json", [record()])
    finally:
        os.close(held)
    store(tmp_path / "t.json", [record()])
