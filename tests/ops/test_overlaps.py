"""Results over their operand, exactly as near as a kernel allows: its C still gives what `evaluate` gives.

The planner lets a result grow over the operand of its layer (`Implementation.overlap`), or lays both into the same
memory (`runs_in_place`). A kernel that reads a byte after it was overwritten is right everywhere else. The assembly of
a kernel and the C beside it read and write in orders of their own, and both keep the promise: here it is the C, on
emulated cores the assembly (`tests/emulator`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard import kernels
from aboard.importers import load
from aboard.ir import Node
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.view import View
from aboard.ops import get
from aboard.target import Target
from support import dsp_layers, kernel_call, mve_images, mve_layers, weighted_models
from support.examples import either, examples
from support.kernel_call import Placed
from support.kernel_points import tuned
from support.tflite_builder import ModelBuilder
from support.weighted_models import ACTIVATIONS, Layer, window_out

#: A target for each set of kernels.
TARGETS = {
    "portable": Target("c -mcpu=cortex-m0 -runtime=standalone"),
    "arm_thumb1": Target("c -mcpu=cortex-m0 -runtime=standalone"),
    "arm_mla": Target("c -mcpu=cortex-m3 -runtime=standalone"),
    "arm_dsp": Target("c -mcpu=cortex-m4 -runtime=standalone"),
    "arm_mve": Target("c -mcpu=cortex-m55 -runtime=standalone"),
}
SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck))


def accepting(node: Node, keys: Collection[str] = TARGETS.keys()) -> Iterator[tuple[Implementation, Target]]:
    """Yields the implementations that have C and accept a node, each with its target, of some sets of kernels."""
    for implementation in kernels.of(node.op):
        for key in implementation.keys & set(keys):
            if implementation.refuses(node, TARGETS[key]) is None:
                yield implementation, TARGETS[key]


def check(data: st.DataObject, model: bytes, x: np.ndarray, keys: Collection[str] = TARGETS.keys()) -> None:
    """Fails unless every kernel that accepts the only node of a model keeps what it says, at a drawn point.

    Args:
        data: What points are drawn from.
        model: The model.
        x: Its input.
        keys: Sets of kernels.
    """
    (node,) = load(model, name="model").nodes
    constants = [None if t is None else t.data for t in node.inputs[1:]]
    wanted = get(node.op).evaluate(node, [x, *constants])[0]
    size = node.output.dtype.bytes
    views = View.whole(x.shape, size), View.whole(wanted.shape, size)
    trials = []
    for own, target in accepting(node, keys):
        implementation = data.draw(tuned(own, node, target))
        if (0, 0) in implementation.runs_in_place(node):
            trials.append(trial(None, implementation, node, target, views, 0))
        behind = distances(implementation, node, *views)
        trials += [trial(data, implementation, node, target, views, distance) for distance in behind]
    if trials:
        with kernel_call.library([one.call for one in trials]) as run:
            for number, one in enumerate(trials):
                check_at(number, one, run, x, wanted)


def distances(implementation: Implementation, node: Node, x: View, y: View) -> set[int]:
    """Returns how far behind the result the operand may begin: at least, and where pixels lie otherwise.

    Both lie at multiples of what the kernel requires.
    """
    rest = [None] * (len(node.inputs) - 1)
    distance = implementation.overlap(node, [x, *rest], [y])
    if distance is None:
        return set()
    step = max(implementation.alignment(node), x.element_bytes)
    return {-(-each // step) * step for each in (distance, distance + 3 * x.element_bytes)}


@dataclass(frozen=True)
class Trial:
    """A call, the rows of each time that it is made, and the views of its operand and its result in one memory."""

    call: KernelCall
    ranges: list[tuple[int, int]]
    operand: View
    result: View
    where: str


def trial(
    data: st.DataObject | None,
    implementation: Implementation,
    node: Node,
    target: Target,
    views: tuple[View, View],
    distance: int,
) -> Trial:
    """Returns a call whose operand begins `distance` bytes behind its result.

    Rows are drawn from `data`; without, all are computed at once, as is promised to a kernel that runs in place.
    """
    operand, result = replace(views[0], offset=distance), views[1]
    call = implementation.lower(node, [operand, *[None] * (len(node.inputs) - 1)], [result], target)
    ranges = [(0, call.rows)] if data is None else data.draw(kernel_call.row_ranges(call.rows, call.step_rows))
    where = f"{implementation.op} {implementation.name}, operand {distance} bytes behind"
    return Trial(call, ranges, operand, result, where)


def check_at(number: int, one: Trial, run: kernel_call.Run, x: np.ndarray, wanted: np.ndarray) -> None:
    """Fails unless a call, which has a number in a library, gives the result."""
    y, operand = one.result, one.operand
    memory = np.full(max(y.span, operand.offset + operand.span), kernel_call.GAP, np.uint8)
    placed = Placed(operand, memory)
    placed.pixels()[...] = x.reshape(operand.rows, operand.cols, -1).view(np.uint8)
    for first, last in one.ranges:
        run(number, [placed], [Placed(y, memory)], first, last)
    got = Placed(y, memory).values(wanted.shape, wanted.dtype)
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4 * float(np.abs(wanted).max()), err_msg=one.where)
    else:
        np.testing.assert_array_equal(got, wanted, err_msg=one.where)


@settings(SETTINGS, max_examples=examples(30))
@given(st.data(), st.sampled_from(["CONV_2D", "DEPTHWISE_CONV_2D"]), st.sampled_from(["int8", "int16", "float32"]))
def test_windows(data: st.DataObject, kind: str, form: str) -> None:
    layer = data.draw(weighted_models.layers(kind, form))
    check(data, layer.model(), layer.input())


@settings(SETTINGS, max_examples=examples(30))
@given(st.data(), st.sampled_from(["CONV_2D", "DEPTHWISE_CONV_2D"]))
def test_windows_with_a_kernel_of_their_own(data: st.DataObject, kind: str) -> None:
    layer = data.draw(dsp_layers.layers(kind))
    check(data, layer.model(), layer.input())


@settings(SETTINGS, max_examples=examples(20))
@given(st.data(), mve_layers.windowed())
def test_windows_as_wide_as_vectors(data: st.DataObject, layer: Layer) -> None:
    check(data, layer.model(), layer.input())


@pytest.mark.parametrize("form", mve_layers.forms())
def test_every_form_of_helium(form: str) -> None:
    layer, function, fields = mve_layers.forms()[form]
    (node,) = load(layer.model(), name="model").nodes
    implementation, target = mve_layers.implementation(node), TARGETS["arm_mve"]
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    call = implementation.lower(node, [x, None, None], [y], target)
    assert call.function == function
    assert {name: call.params[name] for name in fields} == fields
    assert distances(implementation, node, x, y) or implementation.runs_in_place(node)

    @settings(SETTINGS, max_examples=1)
    @given(st.data())
    def at_every_distance(data: st.DataObject) -> None:
        check(data, layer.model(), layer.input(), either(TARGETS, ["arm_mve"]))

    at_every_distance()


@pytest.mark.parametrize("layer", mve_images.shrinking(), ids=lambda layer: "x".join(map(str, layer.shape_in)))
def test_smaller_images_over_pixels_of_the_same_channels(layer: Layer) -> None:
    (node,) = load(layer.model(), name="model").nodes
    implementation = mve_layers.implementation(node)
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    assert implementation.overlap(node, [x, None, None], [y]) == 0
    assert implementation.alignment(node) == layer.channels

    @settings(SETTINGS, max_examples=1)
    @given(st.data())
    def at_every_distance(data: st.DataObject) -> None:
        check(data, layer.model(), layer.input(), ["arm_mve"])

    at_every_distance()


@pytest.mark.parametrize("layer", mve_images.columns_of_fours(), ids=lambda layer: "x".join(map(str, layer.shape_in)))
def test_columns_of_four_channels_at_once(layer: Layer) -> None:
    (node,) = load(layer.model(), name="model").nodes
    found, target = mve_layers.implementation(node).in_less_scratch(node), TARGETS["arm_mve"]
    assert found is not None
    views = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    own, few = (
        each.lower(node, [views[0], None, None], [views[1]], target)
        for each in (mve_layers.implementation(node), found)
    )
    assert isinstance(few, KernelCall)
    assert (few.params["words"], few.params["column"]) == (4, 1)
    assert sum(each.bytes for each in few.scratch) < sum(each.bytes for each in own.scratch)
    (wanted,) = get(node.op).evaluate(node, [layer.input(), *(t.data for t in node.inputs[1:] if t is not None)])
    behind = distances(found, node, *views) or {views[1].span}
    trials = [trial(None, found, node, target, views, distance) for distance in behind]
    with kernel_call.library([one.call for one in trials]) as run:
        for number, one in enumerate(trials):
            check_at(number, one, run, layer.input(), wanted)


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 6, 7, 8, 16])
@pytest.mark.parametrize("channels", [4, 8, 16, 20])
def test_single_pixels_kept_in_registers(depth: int, channels: int) -> None:
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU6"}
    shapes = (1, 5, 7, depth), (channels, 1, 1, depth), (1, 5, 7, channels)
    layer = Layer("CONV_2D", *shapes, 0, options, zero_point_out=-128)
    (node,) = load(layer.model(), name="model").nodes
    names = {implementation.name for implementation, _ in accepting(node)}
    assert (dsp_layers.FEW in names, dsp_layers.POINTS in names) == (depth <= 8, depth in {8, 16})

    @settings(SETTINGS, max_examples=1)
    @given(st.data())
    def at_every_distance(data: st.DataObject) -> None:
        check(data, layer.model(), layer.input(), either(TARGETS, ["arm_dsp"]))

    at_every_distance()


@settings(SETTINGS, max_examples=examples(15))
@given(
    st.data(),
    st.sampled_from(["AVERAGE_POOL_2D", "MAX_POOL_2D"]),
    st.sampled_from([np.int8, np.int8, np.int16, np.float32]),
)
def test_pools(data: st.DataObject, kind: str, dtype: type) -> None:
    size = [data.draw(st.integers(1, 10)) for _ in range(2)]
    window = [data.draw(st.integers(1, min(n, 9))) for n in size]
    strides, padding = [data.draw(st.integers(1, 4)) for _ in range(2)], data.draw(st.sampled_from(["SAME", "VALID"]))
    out = [window_out(*axis, 1, padding) for axis in zip(size, window, strides, strict=True)]
    batch, depth = data.draw(st.integers(1, 2)), data.draw(st.sampled_from([1, 3, 4, 8, 17]))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"FilterHeight": window[0], "FilterWidth": window[1]}
    options["FusedActivationFunction"] = data.draw(st.sampled_from(ACTIVATIONS))
    quantised = {} if dtype is np.float32 else {"scale": 0.03, "zero_point": 0 if dtype is np.int16 else 4}
    build = ModelBuilder().tensor("x", (batch, *size, depth), dtype, **quantised)
    build.tensor("y", (batch, *out, depth), dtype, **quantised).op(kind, ["x"], ["y"], options)
    x = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-128, 128, (batch, *size, depth)).astype(dtype)
    check(data, build.build(["x"], ["y"]), x)
