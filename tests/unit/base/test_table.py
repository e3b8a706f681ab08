"""Tables for people."""

from __future__ import annotations

import pytest

from aboard.base.table import Label, Names, amount, facts, is_number, short_amount, table

LONG = "sequential_1_1/depthwise_1/Relu"


def at(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))


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


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, None), (0, "0"), (100, "100"), (1024, "1K"), (1536 * 1024, "1536K"), (2 << 20, "2M"), (1030, "1030")],
)
def test_short_amounts_are_what_options_take(count: int | None, text: str | None) -> None:
    assert short_amount(count) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1,024", True), ("-3.5", True), ("12.5 %", True), ("512K", True), ("-", True), ("x", False), ("1x8", False)],
)
def test_figures_are_told_from_words(text: str, expected: bool) -> None:
    assert is_number(text) == expected


def test_names_are_listed_whole_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("one", Names(["qemu", "unicorn", "renode"])), ("two", Names([])), ("three", Names(["renode"]))]
    assert table(("board", "emulators"), rows).splitlines()[2:] == [
        "one    qemu, unicorn, renode",
        "two    -",
        "three  renode",
    ]
    at(monkeypatch, 24)
    assert table(("board", "emulators"), rows).splitlines()[2:] == ["one   qemu, unicorn +1", "two   -", "three renode"]
    at(monkeypatch, 16)
    assert table(("board", "emulators"), rows).splitlines()[2:] == ["one   qemu +2", "two   -", "three renode"]


def test_labels_keep_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(0, Label(f"{LONG};other"), 1_000_000)]
    assert table(("#", "name", "MACs"), rows).splitlines()[2] == f"0  {LONG}  1,000,000"
    at(monkeypatch, 26)
    assert table(("#", "name", "MACs"), rows).splitlines()[2] == "0 …thwise_1/Relu 1,000,000"


def test_text_continues_on_further_lines_and_numbers_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, 30)
    text = table(("op", "bytes", "for"), [("depthwise_conv2d", 1_234_567, "reads and writes")], ("", 1_234_567, ""))
    assert text.splitlines() == [
        "op             bytes for",
        "---------- --------- ---------",
        "depthwise_ 1,234,567 reads and",
        "conv2d               writes",
        "---------- --------- ---------",
        "           1,234,567",
    ]


def test_optional_columns_are_left_out_first(monkeypatch: pytest.MonkeyPatch) -> None:
    head, rows = ("board", "core", "RAM", "name"), [("acme/sensor", "cortex-m0", "16K", "Acme sensor")]
    optional = ("core", "name")
    at(monkeypatch, 40)
    assert table(head, rows, optional=optional).splitlines()[0] == "board        core       RAM  name"
    at(monkeypatch, 39)
    assert table(head, rows, optional=optional).splitlines()[0] == "board        core       RAM"
    at(monkeypatch, 20)
    assert table(head, rows, optional=optional).splitlines()[2] == "acme/sensor  16K"


def test_kept_columns_get_narrower_last(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, 32)
    rows = [("ambiq/apollo4p_evb", "an evaluation board of Ambiq")]
    assert table(("board", "name"), rows, keep=("board",)).splitlines()[2:] == [
        "ambiq/apollo4p_evb an evaluation",
        "                   board of",
        "                   Ambiq",
    ]


@pytest.mark.parametrize("columns", [20, 33, 47, 80, 120])
def test_no_table_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    at(monkeypatch, columns)
    rows = [(0, Label(LONG), "fully_connected", "x" * 50, Names(["openocd", "stlink"]), "a b" * 20)]
    text = table(("#", "name", "op", "long", "flashers", "for"), rows, keep=("name",))
    assert max(map(len, text.splitlines())) <= columns


def test_facts_continue_below_their_value_and_paths_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, 30)
    address = "https://example.org/a/rather/long/path"
    assert facts([("target", "c -mcpu=cortex-m4 -opt=size"), ("source", f"see {address}")]).splitlines() == [
        "target  c -mcpu=cortex-m4",
        "        -opt=size",
        "source  see",
        f"        {address}",
    ]


def test_names_of_models_are_no_markup_and_control_nothing() -> None:
    text = table(("name",), [("[bold]x[/bold]",), (":smile:",), ("a\x1b[31mb",)])
    assert text.splitlines()[2:] == ["[bold]x[/bold]", ":smile:", "a\\x1b[31mb"]
