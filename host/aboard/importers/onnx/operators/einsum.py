"""Einsum: sums of products over letters."""

from __future__ import annotations

import math

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.matrices import product
from aboard.ir import Tensor
from aboard.ops.reduction import ReductionAttributes
from aboard.ops.strided_slice import AxisSlice

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@reads("Einsum")
def einsum(source: Operator, make: Builder) -> Tensor:
    """Operands are multiplied one after the other, and letters that no other needs are summed.

    Raises:
        ModelError: The equation does not fit the operands.
    """
    operands = [source.input(index) for index in range(len(source.inputs))]
    terms, result = _equation(source, [operand.shape for operand in operands])
    operands, terms = _diagonals(make, operands, terms)
    sizes = _sizes(source, operands, terms)
    current, letters = operands[0], terms[0]
    for place, pair in enumerate(zip(operands[1:], terms[1:], strict=True), 1):
        needed = set("".join(terms[place + 1 :])) | set(result)
        current, letters = _pair(source, make, (current, letters), pair, needed)
    current, letters = _summed(make, current, letters, set(result))
    moved = make.transpose(current, [letters.index(letter) for letter in result])
    return make.broadcast(moved, [sizes[letter] for letter in result])


def _equation(source: Operator, shapes: list[tuple[int, ...]]) -> tuple[list[str], str]:
    """Returns a letter for each axis of each operand, and of the result; those of `...` are new ones."""
    equation = str(source.options["equation"]).replace(" ", "")
    left, arrow, result = equation.partition("->")
    terms, unused = left.split(","), [letter for letter in _LETTERS if letter not in equation]
    if not arrow:
        once = sorted(letter for letter in set(left) - set(".,") if left.count(letter) == 1)
        result = ("..." if "..." in left else "") + "".join(once)
    widths = [len(shape) - len(term.replace("...", "", 1)) for shape, term in zip(shapes, terms, strict=False)]
    most = max([width for width, term in zip(widths, terms, strict=False) if "..." in term], default=0)
    every = "".join(unused[: max(most, 0)])
    wide = [
        term.replace("...", every[max(len(every) - width, 0) :], 1) for width, term in zip(widths, terms, strict=False)
    ]
    result = result.replace("...", every, 1)
    letters = "".join(wide)
    fits = len(terms) == len(shapes) and [len(term) for term in wide] == [len(shape) for shape in shapes]
    if (
        not fits
        or not set(letters) <= set(_LETTERS)
        or not set(result) <= set(letters)
        or len(set(result)) < len(result)
    ):
        raise source.unsupported(
            f"equation, got {equation} for shapes {shapes}, expected a letter for each axis, and in the result each "
            "letter at most once. Export the model again"
        )
    return wide, result


def _diagonals(make: Builder, operands: list[Tensor], terms: list[str]) -> tuple[list[Tensor], list[str]]:
    """Takes the diagonal of axes of one operand that have one letter: every n + 1st of n * n elements."""
    found, single = list[Tensor](), list[str]()
    for x, term in zip(operands, terms, strict=True):
        while (twice := next((letter for letter in term if term.count(letter) > 1), None)) is not None:
            first = term.index(twice)
            second = term.index(twice, first + 1)
            others = [axis for axis in range(len(term)) if axis not in (first, second)]
            rows, cols = x.shape[first], x.shape[second]
            moved = make.transpose(x, [*others, first, second])
            slices = [AxisSlice(0, 1, x.shape[axis]) for axis in others] + [AxisSlice(0, cols + 1, min(rows, cols))]
            x = make.take(make.reshape(moved, (*moved.shape[:-2], rows * cols)), slices)
            term = "".join(term[axis] for axis in others) + twice
        found.append(x)
        single.append(term)
    return found, single


def _sizes(source: Operator, operands: list[Tensor], terms: list[str]) -> dict[str, int]:
    """Returns the extents of the letters; an operand may have 1 instead."""
    sizes = dict[str, int]()
    for operand, term in zip(operands, terms, strict=True):
        for letter, extent in zip(term, operand.shape, strict=True):
            known = sizes.setdefault(letter, extent)
            sizes[letter] = max(known, extent)
            if known != extent and 1 not in (known, extent):
                raise source.unsupported(
                    f"extents of one letter of {source.options['equation']}, got {known} and {extent}, expected equal "
                    "ones. Export the model again"
                )
    return sizes


def _summed(make: Builder, x: Tensor, letters: str, needed: set[str]) -> tuple[Tensor, str]:
    axes = tuple(axis for axis, letter in enumerate(letters) if letter not in needed)
    left = "".join(letter for letter in letters if letter in needed)
    return (make.op("sum", [x], ReductionAttributes(axes, False)), left) if axes else (x, letters)


def _pair(
    source: Operator, make: Builder, a: tuple[Tensor, str], b: tuple[Tensor, str], needed: set[str]
) -> tuple[Tensor, str]:
    """Returns the product of two operands, without the letters that nothing needs."""
    x, first = _summed(make, *a, needed | set(b[1]))
    y, second = _summed(make, *b, needed | set(first))
    common = [letter for letter in first if letter in second]
    batch = "".join(letter for letter in common if letter in needed)
    inner = "".join(letter for letter in common if letter not in needed)
    rows = "".join(letter for letter in first if letter not in common)
    cols = "".join(letter for letter in second if letter not in common)
    sizes = dict(zip(first, x.shape, strict=True))
    sizes |= {c: max(n, sizes.get(c, 1)) for c, n in zip(second, y.shape, strict=True)}
    left = _ordered(make, x, first, (batch, rows, inner), sizes)
    right = _ordered(make, y, second, (batch, inner, cols), sizes)
    letters = batch + rows + cols
    return make.reshape(product(source, make, left, right), [sizes[letter] for letter in letters]), letters


def _ordered(make: Builder, x: Tensor, letters: str, parts: tuple[str, ...], sizes: dict[str, int]) -> Tensor:
    """Returns an operand with one axis for each group of letters; without the first if that is empty."""
    wanted = "".join(parts)
    moved = make.transpose(x, [letters.index(letter) for letter in wanted])
    wide = make.broadcast(moved, [sizes[letter] for letter in wanted])
    shape = [math.prod(sizes[letter] for letter in part) for part in parts]
    return make.reshape(wide, shape if parts[0] else shape[1:])
