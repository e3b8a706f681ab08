"""Samples to quantise a model with: values for its inputs, and labels where they are known."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from aboard.base import classifiers
from aboard.errors import InputError
from aboard.ir import Array, DType, Graph, Tensor
from aboard.quantization.plan import quantised_values

Inputs: TypeAlias = dict[str, Array]
Labels: TypeAlias = npt.NDArray[np.int64]

#: What `quantize` takes as samples: a file, one array for a model with one input, or an array for each input by name.
Data: TypeAlias = "str | Path | Array | Mapping[str, Array]"

#: Names in a file of samples beside those of inputs: samples that only ranges come from; inputs; inputs as real numbers
#: where `x` has those of an integer model, as `aboard evaluate` reads them; labels.
CALIBRATION, VALUES, REALS, LABELS = "calibration", "x", "x_f32", "y"


@dataclass(frozen=True)
class Samples:
    """Samples of a model.

    Attributes:
        calibration: Inputs that quantisation is chosen with.
        test: Inputs that accuracy is measured with; the same as `calibration` where no others are given.
        labels: The class of each test sample, from 0; None if no labels are given.
    """

    calibration: Sequence[Inputs]
    test: Sequence[Inputs]
    labels: Labels | None


def read(data: Data, graph: Graph) -> Samples:
    """Returns samples for a model.

    A file `.npz`, or a mapping, has an array for each input by its name, or `x` for a model with one input; the first
    dimension counts samples. `x_f32` is preferred to `x`. It may have labels `y`, and `calibration`: then ranges come
    from that, and `x` and `y` are the test. An input of integers with a scale takes real numbers, too.

    Raises:
        InputError: The file cannot be read; arrays are missing, or do not fit the model.
    """
    where, arrays = _arrays(data)
    known = {tensor.name for tensor in graph.inputs}
    only = graph.inputs[0].name if len(graph.inputs) == 1 else None
    named = {name: array for name, array in arrays.items() if name in known}
    if only is not None:
        given = next((name for name in (REALS, only, VALUES) if name in arrays), None)
        named = {} if given is None else {only: arrays[given]}
    calibration = {only: arrays[CALIBRATION]} if only is not None and CALIBRATION in arrays else {}
    missing = sorted(known - set(named))
    if missing and not (calibration and not named):
        raise InputError(
            f"{where}: got {', '.join(sorted(arrays)) or 'nothing'}, expected an array for input {missing[0]}"
            f"{' (or x)' if only is not None else ''}. Add the samples under that name"
        )
    test = _inputs(where, named or calibration, graph)
    labels = _labels(where, arrays, len(test), graph) if named else None
    return Samples(_inputs(where, calibration, graph) if calibration else test, test, labels)


def _arrays(data: Data) -> tuple[str, dict[str, Array]]:
    if isinstance(data, Mapping):
        return "samples", {str(name): np.asarray(array) for name, array in data.items()}
    if not isinstance(data, (str, Path)):
        return "samples", {VALUES: np.asarray(data)}
    try:
        opened: Any = np.load(data, allow_pickle=False)
        if isinstance(opened, np.ndarray):
            raise InputError(f"{data}: one array, expected a .npz file. Save it with numpy.savez(FILE, x=samples)")
        with opened as file:
            return str(data), {name: file[name] for name in file.files}
    except OSError as error:
        raise InputError(f"{data}: cannot be read, got: {error.strerror or error}. Check the path of --data") from error
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise InputError(
            f"{data}: no file of arrays, got: {error}. Save it with numpy.savez(FILE, x=samples)"
        ) from error


def _inputs(where: str, arrays: Mapping[str, Array], graph: Graph) -> list[Inputs]:
    columns = {tensor.name: _column(where, tensor, arrays[tensor.name]) for tensor in graph.inputs}
    counts = {len(column) for column in columns.values()}
    if len(counts) != 1 or 0 in counts:
        raise InputError(
            f"{where}: got {' and '.join(map(str, sorted(counts)))} samples, expected as many for each input, and one "
            "at least. Give each input as many samples"
        )
    return [{name: column[number] for name, column in columns.items()} for number in range(counts.pop())]


def _column(where: str, tensor: Tensor, array: Array) -> Array:
    """Returns samples of one input: dimensions [count, *shape of the input]."""
    inner = tensor.shape[1:] if tensor.shape[:1] == (1,) else tensor.shape
    fits = array.ndim > 0 and (array.shape[1:] in (inner, tensor.shape) or _flat(array.shape[1:]) == _flat(inner))
    if not fits:
        turned = sorted(_flat(array.shape[1:])) == sorted(_flat(inner)) and len(_flat(inner)) > 1
        hint = "Transpose the samples to the model's order of axes" if turned else "Give samples of the model's shape"
        raise InputError(
            f"{where}: samples of input {tensor.name}, got shape {list(array.shape)}, expected "
            f"{['count', *inner]}. {hint}".replace("'count'", "count")
        )
    if array.dtype.kind == "f" and is_stored_reals(tensor):
        array = quantised_values(_finite(where, tensor, array.astype(np.float32)), tensor.quant, tensor.dtype)
    if array.dtype.kind not in "fiub" or (array.dtype.kind == "f" and not tensor.dtype.is_float):
        raise InputError(
            f"{where}: samples of input {tensor.name}, got {array.dtype}, expected {tensor.dtype.value}. Convert them"
        )
    with np.errstate(over="ignore"):
        values = array.astype(tensor.dtype.numpy).reshape(len(array), *tensor.shape)
    return _finite(where, tensor, values) if values.dtype.kind == "f" else values


def is_stored_reals(tensor: Tensor) -> bool:
    """True for a tensor whose integers of 8 or 16 bits stand for real numbers."""
    return tensor.type.quant is not None and tensor.dtype in (DType.INT8, DType.INT16)


def _finite(where: str, tensor: Tensor, values: Any) -> Any:
    if not np.isfinite(values).all():
        raise InputError(f"{where}: samples of input {tensor.name} have NaN or infinity. Remove those samples")
    return values


def _flat(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent != 1)


def _labels(where: str, arrays: Mapping[str, Array], count: int, graph: Graph) -> Labels | None:
    given: Any = arrays.get(LABELS)
    if given is None or LABELS in {tensor.name for tensor in graph.inputs}:
        return None
    labels = np.asarray(given).reshape(-1)
    sizes = [math.prod(output.shape) for output in graph.outputs]
    at = classifiers.scores_at(sizes)
    if at is None:
        raise InputError(
            f"{where}: labels for a model with {len(graph.outputs)} outputs, the first of shape "
            f"{list(graph.outputs[0].shape)}; expected an output with a score for each class, alone or beside a label. "
            "Leave y out"
        )
    classes = sizes[at]
    if len(labels) != count or labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= classes:
        raise InputError(
            f"{where}: labels y, got {len(labels)} of {labels.dtype}, expected {count} whole numbers from 0 to "
            f"{classes - 1}. Correct the labels"
        )
    return labels.astype(np.int64)
