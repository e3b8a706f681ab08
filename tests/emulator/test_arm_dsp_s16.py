"""Kernels of int16 for the DSP extension on emulated cores: random layers give the bytes of tflite-micro.

Each image carries several models, because building one takes longer than running them all.
"""

from __future__ import annotations

import dataclasses
import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aboard
from support import oracle
from support.element_models import Value, build
from support.examples import beyond_the_simplest, either, without_shrinking
from support.weighted_models import Layer, layers

BATCH = 10
KINDS = ("CONV_2D", "CONV_2D", "FULLY_CONNECTED", "DEPTHWISE_CONV_2D")
OPTIONS = {"Padding": "VALID", "StrideH": 1, "StrideW": 1}


def check(drawn: Sequence[Layer], board: str = "arm/mps2_an386", opt: str | Sequence[str] | None = None) -> None:
    """Fails unless all layers, in one image, give the reference's bytes."""
    check_models([(layer.model(), [layer.input()], str(layer)) for layer in drawn], board, opt)


def check_models(
    cases: Sequence[tuple[bytes, list[np.ndarray], str]],
    board: str = "arm/mps2_an386",
    opt: str | Sequence[str] | None = None,
) -> None:
    """Fails unless all models, in one image, give the reference's bytes for their inputs; preferences take turns."""
    opts = itertools.cycle([opt] if opt is None or isinstance(opt, str) else opt)
    modules = [
        aboard.compile(model, board=board, name=f"m{i}", opt=next(opts)) for i, (model, _, _) in enumerate(cases)
    ]
    with tempfile.TemporaryDirectory() as folder:
        project = aboard.create(modules, board=board, path=Path(folder) / "project")
        project.build()
        with project.session() as device:
            for number, (model, inputs, what) in enumerate(cases):
                (wanted,) = oracle.tflm(model, *inputs)
                names = [tensor.name for tensor in modules[number].manifest.inputs]
                got = device.run(dict(zip(names, inputs, strict=True)), model=f"m{number}")
                np.testing.assert_array_equal(got, wanted, err_msg=f"model {number}: {what}")


@without_shrinking(either(4, 1))
@given(
    beyond_the_simplest(
        st.lists(st.sampled_from(KINDS).flatmap(lambda kind: layers(kind, "int16")), min_size=BATCH, max_size=BATCH)
    ),
    st.sampled_from(["size", "balanced", "speed"]),
)
def test_random_layers(drawn: list[Layer], opt: str) -> None:
    check(drawn, opt=opt)


def pointwise(groups: int, channels: int = 3, activation: str = "NONE", **fields: object) -> Layer:
    options = {**OPTIONS, "FusedActivationFunction": activation}
    shapes = (1, 1, 3, 4 * groups), (channels, 1, 1, 4 * groups), (1, 1, 3, channels)
    return dataclasses.replace(Layer("CONV_2D", *shapes, 0, options, form="int16"), **fields)


def dense(inputs: int, outputs: int, activation: str = "NONE", **fields: object) -> Layer:
    shapes, options = ((2, inputs), (outputs, inputs), (2, outputs)), {"FusedActivationFunction": activation}
    return dataclasses.replace(Layer("FULLY_CONNECTED", *shapes, 0, options, form="int16"), **fields)


@pytest.mark.parametrize("opt", either(["size", "speed"], [("size", "speed")]))
def test_every_entry_of_the_unrolled_loops(opt: str | tuple[str, ...]) -> None:
    # One tap group, whole iterations, one more, one less; the short form with and without rectifier, both long ones.
    counts = (1, 2, 3, 7, 8, 9, 15, 16, 17, 33)
    drawn = [pointwise(groups, 2 + groups % 3, ("NONE", "RELU", "RELU6")[groups % 3]) for groups in counts]
    drawn += [pointwise(groups, 3, wide=False) for groups in (1, 8, 17)]
    drawn += [dense(4 * groups - groups % 3, 3 + groups % 5, ("NONE", "RELU")[groups % 2]) for groups in counts]
    drawn += [dense(33, 6, wide=False), dense(40, 5, spread=1e-2)]
    check(drawn, opt=opt)


@pytest.mark.parametrize("opt", ["size", "speed"])
def test_more_products_than_32_bits_hold(opt: str) -> None:
    options = {**OPTIONS, "Padding": "SAME"}
    conv = Layer("CONV_2D", (1, 4, 3, 141), (3, 3, 3, 141), (1, 4, 3, 3), 0, options, form="int16")
    drawn = [conv, dataclasses.replace(conv, wide=False), dense(2600, 5), dense(2599, 6, wide=False)]
    check([dataclasses.replace(layer, spread=0.5) for layer in drawn], opt=opt)


@pytest.mark.parametrize(
    ("board", "name"),
    [("arm/mps2_an500", "dsp_s16"), ("arm/mps2_an505", "dsp_s16"), ("arm/mps3_an547", "dsp_s16"),
     ("arm/mps2_an385", "portable_s16")],
)  # fmt: skip
def test_other_cores(board: str, name: str) -> None:
    drawn = [pointwise(9, 5), pointwise(3, 4, "RELU"), dense(50, 6), dense(64, 8), dense(20, 3, wide=False)]
    module = aboard.compile(drawn[0].model(), board=board, name="m")
    assert [node.implementation for node in module.manifest.nodes] == [name]
    check(drawn, board)


def test_ties_of_sums() -> None:
    # Scales that differ by powers of two round ties all the time, on both sides of zero.
    rng, options = np.random.default_rng(0), {"FusedActivationFunction": "NONE"}
    near = np.arange(-1024, 1024)
    x, y = (np.concatenate([near, rng.integers(-32768, 32768, 2048)]).astype(np.int16)[None] for _ in range(2))
    y = rng.permutation(y, axis=1)
    cases = [("ADD", 1.0, 1.0), ("SUB", 0.5, 2.0), ("ADD", 0.25, 1.0), ("SUB", 2.0**-12, 1.0), ("ADD", 0.7, 0.9)]
    drawn = []
    for kind, ratio, out in cases:
        values = [Value(x.shape, np.int16, float(np.float32(scale))) for scale in (0.001, 0.001 * ratio, 0.002 * out)]
        drawn.append((build(kind, values[:2], values[2], options), [x, y], f"{kind} {ratio} {out}"))
    check_models(drawn)
