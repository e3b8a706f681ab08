"""Makes a model that fails smaller, operator by operator, as long as it fails in the same way."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

IDENTIFIER = b"TFL3"


def read(data: bytes) -> schema.ModelT:
    """Returns the objects of a sound file."""
    return schema.ModelT.InitFromPackedBuf(data, 0)


def written(model: schema.ModelT) -> bytes:
    """Returns the file of a model."""
    builder = flatbuffers.Builder(1 << 12)
    builder.Finish(model.Pack(builder), IDENTIFIER)
    return bytes(builder.Output())


def indices(numbers: object) -> list[int]:
    """Returns a vector of a file as a list; empty where it is absent."""
    return [] if numbers is None else [int(number) for number in numbers]  # type: ignore[attr-defined]


def part(model: schema.ModelT, operators: list[int]) -> schema.ModelT | None:
    """Returns a model of some of the operators: what they lack become inputs, what nobody reads outputs."""
    model = copy.copy(model)
    graph = copy.copy(model.subgraphs[0])
    kept = [copy.copy(graph.operators[index]) for index in operators]
    if not kept:
        return None
    made = {number for op in kept for number in indices(op.outputs)}
    read_by = [number for op in kept for number in indices(op.inputs) if number >= 0]
    free = [n for n in dict.fromkeys(read_by) if n not in made and not _is_constant(model, n)]
    loose = [number for op in kept for number in indices(op.outputs) if number not in set(read_by)]
    stated = [number for number in indices(graph.outputs) if number in made and number not in loose]
    used = sorted({*read_by, *made})
    renumbered = {number: position for position, number in enumerate(used)} | {-1: -1}
    for op in kept:
        op.inputs = np.array([renumbered[n] for n in indices(op.inputs)], np.int32)
        op.outputs = np.array([renumbered[n] for n in indices(op.outputs)], np.int32)
    graph.tensors = [copy.copy(graph.tensors[number]) for number in used]
    graph.operators = kept
    graph.inputs = np.array([renumbered[n] for n in free], np.int32)
    graph.outputs = np.array([renumbered[n] for n in [*loose, *stated]], np.int32)
    model.subgraphs = [graph]
    model.signatureDefs = model.metadata = None
    _drop_buffers(model)
    return model


def _is_constant(model: schema.ModelT, tensor: int) -> bool:
    buffer = model.buffers[model.subgraphs[0].tensors[tensor].buffer]
    return buffer.data is not None and len(buffer.data) > 0


def _drop_buffers(model: schema.ModelT) -> None:
    used = sorted({0, *(tensor.buffer for tensor in model.subgraphs[0].tensors)})
    model.buffers = [model.buffers[number] for number in used]
    for tensor in model.subgraphs[0].tensors:
        tensor.buffer = used.index(tensor.buffer)


def smallest(data: bytes, fails: Callable[[bytes], bool], seconds: float = 60.0) -> bytes:
    """Returns the file with as few operators as still fail.

    Args:
        data: A file that fails.
        fails: Whether a file fails in the same way.
        seconds: Budget.
    """
    deadline = time.monotonic() + seconds
    try:
        model = read(data)
        left = list(range(len(model.subgraphs[0].operators)))
    except Exception:
        return data
    best, size = data, len(left) // 2
    while size >= 1 and time.monotonic() < deadline:
        for start in range(0, len(left), size):
            tried = left[:start] + left[start + size :]
            smaller = _written_part(model, tried)
            if smaller is not None and fails(smaller):
                best, left = smaller, tried
                break
            if time.monotonic() > deadline:
                break
        else:
            size //= 2
    return best


def _written_part(model: schema.ModelT, operators: list[int]) -> bytes | None:
    try:
        found = part(model, operators)
        return None if found is None else written(found)
    except Exception:
        return None


def kinds(data: bytes) -> str:
    """Returns the operators of a file by name, which tells causes of failures apart; empty where it is corrupt."""
    names = {number: name for name, number in vars(schema.BuiltinOperator).items() if isinstance(number, int)}
    try:
        model = read(data)
        codes = [model.operatorCodes[operator.opcodeIndex] for operator in model.subgraphs[0].operators]
        return " ".join(names.get(max(c.builtinCode, c.deprecatedBuiltinCode), "?") for c in codes)
    except Exception:
        return ""
