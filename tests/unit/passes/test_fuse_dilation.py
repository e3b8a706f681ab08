"""Dilation fusion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from aboard.ir import Graph
from aboard.ops.window import Padding
from aboard.passes import HOST, NEUTRAL
from aboard.passes.fuse_dilation import FuseDilation
from support import models, one_op, oracle
from support.dilated_models import Dilated, dilated
from support.examples import examples
from support.rewrites import check_rewrite, kinds
from support.tflite_builder import ModelBuilder

LINE = Dilated(pads=((0, 0), (2, 2)))
IMAGE = Dilated((6, 5), (2, 3), ((2, 2), (3, 4)), window=(3, 3), line=False)


def fused(model: bytes) -> Graph:
    """Returns a model after the pass, which changes no value."""
    return check_rewrite(model, *NEUTRAL, FuseDilation())


def convolution(graph: Graph):
    """Returns dilations and padding of the only convolution, beside which there are only reshapes."""
    (conv,) = [node for node in graph.nodes if node.op != "reshape"]
    return conv.attrs.dilations, conv.attrs.padding


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("depthwise", [False, True])
def test_a_line_is_one_convolution(dtype: type, free: bool, depthwise: bool) -> None:
    graph = fused(replace(LINE, dtype=dtype, free=free, depthwise=depthwise).model())
    assert convolution(graph) == ((1, 2), Padding(0, 2, 0, 2))
    assert kinds(graph)[::2] == ["reshape", "reshape"]
    assert graph.nodes[1].sources == (0, 1, 2, 3, 4)


def test_an_image_is_one_convolution() -> None:
    graph = fused(IMAGE.model())
    assert convolution(graph) == ((2, 3), Padding(2, 3, 2, 4))
    assert len(graph.nodes) == 1


def test_crops_take_padding_away() -> None:
    case = replace(IMAGE, pads=((2, 2), (3, 4)), crops=((1, 0), (2, 1)))
    assert convolution(fused(case.model())) == ((2, 3), Padding(1, 1, 2, 3))


def test_dilations_multiply() -> None:
    case = replace(IMAGE, size=(12, 10), pads=((4, 4), (6, 2)), dilation=(2, 1))
    assert convolution(fused(case.model())) == ((4, 3), Padding(4, 6, 4, 2))


def test_padding_before_space_to_batch_joins_in() -> None:
    build = ModelBuilder().tensor("z", (1, 12, 2), np.int8, scale=0.05, zero_point=-7)
    case = replace(LINE, size=(1, 16), pads=((0, 0), (0, 0)))
    inner = case.builder()
    for tensor in inner._tensors:
        build._tensors.append(tensor)
    build.tensor("around", (3, 2), np.int32, data=[(0, 0), (4, 0), (0, 0)]).op("PAD", ["z", "around"], ["x"], {})
    for operator in inner._operators:
        moved = replace(operator, inputs=[n + 1 for n in operator.inputs], outputs=[n + 1 for n in operator.outputs])
        build._operators.append(moved)
    assert convolution(fused(build.build(["z"], ["y"]))) == ((1, 2), Padding(0, 4, 0, 0))


@pytest.mark.parametrize(
    "case",
    [
        replace(LINE, pads=((0, 0), (0, 0)), crops=((0, 0), (1, 0))),  # the crop drops pixels of the line
        replace(LINE, pads=((0, 0), (6, 0))),  # a window sees nothing but padding
        replace(LINE, stride=2, size=(1, 16)),  # a stride within blocks is no stride of the line
    ],
)
def test_what_is_no_dilated_convolution_stays(case: Dilated) -> None:
    assert "transpose" in kinds(fused(case.model()))


def test_padding_of_each_block_is_padding_of_the_line() -> None:
    assert convolution(fused(replace(LINE, same=True).model())) == ((1, 2), Padding(0, 4, 0, 4))


def test_other_blocks_behind_the_convolution_stay() -> None:
    builder = replace(IMAGE, block=(2, 2), size=(4, 4), pads=((2, 2), (2, 2))).builder()
    builder.tensor("other", (2,), np.int32, data=[4, 1])
    next(t for t in builder._tensors if t.name == "y").shape = (1, 8, 2, 3)
    builder._operators[-1].inputs[1] = len(builder._tensors) - 1
    assert "transpose" in kinds(fused(builder.build(["x"], ["y"])))


def test_another_reader_of_the_blocks_keeps_them() -> None:
    assert kinds(fused(LINE.builder().build(["x"], ["y", "blocks"]))).count("transpose") == 2
    assert kinds(fused(LINE.builder().build(["x"], ["y", "conv"]))).count("transpose") == 2


def test_another_zero_stays() -> None:
    builder = LINE.builder()
    for tensor in builder._tensors:
        if tensor.name in ("blocks", "rows"):
            tensor.zero_points = [-6]
    assert "transpose" in kinds(fused(builder.build(["x"], ["y"])))


@settings(max_examples=examples(200), deadline=None)
@given(dilated())
def test_results_stay(case: Dilated) -> None:
    check_rewrite(case.model(), *NEUTRAL, *HOST, seeds=1)


@pytest.mark.parametrize("case", [LINE, IMAGE, replace(LINE, free=True), replace(IMAGE, depthwise=True)])
def test_generated_code(case: Dilated) -> None:
    one_op.check_equal(case.model(), case.image(), reference=oracle.litert_ref)


@pytest.mark.parametrize("name", models.available(["keras_tcn"]))
def test_a_dilated_network_of_keras(name: str) -> None:
    graph = check_rewrite(models.read(name), *NEUTRAL, *HOST)
    assert not {"pad", "transpose"} & set(kinds(graph))
    assert [node.attrs.dilations for node in graph.nodes if node.op == "conv2d"] == [(1, 2), (1, 4)]
