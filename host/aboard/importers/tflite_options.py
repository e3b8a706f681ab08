"""The options tables of TFLite's operators: the table of each operator, and the fields of each table.

An operator's options are a table of a union, whose type the file states beside the operator. Most tables have the
operator's own name (`ADD`, `AddOptions`), some serve several operators, and some operators have none. A file may omit
a table; then all options have the schema's defaults.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

import flatbuffers
import tflite

#: Tables with other names than their operators, from the schema and TFLite's `flatbuffer_conversions.cc`.
_SHARED = {
    "Conv3DOptions": ("CONV_3D_TRANSPOSE",),
    "L2NormOptions": ("L2_NORMALIZATION",),
    "MaximumMinimumOptions": ("MAXIMUM", "MINIMUM"),
    "Pool2DOptions": ("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"),
    "RandomOptions": ("MULTINOMIAL", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM"),
    "ReducerOptions": (
        "MEAN",
        "REDUCE_ALL",
        "REDUCE_ANY",
        "REDUCE_MAX",
        "REDUCE_MIN",
        "REDUCE_PROD",
        "SUM",
    ),
    "SequenceRNNOptions": ("UNIDIRECTIONAL_SEQUENCE_RNN",),
}

#: The type in the file for an operator without an options table.
NONE = "NONE"


@cache
def numbers(enumeration: type) -> dict[int, str]:
    """Returns the names of an enumeration of the schema by their number."""
    return {number: name for name, number in vars(enumeration).items() if isinstance(number, int)}


def table_name(union: type, number: int) -> str:
    """Returns the name of a table by its number in a union (`BuiltinOptions` or `BuiltinOptions2`)."""
    return numbers(union).get(number, f"table number {number}")


@cache
def expected_table(kind: str) -> str:
    """Returns the name of the options table of an operator, `NONE` if the schema has none."""
    shared = next((table for table, kinds in _SHARED.items() if kind in kinds), None)
    return shared or _tables().get(kind.replace("_", "").lower(), NONE)


@cache
def _tables() -> dict[str, str]:
    """Returns the names of all tables by the name of their operator: `conv2d` gives `Conv2DOptions`."""
    unions = (tflite.BuiltinOptions, tflite.BuiltinOptions2)
    names = (name for union in unions for name in numbers(union).values() if name != NONE)
    return {name.removesuffix("Options").lower(): name for name in names}


@cache
def table_class(name: str) -> Any | None:
    """Returns the class that reads a table; None if the schema package has no such class."""
    found = getattr(tflite, name, None)
    return found if isinstance(found, type) else None


@cache
def fields(cls: type) -> tuple[tuple[str, bool], ...]:
    """Returns the fields of a table that hold numbers, texts or vectors of numbers: (name, is a vector)."""
    found = []
    for name, member in inspect.getmembers(cls, inspect.isfunction):
        parameters = len(inspect.signature(member).parameters)
        if hasattr(cls, f"{name}AsNumpy"):
            found.append((name, True))
        elif parameters == 1 and not name.endswith(("AsNumpy", "Length", "IsNone")) and name[0].isupper():
            found.append((name, False))
    return tuple(found)


@cache
def defaults(table: str) -> Mapping[str, Any]:
    """Returns the schema's defaults of an options table; empty for `NONE`."""
    cls = table_class(table)
    if cls is None:
        return {}
    builder = flatbuffers.Builder(16)
    builder.StartObject(0)
    builder.Finish(builder.EndObject())
    empty = cls.GetRootAs(bytes(builder.Output()), 0)
    return {name: () if is_vector else getattr(empty, name)() for name, is_vector in fields(cls)}
