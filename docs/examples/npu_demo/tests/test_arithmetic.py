"""The arithmetic without numpy equals that with it; the property over layers compares both with the compiler's ops."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.ir.numerics import multiply_by_quantized_multiplier
from npu_demo import arithmetic, fast
from npu_demo.arithmetic import Conv


@settings(deadline=None, max_examples=50)
@given(
    st.integers(-(2**31), 2**31 - 1),
    st.one_of(st.just(0), st.integers(2**30, 2**31 - 1)),
    st.integers(-31, 8),
)
def test_requantisation_is_the_compilers(total: int, multiplier: int, shift: int) -> None:
    expected = multiply_by_quantized_multiplier(np.array([total]), np.array([multiplier]), np.array([shift]))
    assert arithmetic.requantized(total, multiplier, shift) == expected[0]


@st.composite
def convolutions(draw: st.DrawFn) -> Conv:
    depthwise, taps = draw(st.booleans()), draw(st.sampled_from([1, 3]))
    transposed = not depthwise and taps == 1 and draw(st.booleans())
    rows, cols, channels = (draw(st.integers(taps, 5)) for _ in range(3))
    outputs = channels if depthwise else draw(st.integers(1, 4))
    strides = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    padding = tuple(draw(st.integers(0, taps - 1)) for _ in range(4))
    sizes = (rows + sum(padding[:2]), cols + sum(padding[2:]))
    out = [(size - taps) // stride + 1 for size, stride in zip(sizes, strides, strict=True)]
    zeros = draw(st.integers(-128, 127)), draw(st.integers(-128, 127))
    low = draw(st.integers(-128, 127))
    limits = low, draw(st.integers(low, 127))
    return Conv(
        depthwise, transposed, rows, cols, channels, *out, outputs, (taps, taps), strides, padding, zeros, limits
    )


@settings(deadline=None, max_examples=50)
@given(convolutions(), st.integers(0, 2**32 - 1))
def test_both_arithmetics_agree(conv: Conv, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, weights, parameters, result = arithmetic.sizes(conv)
    scale = np.stack(
        [
            rng.integers(-(2**20), 2**20, conv.outputs),
            rng.integers(2**30, 2**31, conv.outputs),
            rng.integers(-12, 2, conv.outputs),
        ],
        axis=1,
    ).astype("<i4")
    assert scale.nbytes == parameters
    operands = rng.bytes(x), rng.bytes(weights), scale.tobytes()
    got = arithmetic.compute(conv, *operands)
    assert len(got) == result
    assert got == fast.compute(conv, *operands)
