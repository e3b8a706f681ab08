"""Pictures: texts that fit, boxes that meet, round numbers, and markup that says what it is."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from aboard.reports.svg import Picture, Rect, fitting, text_box, text_width, ticks

SVG = "{http://www.w3.org/2000/svg}"


def drawn() -> Picture:
    return Picture("key", 100, 50, "A <title>", "What & why.")


def tree(picture: Picture) -> ElementTree.Element:
    text = picture.markup("picture wide").replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return ElementTree.fromstring(text)


def test_a_picture_says_what_it_is() -> None:
    root = tree(drawn())
    assert (root.get("role"), root.get("class"), root.get("viewBox")) == ("img", "picture wide", "0 0 100 50")
    assert root.get("aria-labelledby") == "key-t key-d"
    said = {element.get("id"): element.text for element in root}
    assert said == {"key-t": "A <title>", "key-d": "What & why."}


def test_shapes_lie_below_texts_and_are_escaped() -> None:
    picture = drawn()
    picture.text(1, 20, "<b>&", "strong", "middle")
    picture.rect(Rect(1, 2, 3.004, 4), "piece", 'a "tip" <x>')
    picture.line((0, 1), (2, 3), "grid")
    picture.path([(0, 0), (1.5, 2)], "alive")
    root = tree(picture)
    assert [element.tag.removeprefix(SVG) for element in root][2:] == ["rect", "line", "polyline", "text"]
    rect, line, path, text = list(root)[2:]
    assert (rect.get("width"), rect[0].text) == ("3", 'a "tip" <x>')
    assert (line.get("x2"), path.get("points")) == ("2", "0,0 1.5,2")
    assert (text.text, text.get("text-anchor"), text.get("class")) == ("<b>&", "middle", "strong")


def test_a_rectangle_has_no_negative_size() -> None:
    picture = drawn()
    picture.rect(Rect(1, 2, -3, -4), "piece")
    rect = list(tree(picture))[2]
    assert (rect.get("width"), rect.get("height")) == ("0", "0")


def test_a_text_is_written_where_it_fits_and_meets_no_other() -> None:
    picture = drawn()
    assert picture.try_text(2, 20, "first")
    assert not picture.try_text(10, 22, "over it")
    assert not picture.try_text(80, 45, "beyond the edge")
    assert not picture.try_text(2, 5, "above")
    assert picture.try_text(2, 40, "below")
    assert [element.text for element in tree(picture).iter(f"{SVG}text")] == ["first", "below"]


@pytest.mark.parametrize(("anchor", "left"), [("start", 50.0), ("middle", 50 - 7.26), ("end", 50 - 14.52)])
def test_a_text_covers_what_its_anchor_says(anchor: str, left: float) -> None:
    box = text_box(50, 20, "ab", anchor)
    assert (box.x, box.width) == (pytest.approx(left), pytest.approx(14.52))
    assert box.y < 20 < box.y + box.height


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [("short", 100, "short"), ("a/long/name", 50, "…/name"), ("a/long/name", 30, ""), ("abc", 10, "")],
)
def test_a_long_text_keeps_its_end(text: str, width: float, expected: str) -> None:
    found = fitting(text, width)
    assert found == expected
    assert text_width(found) <= width


def test_boxes_meet_where_they_come_near() -> None:
    box = Rect(10, 10, 10, 10)
    assert box.meets(Rect(19, 19, 5, 5))
    assert box.meets(Rect(20.5, 10, 5, 5))
    assert not box.meets(Rect(21.5, 10, 5, 5))
    assert not box.meets(Rect(10, 0, 10, 8.5))
    assert box.holds(Rect(10, 10, 10, 10))
    assert not box.holds(Rect(10, 10, 10, 10.5))


@pytest.mark.parametrize(
    ("most", "count", "expected"),
    [
        (6812, 7, [0, 1000, 2000, 3000, 4000, 5000, 6000]),
        (28, 7, [0, 5, 10, 15, 20, 25]),
        (3, 8, [0, 1, 2, 3]),
        (0, 8, [0]),
    ],
)
def test_ticks_are_round(most: int, count: int, expected: list[int]) -> None:
    assert ticks(most, count) == expected
