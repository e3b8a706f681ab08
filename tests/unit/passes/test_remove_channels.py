"""Channel removal: what is left has the values it had, and what can go is gone."""

import copy
import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aboard import ops
from aboard.check.reference import Reference
from aboard.importers import load
from aboard.ir import ChannelMap, Graph, Node, Tensor
from aboard.ops.interpreter import run_all
from aboard.ops.subgraph import Matched, SubgraphAttributes
from aboard.passes import HOST, NEUTRAL, run_passes, run_pipeline
from aboard.passes.remove_channels import RemoveChannels
from support import models
from support.channel_models import random_model
from support.rewrites import check_survivors, inputs_of, kinds
from support.tflite_builder import ModelBuilder


def prepared(model):
    """Returns the graph of a model as it comes to the pass."""
    graph = load(model)
    run_passes(graph, [p for p in (*NEUTRAL, *HOST) if not isinstance(p, RemoveChannels)])
    return graph


def check(before, after, seeds=3):
    """Checks what survives on random inputs, on the extremes, and on inputs that are extreme at random."""
    feeds = [inputs_of(before, seed) for seed in range(seeds)]
    feeds += [{name: np.full_like(x, value) for name, x in feeds[0].items()} for value in (-128, 127)]
    feeds += [{name: np.where(x > 0, 127, -128).astype(np.int8) for name, x in feeds[0].items()}]
    for feed in feeds:
        check_survivors(after, run_all(after, feed), run_all(before, feed))


def reduced(model, block=1):
    """Returns the graph after the pass, checked."""
    before = prepared(model)
    after = copy.deepcopy(before)
    run_passes(after, [RemoveChannels(block)])
    check(before, after)
    return after


def macs(graph):
    return sum(ops.get(node.op).macs(node) for node in graph.nodes)


def weights_bytes(graph):
    return sum(t.type.bytes for t in graph.tensors() if t.is_constant and t.dtype.value == "int8")


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 4]))
@example(11664, 1)  # Without its dead operands, a sum has a narrower range, and becomes constant.
@settings(max_examples=60, deadline=None)
def test_random_graphs_keep_their_values(seed, block):
    for tensor in reduced(random_model(seed), block).tensors():
        assert tensor.channel_map is None or tensor.shape[-1] % block == 0


def test_random_graphs_do_lose_channels():
    before = [prepared(random_model(seed)) for seed in range(12)]
    after = copy.deepcopy(before)
    for graph in after:
        run_passes(graph, [RemoveChannels()])
    assert sum(map(macs, after)) < 0.6 * sum(map(macs, before))


class Chain:
    """Builds x -> first convolution 1x1 -> what the test adds -> y; weights are given, everything has scale 1/16."""

    def __init__(self, first, bias=None, image=(4, 4), zero_point=0):
        self.builder, self.image = ModelBuilder(), image
        first = np.array(first)
        self.tensor("x", first.shape[1], 0).tensor("a", len(first), zero_point)
        self.conv("x", "a", first.reshape(len(first), 1, 1, -1), bias)

    def tensor(self, name, channels, zero_point=0):
        self.builder.tensor(name, (1, *self.image, channels), np.int8, scale=1 / 16, zero_point=zero_point)
        return self

    def constant(self, name, values, dtype=np.int8):
        self.builder.tensor(name, np.shape(values), dtype, scale=1 / 16 if dtype is np.int8 else 1 / 256, data=values)
        return name

    def conv(self, x, y, weights, bias=None, options=None):
        operands = [x, self.constant(f"{y}_w", weights)]
        if bias is not None:
            operands.append(self.constant(f"{y}_b", bias, np.int32))
        self.builder.op("CONV_2D", operands, [y], {"StrideH": 1, "StrideW": 1, "Padding": "SAME", **(options or {})})
        return self

    def reduced(self, *outputs):
        return reduced(self.builder.build(["x"], list(outputs or "y")))


def tensor(graph, name):
    return next(t for t in graph.tensors() if t.name == name)


def test_channels_without_weights_go_into_the_bias():
    chain = Chain([[5, 3], [0, 0], [1, -2]], [0, 32, 0]).tensor("y", 2)
    after = chain.conv("a", "y", np.array([[1, 2, 3], [4, 5, 6]]).reshape(2, 1, 1, 3)).reduced()
    assert tensor(after, "a").channel_map == ChannelMap((0, 2), 3)
    assert tensor(after, "a").shape == (1, 4, 4, 2)
    # 32 / 16 = 2 is what the channel held; the reader had weights of 2 and 5 for it, and had no bias.
    np.testing.assert_array_equal(after.nodes[1].input(2).data, [4, 10])
    np.testing.assert_array_equal(after.nodes[1].input(1).data.reshape(2, 2), [[1, 3], [4, 6]])


def test_channels_that_only_saturate_are_constant():
    chain = Chain([[1, 1], [1, 1]], [0, 1 << 20]).tensor("y", 1)
    after = chain.conv("a", "y", np.ones((1, 1, 1, 2))).reduced()
    assert tensor(after, "a").channel_map == ChannelMap((0,), 2)


@pytest.mark.parametrize(("zero_point", "removed"), [(2, True), (0, False)])
def test_padding_is_not_the_constant(zero_point, removed):
    chain = Chain([[5], [0]], [0, (2 - zero_point) * 16], zero_point=zero_point).tensor("y", 1)
    after = chain.conv("a", "y", np.ones((1, 3, 3, 2))).reduced()
    assert (tensor(after, "a").channel_map is not None) is removed


def test_without_padding_any_constant_goes():
    chain = Chain([[5], [0]], [0, 32])
    chain.builder.tensor("y", (1, 2, 2, 1), np.int8, scale=1 / 16, zero_point=0)
    after = chain.conv("a", "y", np.ones((1, 3, 3, 2)), options={"Padding": "VALID"}).reduced()
    assert tensor(after, "a").shape[-1] == 1
    assert after.nodes[1].input(2).data.tolist() == [18]


@pytest.mark.parametrize(("second", "left"), [(27, 2), (28, 3)])
def test_equal_channels_are_merged_where_weights_fit(second, left):
    chain = Chain([[5, 3], [2, 1], [5, 3]], [7, 0, 7]).tensor("y", 1)
    after = chain.conv("a", "y", np.array([100, 1, second]).reshape(1, 1, 1, 3)).reduced()
    assert tensor(after, "a").shape[-1] == left
    assert left == 3 or after.nodes[1].input(1).data.ravel().tolist() == [127, 1]


def test_equality_and_constants_pass_through_other_operators():
    chain = Chain([[5, 3], [0, 0], [5, 3], [1, 2]], [1, 9, 1, 2])
    for name in ("r", "s"):
        chain.tensor(name, 4)
    chain.tensor("y", 1).builder.op("LEAKY_RELU", ["a"], ["r"], {"Alpha": 0.5}).op("MUL", ["r", "r"], ["s"], {})
    after = chain.conv("s", "y", np.array([1, 2, 3, 4]).reshape(1, 1, 1, 4)).reduced()
    assert [tensor(after, name).channel_map for name in "ars"] == [ChannelMap((0, 3), 4)] * 3
    assert after.nodes[-1].input(1).data.ravel().tolist() == [4, 4]


def test_what_the_caller_reads_stays():
    chain = Chain([[5], [0]], [0, 32]).tensor("y", 1)
    after = chain.conv("a", "y", np.ones((1, 1, 1, 2))).reduced("y", "a")
    assert tensor(after, "a").channel_map is None
    assert after.nodes[1].input(1).data.ravel().tolist() == [1, 0]


def test_constants_that_another_node_shares_are_left_alone():
    chain = Chain([[5, 3], [0, 0]], [0, 32]).tensor("y", 2).tensor("z", 2)
    chain.conv("a", "y", np.array([[1, 2], [3, 4]]).reshape(2, 1, 1, 2))
    chain.builder.op("CONV_2D", ["x", "y_w"], ["z"], {"StrideH": 1, "StrideW": 1, "Padding": "SAME"})
    after = chain.reduced("y", "z")
    assert after.nodes[2].input(1).data.ravel().tolist() == [1, 2, 3, 4]
    assert after.nodes[1].input(1).data.ravel().tolist() == [1, 3]


def test_groups_stay_whole():
    chain = Chain([[5, 3], [0, 0], [1, 1], [2, 2]], [0, 32, 0, 0]).tensor("g", 2).tensor("y", 1)
    chain.conv("a", "g", np.array([[1, 2], [3, 4]]).reshape(2, 1, 1, 2))
    after = chain.conv("g", "y", np.ones((1, 1, 1, 2))).reduced()
    assert tensor(after, "a").channel_map is None
    assert after.nodes[1].input(1).data.ravel().tolist() == [1, 0, 3, 4]


def test_what_a_device_claimed_is_a_wall():
    chain = Chain([[5], [0]], [0, 32]).tensor("b", 2).tensor("y", 1).conv("a", "b", np.ones((2, 1, 1, 2)))
    graph = prepared(chain.conv("b", "y", np.ones((1, 1, 1, 2))).builder.build(["x"], ["y"]))
    claimed = graph.nodes[1]
    inner = Graph("inner", [claimed.input(0)], [claimed.output], [claimed])
    attrs = SubgraphAttributes(0, "device", (Matched("all", (claimed,)),), inner)
    graph.nodes[1] = Node("subgraph", "claimed", inner.inputs[:], inner.outputs[:], attrs, claimed.sources)
    run_passes(graph, [RemoveChannels()])
    assert all(t.channel_map is None for t in graph.tensors())


def test_a_reshape_removes_each_channel_of_all_its_pixels():
    chain = Chain([[5], [0], [3]], [0, 32, 0], image=(1, 2))
    chain.builder.tensor("f", (1, 6), np.int8, scale=1 / 16, zero_point=0).tensor("s", (2,), np.int32, data=[1, 6])
    chain.builder.tensor("y", (1, 1), np.int8, scale=1 / 16, zero_point=0).op("RESHAPE", ["a", "s"], ["f"], {})
    weights = chain.constant("w", np.array([[1, 2, 3, 4, 5, 6]]))
    chain.builder.op("FULLY_CONNECTED", ["f", weights, -1], ["y"], {})
    after = chain.reduced()
    assert tensor(after, "f").channel_map == ChannelMap((0, 2, 3, 5), 6)
    assert after.nodes[-1].input(1).data.tolist() == [[1, 3, 4, 6]]
    assert after.nodes[-1].input(2).data.tolist() == [14]


def test_a_tensor_of_constants_alone_keeps_one_channel():
    chain = Chain([[0], [0], [0]], [16, 32, 48]).tensor("y", 1)
    after = chain.conv("a", "y", np.ones((1, 1, 1, 3))).reduced()
    assert tensor(after, "a").shape[-1] == 1
    assert kinds(after) == ["conv2d", "conv2d"]


def test_work_left_is_named():
    chain = Chain([[5], [0]], [0, 32]).tensor("y", 1).conv("a", "y", np.ones((1, 1, 1, 2)))
    graph = prepared(chain.builder.build(["x"], ["y"]))
    assert RemoveChannels().pending(graph) == "conv2d y"
    graph.nodes[1].input(1).data = np.array([1, 0], np.int8).reshape(1, 1, 1, 2)
    assert RemoveChannels().pending(graph) == "tensor a"
    run_passes(graph, [RemoveChannels()])
    assert RemoveChannels().pending(graph) is None


@pytest.mark.parametrize("name", models.available(["vww"]))
def test_vww_loses_half_of_its_work(name):
    started = time.process_time()
    graph = load(models.path(name))
    run_pipeline(graph)
    assert time.process_time() - started < 5
    before = prepared(models.read(name))
    assert (macs(before), weights_bytes(before)) == (7489664, 208112)
    assert (macs(graph), weights_bytes(graph)) == (3727313, 29066)


@pytest.mark.parametrize("name", models.available(["vww"]))
def test_full_blocks_of_vww_cost_one_per_cent(name):
    graph = prepared(models.read(name))
    run_passes(graph, [RemoveChannels(4)])
    assert macs(graph) == 3766476


@pytest.mark.parametrize("name", models.available(["vww"]))
def test_every_channel_left_of_vww_is_that_of_tflite_micro(name):
    reference, graph = Reference.open(models.path(name), "tflm"), load(models.path(name))
    run_pipeline(graph)
    computed: list[Tensor] = [t for node in graph.nodes for t in node.outputs]
    rng = np.random.default_rng(64)
    shape = graph.inputs[0].shape
    feeds = [rng.integers(-128, 128, shape) for _ in range(62)] + [np.full(shape, value) for value in (-128, 127)]
    for feed in feeds:
        feed = {graph.inputs[0].name: feed.astype(np.int8)}
        wanted = reference.tensors(feed)
        check_survivors(graph, run_all(graph, feed), {t.name: wanted[t.source] for t in computed})


@pytest.mark.parametrize("name", models.available(["kws", "ic", "ad", "sww"]))
def test_models_without_such_channels_are_left_alone(name):
    before = prepared(models.read(name))
    after = copy.deepcopy(before)
    run_passes(after, [RemoveChannels()])
    assert all(t.channel_map is None for t in after.tensors())
    assert (macs(after), weights_bytes(after)) == (macs(before), weights_bytes(before))


@pytest.mark.parametrize(("bias", "constant"), [(1 << 20, True), ((1 << 31) - 100, False)])
def test_sums_that_may_overflow_are_no_constants(bias, constant):
    chain = Chain([[1, 1], [1, 1]], [0, bias]).tensor("y", 1)
    after = chain.conv("a", "y", np.ones((1, 1, 1, 2))).reduced()
    assert (tensor(after, "a").channel_map is not None) is constant
