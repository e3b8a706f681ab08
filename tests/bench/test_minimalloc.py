"""The bench of the planner reads instances, checks what it claims, and writes its table where the page wants it."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.errors import CapacityError, InputError
from aboard.memory.problem import LiveRange
from bench import markdown, minimalloc
from support.packings import tiling


def write(path: Path, live_ranges: list[LiveRange]) -> Path:
    rows = [f"{r.name},{r.first},{r.last + 1},{r.bytes}\n" for r in live_ranges]
    path.write_text("id,lower,upper,size\n" + "".join(rows))
    return path


def test_an_instance_is_read_and_solved(tmp_path: Path) -> None:
    live_ranges = tiling(2, 40, 20, minimalloc.CAPACITY)
    path = write(tmp_path / "Z.csv", live_ranges)
    assert minimalloc.read(path) == live_ranges
    row = minimalloc.solve(path)
    assert (row.name, row.buffers, row.bound, row.peak) == ("Z", 40, minimalloc.CAPACITY, minimalloc.CAPACITY)
    assert row.greedy > row.peak
    assert row.states < 1_000


def test_an_instance_without_a_plan_is_said_to_have_none(tmp_path: Path) -> None:
    path = write(tmp_path / "Y.csv", [LiveRange("a", minimalloc.CAPACITY + 1, 0, 0, 1)])
    with pytest.raises(CapacityError, match=r"^Y.csv: no plan was found, got 0 states, expected one. Raise BUDGET in "):
        minimalloc.solve(path)


def test_instances_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABOARD_MINIMALLOC", str(tmp_path))
    write(tmp_path / f"A.{minimalloc.CAPACITY}.csv", [LiveRange("a", 4, 0, 0, 1)])
    assert [path.name for path in minimalloc.instances()] == [f"A.{minimalloc.CAPACITY}.csv"]
    with pytest.raises(InputError) as error:
        minimalloc.main(["A", "B"])
    assert str(error.value) == (
        f"{tmp_path}: instances of MiniMalloc, got 1, expected 2. "
        "Set ABOARD_MINIMALLOC to benchmarks/challenging of github:google/minimalloc"
    )


def test_the_table_stands_between_its_marks() -> None:
    row = minimalloc.Row("A", 154, 1_048_576, 1_352_704, 1_048_576, 481, 0.066)
    text = minimalloc.table([row])
    assert text.splitlines()[2] == "| A | 154 | 1,048,576 | 1,352,704 | 1,048,576 | 481 | 0.07 |"
    page = minimalloc.PAGE.read_text()
    assert text in markdown.with_section(page, minimalloc.BEGIN, minimalloc.END, text)


def test_a_section_is_what_stands_between_its_marks() -> None:
    assert markdown.with_section("before\n<a>old</a>\nbehind\n", "<a>", "</a>", "new\n") == (
        "before\n<a>\n\nnew\n\n</a>\nbehind\n"
    )
    for page in ("<a>", "</a>", "<a></a><a></a>"):
        with pytest.raises(ValueError, match="values to unpack"):
            markdown.with_section(page, "<a>", "</a>", "new")
