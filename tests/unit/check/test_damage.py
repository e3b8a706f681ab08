"""The faults that a comparison of two models is judged by: one layer is damaged, and it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import onnx
import pytest

from support import damage
from support.damage import inputs, onnx_file, onnx_layers, pool, records, tflite_file, tflite_layers, weights

_COUNTS = {0: 50, 1: 15, 2: 15}
_SHIPPED = damage.originals()["digits.tflite"]


@lru_cache
def _drawn(seed: int) -> list[tuple[Path, bytes, damage.Damaged]]:
    return damage.draw(seed, _COUNTS[seed])


def _tensors(data: bytes, feed: records.Values) -> Iterator[np.ndarray | None]:
    """Yields the first output of each operator as real numbers; None for a constant made of constants."""
    if data[4:8] == b"TFL3":
        file, run = tflite_file.TFLiteFile(data), tflite_file.Run(data)
        run.invoke(feed)
        for layer in range(len(file.graph.operators)):
            yield tflite_file.real(file, file.output(layer), run.value(file.output(layer)))
        return
    graph, run = onnx_file.OnnxFile(data), onnx_file.Run(data)
    for node in graph.nodes:
        constant = all(graph.constant(name) is not None for name in node.input)
        yield None if constant else run.value(dict(feed), node.output[0])


def _parts(data: bytes) -> list[object]:
    """Returns what a file states of each operator: kind, options, constants, and numbers of quantisation."""
    if data[4:8] == b"TFL3":
        return _tflite_parts(tflite_file.TFLiteFile(data))
    file = onnx_file.OnnxFile(data)
    return [
        (node.op_type, sorted(map(str, node.attribute)), [_bytes(file.constant(name)) for name in node.input])
        for node in file.nodes
    ]


def _tflite_parts(file: tflite_file.TFLiteFile) -> list[object]:
    found: list[object] = []
    for layer, operator in enumerate(file.graph.operators):
        options = {name: str(value) for name, value in vars(operator.builtinOptions or operator).items()}
        if operator.builtinOptions is None:
            options = {}
        constants = [_bytes(file.array(number)) for number in file.operands(layer)]
        # The numbers of an activation belong to the operator that writes it.
        numbers = [number for number, each in zip(file.operands(layer), constants, strict=True) if each is not None]
        scales = [str(vars(file.graph.tensors[each].quantization)) for each in (*numbers, file.output(layer))]
        found.append((file.kind(layer), options, constants, scales))
    return found


def _bytes(values: np.ndarray | None) -> tuple[tuple[int, ...], bytes] | None:
    return None if values is None else (values.shape, values.tobytes())


def _allowed(data: bytes, layer: int) -> set[int]:
    """Returns the operators whose parts may differ: of ONNX also DequantizeLinear beside the layer."""
    if data[4:8] == b"TFL3":
        return {layer}
    file = onnx_file.OnnxFile(data)
    node = file.nodes[layer]
    around = {file.writer(name) for name in node.input if file.writer(name) is not None}
    around |= set(file.readers(node.output[0])) if node.op_type == "QuantizeLinear" else set()
    return {layer} | {each for each in around if file.nodes[each].op_type == "DequantizeLinear"}


@pytest.mark.parametrize("seed", _COUNTS)
def test_only_the_named_layer_differs_in_the_file(seed: int) -> None:
    for path, original, damaged in _drawn(seed):
        before, after = _parts(original), _parts(damaged.data)
        changed = {layer for layer, parts in enumerate(zip(before, after, strict=True)) if parts[0] != parts[1]}
        assert changed, path.name
        assert changed <= _allowed(original, damaged.layer), (path.name, damaged.description)


@pytest.mark.parametrize("seed", _COUNTS)
def test_the_named_layer_is_the_first_whose_output_differs(seed: int) -> None:
    for path, original, damaged in _drawn(seed):
        (feed,) = inputs.feeds(original, damage.samples(path, np.random.default_rng(seed), 1))
        pairs = zip(_tensors(original, feed), _tensors(damaged.data, feed), strict=True)
        differing = [layer for layer, (old, new) in enumerate(pairs) if old is not None and not _equal(old, new)]
        assert differing[:1] == [damaged.layer], (path.name, damaged.description)


def _equal(old: np.ndarray, new: np.ndarray) -> bool:
    return old.shape == new.shape and np.array_equal(old, new)


@pytest.mark.parametrize("seed", _COUNTS)
def test_the_named_tensor_is_the_output_of_the_layer(seed: int) -> None:
    for path, original, damaged in _drawn(seed):
        if path.suffix == ".onnx":
            assert onnx.load_from_string(original).graph.node[damaged.layer].output[0] == damaged.tensor
        else:
            file = tflite_file.TFLiteFile(original)
            assert file.name(file.output(damaged.layer)) == damaged.tensor


def test_fifty_draws_have_every_cause_and_many_models() -> None:
    causes = Counter(damaged.cause for _, _, damaged in _drawn(0))
    assert set(causes) == set(damage.CAUSES)
    assert min(causes.values()) >= 3
    assert len({path.name for path, _, _ in _drawn(0)}) >= 10
    assert len(_drawn(0)) == 50


def test_a_seed_gives_the_same_draws() -> None:
    assert damage.draw(1, 3) == _drawn(1)[:3]
    assert damage.draw(2, 3) != _drawn(1)[:3]


def test_a_model_without_quantisation_has_no_zero_point() -> None:
    path = damage.originals()["digits_f32.tflite"]
    with pytest.raises(damage.NoFaultError) as caught:
        pool.damage(path, path.read_bytes(), np.random.default_rng(0), records.ZERO_POINT)
    expected = "model: no fault by zero point shows on 4 samples. Draw another cause or model"
    assert str(caught.value) == expected


def test_a_cause_is_drawn_if_none_is_asked_for() -> None:
    data = _SHIPPED.read_bytes()
    feeds = inputs.feeds(data, damage.samples(_SHIPPED, np.random.default_rng(0), 4))
    causes = {damage.tflite(data, np.random.default_rng(seed), feeds).cause for seed in range(12)}
    # Each change from SAME to VALID would end in a RESHAPE that no longer fits.
    assert causes == set(damage.CAUSES) - {records.PADDING}


def test_a_zero_point_of_the_output_shifts_every_value_by_as_many_steps() -> None:
    data = _SHIPPED.read_bytes()
    file = tflite_file.TFLiteFile(data)
    for number in range(40):
        found = pool.damage(_SHIPPED, data, np.random.default_rng(number), records.ZERO_POINT)
        if found.layer == 5 and found.form == "output zero point of the layer":
            break
    else:
        pytest.fail("no zero point of the last layer was drawn")
    off = int(found.description.rsplit(" ", 1)[1])
    assert 3 <= abs(off) <= 40
    (feed,) = inputs.feeds(data, damage.samples(_SHIPPED, np.random.default_rng(0), 1))
    scale, point = float(file.scales(file.output(5))[0]), file.zero_point(file.output(5))
    old, new = (np.rint(list(_tensors(each, feed))[5] / scale) + point for each in (data, found.data))
    np.testing.assert_array_equal(new, np.clip(old + off, -128, 127))


def test_pads_on_the_other_side_shift_the_result_by_a_pixel() -> None:
    path = damage.originals()["digits.onnx"]
    data = path.read_bytes()
    for number in range(40):
        found = pool.damage(path, data, np.random.default_rng(number), records.PADDING)
        if found.layer == 0 and found.description == "pads [1, 1, 1, 1] became [2, 1, 0, 1]":
            break
    else:
        pytest.fail("pads of the first layer were not drawn")
    (feed,) = inputs.feeds(data, damage.samples(path, np.random.default_rng(0), 1))
    old, new = (next(_tensors(each, feed)) for each in (data, found.data))
    np.testing.assert_allclose(new[:, :, 1:], old[:, :, :-1], atol=1e-6)
    assert found.carriers == ("relu",)


def test_weights_in_another_order_keep_their_shape() -> None:
    values = np.arange(6).reshape(2, 3)
    order, found = weights.transposed(values, np.random.default_rng(0))
    assert order == (1, 0)
    np.testing.assert_array_equal(found, [[0, 3, 1], [4, 2, 5]])
    assert weights.transposed(np.arange(3).reshape(1, 3), np.random.default_rng(0)) is None


def test_one_channel_or_all_are_scaled() -> None:
    values = np.ones((3, 2), np.float32)
    found = [weights.scaled(values, 0, np.random.default_rng(seed), 2.0) for seed in range(8)]
    for channel, scaled in found:
        expected = np.full((3, 2), 2.0) if channel is None else 1.0 + np.eye(3)[channel][:, None].repeat(2, axis=1)
        np.testing.assert_array_equal(scaled, expected)
    assert {channel is None for channel, _ in found} == {True, False}
    np.testing.assert_array_equal(values, np.ones((3, 2)))


def test_factors_and_steps_are_away_from_no_change() -> None:
    rng = np.random.default_rng(0)
    factors = np.array([records.factor(rng) for _ in range(200)])
    steps = np.array([records.steps(rng) for _ in range(200)])
    assert 0.5 <= factors.min() < 0.6
    assert 1.9 < factors.max() <= 2
    assert np.abs(factors - 1).min() >= 0.1
    assert set(np.abs(steps)) <= set(range(3, 41))
    assert steps.min() < -30
    assert steps.max() > 30


@pytest.mark.parametrize("kind", [tflite_layers, onnx_layers])
def test_a_file_that_is_only_read_and_written_computes_the_same(kind: object) -> None:
    name = "digits.tflite" if kind is tflite_layers else "digits.onnx"
    data = damage.originals()[name].read_bytes()
    (feed,) = inputs.feeds(data, damage.samples(damage.originals()[name], np.random.default_rng(0), 1))
    file = tflite_file.TFLiteFile(data) if kind is tflite_layers else onnx_file.OnnxFile(data)
    for old, new in zip(_tensors(data, feed), _tensors(file.written(), feed), strict=True):
        np.testing.assert_array_equal(old, new)


def test_samples_fit_the_inputs_of_every_model() -> None:
    for path in damage.originals().values():
        arrays = damage.samples(path, np.random.default_rng(0), 3)
        for each in inputs.inputs(path.read_bytes()):
            assert arrays[each.name].shape == (3, *each.shape[each.shape[0] == 1 :])
            assert arrays[each.name].dtype == (np.int8 if each.scale else np.float32)
            assert arrays[each.name].std() > 0


def test_pairs_compute_the_same() -> None:
    pairs = damage.undamaged(0, 12)
    assert len({pair.relation for pair in pairs}) >= 3
    for pair in pairs:
        arrays = damage.pair_samples(pair, np.random.default_rng(0), 2)
        first, second = (
            np.stack([_last(data, feed) for feed in inputs.feeds(data, given)])
            for data, given in zip((pair.first, pair.second), arrays, strict=True)
        )
        difference = float(np.sqrt(np.square(first - second).mean() / np.square(first).mean()))
        bound = 0.25 if pair.relation.startswith("quantised") else 1e-5
        assert difference <= bound, (pair.first_name, pair.second_name, difference)


def _last(data: bytes, feed: records.Values) -> np.ndarray:
    """Returns the output of the last operator as real numbers, without its shape."""
    *_, found = (values for values in _tensors(data, feed))
    return np.asarray(found, np.float64).ravel()
