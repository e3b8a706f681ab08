"""Whatever the bytes, there is a graph or an `AboardError`, within a bounded time."""

import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aboard.errors import AboardError
from aboard.importers import load
from aboard.importers.tflite_file import parse
from aboard.passes import run_pipeline
from support import control_models, models, zoo
from support.examples import either

_SECONDS = 2.0
_SEEDS = [zoo.many_ops(np.int8), zoo.many_ops(np.float32), control_models.nested(0)]


def outcome(data: bytes) -> str:
    """Returns `graph`, or the message of the error; fails on any other exception and on a long wait."""
    start = time.monotonic()
    try:
        run_pipeline(load(data))
        result = "graph"
    except AboardError as error:
        result = str(error)
    assert time.monotonic() - start < _SECONDS
    assert result == "graph" or result.startswith("model (bytes): ")
    return result


@pytest.mark.parametrize("name", models.available([models.SHIPPED, "kws", "hello_world"]))
def test_files_that_are_cut_off(name):
    data = models.read(name)
    outcomes = [outcome(data[:size]) for size in range(0, len(data), 64)]
    assert outcomes[0].startswith("model (bytes): the file is empty")
    assert "graph" not in outcomes[: len(outcomes) // 2]
    assert any("the file is cut off or corrupt" in text for text in outcomes)


def test_small_files_that_are_cut_off():
    for data in _SEEDS:
        outcomes = {outcome(data[:size]) for size in range(1, len(data), 64)}
        assert len(outcomes) > 3


@given(st.integers(0, 2), st.lists(st.tuples(st.integers(0, 2**31), st.integers(0, 255)), min_size=1, max_size=6))
@settings(max_examples=either(150, 50), deadline=None)
def test_bytes_that_are_changed(seed, changes):
    data = bytearray(_SEEDS[seed])
    for position, value in changes:
        data[position % len(data)] = value
    assert outcome(bytes(data))


@given(st.integers(0, 2), st.integers(0, 2**31), st.sampled_from([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]))
@example(0, 1073, 1)  # a scale of which no quotient is finite
@settings(max_examples=either(150, 50), deadline=None)
def test_words_that_become_extreme(seed, position, value):
    data = bytearray(_SEEDS[seed])
    position = position % (len(data) // 4) * 4
    data[position : position + 4] = value.to_bytes(4, "little")
    assert outcome(bytes(data))


@given(st.binary(max_size=400), st.booleans())
@settings(max_examples=either(100, 50), deadline=None)
def test_random_bytes(noise, identified):
    assert outcome(b"\x08\0\0\0TFL3" + noise if identified else noise) != "graph"


def test_tables_that_claim_more_than_the_file_holds():
    """One string shared by all tensors is legal in a flatbuffer; a file may not use that to fill the memory."""
    data = zoo.many_ops()
    with pytest.raises(AboardError, match="tables state more content than it can hold"):
        parse(_with_long_shared_name(), "bomb.tflite")
    assert parse(data, "good.tflite").subgraphs[0].operators


def _with_long_shared_name() -> bytes:
    import flatbuffers
    import tflite

    b = flatbuffers.Builder(1024)
    name = b.CreateString("n" * 100_000)
    tensors = []
    for _ in range(1000):
        tflite.TensorStart(b)
        tflite.TensorAddName(b, name)
        tensors.append(tflite.TensorEnd(b))
    tflite.SubGraphStartTensorsVector(b, len(tensors))
    for tensor in tensors:
        b.PrependUOffsetTRelative(tensor)
    vector = b.EndVector()
    tflite.SubGraphStart(b)
    tflite.SubGraphAddTensors(b, vector)
    graph = tflite.SubGraphEnd(b)
    tflite.ModelStartSubgraphsVector(b, 1)
    b.PrependUOffsetTRelative(graph)
    graphs = b.EndVector()
    tflite.ModelStart(b)
    tflite.ModelAddVersion(b, 3)
    tflite.ModelAddSubgraphs(b, graphs)
    b.Finish(tflite.ModelEnd(b), b"TFL3")
    return bytes(b.Output())
