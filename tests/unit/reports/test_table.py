"""Tables for people."""

from __future__ import annotations

from aboard.reports.table import amount, facts, table


def test_numbers_stand_right_and_text_left() -> None:
    text = table(("name", "bytes"), [("a", 12), ("longer", 1234567)], ("", 1234579))
    assert text.splitlines() == [
        "name        bytes",
        "------  ---------",
        "a              12",
        "longer  1,234,567",
        "------  ---------",
        "        1,234,579",
    ]


def test_a_table_without_rows_is_its_head() -> None:
    assert table(("a", "b"), []).splitlines() == ["a  b", "-  -"]


def test_none_and_truth_are_words() -> None:
    assert table(("x",), [(None,), (True,), (False,)]).splitlines()[2:] == ["-", "yes", "no"]


def test_facts_are_aligned() -> None:
    assert facts([("a", 1000), ("none", None), ("long", "x")]) == "a     1,000\nlong  x"


def test_amounts_are_bytes_first() -> None:
    assert amount(22604) == "22,604 bytes (22.1 KiB)"
    assert amount(100) == "100 bytes"
