"""Mutations that mostly leave a model which still means something."""

from __future__ import annotations

import numpy as np

from fuzz.minimise import indices, schema
from fuzz.model_parts import (
    NEAR,
    SIZES,
    Model,
    Mutation,
    a_constant,
    a_quantisation,
    a_tensor,
    an_operator,
    choice,
    graph_of,
)

_BUILTIN = {name: number for name, number in vars(schema.BuiltinOperator).items() if isinstance(number, int)}
#: Names that could end a C string, a comment or a line, or move a cursor.
_NAMES = (
    b"", b"a\nb", b"*/", b"//\\", b'"', b"??/", b"\x1b]0;t\x07", b"%s%n", b"\xff\xfe", b"x" * 300, "\u202e".encode(),
)  # fmt: skip


def rescale(model: Model, rng: np.random.Generator) -> None:
    """Other scales, of one tensor or of all."""
    tensors = graph_of(model).tensors if rng.random() < 0.4 else [a_tensor(model, rng)]
    for tensor in tensors:
        quantization = tensor.quantization
        if quantization is not None and quantization.scale is not None:
            factors = rng.uniform(0.5, 2, len(quantization.scale))
            quantization.scale = (np.asarray(quantization.scale) * factors).astype(np.float32)


def scale_of_power(model: Model, rng: np.random.Generator) -> None:
    """A scale that is a power of two, where ratios are borderline."""
    quantization = a_quantisation(model, rng)
    if quantization is not None:
        powers = 2.0 ** np.round(np.log2(np.abs(np.asarray(quantization.scale, np.float64)) + 1e-30))
        quantization.scale = powers.astype(np.float32)


def zero_point(model: Model, rng: np.random.Generator) -> None:
    """Another zero point of int8."""
    quantization = a_quantisation(model, rng)
    if quantization is not None and quantization.zeroPoint is not None:
        points = [choice(rng, (-128, 127, 0, int(rng.integers(-128, 128))))] * len(quantization.zeroPoint)
        quantization.zeroPoint = np.array(points, np.int64)


def content(model: Model, rng: np.random.Generator) -> None:
    """Other bytes in a constant: a few, all, or the extremes."""
    buffer = a_constant(model, rng)
    if buffer is None:
        return
    how, size = rng.integers(4), len(buffer.data)
    if how == 0:
        buffer.data[:] = rng.integers(0, 256, size, dtype=np.uint8)
    elif how == 1:
        buffer.data[:] = choice(rng, (0, 0x7F, 0x80, 0xFF))
    else:
        where = rng.integers(0, size, max(1, size // 50))
        buffer.data[where] = rng.integers(0, 256, len(where), dtype=np.uint8)


def index_constant(model: Model, rng: np.random.Generator) -> None:
    """A neighbouring value in a small constant of integers: a shape, an axis, a padding."""
    small = [b for b in model.buffers if b.data is not None and 0 < len(b.data) <= 64 and len(b.data) % 4 == 0]
    if small:
        buffer = choice(rng, small)
        values = np.array(buffer.data, np.uint8).view("<i4").copy()
        values[int(rng.integers(len(values)))] += choice(rng, NEAR)
        buffer.data = values.view(np.uint8)


def option(model: Model, rng: np.random.Generator) -> None:
    """Another value of an option, mostly a near one."""
    operator = an_operator(model, rng)
    options = operator.builtinOptions
    numbers = (bool, int, float, np.number)  # Texts, such as the name of a variable, stay.
    fields = [name for name, value in vars(options).items() if isinstance(value, numbers)] if options else []
    if not fields:
        return
    name = choice(rng, fields)
    value = getattr(options, name)
    if isinstance(value, bool):
        setattr(options, name, not value)
    elif isinstance(value, float):
        setattr(options, name, float(np.float32(choice(rng, (value * rng.uniform(0.5, 2), 0.0, -1.0, 1e10)))))
    else:
        near = int(value) + choice(rng, NEAR)
        small = name in ("padding", "fusedActivationFunction") or "Type" in name or "Format" in name
        setattr(options, name, max(near, 0) if small else choice(rng, (near, near, near, *SIZES)))


def activation(model: Model, rng: np.random.Generator) -> None:
    """Another fused activation."""
    options = [operator.builtinOptions for operator in graph_of(model).operators]
    fused = [each for each in options if hasattr(each, "fusedActivationFunction")]
    if fused:
        choice(rng, fused).fusedActivationFunction = int(rng.integers(0, 4))


def new_field_only(model: Model, rng: np.random.Generator) -> None:
    """Operator codes in the new field only, or in the old field only."""
    for code in model.operatorCodes:
        number = max(code.builtinCode, code.deprecatedBuiltinCode)
        if number < 127 and rng.random() < 0.5:
            code.deprecatedBuiltinCode, code.builtinCode = (0, number) if rng.random() < 0.5 else (number, 0)


def swap_kind(model: Model, rng: np.random.Generator) -> None:
    """Another operator of the same form."""
    groups = (("ADD", "SUB", "MUL"), ("RELU", "RELU6", "LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU"))
    pools = (("AVERAGE_POOL_2D", "MAX_POOL_2D"), ("QUANTIZE", "RELU"), ("PAD", "PADV2"))
    code = choice(rng, model.operatorCodes)
    number = max(code.builtinCode, code.deprecatedBuiltinCode)
    for group in (*groups, *pools):
        numbers = [_BUILTIN[kind] for kind in group]
        if number in numbers:
            code.builtinCode = choice(rng, numbers)
            code.deprecatedBuiltinCode = min(code.builtinCode, 127)


def rename(model: Model, rng: np.random.Generator) -> None:
    """A name that could be code, or the name of another tensor."""
    tensor = a_tensor(model, rng)
    tensor.name = choice(rng, (*_NAMES, a_tensor(model, rng).name or b""))


def more_readers(model: Model, rng: np.random.Generator) -> None:
    """A tensor inside the model becomes an output as well."""
    graph = graph_of(model)
    made = [number for op in graph.operators for number in indices(op.outputs)]
    if made:
        graph.outputs = np.array([*indices(graph.outputs), choice(rng, made)], np.int32)


SOUND: tuple[Mutation, ...] = (
    rescale, rescale, rescale, scale_of_power, zero_point, content, content, option, activation, new_field_only,
    swap_kind, rename, more_readers, index_constant,
)  # fmt: skip
