"""The reports of a table show each state, changes against the last run, and no markup of a message."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from aboard.errors import InputError
from aboard.farm.jobs import Failure
from aboard.matrix import files, row
from aboard.matrix.row import Row, RowSpec
from aboard.matrix.table import FilledRow
from support import html_tables

SPEC = RowSpec("kws", "kws.tflite", b"1", "arm/b", "size", 4, None)
BEFORE = Row("kws", "arm/a", "size", "exact", "", 6, 0, "qemu", 1000, None, 300, 5000)
TABLE = [
    FilledRow(Row("kws", "arm/a", "size", "exact", "", 6, 0, "qemu", 1200, None, 300, 4000), BEFORE),
    FilledRow(Row("kws", "arm/a", "speed", "different", "3 bytes differ", 6, 3, "serial", None, 0.001, 1, 2), None),
    FilledRow(row.row_of(SPEC, Failure("CapacityError", "ram: <b>too\x1b much")), None),
    FilledRow(row.row_of(SPEC, Failure("DeviceTimeout", "silent")), BEFORE),
]


def test_the_page() -> None:
    (shown,) = html_tables.tables(files.html(TABLE))
    assert [line[:4] for line in shown[1:]] == [
        ["kws", "arm/a", "size", "exact"],
        ["kws", "arm/a", "speed", "different"],
        ["kws", "arm/b", "size", "refused"],
        ["kws", "arm/b", "size", "failed (was exact)"],
    ]
    assert shown[1][4:] == ["1,200 (+200)", "-", "300 (=)", "4,000 (-1,000)", ""]
    assert shown[2][4:] == ["-", "0.001000", "1", "2", "3 bytes differ"]
    assert "<b>" not in files.html(TABLE)


def test_the_suites() -> None:
    suites = ElementTree.fromstring(files.junit(TABLE))
    counts = [(s.get("name"), s.get("tests"), s.get("failures"), s.get("errors")) for s in suites]
    assert counts == [("arm/a", "2", "1", "0"), ("arm/b", "2", "1", "1")]
    refused, failed = (case[0] for case in suites[1])
    assert (refused.tag, refused.get("message")) == ("failure", "ram: <b>too\N{REPLACEMENT CHARACTER} much")
    assert (failed.tag, failed.get("message"), failed.get("type")) == ("error", "silent", "failed")
    assert suites[0][1].get("time") == "0.001000"


def test_files_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text("mine")
    with pytest.raises(InputError, match=r"junit\.xml: holds 4 bytes that aboard did not write"):
        files.prepared(tmp_path, force=False)
    files.write(files.prepared(tmp_path, force=True), TABLE, force=True)
    files.write(files.prepared(tmp_path, force=False), TABLE, force=False)
    with pytest.raises(InputError, match=r"cannot be made, got .*Name another folder with -o"):
        files.prepared(tmp_path / "junit.xml" / "folder", force=False)


def test_keys_have_all_that_results_depend_on() -> None:
    others = [
        RowSpec("kws", "kws.tflite", b"2", "arm/b", "size", 4, None),
        RowSpec("kws", "kws.tflite", b"1", "arm/c", "size", 4, None),
        RowSpec("kws", "kws.tflite", b"1", "arm/b", None, 4, None),
        RowSpec("kws", "kws.tflite", b"1", "arm/b", "size", 5, None),
        RowSpec("kws", "kws.tflite", b"1", "arm/b", "size", 4, "zig"),
    ]
    assert len({SPEC.key, *(spec.key for spec in others)}) == 6
