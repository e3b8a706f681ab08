"""Behind a free batch, shapes follow from the operators, where the file states those of a batch of 1."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import aboard
from aboard.check.reference import Reference
from aboard.errors import ModelError
from aboard.importers import load
from aboard.importers.tflite_undefined import UNSET_PADDING, WRONG_SHAPES
from support import models, one_op, oracle
from support.dilated_models import Dilated, dilated
from support.examples import examples
from support.tflite_builder import ModelBuilder

PLAIN = Dilated(pads=((0, 0), (2, 2)), free=True)


@settings(max_examples=examples(80), deadline=None)
@given(dilated())
def test_results_are_those_of_litert(case: Dilated) -> None:
    one_op.check_equal(case.model(), case.image(), reference=oracle.litert_ref)


def test_true_shapes_and_a_note() -> None:
    graph = load(PLAIN.model())
    assert graph.undefined_in_tflm == WRONG_SHAPES
    shapes = {tensor.name: tensor.shape for tensor in graph.tensors()}
    assert (shapes["blocks"], shapes["rows"], shapes["conv"]) == ((2, 8, 2), (2, 1, 8, 2), (2, 1, 6, 3))
    assert shapes["y"] == (1, 12, 3)
    assert graph.notes[1] == (
        "behind node 0 SPACE_TO_BATCH_ND, the batch is 2 and the file states 1: shapes are computed from the "
        "operators, as LiteRT computes them. tflite-micro gives other numbers: it keeps the file's batch of 1 and "
        "reads memory that it never wrote"
    )
    assert not load(Dilated().model()).undefined_in_tflm


def test_padding_that_tflite_micro_never_sets() -> None:
    """Its SPACE_TO_BATCH_ND pads with a field that nothing initialises, so `verify` compares with LiteRT."""
    model = replace(PLAIN, free=False).model()
    assert load(model).undefined_in_tflm == UNSET_PADDING
    reference = Reference.open(model)
    assert reference.name == "litert"
    assert UNSET_PADDING in reference.note
    one_op.check_equal(model, PLAIN.image(), reference=lambda _, x: list(reference.run({"x": x}).values()))


def test_padding_of_a_subgraph_that_nothing_calls() -> None:
    """Its operands are not checked: here there are no paddings."""
    left = ModelBuilder(border=(["x"], ["y"])).tensor("x", (1, 2, 1), np.float32).tensor("y", (2, 2, 1), np.float32)
    builder = Dilated().builder()
    builder.called.append(left.op("SPACE_TO_BATCH_ND", ["x"], ["y"], {}))
    assert not load(builder.build(["x"], ["y"])).undefined_in_tflm


def test_a_file_without_a_free_batch_is_believed() -> None:
    builder = PLAIN.builder()
    for tensor in builder._tensors:
        tensor.signature = None
    with pytest.raises(ModelError, match=r"result shape, got \(1, 8, 2\), expected \(2, 8, 2\)"):
        load(builder.build(["x"], ["y"]))


def test_a_fixed_extent_of_the_signature_stays() -> None:
    builder = PLAIN.builder()
    next(tensor for tensor in builder._tensors if tensor.name == "blocks").signature = (-1, 7, 2)
    with pytest.raises(ModelError, match=r"node 0 SPACE_TO_BATCH_ND: result shape, got \(1, 8, 2\)"):
        load(builder.build(["x"], ["y"]))


def test_operators_between_have_the_batch_of_their_operands() -> None:
    builder = Dilated(line=False, size=(4, 4), block=(2, 2), window=(1, 1), free=True).builder()
    quant = {"scale": 0.05, "zero_point": -7}
    builder.tensor("a", (1, 2, 2, 2), np.int8, signature=(-1, 2, 2, 2), **quant).op("RELU", ["blocks"], ["a"])
    builder.tensor("s", (4,), np.int32).op("SHAPE", ["a"], ["s"], {"OutType": "INT32"})
    builder.tensor("r", (1, 8), np.int8, signature=(-1, 8), **quant)
    builder.tensor("k", (2,), np.int32, data=[-1, 8]).op("RESHAPE", ["a", "k"], ["r"], {})
    model = builder.build(["x"], ["a", "s", "r"])
    assert [output.shape for output in load(model).outputs] == [(4, 2, 2, 2), (4,), (4, 8)]
    one_op.check_equal(model, Dilated(line=False, size=(4, 4)).image(), reference=oracle.litert_ref)


def test_verify_compares_with_litert(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = Reference.open(PLAIN.model())
    assert reference.name == "litert"
    assert "reads memory that it never wrote" in reference.note
    own = Reference.open(PLAIN.model(), "numpy")
    expected, got = reference.tensors({"x": PLAIN.image()}), own.tensors({"x": PLAIN.image()})
    assert got.keys() == expected.keys()
    for number, value in expected.items():
        np.testing.assert_array_equal(got[number], value)
    with pytest.raises(ModelError, match="believes shapes of the file that are wrong"):
        Reference.open(PLAIN.model(), "tflm")
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    without = Reference.open(PLAIN.model())
    assert without.name == "numpy"
    assert "LiteRT: not installed" in without.note


def beside_another_branch(case: Dilated) -> bytes:
    """Returns a case's file with a second input `v` that goes to an output of its own, and has no part in the first."""
    builder, shape = case.builder(), (case.batch, case.size_out[1], case.filters)
    for name in ("out", "v", "z", "other"):
        builder.tensor(name, shape, np.int8, scale=0.4, zero_point=11)
    for before, result in (("y", "out"), ("v", "z"), ("z", "other")):
        builder.op("RELU", [before], [result], {})
    return builder.build(["x", "v"], ["out", "other"])


def test_tflite_micro_gives_other_outputs_for_the_same_inputs() -> None:
    """Half of `y` is memory that tflite-micro never writes, so that its output depends on the run before.

    The memory has `z` of the run before. For the file with true shapes it computes what this package computes for both.
    """
    case = Dilated(filters=5, free=True)  # The results are larger than the image and take its place.
    model, image, rng = beside_another_branch(case), case.image(), np.random.default_rng(3)
    one, other = (rng.integers(-128, 128, (1, case.size_out[1], 5)).astype(np.int8) for _ in range(2))
    steps = [(image, one), (image, one), (image, other), (image, one)]
    _, wrong, _, again = (outputs[0] for outputs in oracle.tflm_steps(model, steps))
    assert (wrong != again).any(), "the same inputs as two runs before"
    sound = oracle.tflm_steps(beside_another_branch(replace(case, free=False)), steps)
    module = aboard.compile(model, target="c -runtime=host")
    for (x, v), outputs in zip(steps, sound, strict=True):
        np.testing.assert_array_equal(module.run({"x": x, "v": v})["out"], outputs[0])


@pytest.mark.parametrize("name", models.available(["keras_tcn"]))
def test_a_dilated_network_of_keras(name: str) -> None:
    data, rng = models.read(name), np.random.default_rng(3)
    module = aboard.compile(data, target="c -runtime=host")
    for _ in range(20):
        x = rng.integers(-128, 128, (1, 256, 1)).astype(np.int8)
        np.testing.assert_array_equal(module.run(x), oracle.litert_ref(data, x)[0])
