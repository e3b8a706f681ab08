"""True shapes behind a free batch: converters write 1 for a free extent, also where an operator multiplies batches.

A dilated convolution of Keras is SPACE_TO_BATCH_ND, CONV_2D and BATCH_TO_SPACE_ND. With a free batch, the file states a
batch of 1 for all results between, where two blocks make it 2. LiteRT computes the shapes again from its operators.
TensorFlow Lite Micro takes those of the file: it computes one batch, and then reads memory that it never wrote.

`settle` gives the results of an operator the shapes that follow from its operands, where the signature of the file
leaves these extents free. For operators that do not multiply batches it takes the extent of the operands; `verify` of
the op then checks the shape against the operator's own rule.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from aboard.importers.tflite_file import FileTensor
from aboard.ir import Tensor

#: What a model with such shapes is told (`Graph.notes`).
NOTE = (
    "behind {user}, the batch is {batch} and the file states {stated}: shapes are computed from the operators, as "
    "LiteRT computes them. tflite-micro gives other numbers: it keeps the file's batch of {stated} and reads memory "
    "that it never wrote"
)

_MULTIPLIES = ("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")
_RESHAPES = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")

_Shape = tuple[int, ...]


def settle(
    kind: str, operands: Sequence[Tensor | None], stated: Sequence[FileTensor | None], results: dict[int, Tensor]
) -> None:
    """Corrects the shapes of an operator's results.

    Args:
        kind: Name of the operator in the schema.
        operands: Its operands, None for an absent one.
        stated: The same as the file has them, then its results.
        results: Its results, by their place in `stated`; their types change.
    """
    before = stated[: len(operands)]
    for place, result in results.items():
        wanted = stated[place]
        if wanted is None or len(wanted.signature) != len(wanted.shape) or min(wanted.signature, default=0) >= 0:
            continue
        shape = _shape(kind, operands, before, wanted)
        if shape is not None and _fits(shape, wanted.signature):
            result.type = dataclasses.replace(result.type, shape=shape)


def _fits(shape: _Shape, signature: _Shape) -> bool:
    """True for a shape of whole extents that has those that a signature fixes."""
    return len(shape) == len(signature) and all(
        extent > 0 and known in (-1, extent) for extent, known in zip(shape, signature, strict=True)
    )


def _shape(
    kind: str, operands: Sequence[Tensor | None], stated: Sequence[FileTensor | None], result: FileTensor
) -> _Shape | None:
    """Returns the shape of a result; None where the operands do not tell."""
    first = operands[0] if operands else None
    if first is None:
        return None
    if kind in _MULTIPLIES:
        return _blocks(kind, first.shape, [_integers(operand) for operand in operands[1:3]])
    if kind in _RESHAPES:
        return _reshaped(first, _integers(operands[1]) if kind == "RESHAPE" and len(operands) > 1 else None, result)
    return _like_operands(operands, stated, result)


def _blocks(kind: str, shape: _Shape, given: Sequence[list[int] | None]) -> _Shape | None:
    """Returns the shape that blocks make of an operand's; `given` are the blocks, and paddings or crops."""
    blocks, ends = [*given, None, None][:2]
    spatial = len(shape) - 2
    if blocks is None or ends is None or len(blocks) != spatial or len(ends) != 2 * spatial or min(blocks) < 1:
        return None
    pairs = [before + after for before, after in zip(ends[::2], ends[1::2], strict=True)]
    count = math.prod(blocks)
    if kind == "SPACE_TO_BATCH_ND":
        inner = [(size + pads) // block for size, pads, block in zip(shape[1:-1], pairs, blocks, strict=True)]
        return (shape[0] * count, *inner, shape[-1])
    inner = [size * block - crops for size, crops, block in zip(shape[1:-1], pairs, blocks, strict=True)]
    return (shape[0] // count, *inner, shape[-1])


def _reshaped(operand: Tensor, wanted: list[int] | None, result: FileTensor) -> _Shape | None:
    """Returns the shape of as many elements: as the operator has it, else with the one extent that is free."""
    for shape in (wanted, list(result.signature)):
        if shape is not None and shape.count(-1) <= 1 and min(shape, default=1) >= -1:
            known = math.prod(extent for extent in shape if extent != -1)
            found = tuple(operand.type.elements // max(known, 1) if extent == -1 else extent for extent in shape)
            if math.prod(found) == operand.type.elements and _fits(found, result.signature):
                return found
    return None


def _like_operands(
    operands: Sequence[Tensor | None], stated: Sequence[FileTensor | None], result: FileTensor
) -> _Shape | None:
    """Returns a result's shape with the extent that its operands have where the file leaves one free."""
    extents = set[tuple[int, int]]()
    for operand, before in zip(operands, stated, strict=True):
        if operand is not None and before is not None and operand.shape != before.shape:
            pairs = zip(before.signature, before.shape, operand.shape, strict=False)
            extents.update((was, now) for known, was, now in pairs if known < 0)
    if len(extents) != 1:
        return None
    ((was, now),) = extents
    if result.signature.count(-1) != 1 or result.shape[result.signature.index(-1)] != was:
        return None
    return tuple(now if known < 0 else extent for known, extent in zip(result.signature, result.shape, strict=True))


def _integers(operand: Tensor | None) -> list[int] | None:
    if operand is None or operand.data is None or operand.data.dtype.kind not in "iu":
        return None
    return [int(value) for value in operand.data.reshape(-1)]
