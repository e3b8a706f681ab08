"""The memory map and the stripes of cascades, against the manifest and the schedule."""

from __future__ import annotations

import re

import pytest

from aboard.compiler.pipeline import Module, compile_model
from aboard.reports import layers, memory_svg, stripes_svg
from aboard.reports.memory_svg import Arena
from aboard.reports.pieces import ArenaPiece, CascadeStripes, Lane, cascades, pieces
from support.models import available, path


def compiled(target: str, model: str = "digits") -> Module:
    found = path(model)
    assert found is not None
    return compile_model(found, target=target)


CASCADED = "c -mcpu=cortex-m4 -opt=size"


@pytest.mark.parametrize("model", available(["digits", "digits_f32", "kws", "hello_world"]))
@pytest.mark.parametrize("target", [CASCADED, "c -mcpu=cortex-m55", "c -mcpu=cortex-m7 -arena=dtcm:1K,sram"])
def test_pieces_are_the_buffers_of_the_manifest(model: str, target: str) -> None:
    module = compiled(target, model)
    found = {(p.arena, p.offset, p.bytes, p.first, p.last) for p in pieces(module.schedule())}
    assert found == {(b.arena, b.offset, b.bytes, b.first, b.last) for b in module.manifest.buffers if b.bytes}


def test_pieces_say_what_they_are() -> None:
    module = compiled(CASCADED)
    found = pieces(module.schedule())
    by_kind: dict[str, list[ArenaPiece]] = {}
    for piece in found:
        by_kind.setdefault(piece.kind, []).append(piece)
    (given,) = by_kind["input"]
    assert (given.name, given.step) == (module.manifest.inputs[0].name, None)
    (result,) = by_kind["output"]
    assert (result.offset, result.bytes) == (module.manifest.outputs[0].offset, module.manifest.outputs[0].bytes)
    scratch = {piece.step for piece in by_kind["scratch"]}
    assert scratch == {i for i, node in enumerate(module.manifest.nodes) if node.scratch_bytes}
    rolling = by_kind["rolling buffer"]
    assert rolling
    for piece in rolling:
        assert piece.rolling is not None
        height, rows = piece.rolling
        assert 0 < height < rows
        assert piece.bytes % height == 0
        assert module.manifest.nodes[piece.step or 0].cascade is not None


def test_softmax_in_place_shares_its_piece() -> None:
    result = next(p for p in pieces(compiled("c -mcpu=cortex-m4").schedule()) if p.kind == "output")
    assert (result.step, result.aliases) == (4, 1)
    assert "and 1 more tensor in the same bytes" in memory_svg.tip(result)


@pytest.mark.parametrize("model", available(["digits", "kws", "ic"]))
def test_lanes_cover_every_row_once(model: str) -> None:
    module = compiled(CASCADED, model)
    found = cascades(module.schedule())
    assert found
    for number, cascade in enumerate(found):
        assert [lane.step for lane in cascade.lanes] == list(range(cascade.first, cascade.last + 1))
        assert {module.manifest.nodes[lane.step or 0].cascade for lane in cascade.lanes} == {number}
        numbers = sorted(stripe for lane in cascade.lanes for stripe, _, _ in lane.stripes)
        assert numbers == list(range(cascade.count))
        for lane in cascade.lanes:
            rows = [row for _, first, last in lane.stripes for row in range(first, last)]
            assert rows == list(range(lane.rows))
            assert 1 <= lane.stripe_height <= lane.rows


def test_the_caller_who_pushes_rows_comes_first() -> None:
    module = compiled("c -mcpu=cortex-m4 -input=rows")
    first, *others = cascades(module.schedule())[0].lanes
    assert (first.step, first.rows) == (None, module.manifest.inputs[0].shape[1])
    assert all(lane.step is not None for lane in others)
    given = next(piece for piece in pieces(module.schedule()) if piece.kind == "input")
    assert given.rolling is not None
    assert given.bytes < module.manifest.inputs[0].bytes


def test_without_cascades_there_are_no_stripes() -> None:
    assert cascades(compiled("c -mcpu=cortex-m4 -opt=speed").schedule()) == ()


def arena(**changed: object) -> Arena:
    module = compiled(CASCADED)
    known = layers.of(module)
    scheduled = module.schedule()
    given: dict[str, object] = {
        "number": 0,
        "region": "",
        "bytes": module.manifest.ram_bytes,
        "pieces": pieces(scheduled),
        "live_bytes": [layer.live_bytes[0] for layer in known],
        "peaks": [layer.index for layer in layers.peaks(known)],
        "cascades": cascades(scheduled),
    }
    return Arena(**{**given, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [920.0, 350.0])
def test_a_rectangle_for_each_piece(width: float) -> None:
    shown = arena()
    markup = memory_svg.picture(shown, width, "m").markup("picture")
    assert markup.count('class="piece ') == len(shown.pieces)
    assert markup.count('class="peak-step"') == len(shown.peaks)
    assert f">{shown.bytes:,}</text>" in markup
    for piece in shown.pieces:
        assert f"{piece.bytes:,} bytes at {piece.offset:,}" in markup
    rolling = next(piece.rolling for piece in shown.pieces if piece.rolling)
    assert f"{rolling[0]} of {rolling[1]} rows" in markup
    assert 'class="piece rolling-buffer"' in markup
    assert f"cascade 0: {shown.cascades[0].count} stripes" in markup


@pytest.mark.parametrize(("steps", "numbers"), [(6, ["0", "1", "2", "3", "4", "5"]), (40, ["0", "3", "6", "9", "11"])])
def test_numbers_of_steps_leave_equal_gaps_but_for_the_peak(steps: int, numbers: list[str]) -> None:
    many = arena(live_bytes=[1] * steps, peaks=[11 % steps], pieces=(), cascades=())
    texts = re.findall(r'text-anchor="middle"[^>]*>(\d+)<', memory_svg.picture(many, 350, "m").markup("p"))
    assert sorted(texts, key=int)[: len(numbers)] == numbers


def test_the_picture_names_its_region() -> None:
    assert "Memory over time in dtcm" in memory_svg.picture(arena(region="dtcm"), 920, "m").markup("p")


def test_a_model_without_steps_has_an_empty_picture() -> None:
    empty = arena(bytes=0, pieces=(), live_bytes=(), peaks=(), cascades=())
    markup = memory_svg.picture(empty, 350, "m").markup("p")
    assert "0 pieces of an arena of 0 bytes over 0 steps" in markup
    assert "nan" not in markup.lower()


def test_marks_lie_in_the_lanes() -> None:
    lanes = (Lane(0, 4, ((0, 0, 2), (2, 2, 4))), Lane(None, 2, ((1, 0, 2),)))
    picture = stripes_svg.picture(CascadeStripes(0, 0, lanes, 3), {0: "conv2d"}, 920, "t")
    markup = picture.markup("p")
    assert markup.count('class="stripe"') == 3
    assert "stripe 2: rows 2 to 3 of 0 conv2d" in markup
    assert "stripe 1: rows 0 to 1 of the input" in markup
    assert ">0 conv2d</text>" in markup
    assert ">the input</text>" in markup
    assert "3 stripes" in markup
