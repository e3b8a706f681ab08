"""Operators that prepare features: scaling, missing values, codes of categories, columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.movement import pick
from aboard.importers.onnx.scores import MOST_TARGETS, choice, numbers, reals
from aboard.ir import DType, Tensor
from aboard.ops.extremes import PlaceAttributes
from aboard.ops.gather import GatherAttributes
from aboard.ops.reduction import ReductionAttributes

#: Comparisons that a table of codes becomes, at most: each is a node.
_MOST_CODES = 4096

#: Integers whose magnitude float32 holds exactly.
_EXACT = 1 << 24


@reads("ai.onnx.ml.Scaler")
def scaler(source: Operator, make: Builder) -> Tensor:
    """(x - offset) * scale for each feature, or for all with one number."""
    x = make.cast(source.input(0), DType.FLOAT32)
    features = x.shape[-1] if x.shape else 1
    for name, op in (("offset", "sub"), ("scale", "mul")):
        values = reals(source, name)
        if len(values) not in (1, features):
            raise source.unsupported(
                f"{name}, got {len(values)} numbers, expected 1 or {features}, one for each feature. Export again"
            )
        x = make.op(op, [x, make.array(values if len(values) == features else np.full(features, values[0]))])
    return x


@reads("ai.onnx.ml.Normalizer")
def normalizer(source: Operator, make: Builder) -> Tensor:
    """Each sample divided by its largest element, its sum of magnitudes or its length; samples of 0 stay.

    Exporters put it behind softmax too, where it would change rounding alone.
    """
    norm = choice(source, "norm", ("MAX", "L1", "L2"))
    if norm == "L1" and id(source.input(0)) in make.distributions:
        return source.input(0)
    x = make.cast(source.input(0), DType.FLOAT32)
    if len(x.shape) not in (1, 2):
        raise source.unsupported(f"operand, got shape {list(x.shape)}, expected [samples, features]. Reshape it before")
    attrs = ReductionAttributes((len(x.shape) - 1,), True)
    if norm == "MAX":
        size = make.op("reduce_max", [x], attrs)
    else:
        size = make.op("sum", [make.op("abs", [x]) if norm == "L1" else make.op("mul", [x, x])], attrs)
    is_zero = make.op("equal", [size, make.scalar(0)], dtype=DType.BOOL)
    length = make.op("sqrt", [size]) if norm == "L2" else size
    return make.op("div", [x, make.op("select", [is_zero, make.scalar(1), length], dtype=DType.FLOAT32)])


@reads("ai.onnx.ml.Imputer")
def imputer(source: Operator, make: Builder) -> Tensor:
    """A number for each feature, or for all, where an element is the one that stands for missing."""
    x = source.input(0)
    suffix, missing = ("floats", "replaced_value_float") if x.dtype.is_float else ("int64s", "replaced_value_int64")
    values, wanted = numbers(source, f"imputed_value_{suffix}"), source.options[missing]
    features = x.shape[-1] if x.shape else 1
    if len(values) not in (1, features):
        raise source.unsupported(
            f"imputed_value_{suffix}, got {len(values)} numbers, expected 1 or {features}, one for each feature. "
            "Export the model again"
        )
    if x.dtype.is_float and math.isnan(wanted):
        is_missing = make.op("is_nan", [x], dtype=DType.BOOL)
    else:
        is_missing = make.op("equal", [x, make.scalar(wanted, x.dtype)], dtype=DType.BOOL)
    return make.op("select", [is_missing, make.array(np.resize(values, features), x.dtype), x], dtype=x.dtype)


@reads("ai.onnx.ml.ArrayFeatureExtractor")
def extractor(source: Operator, make: Builder) -> Tensor:
    """Elements of the last axis by their indices; a vector has one row then."""
    x, indices = source.input(0), source.input(1)
    if not x.shape:
        raise source.unsupported("operand, got a number, expected axes. Export the model again")
    rows = make.reshape(x, (1, *x.shape)) if len(x.shape) == 1 else x
    if indices.data is not None:
        chosen = source.integers(1)
        if not chosen or min(chosen) < 0 or max(chosen) >= x.shape[-1]:
            raise source.unsupported(
                f"indices, got {chosen[:8]}, expected numbers in [0, {x.shape[-1] - 1}]. Export the model again"
            )
        return pick(make, rows, len(rows.shape) - 1, np.array(chosen))
    flat = make.reshape(make.cast(indices, DType.INT32), (indices.type.elements,))
    return make.op("gather", [rows, flat], GatherAttributes(len(rows.shape) - 1))


@reads("ai.onnx.ml.FeatureVectorizer")
def vectorizer(source: Operator, make: Builder) -> Tensor:
    """Columns of all operands beside each other as float32, each as wide as the file says: cut, or filled with 0."""
    operands = [source.input(index) for index in range(len(source.inputs))]
    widths = [int(value) for value in numbers(source, "inputdimensions")]
    if len(widths) != len(operands) or not 1 <= min(widths) <= max(widths) <= MOST_TARGETS:
        raise source.unsupported(
            f"inputdimensions, got {widths[:8]}, expected a number in [1, {MOST_TARGETS}] for each of {len(operands)} "
            "operands. Export the model again"
        )
    parts = []
    for tensor, width in zip(operands, widths, strict=True):
        rows = make.cast(tensor, DType.FLOAT32)
        rows = make.reshape(rows, (1, *rows.shape)) if len(rows.shape) < 2 else rows
        if len(rows.shape) != 2:
            raise source.unsupported(
                f"operand, got shape {list(tensor.shape)}, expected [samples, features]. Reshape it before"
            )
        kept = pick(make, rows, 1, np.arange(width)) if width < rows.shape[1] else rows
        parts.append(make.pad(kept, ((0, 0), (0, max(width - rows.shape[1], 0))), 0))
    return make.join(parts, 1) if len(parts) > 1 else parts[0]


@reads("ai.onnx.ml.OneHotEncoder")
def one_hot(source: Operator, make: Builder) -> Tensor:
    """On a new last axis 1 for the category that an element is, and 0 for others."""
    x, categories = source.input(0), numbers(source, "cats_int64s")
    if not categories.size:
        raise source.unsupported("categories, got text, expected cats_int64s. Use numbers for categories")
    if not source.options["zeros"]:
        raise source.unsupported(
            "zeros, got 0, which fails for unknown categories at run time, expected 1. Export with "
            "handle_unknown='ignore'"
        )
    whole = _whole(source, make, x, categories)
    last = make.reshape(whole, (*x.shape, 1))
    is_same = make.op("equal", [last, make.array(categories, whole.dtype)], dtype=DType.BOOL)
    return make.cast(is_same, DType.FLOAT32)


def _whole(source: Operator, make: Builder, x: Tensor, known: np.ndarray[Any, Any]) -> Tensor:
    """Returns elements as integers, of floats those next to 0."""
    if known.size and (known.min() < -_EXACT or known.max() > _EXACT):
        raise source.unsupported(
            f"categories, got {int(known.min())} to {int(known.max())}, expected integers in [{-_EXACT}, {_EXACT}]. "
            "Number the categories from 0"
        )
    return make.cast(x, DType.INT32) if x.dtype.is_float else x


@reads("ai.onnx.ml.LabelEncoder")
def label_encoder(source: Operator, make: Builder) -> Tensor:
    """The value whose key an element equals; a default where there is none."""
    x = source.input(0)
    keys, values = _table(source, "keys"), _table(source, "values")
    if len(keys) != len(values) or not 1 <= len(keys) <= _MOST_CODES:
        raise source.unsupported(
            f"keys and values, got {len(keys)} and {len(values)}, expected as many, 1 to {_MOST_CODES:,}. Use numbers "
            "for keys and values"
        )
    dtype = DType.FLOAT32 if values.dtype.kind == "f" else DType.INT64
    plain = "default_float" if dtype.is_float else "default_int64"
    name = "default_tensor" if "default_tensor" in source.options else plain
    default = numbers(source, name)
    if len(default) != 1:
        raise source.unsupported(f"{name}, got {len(default)} numbers, expected 1. Export the model again")
    last = make.reshape(x, (*x.shape, 1))
    is_key = make.op("equal", [last, make.array(keys, x.dtype)], dtype=DType.BOOL)
    if x.dtype.is_float and np.isnan(keys).any() and source.since >= 4:
        # A NaN is a key from version 4 on.
        both = [make.op("is_nan", [last], dtype=DType.BOOL), make.array(np.isnan(keys), DType.BOOL)]
        is_key = make.op("logical_or", [is_key, make.op("logical_and", both)])
    # The first 1, or the number behind the keys where there is none.
    found = make.cast(is_key, DType.FLOAT32)
    cells = make.join([found, make.array(np.full((*x.shape, 1), 0.5))], len(x.shape))
    place = make.op("arg_max", [cells], PlaceAttributes(len(x.shape)), DType.INT32)
    table = make.array(np.append(values, default), dtype)
    return make.op("gather", [table, place], GatherAttributes(0))


def _table(source: Operator, name: str) -> np.ndarray[Any, Any]:
    """Returns keys or values, which one of several attributes has."""
    for suffix in ("int64s", "floats", "tensor"):
        found = (
            numbers(source, f"{name}_{suffix}") if np.asarray(source.options.get(f"{name}_{suffix}", ())).size else None
        )
        if found is not None:
            return found
    return np.zeros(0)


@reads("ai.onnx.ml.ZipMap")
def zip_map(source: Operator, make: Builder) -> Tensor:
    """The probabilities as a tensor: the maps would say only which column is which class."""
    names: Sequence[object] = (
        source.options.get("classlabels_strings") or source.options.get("classlabels_int64s") or ()
    )
    shown = ", ".join(map(repr, names[:16])) + (", ..." if len(names) > 16 else "")
    make.notes.append(f"{source.results[0]}: a tensor in place of maps, with a column for each class: {shown}")
    return source.input(0)
