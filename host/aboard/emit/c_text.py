"""Prints C: literals, arrays, identifiers. It does not depend on models."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

import numpy as np

from aboard.base import quoting
from aboard.errors import VerifyError
from aboard.ir import Array
from aboard.ir.numerics import INT32_MAX, INT32_MIN
from aboard.kernels.view import Literal

_C_TYPES = {
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "bool": "bool",
    "float32": "float",
}
WIDTH = 120
_MARGIN = "   "


def c_type(dtype: np.dtype[np.generic]) -> str:
    """Returns the C type of a numpy type.

    Raises:
        VerifyError: C has no such type.
    """
    if dtype.name not in _C_TYPES:
        raise VerifyError(f"constant of type {dtype.name}: no C type, expected one of {', '.join(_C_TYPES)}")
    return _C_TYPES[dtype.name]


def floating(value: float) -> str:
    """Returns a float literal that parses to the same single-precision value."""
    if math.isnan(value):
        return "(0.0f / 0.0f)"
    if math.isinf(value):
        return "(1.0f / 0.0f)" if value > 0 else "(-1.0f / 0.0f)"
    single = np.float32(value)
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        return f"{np.format_float_positional(single, unique=True, trim='0')}f"
    return f"{np.format_float_scientific(single, unique=True, trim='0')}f"


def literal(value: Literal) -> str:
    """Returns a C literal: number, nested designated initialiser or list.

    Args:
        value: The value; a string is printed unchanged (the name of a constant).
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return floating(value)
    if isinstance(value, int):
        return "INT32_MIN" if value == INT32_MIN else str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f".{name} = {literal(field)}" for name, field in value.items()) + "}"
    return "{" + ", ".join(literal(item) for item in value) + "}"


def initializer(fields: Mapping[str, Literal], indent: str = "    ") -> str:
    """Returns a designated initialiser with one field per line; fields that are too long are broken."""
    lines = [_field(f".{name} = ", value, f"{indent}    ") for name, value in fields.items()]
    return "{\n" + "".join(lines) + f"{indent}}}"


def _field(head: str, value: Literal, indent: str) -> str:
    text = f"{indent}{head}{literal(value)},\n"
    if len(text) <= WIDTH or isinstance(value, int | float | str):
        return text
    if isinstance(value, Mapping):
        return f"{indent}{head}{initializer(value, indent)},\n"
    items = "".join(_field("", item, f"{indent}    ") for item in value)
    return f"{indent}{head}{{\n{items}{indent}}},\n"


def array(name: str, values: Array, align: int, storage: str = "static const", section: str | None = None) -> str:
    """Returns the definition of an array with flat elements and filled lines.

    Args:
        name: Name of the array.
        values: Elements in memory order.
        align: Alignment in bytes.
        storage: Words before the type.
        section: Section of the linker; None for the compiler's choice.
    """
    placed = "" if section is None else f" ABOARD_SECTION({quoting.c_string(section)})"
    head = f"{storage} {c_type(values.dtype)} {name}[{values.size}] ABOARD_ALIGNED({align}){placed} = {{"
    return "\n".join([head, *_filled(_elements(values.reshape(-1))), "};"])


def _elements(values: Array) -> list[str]:
    numbers = values.tolist()
    if values.dtype.kind not in "iu":
        return list(map(literal, numbers))
    words = [str(number) if number <= INT32_MAX else f"{number}u" for number in numbers]
    if INT32_MIN in numbers:
        return ["INT32_MIN" if number == INT32_MIN else word for number, word in zip(numbers, words, strict=True)]
    return words


def _filled(words: Sequence[str]) -> Iterator[str]:
    """Yields lines of at most `WIDTH` characters: a margin, then each word behind a space and with a comma."""
    ends = list(accumulate(len(word) + 2 for word in words))
    first = 0
    while first < len(words):
        before = ends[first - 1] if first else 0
        behind = max(first + 1, bisect_right(ends, before + WIDTH - len(_MARGIN)))
        yield _MARGIN + "".join(f" {word}," for word in words[first:behind])
        first = behind


def comment(lines: Sequence[str]) -> str:
    """Returns a block comment; any text is allowed in its lines."""
    safe = map(quoting.c_comment, lines)
    return fitted("/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in safe) + " */\n")


def fitted(text: str) -> str:
    """Returns source text with lines broken at `WIDTH`: code after commas, comments between words.

    Preprocessor lines and lines without a place to break stay unchanged. Strings in code must not contain commas.
    """
    return "\n".join(piece for line in text.split("\n") for piece in _fitted_line(line))


def _fitted_line(line: str) -> Iterator[str]:
    bare = line.lstrip()
    indent = line[: len(line) - len(bare)]
    is_comment = bare.startswith(("/*", "* "))
    gap = " " if is_comment else ", "
    follow = "        " if bare.endswith("{") else "    "
    if is_comment:
        follow = " * " if bare.startswith("/*") else "*   "
    while len(line) > WIDTH and not bare.startswith("#"):
        cut = line.rfind(gap, len(indent) + len(follow), WIDTH)
        if cut < 0:
            break
        yield line[: cut + len(gap) - 1]
        line = indent + follow + line[cut + len(gap) :]
    yield line
