"""The file of records: what is found in it, how it changes, and what is said of a damaged one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aboard.errors import InputError
from aboard.target import Knob, Target
from aboard.tuning import records
from aboard.tuning.choice import ChosenPoint, TunedRegion
from aboard.tuning.key import toolchain
from aboard.tuning.records import Records, TuningRecord, store
from support import tuning_records
from support.device import device

BOARD = "arm/mps2_an386"


@pytest.fixture(autouse=True)
def fake() -> Iterator[None]:
    knobs = (Knob("rows", (4, 1, 8), "Rows of a tile"), Knob("fast", (False, True), "Whether it hurries"))
    with device((), tuning=lambda target: knobs):
        yield


def place(workload: str = "conv", target: str = f"{BOARD} + fake") -> TunedRegion:
    whole = Target(target)
    return TunedRegion(whole, whole.devices[0], "fake", workload)


def record(workload: str = "conv", rows: int | str = 8, **further: Any) -> TuningRecord:
    values = {"rows": rows, **further}
    return tuning_records.record(f"{BOARD} + fake", workload, values, instructions=100)


def test_what_is_stored_is_found(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "tuning.json"
    store(path, [record(), record("pool", 1, fast=True)])
    found = Records(path, required=True)
    assert found.choose(place()) == ChosenPoint({"rows": 8, "fast": False}, "record")
    assert found.choose(place("pool")) == ChosenPoint({"rows": 1, "fast": True}, "record")
    assert found.choose(place("other")) == ChosenPoint({"rows": 4, "fast": False}, "default")
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
    assert found.choose(TunedRegion(both, both.devices[0], "fake", "conv")).origin == "record"


def test_boards_with_one_soc_share_records(tmp_path: Path) -> None:
    one, other = ("arduino/nano_33_ble + fake", "nordic/nrf52840dk + fake")
    store(tmp_path / "t.json", [tuning_records.record(one, "conv", {"rows": 8})])
    assert Records(tmp_path / "t.json").choose(place(target=other)).origin == "record"
    assert Records(tmp_path / "t.json").choose(place(target=f"{BOARD} + fake")).origin == "default"


def test_a_record_of_another_toolchain_is_left_aside(tmp_path: Path) -> None:
    store(tmp_path / "t.json", [tuning_records.record(f"{BOARD} + fake", "conv", {"rows": 8}, compiler="acc 1.0")])
    here = toolchain(place().target)
    origin = f"default, as the record is of acc 1.0, not of {here}"
    assert Records(tmp_path / "t.json").choose(place()) == ChosenPoint({"rows": 4, "fast": False}, origin)
    store(tmp_path / "t.json", [record()])
    assert Records(tmp_path / "t.json").choose(place()).origin == "record"
    # The toolchain that a user names counts.
    zig = Records(tmp_path / "t.json", toolchain="zig").choose(place()).origin
    assert zig.startswith(f"default, as the record is of acc 1.0 and {here}, not of zig ")


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
        *("workload", "values", "instructions"),
    }


def test_a_record_of_another_version_is_left_aside(tmp_path: Path) -> None:
    store(tmp_path / "t.json", [record(rows=16), record("pool", columns=2)])
    found = Records(tmp_path / "t.json")
    assert found.choose(place()) == ChosenPoint(
        {"rows": 4, "fast": False},
        "default, as the record is of another version: value of rows, got 16, expected one of: 4, 1, 8",
    )
    assert "no such knob, got columns, expected one of: fast, rows" in found.choose(place("pool")).origin


def test_without_a_file_there_are_no_records(tmp_path: Path) -> None:
    assert Records(tmp_path / "none.json").choose(place()).origin == "default"


def test_the_file_is_the_users_own_or_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv(records.VARIABLE, raising=False)
    assert records.default_path() == tmp_path / "aboard" / "tuning.json"
    monkeypatch.setenv("ABOARD_TUNING", str(tmp_path / "mine.json"))
    assert records.default_path() == tmp_path / "mine.json"


GOOD = {
    "soc": "v/s",
    "core": "cortex-m4",
    "kind": "npu",
    "opt": "balanced",
    "toolchain": "gcc 1",
    "workload": "w",
    "values": {"rows": 1},
    "instructions": 3,
}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"{", "records are damaged, got Invalid JSON"),
        (
            b"\xff\xfe",
            "records are damaged, got no UTF-8, expected what `aboard tune` writes. Remove the file and tune",
        ),
        (json.dumps({"format": 1, "records": []}).encode(), "got Input should be 2 at format"),
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
