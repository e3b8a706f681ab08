"""Models of layers that a TOML file lists by operator and shape, such as `tests/bench/samples.toml`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from support.zoo import Chain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: The file of the models that the cost model is measured with, beside those of the benchmarks.
SAMPLES = Path(__file__).resolve().parents[1] / "bench" / "samples.toml"

#: Operators by their names in such a file, with the keys that a layer of each must have, and those that it may have.
OPERATORS = {
    "conv2d": ("CONV_2D", {"channels"}, {"window", "stride"}),
    "depthwise_conv2d": ("DEPTHWISE_CONV_2D", set(), {"window", "stride"}),
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
    """A layer of an int8 model; windows are square, and padded to the size of the operand (`SAME`).

    Attributes:
        op: Key of `OPERATORS`.
        input: Shape of an input of the model, without the batch: [rows, cols, channels] or [elements]; None where the
            layer reads the result of the layer before it.
        channels: Channels of the result; None for those of the operand.
        window: Rows and columns of the window.
        stride: Stride in both directions.
    """

    op: str
    input: tuple[int, ...] | None = None
    channels: int | None = None
    window: int = 1
    stride: int = 1


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
            raise SampleError(
                f"{where}, layer 0: has no input, and no layer before it. Add input = [rows, cols, channels]"
            )
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


def model(layers: Sequence[LayerShape], seed: int = 0) -> bytes:
    """Returns an int8 model of layers; each layer with an input of its own begins a new chain with an output.

    Args:
        layers: The layers; the first has an input.
        seed: For weights.
    """
    chain = Chain(np.int8, seed)
    given: list[str] = []
    results: list[str] = []
    shape: tuple[int, ...] = ()
    y = ""
    for layer in layers:
        if layer.input is not None:
            if given:
                results.append(y)
            shape = (1, *layer.input)
            y = chain.value(shape)
            given.append(y)
        y, shape = _add(chain, layer, y, shape)
    return chain.builder.build(given, [*results, y])


def sample(name: str) -> bytes:
    """Returns a model of `SAMPLES` by its name."""
    return model(read()[name])


def _add(chain: Chain, layer: LayerShape, x: str, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """Adds a layer that reads tensor `x` of a shape; returns the name and the shape of its result."""
    kind, channels, window = OPERATORS[layer.op][0], layer.channels or shape[-1], layer.window
    if layer.op.startswith("relu"):
        # The quantisation of an input, whose zero point lets the rectifier do something.
        return chain.op(kind, [x], shape), shape
    if layer.op == "fully_connected":
        width = int(np.prod(shape))
        if len(shape) > 2:
            x = chain.op("RESHAPE", [x, chain.constant([1, width])], (1, width), zero_point=-128)
        result: tuple[int, ...] = (1, channels)
        return chain.op(kind, [x, *chain.weights((channels, width), 0)], result, zero_point=-128), result
    result = (1, -(-shape[1] // layer.stride), -(-shape[2] // layer.stride), channels)
    options: dict[str, Any] = {"StrideH": layer.stride, "StrideW": layer.stride, "Padding": "SAME"}
    if layer.op.endswith("pool2d"):
        return chain.op(kind, [x], result, {**options, "FilterHeight": window, "FilterWidth": window}), result
    options["FusedActivationFunction"] = "RELU"
    depthwise = layer.op == "depthwise_conv2d"
    weights = (1, window, window, channels) if depthwise else (channels, window, window, shape[3])
    options |= {"DepthMultiplier": 1} if depthwise else {}
    operands = [x, *chain.weights(weights, 3 if depthwise else 0)]
    return chain.op(kind, operands, result, options, zero_point=-128), result
