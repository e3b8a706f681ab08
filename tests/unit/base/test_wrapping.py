"""Text in lines that fit the terminal."""

from __future__ import annotations

import os

import pytest

from aboard.base.wrapping import columns, paragraph, wrapped


def test_the_width_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "133")
    assert columns() == 133


def test_without_a_terminal_the_width_is_80(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_terminal(*_: object) -> os.terminal_size:
        raise OSError

    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr(os, "get_terminal_size", no_terminal)
    assert columns() == 80


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("one two three", ["one two", "three"]),
        ("  one three", ["  one", "three"]),
        ("a\n\nb", ["a", "", "b"]),
        ("depthwise_conv2d", ["depthwise_", "conv2d"]),
        ("abcdefghijklmno", ["abcdefghij", "klmno"]),
        ("a/b/c/d/e/f/g", ["a/b/c/d/e/", "f/g"]),
    ],
)
def test_lines_are_at_most_as_long_as_asked(text: str, lines: list[str]) -> None:
    assert list(wrapped(text, 10)) == lines


@pytest.mark.parametrize("place", ["/tmp/a/long/path", "https://example.org/x", "C:\\Users\\me\\file", "<folder>/x"])
def test_paths_and_addresses_stay_whole_in_paragraphs(place: str) -> None:
    assert paragraph(f"see {place} for more", "  ", 10) == f"see\n  {place}\n  for more"
    assert all(len(line) <= 10 for line in wrapped(f"see {place}", 10))


def test_further_lines_are_indented() -> None:
    assert paragraph("zephyr: init and update", "    ", 16) == "zephyr: init and\n    update"
