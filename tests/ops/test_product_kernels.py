"""Kernels of products of matrices of int8 for the DSP extension and Helium, called as C."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.importers import load
from aboard.ir import DType
from aboard.kernels import of
from aboard.kernels.contract import KernelCall
from aboard.kernels.select import strategy
from aboard.kernels.view import View
from aboard.ops import get
from aboard.target import Target
from support import kernel_call, products, sanitized
from support.examples import examples
from support.kernel_call import Placed
from support.preferred import preferred

M4 = Target("c -mcpu=cortex-m4 -runtime=standalone")


def check(case: products.Case) -> None:
    """Fails unless every kernel computes what the op does."""
    (node,) = load(products.model([case])).nodes
    operands = products.values(case)
    (expected,) = get(node.op).evaluate(node, operands)
    views, result = [View.whole(x.shape, 1) for x in operands], View.whole(expected.shape, 1)
    kernels = [kernel for kernel in of(node.op) if kernel.refuses(node, M4) is None]
    assert {kernel.name for kernel in kernels} == {"dsp_s8", "arm_mve_s8", "portable"}
    for kernel in kernels:
        call = kernel.lower(node, views, [result], M4)
        assert isinstance(call, KernelCall)
        places = [Placed.of(np.zeros_like(expected), result)]
        inputs = [Placed.of(x, view) for x, view in zip(operands, views, strict=True)]
        kernel_call.run(call, inputs, places, [(0, call.rows)])
        np.testing.assert_array_equal(places[0].values(expected.shape, expected.dtype), expected, err_msg=kernel.name)


@pytest.mark.parametrize("case", products.CASES, ids=str)
def test_every_way(case: products.Case) -> None:
    check(case)


@settings(max_examples=examples(15), deadline=None)
@given(
    st.builds(
        products.Case,
        rows=st.integers(1, 9),
        depth=st.integers(1, 40),
        cols=st.integers(1, 9),
        batches=st.sampled_from([(1, 1), (2, 2), (1, 3), (3, 1)]),
        adj_x=st.booleans(),
        adj_y=st.booleans(),
        zero_points=st.tuples(st.integers(-128, 127), st.integers(-128, 127)),
    )
)
def test_any_shape(case: products.Case) -> None:
    check(case)


@pytest.mark.parametrize(("core", "kernel"), [("cortex-m4", "dsp_s8"), ("cortex-m55", "arm_mve_s8")])
def test_sanitized(core: str, kernel: str) -> None:
    model = products.model(products.CASES)
    with strategy.forced(preferred(kernel)):
        module = aboard.compile(model, target=f"c -mcpu={core}", name="net")
    assert {node.implementation for node in module.manifest.nodes} == {kernel}
    sanitized.check_as_native(module, model, sanitized.random_feed(module, 1))


def test_what_is_left_to_the_portable_kernel() -> None:
    kernels = {kernel.name: kernel for kernel in of("batch_matmul")}
    (node,) = load(products.model([products.Case(2, 3, 8192)])).nodes
    far = "is for elements at most 8191 bytes apart, got 8192"
    assert kernels["arm_mve_s8"].refuses(node, M4) == far
    for tensor in [*node.operands, node.output]:
        tensor.type = replace(tensor.type, dtype=DType.INT16)
    assert [kernels[name].refuses(node, M4) for name in ("dsp_s8", "arm_mve_s8")] == ["is for int8"] * 2
