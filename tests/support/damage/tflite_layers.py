"""Edits of TFLite files: padding and activations; and the file as `choice.damaged` takes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from support.damage import choice, tflite_faults
from support.damage.records import ACTIVATION, PADDING, Damaged, Edit, Values
from support.damage.tflite_file import Run, TFLiteFile, real

_ACTIVATIONS = {0: "NONE", 1: "RELU", 3: "RELU6"}
_PADDINGS = {0: "SAME", 1: "VALID"}
_WINDOWED = {"CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D"}
_ACTIVATED = {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "SUB", "MUL"}
_OPERATORS = ("RELU", "RELU6")


class Editable:
    """A TFLite file whose layers can be damaged."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._file = TFLiteFile(data)
        self._run = lru_cache(maxsize=2)(lambda given: (TFLiteFile(given), Run(given)))
        self._before: dict[tuple[int, int], Sequence[choice.Measured]] = {}

    def edits(self, cause: str) -> Sequence[Edit]:
        return [*tflite_faults.edits(self._file, cause), *_edits(self._file, cause)]

    def tensor(self, layer: int) -> str:
        return self._file.name(self._file.output(layer))

    def carriers(self, layer: int) -> tuple[str, ...]:
        return ()

    def evaluate(self, data: bytes, feed: Values, layer: int) -> Sequence[choice.Measured]:
        known = (id(feed), layer)
        if not data and known in self._before:
            return self._before[known]
        file, run = self._run(data or self._data)
        run.invoke(feed)
        tensor = file.output(layer)
        scales = file.scales(tensor) if file.type(tensor) is np.int8 else None
        step = 0.0 if scales is None else float(scales[0])
        found = [choice.Measured(real(file, tensor, run.value(tensor)), step)]
        if not data:
            self._before[known] = found
        return found


def damage(data: bytes, rng: np.random.Generator, feeds: Sequence[Values], cause: str | None = None) -> Damaged:
    """Returns a TFLite file with one damaged layer; arguments and errors as for `choice.damaged`."""
    return choice.damaged(Editable(data), rng, feeds, cause)


def _edits(file: TFLiteFile, cause: str) -> Iterator[Edit]:
    for layer in range(len(file.graph.operators)):
        kind = file.kind(layer)
        if cause == PADDING and kind in _WINDOWED:
            yield Edit(layer, partial(_padding, file, layer))
        if cause == PADDING and kind == "PAD" and file.array(file.operands(layer)[1]) is not None:
            yield Edit(layer, partial(tflite_faults.made, file, layer, _sides))
        if cause == ACTIVATION and kind in _ACTIVATED:
            yield Edit(layer, partial(tflite_faults.made, file, layer, _fused))
        if cause == ACTIVATION and kind in _OPERATORS:
            yield Edit(layer, partial(tflite_faults.made, file, layer, _operator))


def _padding(file: TFLiteFile, layer: int, rng: np.random.Generator) -> tuple[str, str, bytes] | None:
    found = tflite_faults.made(file, layer, _flipped, rng)
    assert found is not None
    try:
        shapes = Run(found[2]).shapes
    except (RuntimeError, ValueError):
        return None
    edited = TFLiteFile(found[2])
    if any(tuple(edited.graph.tensors[each].shape) != shapes[each] for each in edited.graph.outputs):
        return None
    computed = {int(tensor) for each in edited.graph.operators for tensor in each.outputs}
    for tensor in computed:
        record = edited.graph.tensors[tensor]
        record.shape = np.array(shapes[tensor], np.int32)
        if record.shapeSignature is not None and len(record.shapeSignature):
            record.shapeSignature = np.where(np.array(record.shapeSignature) < 0, -1, record.shape).astype(np.int32)
    return found[0], found[1], edited.written()


def _flipped(file: TFLiteFile, layer: int, rng: np.random.Generator) -> tuple[str, str]:
    options = file.graph.operators[layer].builtinOptions
    before, options.padding = options.padding, 1 - options.padding
    return "SAME and VALID", f"padding {_PADDINGS[before]} became {_PADDINGS[options.padding]}"


def _sides(file: TFLiteFile, layer: int, rng: np.random.Generator) -> tuple[str, str] | None:
    """Exchanges what is added before and after."""
    pads = file.operands(layer)[1]
    values = file.array(pads)
    if len(file.readers(pads)) > 1 or np.array_equal(values, values[:, ::-1]):
        return None
    file.store(pads, values[:, ::-1])
    return "sides exchanged", f"pads {values.tolist()} became {values[:, ::-1].tolist()}"


def _fused(file: TFLiteFile, layer: int, rng: np.random.Generator) -> tuple[str, str] | None:
    options = file.graph.operators[layer].builtinOptions
    if options is None or options.fusedActivationFunction not in _ACTIVATIONS:
        return None
    before = options.fusedActivationFunction
    options.fusedActivationFunction = int(rng.choice([each for each in _ACTIVATIONS if each != before]))
    after = _ACTIVATIONS[options.fusedActivationFunction]
    form = "removed" if after == "NONE" else "added" if before == 0 else "exchanged"
    return f"fused activation {form}", f"fused activation {_ACTIVATIONS[before]} became {after}"


def _operator(file: TFLiteFile, layer: int, rng: np.random.Generator) -> tuple[str, str]:
    """Makes another operator of an activation that stands alone."""
    before = file.kind(layer)
    after = str(rng.choice([each for each in _OPERATORS if each != before]))
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, after)
    code.version = 2 if file.type(file.output(layer)) is np.int8 else 1
    file.model.operatorCodes.append(code)
    file.graph.operators[layer].opcodeIndex = len(file.model.operatorCodes) - 1
    return "operator exchanged", f"{before} became {after}"
