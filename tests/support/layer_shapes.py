"""Models of layers that a TOML file lists by operator and shape, such as `tests/bench/samples.toml`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from support.zoo import ZERO_POINT, Chain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: The file of the models that the cost model is measured with, beside those of the benchmarks.
SAMPLES = Path(__file__).resolve().parents[1] / "bench" / "samples.toml"

#: Operators by their names in such a file, with the keys that a layer of each must have, and those that it may have.
OPERATORS = {
    "conv2d": ("CONV_2D", {"channels"}, {"window", "stride", "dilation", "groups"}),
    "depthwise_conv2d": ("DEPTHWISE_CONV_2D", set(), {"window", "stride", "dilation", "multiplier", "column"}),
    "fully_connected": ("FULLY_CONNECTED", {"channels"}, set()),
    "max_pool2d": ("MAX_POOL_2D", {"window"}, {"stride"}),
    "average_pool2d": ("AVERAGE_POOL_2D", {"window"}, {"stride"}),
    "relu": ("RELU", set(), set()),
    "relu6": ("RELU6", set(), set()),
}  # fmt: skip


class SampleError(ValueError):
    """An entry of a file of layers is wrong."""


@dataclass(frozen=True)
class LayerShape:
    """A layer of a model; windows are square, and padded to the size of the operand (`SAME`), but those of one column.

    Attributes:
        op: Key of `OPERATORS`.
        input: Shape of an input of the model, without the batch: [rows, cols, channels] or [elements]; None where the
            layer reads the result of the layer before it.
        channels: Channels of the result; None for those of the operand.
        window: Rows and columns of the window.
        stride: Stride in both directions.
        dilation: Pixels from one tap to the next in both directions.
        groups: Groups of channels.
        multiplier: Channels of the result for each channel of the operand.
        column: True for windows of one column, without padding (`VALID`).
    """

    op: str
    input: tuple[int, ...] | None = None
    channels: int | None = None
    window: int = 1
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    multiplier: int = 1
    column: bool = False


def read(path: Path = SAMPLES) -> dict[str, tuple[LayerShape, ...]]:
    """Returns the layers of each model of a file.

    Raises:
        SampleError: An entry is wrong; the message names model and layer.
    """
    found: dict[str, tuple[LayerShape, ...]] = {}
    for model in tomllib.loads(path.read_text(encoding="utf-8"))["model"]:
        where = f"{path.name}: model {model['name']}"
        if model["name"] in found:
            raise SampleError(f"{where}: is there twice. Choose another name")
        layers = [_read(layer, f"{where}, layer {number}") for number, layer in enumerate(model["layers"])]
        if layers[0].input is None:
            raise SampleError(f"{where}, layer 0: needs input, as no layer is before it. Add its shape")
        found[model["name"]] = tuple(layers)
    return found


def _read(entry: Mapping[str, Any], where: str) -> LayerShape:
    op = entry.get("op", "nothing")
    if op not in OPERATORS:
        raise SampleError(f"{where}: op, got {op}, expected one of {', '.join(OPERATORS)}. Correct the entry")
    _, needed, possible = OPERATORS[op]
    if missing := needed - set(entry):
        raise SampleError(f"{where}: {op} needs {', '.join(sorted(missing))}. Add it")
    if unknown := set(entry) - {"op", "input"} - needed - possible:
        raise SampleError(f"{where}: {op} takes no {', '.join(sorted(unknown))}. Remove it")
    shape = tuple(entry["input"]) if "input" in entry else None
    return LayerShape(**{**entry, "input": shape})


@dataclass(frozen=True)
class _Tensor:
    name: str
    shape: tuple[int, ...]
    zero_point: int


def model(layers: Sequence[LayerShape], seed: int = 0, dtype: type = np.int8) -> bytes:
    """Returns a model of layers; each layer with an input of its own begins a new chain with an output.

    Args:
        layers: The layers; the first has an input.
        seed: For weights.
        dtype: np.int8 or np.float32.
    """
    chain = Chain(dtype, seed)
    given: list[_Tensor] = []
    results: list[_Tensor] = []
    for layer in layers:
        if layer.input is None:
            results.append(_add(chain, layer, results.pop()))
        else:
            shape = (1, *layer.input)
            given.append(_Tensor(chain.value(shape), shape, ZERO_POINT))
            results.append(_add(chain, layer, given[-1]))
    return chain.builder.build([x.name for x in given], [y.name for y in results])


def sample(name: str) -> bytes:
    """Returns a model of `SAMPLES` by its name."""
    return model(read()[name])


def _add(chain: Chain, layer: LayerShape, x: _Tensor) -> _Tensor:
    """Adds a layer that reads a tensor; returns its result."""

    def result(operands: Sequence[str], shape: tuple[int, ...], options: Any = None, zero_point: int = -128) -> _Tensor:
        return _Tensor(chain.op(kind, operands, shape, options, zero_point=zero_point), shape, zero_point)

    kind, channels, window = OPERATORS[layer.op][0], layer.channels or x.shape[-1] * layer.multiplier, layer.window
    if layer.op.startswith("relu"):
        return result([x.name], x.shape, zero_point=x.zero_point)
    if layer.op == "fully_connected":
        name, width = x.name, prod(x.shape)
        if len(x.shape) > 2:
            flat = [name, chain.constant([1, width])]
            name = chain.op("RESHAPE", flat, (1, width), zero_point=x.zero_point)
        return result([name, *chain.weights((channels, width), 0)], (1, channels))
    shape = (1, -(-x.shape[1] // layer.stride), -(-x.shape[2] // layer.stride), channels)
    options: dict[str, Any] = {"StrideH": layer.stride, "StrideW": layer.stride, "Padding": "SAME"}
    if layer.op.endswith("pool2d"):
        return result([x.name], shape, {**options, "FilterHeight": window, "FilterWidth": window}, x.zero_point)
    options["FusedActivationFunction"] = "RELU"
    depthwise = layer.op == "depthwise_conv2d"
    if layer.column:
        shape = (1, x.shape[1] - window + 1, x.shape[2], channels)
        options = {
            "StrideH": 1,
            "StrideW": 1,
            "Padding": "VALID",
            "FusedActivationFunction": "RELU",
            "DepthMultiplier": 1,
        }
        return result([x.name, *chain.weights((1, window, 1, channels), 3)], shape, options)
    weights = (1, window, window, channels) if depthwise else (channels, window, window, x.shape[3] // layer.groups)
    options |= {"DepthMultiplier": layer.multiplier} if depthwise else {}
    options |= {"DilationHFactor": layer.dilation, "DilationWFactor": layer.dilation} if layer.dilation > 1 else {}
    return result([x.name, *chain.weights(weights, 3 if depthwise else 0)], shape, options)
