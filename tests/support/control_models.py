"""Models with IF and WHILE, drawn from a seed: the graphs inside have layers, constants, and others inside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from support.tflite_builder import ModelBuilder

SCALE, ZERO = 0.05, 3

#: Largest number of iterations of a loop, so that random inputs do.
MOST = 9


def values(builder: ModelBuilder, name: str, shape: Sequence[int]) -> None:
    """Adds an int8 tensor of activations."""
    builder.tensor(name, shape, np.int8, scale=SCALE, zero_point=ZERO)


def layer(builder: ModelBuilder, x: str, y: str, shape: Sequence[int], rng: np.random.Generator) -> None:
    """Adds a layer from one activation to another of the same shape: a product with weights, or a sum.

    Args:
        builder: The graph.
        x: The operand; it exists.
        y: The result; it is added.
        shape: Of both: (1, height, width, channels).
        rng: Draws kind and weights.
    """
    values(builder, y, shape)
    channels = shape[-1]
    kind = rng.integers(3)
    if kind == 0:
        weights = rng.integers(-127, 128, (channels, 3, 3, channels))
        builder.tensor(f"{y}/w", weights.shape, np.int8, scale=0.01, data=weights)
        builder.tensor(f"{y}/b", (channels,), np.int32, scale=0.01 * SCALE, data=rng.integers(-500, 500, channels))
        options = {"StrideH": 1, "StrideW": 1, "Padding": "SAME"}
        builder.op("CONV_2D", [x, f"{y}/w", f"{y}/b"], [y], options, version=3)
    elif kind == 1:
        builder.tensor(f"{y}/c", shape, np.int8, scale=SCALE, zero_point=-5, data=rng.integers(-128, 128, shape))
        builder.op("ADD", [x, f"{y}/c"], [y])
    else:
        builder.op("MUL", [x, x], [y])


def branch(shape: Sequence[int], layers: int, rng: np.random.Generator) -> ModelBuilder:
    """Returns a graph of some layers; its output is its input if there is none."""
    builder = ModelBuilder(border=(["x"], [f"t{layers}" if layers else "x"]))
    values(builder, "x", shape)
    for index in range(layers):
        layer(builder, f"t{index}" if index else "x", f"t{index + 1}", shape, rng)
    return builder


def chosen(seed: int, shape: Sequence[int] = (1, 4, 5, 3), layers: Sequence[int] = (2, 1), after: int = 1) -> bytes:
    """Returns a model of one IF between layers: inputs `flag` and `x`, output `y`.

    Args:
        seed: Of kinds and weights.
        shape: Of all activations.
        layers: Layers of the branches.
        after: Layers behind the IF, in the model.
    """
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(called=[branch(shape, count, rng) for count in layers])
    builder.tensor("flag", (1,), np.bool_)
    values(builder, "x", shape)
    layer(builder, "x", "given", shape, rng)
    values(builder, "r0", shape)
    builder.op("IF", ["flag", "given"], ["r0"], {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})
    for index in range(after):
        layer(builder, f"r{index}", f"r{index + 1}", shape, rng)
    return builder.build(["flag", "x"], [f"r{after}"])


def counting(shape: Sequence[int]) -> ModelBuilder:
    """Returns the condition of a loop: true as long as the count is below the limit."""
    builder = ModelBuilder(border=(["i", "n", "x"], ["more"]))
    builder.tensor("i", (1,), np.int32).tensor("n", (1,), np.int32).tensor("more", (1,), np.bool_)
    values(builder, "x", shape)
    return builder.op("LESS", ["i", "n"], ["more"])


def _counted(builder: ModelBuilder, shape: Sequence[int]) -> None:
    builder.tensor("i", (1,), np.int32).tensor("n", (1,), np.int32).tensor("i/next", (1,), np.int32)
    builder.tensor("one", (1,), np.int32, data=[1])
    values(builder, "x", shape)
    builder.op("ADD", ["i", "one"], ["i/next"])


def looped(seed: int, shape: Sequence[int] = (1, 3, 4, 2), layers: int = 2) -> bytes:
    """Returns a model of one WHILE: inputs `n` (iterations, at most `MOST`) and `x`, outputs the count and `y`."""
    rng = np.random.default_rng(seed)
    body = ModelBuilder(border=(["i", "n", "x"], ["i/next", "n", f"t{layers}" if layers else "x"]))
    _counted(body, shape)
    for index in range(layers):
        layer(body, f"t{index}" if index else "x", f"t{index + 1}", shape, rng)
    return _loop([counting(shape), body], shape)


def nested(seed: int, shape: Sequence[int] = (1, 3, 4, 2)) -> bytes:
    """Returns a model of a WHILE with an IF inside: every other iteration computes another branch."""
    rng = np.random.default_rng(seed)
    body = ModelBuilder(border=(["i", "n", "x"], ["i/next", "n", "y"]))
    _counted(body, shape)
    body.tensor("half", (1,), np.int32)
    body.tensor("early", (1,), np.bool_)
    values(body, "y", shape)
    body.op("ADD", ["i", "i"], ["half"]).op("LESS", ["half", "n"], ["early"])
    body.op("IF", ["early", "x"], ["y"], {"ThenSubgraphIndex": 3, "ElseSubgraphIndex": 4})
    return _loop([counting(shape), body, branch(shape, 2, rng), branch(shape, 1, rng)], shape)


def _loop(called: list[ModelBuilder], shape: Sequence[int]) -> bytes:
    builder = ModelBuilder(called=called)
    builder.tensor("n", (1,), np.int32).tensor("zero", (1,), np.int32, data=[0])
    builder.tensor("count", (1,), np.int32).tensor("n/last", (1,), np.int32)
    builder.tensor("most", (1,), np.int32, data=[MOST]).tensor("limit", (1,), np.int32)
    values(builder, "x", shape)
    values(builder, "y", shape)
    options = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    builder.op("MINIMUM", ["n", "most"], ["limit"])
    builder.op("WHILE", ["zero", "limit", "x"], ["count", "n/last", "y"], options)
    return builder.build(["n", "x"], ["count", "y"])
