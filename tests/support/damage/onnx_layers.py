"""Edits of ONNX files: padding and activations; and the file as `choice.damaged` takes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

import numpy as np

from support.damage import choice, onnx_faults
from support.damage.onnx_file import OnnxFile, Run
from support.damage.records import ACTIVATION, PADDING, Damaged, Edit, Values

_WINDOWED = {"Conv", "ConvTranspose", "AveragePool", "MaxPool"}
_ACTIVATIONS = ("Identity", "Relu", "LeakyRelu", "Clip")
_REPLACED = {"Relu", "Clip", "LeakyRelu", "Gelu"}

# Clip takes its bounds as operands from this version on.
_CLIP_WITH_OPERANDS = 11


class Editable:
    """An ONNX file whose layers can be damaged."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._file = OnnxFile(data)
        self._run = lru_cache(maxsize=2)(lambda given: (OnnxFile(given), Run(given)))
        self._before: dict[tuple[int, int], Sequence[choice.Measured]] = {}

    def edits(self, cause: str) -> Sequence[Edit]:
        return [*onnx_faults.edits(self._file, cause), *_edits(self._file, cause)]

    def tensor(self, layer: int) -> str:
        return str(self._file.nodes[layer].output[0])

    def carriers(self, layer: int) -> tuple[str, ...]:
        file, before = self._file, []
        node = file.nodes[layer]
        while node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            writer = file.writer(node.input[0])
            if writer is None:
                break
            node = file.nodes[writer]
            before.append(str(node.output[0]))
        return (*before, *file.merged(layer))

    def evaluate(self, data: bytes, feed: Values, layer: int) -> Sequence[choice.Measured]:
        known = (id(feed), layer)
        if not data and known in self._before:
            return self._before[known]
        file, run = self._run(data or self._data)
        names = [self.tensor(layer), *self._file.merged(layer)[-1:]]
        found = [_measured(file, name, run.value(dict(feed), name)) for name in names]
        if not data:
            self._before[known] = found
        return found


def _measured(file: OnnxFile, name: str, values: np.ndarray) -> choice.Measured:
    node = file.nodes[file.writer(name)]
    if node.op_type not in ("QuantizeLinear", "DequantizeLinear"):
        return choice.Measured(values.astype(np.float64), 0.0)
    scale, point = (file.constant(each).astype(np.float64) for each in node.input[1:3])
    stored = node.op_type == "QuantizeLinear"
    return choice.Measured((values - point) * scale if stored else values.astype(np.float64), float(scale))


def damage(data: bytes, rng: np.random.Generator, feeds: Sequence[Values], cause: str | None = None) -> Damaged:
    """Returns an ONNX file with one damaged layer; arguments and errors as for `choice.damaged`."""
    return choice.damaged(Editable(data), rng, feeds, cause)


def _edits(file: OnnxFile, cause: str) -> Iterator[Edit]:
    opset = max((each.version for each in file.model.opset_import if each.domain == ""), default=0)
    for layer, node in enumerate(file.nodes):
        if cause == PADDING and node.op_type in _WINDOWED:
            yield Edit(layer, partial(onnx_faults.made, file, layer, _padding))
        if cause == ACTIVATION and node.op_type in _REPLACED and opset >= _CLIP_WITH_OPERANDS:
            yield Edit(layer, partial(onnx_faults.made, file, layer, _activation))


def _padding(file: OnnxFile, layer: int, rng: np.random.Generator) -> tuple[str, str] | None:
    """Moves pads of one axis from one end to the other, so that the shape of the result stays."""
    attributes = file.attributes(layer)
    automatic = attributes.get("auto_pad", b"NOTSET").decode()
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        other = "SAME_LOWER" if automatic == "SAME_UPPER" else "SAME_UPPER"
        file.set(layer, auto_pad=other)
        return "sides exchanged", f"{automatic} became {other}"
    pads = np.array(attributes.get("pads", []), np.int64).reshape(2, -1)
    axes = np.flatnonzero(pads.sum(axis=0))
    if automatic != "NOTSET" or len(axes) == 0:
        return None
    moved, axis = pads.copy(), int(rng.choice(axes))
    if pads[0, axis] != pads[1, axis]:
        moved[:, axis] = pads[::-1, axis]
    else:
        moved[:, axis] = rng.permutation([0, pads[:, axis].sum()])
    file.set(layer, pads=moved.ravel().tolist())
    return "sides exchanged", f"pads {pads.ravel().tolist()} became {moved.ravel().tolist()}"


def _activation(file: OnnxFile, layer: int, rng: np.random.Generator) -> tuple[str, str]:
    before = file.nodes[layer].op_type
    after = str(rng.choice([each for each in _ACTIVATIONS if each != before]))
    if after == "Clip":
        bound = round(float(rng.uniform(0.5, 6.0)), 2)
        file.make(layer, after, 0.0, bound)
        return "activation exchanged", f"{before} became Clip from 0 to {bound}"
    if after == "LeakyRelu":
        slope = round(float(rng.uniform(0.05, 0.5)), 2)
        file.make(layer, after, alpha=slope)
        return "activation exchanged", f"{before} became LeakyRelu of {slope}"
    file.make(layer, after)
    return f"activation {'removed' if after == 'Identity' else 'exchanged'}", f"{before} became {after}"
