"""Operands of single nodes as numpy arrays: to and from rows with gaps, and back to the model file's channels.

The passes may remove channels that no output depends on. Users get arrays in the shape of the model file: if channels
were removed, a masked array, whose masked elements are the removed ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from aboard.base.manifest_records import NodeRecord, OperandRecord
from aboard.device.tensor_io import Values
from aboard.errors import InputError, ProtocolError, did_you_mean


def rows_of(operand: OperandRecord) -> tuple[int, int, int]:
    """Returns (rows, pixels a row, channels a pixel), as kernels count them."""
    shape = operand.shape
    channels = shape[-1] if shape else 1
    if len(shape) >= 3:
        return math.prod(shape[:-2]), shape[-2], channels
    return (shape[0] if len(shape) == 2 else 1), 1, channels


def dense_bytes(operand: OperandRecord) -> int:
    """Returns the size of an operand without gaps, in bytes."""
    return math.prod(operand.shape) * np.dtype(operand.dtype).itemsize


def span(operand: OperandRecord) -> int:
    """Returns the size of an operand with its gaps, in bytes."""
    rows, cols, channels = rows_of(operand)
    pixel = channels * np.dtype(operand.dtype).itemsize
    return (rows - 1) * operand.row_stride + (cols - 1) * operand.pixel_stride + pixel


def reference_shape(operand: OperandRecord) -> tuple[int, ...]:
    """Returns the shape that the tensor has in the model file."""
    if operand.channel_map is None:
        return operand.shape
    return (*operand.shape[:-1], operand.reference_channels or max(operand.channel_map) + 1)


def place(values: Values, operand: OperandRecord, where: str) -> bytes:
    """Returns the bytes to write at the operand's offset; bytes in gaps are 0.

    Args:
        values: In the shape of the model file, or in the compiled shape.
        operand: The operand, with its offset and strides.
        where: Prefix of error messages.

    Raises:
        InputError: Shape or type is wrong.
    """
    wanted = np.dtype(operand.dtype)
    accepted = {operand.shape, reference_shape(operand)}
    if values.dtype != wanted or values.shape not in accepted:
        raise InputError(
            f"{where}: operand {operand.tensor} is wrong, got {values.dtype} {values.shape}, "
            f"expected {wanted} {reference_shape(operand)}. Reshape or convert the array"
        )
    if values.shape != operand.shape:
        values = values[..., list(operand.channel_map or ())]
    memory = np.zeros(span(operand), np.uint8)
    memory[_byte_places(operand)] = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
    return memory.tobytes()


def place_all(inputs: Mapping[str, npt.ArrayLike], record: NodeRecord, where: str) -> list[tuple[int, bytes]]:
    """Returns (offset in the workspace, bytes) for every operand of a node.

    Raises:
        InputError: A name, shape or type is wrong.
    """
    known = {operand.tensor for operand in record.inputs}
    for name in inputs:
        if name not in known:
            raise InputError(f"{where}: {name} is not an operand of the node. {did_you_mean(name, known)}")
    for name in sorted(known):
        if name not in inputs:
            raise InputError(
                f"{where}: operand {name} is missing, expected {', '.join(sorted(known))}. Pass all operands"
            )
    return [(operand.offset, place(np.asarray(inputs[operand.tensor]), operand, where)) for operand in record.inputs]


def extract(memory: bytes, operand: OperandRecord) -> bytes:
    """Returns the operand without gaps, from the bytes at its offset."""
    return np.frombuffer(memory, np.uint8)[_byte_places(operand)].tobytes()


def widen(dense: bytes, operand: OperandRecord) -> Values:
    """Returns an operand in the shape of the model file, from its bytes without gaps.

    Raises:
        ProtocolError: The number of bytes differs from the operand's size.
    """
    if len(dense) != dense_bytes(operand):
        raise ProtocolError(
            f"{operand.tensor}: wrong size, got {len(dense)} bytes, expected {dense_bytes(operand)}. Repeat the call; "
            "if the size stays wrong, build the device's image again"
        )
    wanted = np.dtype(operand.dtype).newbyteorder("<")
    values: Values = np.frombuffer(dense, wanted).astype(operand.dtype).reshape(operand.shape)
    if operand.channel_map is None:
        return values
    there = list(operand.channel_map)
    full = np.zeros(reference_shape(operand), values.dtype)
    full[..., there] = values
    mask = np.ones(full.shape, np.bool_)
    mask[..., there] = False
    masked: Values = np.ma.MaskedArray(full, mask)
    return masked


def _byte_places(operand: OperandRecord) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """Returns the position of each byte of the operand, relative to its offset, in the order without gaps."""
    rows, cols, channels = rows_of(operand)
    pixel = np.arange(channels * np.dtype(operand.dtype).itemsize)
    row = np.arange(cols)[:, None] * operand.pixel_stride + pixel
    return (np.arange(rows)[:, None, None] * operand.row_stride + row).reshape(-1)
