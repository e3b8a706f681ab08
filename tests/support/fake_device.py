"""A library device for tests, complete: it computes int8 products (fully connected, 1x1 convolution) by its own C code.

Version v1 takes one layer at a time; v2 takes chains of them and keeps what lies between in scratch. It has knobs where
a test asks for them: they change how often the generated code computes a layer, so which is best is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from aboard.ir import DType, Node
from aboard.kernels.accelerator import ClaimedRegion, DeviceCode
from aboard.kernels.contract import Argument, ConstantArg, InputArg, OutputArg, PackedConstant, Scratch, ScratchArg
from aboard.ops import weighted
from aboard.ops.subgraph import Matched
from aboard.partition.pattern import DevicePattern, any_tensor, chain, constant, constant_or_absent, op, optional
from aboard.target import Knob, Runtime, Target, Value, plugins
from support.device import declare
from support.tflite_builder import ModelBuilder

#: How often a layer is computed; and once more where its outputs are not as many as the second knob has it.
RUNS = Knob("runs", (2, 1, 3), "How often each layer is computed")
SUITS = Knob("suits", ("few", "many"), "Layers of how many outputs are not computed once more")
#: Its second value is wrong on purpose.
ZERO = Knob("zero", ("right", "wrong"), "Which zero point the inputs have")
#: Its second value flips a bit of the smallest result of every layer, which a softmax behind it does not show.
SUBTLE = Knob("subtle", ("right", "wrong"), "Whether the smallest result is right")
MANY_OUTPUTS = 20

HEADER = """\
#ifndef FAKE_PRODUCT_H
#define FAKE_PRODUCT_H
#include <stdint.h>
typedef struct { int32_t rows, inner, outs, zero_in, zero_out, low, high; } fake_layer_t;
/** Weights lie input by input; `scale` holds multiplier and shift of each output. */
void fake_product(const fake_layer_t *l, const int8_t *x, const int8_t *w, const int32_t *bias, const int32_t *scale,
                  int8_t *y);
/** Flips the lowest bit of the smallest result of each row. */
void fake_flip(const fake_layer_t *l, int8_t *y);
#endif
"""

SOURCE = """\
#include "fake_product.h"

#ifndef FAKE_ROUNDS_TWICE
#error "the definitions of the runtime are missing"
#endif

static int32_t scaled(int32_t x, int32_t multiplier, int32_t shift) {
    const int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    const int64_t product = (int64_t)(int32_t)((uint32_t)x << left) * multiplier;
    int64_t high = (product + (1 << 30)) >> 31;
    if (right > 0) {
        high = (high - (high < 0) + ((int64_t)1 << (right - 1))) >> right;
    }
    return (int32_t)high;
}

void fake_product(const fake_layer_t *l, const int8_t *x, const int8_t *w, const int32_t *bias, const int32_t *scale,
                  int8_t *y) {
    for (int32_t row = 0; row < l->rows; ++row) {
        for (int32_t out = 0; out < l->outs; ++out) {
            int32_t sum = bias[out];
            for (int32_t in = 0; in < l->inner; ++in) {
                sum += (x[row * l->inner + in] - l->zero_in) * w[in * l->outs + out];
            }
            sum = scaled(sum, scale[2 * out], scale[2 * out + 1]) + l->zero_out;
            sum = sum < l->low ? l->low : sum;
            y[row * l->outs + out] = (int8_t)(sum > l->high ? l->high : sum);
        }
    }
}

void fake_flip(const fake_layer_t *l, int8_t *y) {
    for (int32_t row = 0; row < l->rows; ++row) {
        int32_t least = row * l->outs;
        for (int32_t i = least; i < (row + 1) * l->outs; ++i) {
            least = y[i] < y[least] ? i : least;
        }
        y[least] = (int8_t)(y[least] ^ 1);
    }
}
"""


def _is_product(node: Node) -> str | None:
    if node.op == "fully_connected":
        return None
    window, attrs = node.input(1).shape[1:3], node.attrs
    if window != (1, 1) or node.input(1).shape[3] != node.input(0).shape[3]:
        return f"window, got {window[0]}x{window[1]}, expected 1x1 over all channels"
    return None if attrs.strides == (1, 1) else f"strides, got {attrs.strides}, expected (1, 1)"


def _same_scale(node: Node) -> str | None:
    return None if node.input(0).type == node.output.type else "changes the scale"


def patterns(*, merge: bool = False) -> list[DevicePattern]:
    """Returns what the device claims: a product with the relu behind it."""
    operands = (any_tensor(), constant(DType.INT8), constant_or_absent(DType.INT32))
    layer = op("fully_connected", "conv2d", *operands, dtype=DType.INT8, where=_is_product, name="layer")
    return [DevicePattern("product", chain(layer, optional(op("relu", where=_same_scale, name="relu"))), merge=merge)]


def runtime(target: Target) -> Runtime:
    """Returns the C library; both versions share it."""
    files = {"include/fake_product.h": HEADER, "fake_product.c": SOURCE}
    return Runtime(files, include_folders=("include",), definitions=("FAKE_ROUNDS_TWICE=1",))


def codegen(target: Target, region: ClaimedRegion) -> DeviceCode:
    """Returns a function that calls the library for each layer, one after another."""
    results = region.graph.outputs
    made = [matched.nodes[-1].output for matched in region.patterns]
    between = [tensor for tensor in made if tensor not in results]
    arguments: list[Argument] = [InputArg(0, "const int8_t *")]
    arguments += [OutputArg(index, "int8_t *") for index in range(len(results))]
    arguments += [ScratchArg(Scratch(tensor.type.bytes, 16), "int8_t *") for tensor in between]
    parameters = ["const int8_t *x0"]
    parameters += [*(f"int8_t *y{i}" for i in range(len(results))), *(f"int8_t *s{i}" for i in range(len(between)))]
    places = ["x0", *(f"y{results.index(t)}" if t in results else f"s{between.index(t)}" for t in made)]
    calls: list[str] = []
    for number, matched in enumerate(region.patterns):
        constants = _constants(matched.named["layer"], number)
        arguments += [ConstantArg(c) for c in constants]
        types = ("int8_t", "int32_t", "int32_t")
        parameters += [f"const {t} *{c.name}" for t, c in zip(types, constants, strict=True)]
        names = ", ".join(c.name for c in constants)
        fields = ", ".join(map(str, layer_fields(matched, region.tuning)))
        calls += [
            f"    static const fake_layer_t l{number} = {{{fields}}};",
            *[f"    fake_product(&l{number}, {places[number]}, {names}, {places[number + 1]});"]
            * _runs(matched.named["layer"], region.tuning),
            *([f"    fake_flip(&l{number}, {places[number + 1]});"] if region.tuning.get("subtle") == "wrong" else []),
        ]
    lines = ['#include "fake_product.h"', "", f"aboard_status_t {region.name}({', '.join(parameters)}) {{"]
    text = "\n".join([*lines, *calls, "    return ABOARD_OK;", "}"])
    return DeviceCode(text, tuple(arguments), tuple(tensor.shape for tensor in results))


def _matrix(node: Node) -> np.ndarray:
    data = node.input(1).data
    assert data is not None
    return data.reshape(data.shape[0], -1)


def _runs(node: Node, tuning: Mapping[str, Value]) -> int:
    many = _matrix(node).shape[0] >= MANY_OUTPUTS
    return int(tuning.get("runs", 1)) + ("suits" in tuning and many != (tuning["suits"] == "many"))


def layer_fields(matched: Matched, tuning: Mapping[str, Value]) -> tuple[int, ...]:
    """Returns the fields of `fake_layer_t`."""
    node = matched.named["layer"]
    outs, inner = _matrix(node).shape
    low, high = node.attrs.activation.range(node.output.quant)
    if "relu" in matched.named:
        low = max(low, node.output.quant.zero_point)
    wrong = tuning.get("zero") == "wrong"
    zeros = node.input(0).quant.zero_point + wrong, node.output.quant.zero_point
    return node.output.type.elements // outs, inner, outs, *zeros, low, high


def _constants(node: Node, number: int) -> list[PackedConstant]:
    matrix = _matrix(node)
    bias = node.optional_input(2)
    sums = np.zeros(matrix.shape[0], np.int32) if bias is None or bias.data is None else bias.data.astype(np.int32)
    scale = np.stack(weighted.multipliers(node, 0), axis=1).astype(np.int32)
    packed = {"weights": np.ascontiguousarray(matrix.T), "bias": sums, "scale": scale}
    return [PackedConstant(f"{name}{number}", values, 16) for name, values in packed.items()]


def softmax_model() -> bytes:
    """Returns a model of a fully connected layer whose smallest result is far below the others, and a softmax."""
    builder, rng = ModelBuilder(), np.random.default_rng(3)
    builder.tensor("x", (1, 8), np.int8, scale=0.05, zero_point=0)
    builder.tensor("w", (10, 8), np.int8, scale=0.01, data=rng.integers(-127, 128, (10, 8)))
    bias = np.concatenate([[-150_000], rng.integers(0, 5000, 9)])
    builder.tensor("b", (10,), np.int32, scale=0.0005, data=bias)
    builder.tensor("y", (1, 10), np.int8, scale=0.5, zero_point=0)
    builder.tensor("p", (1, 10), np.int8, scale=1 / 256, zero_point=-128)
    builder.op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], {})
    builder.op("SOFTMAX", ["y"], ["p"], {"Beta": 1.0})
    return builder.build(["x"], ["p"])


@contextmanager
def fake_device(*knobs: Knob) -> Iterator[None]:
    """Registers the device `fake` for a block, with knobs that it understands."""
    with plugins.restored():
        _declare(*knobs)
        yield


def _declare(*knobs: Knob) -> None:
    versions = {"v1": patterns(), "v2": patterns(merge=True)}
    columns = {"tuning": lambda target: knobs} if knobs else {}
    declare(versions, "fake", codegen=codegen, runtime=runtime, **columns)


#: The device as a package outside brings it to processes of their own (`support.farm`).
PLUGIN = plugins.Plugin(interface=1, register=lambda: _declare(RUNS))
