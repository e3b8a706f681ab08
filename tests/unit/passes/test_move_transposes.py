"""Transposes are moved until they cancel: what the graph computes stays, and what transposes move becomes no more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.importers.onnx.builder import Builder
from aboard.ir import DType, Graph, Tensor, TensorType
from aboard.ops.activation import Activation
from aboard.ops.axes import inverse
from aboard.ops.batch_matmul import BatchMatmulAttributes
from aboard.ops.conv2d import ConvAttributes
from aboard.ops.extremes import PlaceAttributes
from aboard.ops.fully_connected import FullyConnectedAttributes
from aboard.ops.gather import GatherAttributes
from aboard.ops.mirror_pad import MirrorPadAttributes
from aboard.ops.reduction import ReductionAttributes
from aboard.ops.registry import SourceNode
from aboard.ops.strided_slice import AxisSlice
from aboard.ops.transpose import attributes
from aboard.passes.merge_reshapes import MergeReshapes
from aboard.passes.move_transposes import MoveTransposes
from aboard.passes.remove_dead_code import RemoveDeadCode
from aboard.passes.remove_no_ops import RemoveNoOps
from aboard.passes.transposition import is_free
from support.examples import examples
from support.rewrites import check_rewrite, kinds

FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)


class Sketch(Builder):
    """A graph that is made step by step; values of the file are numbered, as an importer does."""

    def __init__(self) -> None:
        super().__init__(SourceNode("", 0, "sketch", [], [Tensor("t", TensorType((), DType.FLOAT32))], {}))
        self.inputs: list[Tensor] = []

    def input(self, *shape: int, dtype: DType = DType.FLOAT32) -> Tensor:
        tensor = Tensor(f"input_{len(self.inputs)}", TensorType(shape, dtype), None, len(self.inputs))
        self.inputs.append(tensor)
        return tensor

    def graph(self, *outputs: Tensor, anonymous: tuple[str, ...] = ()) -> Graph:
        """Returns the graph. Results of the ops in `anonymous` are no values of the file."""
        constants = 0
        for number, node in enumerate(self.nodes):
            for tensor in node.operands:
                if tensor.is_constant and tensor.name == "t":
                    constants += 1
                    tensor.name = f"constant_{constants}"
            for place, tensor in enumerate(node.outputs):
                tensor.name = f"t{number}_{place}"
                tensor.source = None if node.op in anonymous else 1000 * number + place
            node.name = node.outputs[0].name
        return Graph("sketch", self.inputs, list(outputs), self.nodes, "sketch")


def moved(graph: Graph) -> int:
    """Returns how many elements transposes move."""
    return sum(
        node.output.type.elements
        for node in graph.nodes
        if node.op == "transpose" and not is_free(node.input(0).shape, attributes(node).order)
    )


def rewritten(graph: Graph) -> Graph:
    after = check_rewrite(graph, MoveTransposes(), RemoveNoOps(), MergeReshapes(), RemoveDeadCode())
    assert moved(after) <= moved(graph)
    return after


def conv(make: Sketch, x: Tensor, channels: int = 3) -> Tensor:
    """Returns a convolution of [batch, channels, height, width], as the importer of ONNX reads it."""
    weights = make.array(np.arange(channels * x.shape[1]).reshape(channels, 1, 1, -1) % 5 - 2.0)
    made = make.op("conv2d", [make.transpose(x, LAST), weights], ConvAttributes(), DType.FLOAT32)
    return make.transpose(made, FIRST)


def test_transposes_between_convolutions_cancel():
    make = Sketch()
    y = conv(make, make.op("relu", [conv(make, make.input(1, 4, 5, 6))]))
    after = rewritten(make.graph(y, anonymous=("conv2d",)))
    assert kinds(after) == ["transpose", "conv2d", "relu", "conv2d", "transpose"]


def test_a_layer_keeps_its_name_in_the_file_and_says_how_its_axes_are_ordered():
    make = Sketch()
    first = conv(make, make.input(1, 4, 5, 6))
    y = conv(make, make.op("relu", [first]))
    graph = make.graph(y, anonymous=("conv2d",))
    name = first.name
    layer = rewritten(graph).nodes[1]
    assert (layer.op, layer.name, layer.output.order) == ("conv2d", name, LAST)
    assert graph.nodes[2].output.order is None


def test_both_sides_of_a_sum():
    make = Sketch()
    x = conv(make, make.input(1, 4, 5, 6))
    y = conv(make, make.op("add", [conv(make, make.op("relu", [x])), x]))
    after = rewritten(make.graph(y, anonymous=("conv2d",)))
    assert kinds(after).count("transpose") == 2


def test_a_gate_of_one_pixel_is_reshaped():
    make = Sketch()
    x = conv(make, make.input(1, 4, 5, 6))
    gate = make.op("logistic", [make.op("reduce_max", [x], ReductionAttributes((2, 3), True))])
    y = conv(make, make.op("mul", [x, gate]))
    after = rewritten(make.graph(y, anonymous=("conv2d",)))
    assert kinds(after).count("transpose") == 2


def test_constants_of_fewer_axes():
    make = Sketch()
    x = conv(make, make.input(1, 4, 5, 6))
    per_channel, scalar = make.array(np.arange(3.0).reshape(3, 1, 1)), make.scalar(2.0)
    y = conv(make, make.op("mul", [make.op("add", [x, per_channel]), scalar]))
    after = rewritten(make.graph(y, anonymous=("conv2d",)))
    assert kinds(after) == ["transpose", "conv2d", "add", "mul", "conv2d", "transpose"]


def test_joins_pads_slices_and_splits():
    make = Sketch()
    x = conv(make, make.input(1, 4, 6, 6), 4)
    low, high = make.split(make.join([x, make.op("neg", [x])], 2), 1)[:2]
    padded = make.pad(make.join([low, high], 1), [(0, 0), (0, 0), (1, 2), (3, 0)], 0)
    mirrored = make.op("mirror_pad", [padded], MirrorPadAttributes(((0, 0), (0, 0), (1, 0), (0, 1)), False))
    taken = make.take(mirrored, [AxisSlice(0, 1, 1), AxisSlice(1, 1, 1), AxisSlice(2, 3, 4), AxisSlice(9, -2, 4)])
    after = rewritten(make.graph(conv(make, taken), anonymous=("conv2d",)))
    assert kinds(after).count("transpose") == 2


def test_flattened_channels_are_put_in_order_in_the_weights():
    make = Sketch()
    x = conv(make, make.input(2, 4, 5, 6))
    flat = make.reshape(make.op("relu", [x]), (2, 90))
    weights = make.array(np.arange(180).reshape(2, 90) % 7 - 3.0)
    y = make.op("fully_connected", [flat, weights], FullyConnectedAttributes(Activation.NONE), DType.FLOAT32)
    after = rewritten(make.graph(y, anonymous=("conv2d",)))
    assert kinds(after) == ["transpose", "conv2d", "relu", "reshape", "fully_connected"]


def test_weights_that_two_layers_read_stay_as_they_are():
    make = Sketch()
    x = conv(make, make.input(1, 4, 5, 6))
    weights = make.array(np.arange(180).reshape(2, 90) % 7 - 3.0)
    layers = [
        make.op("fully_connected", [make.reshape(each, (1, 90)), weights], None, DType.FLOAT32)
        for each in (x, make.op("relu", [make.input(1, 90)]))
    ]
    after = rewritten(make.graph(*layers, anonymous=("conv2d",)))
    assert kinds(after).count("transpose") == 2


def test_a_matrix_is_read_transposed():
    make = Sketch()
    a, b = make.input(2, 3, 4), make.input(2, 5, 4)
    y = make.op("batch_matmul", [make.op("neg", [a]), make.transpose(b, (0, 2, 1))], BatchMatmulAttributes())
    z = make.op("batch_matmul", [make.transpose(make.transpose(y, (0, 2, 1)), (0, 2, 1)), b], BatchMatmulAttributes())
    after = rewritten(make.graph(z))
    assert kinds(after) == ["neg", "batch_matmul", "batch_matmul"]


def test_pixels_become_a_sequence():
    """What a vision transformer does behind its first convolution."""
    make = Sketch()
    x = conv(make, make.input(1, 4, 5, 6))
    y = make.op("neg", [make.transpose(make.reshape(x, (1, 3, 30)), (0, 2, 1))])
    after = rewritten(make.graph(y, anonymous=("conv2d",)))
    assert kinds(after) == ["transpose", "conv2d", "reshape", "neg"]


def test_another_reader_keeps_a_transpose_where_it_is():
    make = Sketch()
    x = make.transpose(make.input(1, 5, 6, 4), FIRST)
    y = make.reshape(make.op("neg", [x]), (6, 20))
    z = make.reshape(x, (6, 20))
    assert moved(rewritten(make.graph(y, z))) == 120


def test_a_shuffle_of_channels_moves_channels_alone():
    make = Sketch()
    x = make.reshape(conv(make, make.input(1, 4, 5, 6), 4), (1, 2, 2, 5, 6))
    y = conv(make, make.reshape(make.transpose(x, (0, 2, 1, 3, 4)), (1, 4, 5, 6)))
    after = rewritten(make.graph(y, anonymous=("conv2d",)))
    orders = [attributes(node).order for node in after.nodes if node.op == "transpose"]
    assert orders == [LAST, (0, 1, 2, 4, 3), FIRST]


def test_pixels_become_channels_with_one_transpose():
    make = Sketch()
    x = make.reshape(conv(make, make.input(1, 4, 4, 6), 2), (1, 2, 2, 2, 3, 2))
    y = conv(make, make.reshape(make.transpose(x, (0, 1, 3, 5, 2, 4)), (1, 8, 2, 3)))
    after = rewritten(make.graph(y, anonymous=("conv2d",)))
    assert kinds(after).count("transpose") == 3


def test_an_output_in_the_middle_of_a_network():
    make = Sketch()
    x = make.op("mul", [first := conv(make, make.input(1, 4, 5, 6)), make.op("logistic", [first])])
    after = rewritten(make.graph(conv(make, x), x, anonymous=("conv2d",)))
    assert kinds(after).count("transpose") == 3


def test_a_pad_follows_the_transpose_of_what_is_added_behind_it():
    make = Sketch()
    x = make.input(1, 4, 5, 6)
    padded = make.pad(x, [(0, 0), (0, 0), (2, 0), (0, 0)], 0)
    cut = make.take(conv(make, padded, 4), [AxisSlice(0, 1, n) for n in (1, 4, 5, 6)])
    after = rewritten(make.graph(make.op("add", [cut, x]), anonymous=("conv2d",)))
    assert [attributes(node).order for node in after.nodes if node.op == "transpose"] == [LAST, FIRST]


def test_a_gate_that_is_broadcast_first():
    make = Sketch()
    x = conv(make, make.input(1, 4, 5, 6))
    gate = make.broadcast(make.op("reduce_max", [x], ReductionAttributes((2, 3), True)), x.shape)
    after = rewritten(make.graph(conv(make, make.op("mul", [x, gate])), anonymous=("conv2d",)))
    assert kinds(after).count("transpose") == 2


@pytest.mark.parametrize("axis", range(4))
def test_places_of_the_largest_elements(axis):
    make = Sketch()
    x = make.transpose(make.input(2, 5, 6, 4), (2, 3, 1, 0))
    y = make.op("arg_max", [make.op("neg", [x])], PlaceAttributes(axis), DType.INT32)
    after = rewritten(make.graph(y))
    assert kinds(after)[:2] == ["neg", "arg_max"]


@pytest.mark.parametrize("axis", range(3))
def test_a_list_of_indices_counts_the_axis_where_it_is_by_then(axis):
    make = Sketch()
    x = make.transpose(make.input(5, 6, 4), (2, 0, 1))
    y = make.op("gather", [x, make.array(np.array([3, 0, 2]), DType.INT32)], GatherAttributes(axis))
    after = rewritten(make.graph(make.transpose(y, (1, 2, 0))))
    assert kinds(after) == ["gather"]


@st.composite
def sketches(draw):
    """Graphs of small images in which transposes and other nodes follow one another at random."""
    make = Sketch()
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3]), min_size=3, max_size=5)))
    tensors = [make.input(*shape), make.op("neg", [make.input(*shape)])]
    for _ in range(draw(st.integers(3, 14))):
        x = draw(st.sampled_from(tensors[-4:]))
        step = draw(st.sampled_from(sorted(STEPS))) if len(x.shape) > 1 else "neg"
        made = STEPS[step](draw, make, x, tensors)
        tensors += [each for each in made if each not in tensors and each.type.elements <= 5000]
    computed = {id(each) for node in make.nodes for each in node.outputs}
    outputs = [each for each in tensors if id(each) in computed]
    chosen = [each for each in outputs[1:-1] if draw(st.integers(0, 9)) == 0]
    return make.graph(*chosen, outputs[-1])


def _order(draw, rank):
    order = tuple(draw(st.permutations(range(rank))))
    return order if order != tuple(range(rank)) else tuple(reversed(range(rank)))


def _pair(draw, make, x, tensors):
    """Adds a sum with a tensor that fits, or with a constant of as many or fewer axes."""
    fits = [each for each in tensors if each.shape == x.shape]
    own = tuple(draw(st.sampled_from([1, extent])) for extent in x.shape[draw(st.integers(0, len(x.shape))) :])
    constant = make.array(np.arange(math.prod(own)).reshape(own) % 4 - 1.0)
    other = draw(st.sampled_from([*fits, constant]))
    return [make.op("add", [x, other] if draw(st.booleans()) else [other, x])]


def _reduced(draw, make, x, _tensors):
    axes = tuple(sorted(draw(st.sets(st.integers(0, len(x.shape) - 1), min_size=1, max_size=len(x.shape) - 1))))
    return [make.op("reduce_max", [x], ReductionAttributes(axes, draw(st.booleans())))]


def _reshaped(draw, make, x, _tensors):
    """Joins neighbouring axes, cuts one in two, or adds one of a single element."""
    shape, axis = list(x.shape), draw(st.integers(0, len(x.shape) - 1))
    if draw(st.booleans()) and axis + 1 < len(shape):
        shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
    elif len(shape) < 5:
        factor = draw(st.sampled_from([n for n in (1, 2, 3) if shape[axis] % n == 0]))
        shape[axis : axis + 1] = [factor, shape[axis] // factor]
    return [make.reshape(x, shape)]


STEPS = {
    "transpose": lambda draw, make, x, _: [make.transpose(x, _order(draw, len(x.shape)))],
    "there": lambda draw, make, x, _: [make.transpose(x, _order(draw, len(x.shape)))],
    "and back": lambda _draw, make, x, _: [make.transpose(x, inverse(range(len(x.shape))[::-1]))],
    "neg": lambda _draw, make, x, _: [make.op("neg", [x])],
    "pair": _pair,
    "reduce": _reduced,
    "reshape": _reshaped,
    "join": lambda draw, make, x, _: [make.join([x, x], draw(st.integers(0, len(x.shape) - 1)))],
    "split": lambda draw, make, x, _: make.split(x, draw(st.integers(0, len(x.shape) - 1))),
    "softmax": lambda _draw, make, x, _: [make.op("softmax", [x])],
    "pad": lambda draw, make, x, _: [
        make.pad(x, [(draw(st.integers(0, 1)), draw(st.integers(0, 1))) for _ in x.shape], 2)
    ],
}


@given(sketches())
@settings(max_examples=examples(400), deadline=None)
def test_any_graph(graph):
    rewritten(graph)


@pytest.mark.parametrize(("shape", "order", "free"), [((1, 4, 1), (2, 0, 1), True), ((2, 4), (1, 0), False)])
def test_a_transpose_of_single_elements_is_free(shape, order, free):
    assert is_free(shape, order) is free
