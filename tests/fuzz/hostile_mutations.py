"""Mutations that mostly leave a model which means nothing."""

from __future__ import annotations

import numpy as np

from aboard import ops
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
from fuzz.sound_mutations import index_constant, option

_SUPPORTED = [
    number for kind in ops.tflite_kinds() if (number := getattr(schema.BuiltinOperator, kind, None)) is not None
]
_OPTIONS = [getattr(schema, name) for name in dir(schema) if name.endswith("OptionsT")]
_SCALES = (0.0, -1.0, float("nan"), float("inf"), 1e-45, 1e-38, 1e-12, 1e-6, 1.0, 1e6, 1e20, 3e38)


def bad_scale(model: Model, rng: np.random.Generator) -> None:
    """A scale that is no scale, or too many or too few."""
    quantization = a_quantisation(model, rng)
    if quantization is None:
        return
    scales = np.array(quantization.scale, np.float32)
    if rng.random() < 0.7:
        scales[int(rng.integers(len(scales)))] = choice(rng, _SCALES)
    else:
        scales = np.resize(scales, int(choice(rng, (0, 1, 2, len(scales) + 1, max(len(scales) - 1, 0)))))
    quantization.scale = scales


def bad_zero_point(model: Model, rng: np.random.Generator) -> None:
    """A zero point out of range, too many, or along another axis."""
    quantization = a_quantisation(model, rng)
    if quantization is None:
        return
    how = rng.integers(3)
    if how == 0:
        quantization.zeroPoint = np.array([choice(rng, (-(2**63), -129, 128, 255, 32768, 2**31, 2**62))], np.int64)
    elif how == 1:
        quantization.zeroPoint = np.zeros(int(rng.integers(0, 5)), np.int64)
    else:
        quantization.quantizedDimension = int(choice(rng, (-1, 0, 1, 2, 3, 4, 2**31 - 1)))


def shape(model: Model, rng: np.random.Generator) -> None:
    """Another shape of a tensor."""
    tensor = a_tensor(model, rng)
    sizes = indices(tensor.shape)
    how = rng.integers(5)
    if not sizes or how == 0:
        sizes.insert(int(rng.integers(len(sizes) + 1)), int(choice(rng, (0, 1, 2, -1))))
    elif how == 1:
        sizes.pop(int(rng.integers(len(sizes))))
    elif how == 2:
        rng.shuffle(sizes)
    elif how == 3:
        sizes[int(rng.integers(len(sizes)))] += int(choice(rng, NEAR))
    else:
        sizes[int(rng.integers(len(sizes)))] = int(choice(rng, SIZES))
    tensor.shape = np.array(sizes, np.int64).astype(np.int32)


def batch(model: Model, rng: np.random.Generator) -> None:
    """Another batch, of all tensors of activations."""
    size = int(choice(rng, (2, 3, 5)))
    for tensor in graph_of(model).tensors:
        data = model.buffers[tensor.buffer].data if tensor.buffer < len(model.buffers) else None
        sizes = indices(tensor.shape)
        if (data is None or not len(data)) and sizes and sizes[0] == 1:
            tensor.shape = np.array([size, *sizes[1:]], np.int32)


def element_type(model: Model, rng: np.random.Generator) -> None:
    """Another element type."""
    a_tensor(model, rng).type = int(choice(rng, (0, 1, 2, 3, 4, 6, 7, 9, 17, int(rng.integers(0, 32)))))


def buffer_size(model: Model, rng: np.random.Generator) -> None:
    """A constant cut off, extended, or emptied."""
    buffer = a_constant(model, rng)
    if buffer is not None:
        size = len(buffer.data)
        buffer.data = np.resize(buffer.data, int(choice(rng, (0, 1, size - 1, size + 1, size * 2, size // 2))))


def buffer_link(model: Model, rng: np.random.Generator) -> None:
    """A tensor with another tensor's buffer, or with one that does not exist."""
    count = len(model.buffers)
    a_tensor(model, rng).buffer = int(choice(rng, (0, count, 2**32 - 1, *range(count))))


def operator_code(model: Model, rng: np.random.Generator) -> None:
    """Another operator, of any form."""
    code = choice(rng, model.operatorCodes)
    number = int(choice(rng, (*_SUPPORTED, int(rng.integers(-1, 260)))))
    how = rng.integers(3)
    if how != 1:
        code.builtinCode = number
    if how != 0:
        code.deprecatedBuiltinCode = min(max(number, -128), 127)
    if rng.random() < 0.2:
        code.version = int(choice(rng, SIZES))


def code_index(model: Model, rng: np.random.Generator) -> None:
    """An operator with the code of another."""
    an_operator(model, rng).opcodeIndex = int(rng.integers(len(model.operatorCodes) + 1))


def options_table(model: Model, rng: np.random.Generator) -> None:
    """No options, those of another operator, or those of another kind with the old number."""
    operator = an_operator(model, rng)
    how = rng.integers(3)
    if how == 0:
        operator.builtinOptions, operator.builtinOptionsType = None, 0
    elif how == 1:
        other = an_operator(model, rng)
        operator.builtinOptions, operator.builtinOptionsType = other.builtinOptions, other.builtinOptionsType
    else:
        kind = choice(rng, _OPTIONS)
        operator.builtinOptions = kind()
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, kind.__name__[:-1], 0)


def operand(model: Model, rng: np.random.Generator) -> None:
    """Another operand, or one fewer, or one more."""
    operator = an_operator(model, rng)
    numbers, count = indices(operator.inputs), len(graph_of(model).tensors)
    other = int(choice(rng, (-1, count, 2**31 - 1, *([int(rng.integers(count))] * 6))))
    how = rng.integers(5)
    if numbers and how == 0:
        numbers.pop()
    elif how == 1:
        numbers.append(other)
    elif numbers:
        numbers[int(rng.integers(len(numbers)))] = other
    if how == 2:
        rng.shuffle(numbers)
    operator.inputs = np.array(numbers, np.int32)


def result(model: Model, rng: np.random.Generator) -> None:
    """Another result."""
    operator = an_operator(model, rng)
    count = len(graph_of(model).tensors)
    numbers = [int(rng.integers(-1, count + 1)) for _ in indices(operator.outputs)]
    operator.outputs = np.array(numbers if rng.random() < 0.7 else numbers[:-1], np.int32)


def border(model: Model, rng: np.random.Generator) -> None:
    """Other inputs or outputs of the model."""
    graph = graph_of(model)
    name = choice(rng, ("inputs", "outputs"))
    numbers = indices(getattr(graph, name))
    how, other = rng.integers(3), int(rng.integers(-1, len(graph.tensors) + 1))
    if numbers and how == 0:
        numbers.pop(int(rng.integers(len(numbers))))
    elif numbers and how == 1:
        numbers.append(numbers[0])
    else:
        numbers.append(other)
    setattr(graph, name, np.array(numbers, np.int32))


def operators(model: Model, rng: np.random.Generator) -> None:
    """An operator twice, left out, or in another place."""
    found = graph_of(model).operators
    at, how = int(rng.integers(len(found))), rng.integers(3)
    if how == 0:
        found.insert(at, found[at])
    elif how == 1 and len(found) > 1:
        found.pop(at)
    else:
        found.insert(int(rng.integers(len(found))), found.pop(at))


def flags(model: Model, rng: np.random.Generator) -> None:
    """A variable, a signature of another shape, another version, or a graph twice."""
    tensor, how = a_tensor(model, rng), rng.integers(4)
    if how == 0:
        tensor.isVariable = True
    elif how == 1:
        tensor.shapeSignature = np.array([-1 if rng.random() < 0.5 else n for n in indices(tensor.shape)], np.int32)
    elif how == 2:
        model.version = int(choice(rng, (0, 1, 2, 4)))
    else:
        model.subgraphs = [*model.subgraphs, *model.subgraphs]


HOSTILE: tuple[Mutation, ...] = (
    bad_scale, bad_zero_point, shape, shape, batch, element_type, buffer_size, buffer_link, operator_code, code_index,
    options_table, operand, operand, result, border, operators, flags, option, index_constant,
)  # fmt: skip
