"""Inputs, outputs and state of a model as numpy arrays: checked against the manifest, to and from bytes.

Session and host runtime share this code, so that the same mistake gives the same message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from aboard.base.manifest_records import TensorRecord
from aboard.device import real_values
from aboard.errors import InputError, did_you_mean

Values = npt.NDArray[np.generic]
#: Inputs from a caller: one array for a model with one input, or arrays by tensor name.
Inputs: TypeAlias = npt.ArrayLike | Mapping[str, npt.ArrayLike]
#: Outputs to a caller: one array for a model with one output, else arrays by tensor name.
Results: TypeAlias = Values | dict[str, Values]


def encode(feed: Inputs, tensors: Sequence[TensorRecord], where: str) -> list[bytes]:
    """Checks inputs and returns their bytes, in the order of the model's inputs.

    Args:
        feed: One array, or arrays by tensor name. Real numbers for a quantised input become the nearest integers;
            integers are taken as they are.
        tensors: The model's inputs.
        where: Prefix of error messages, such as the model's name.

    Raises:
        InputError: A name, shape or type is wrong, or a value does not fit the type.
    """
    if not isinstance(feed, Mapping):
        if len(tensors) != 1:
            names = ", ".join(record.name for record in tensors)
            raise InputError(
                f"{where}: got one array for a model with {len(tensors)} inputs, expected a dict. Pass an array "
                f"for each of: {names}"
            )
        feed = {tensors[0].name: feed}
    records = {record.name: record for record in tensors}
    stored = {name: _integers(values, records[name]) for name, values in feed.items() if name in records}
    return _encode_all({**feed, **stored}, tensors, f"{where}: input")


def _integers(values: npt.ArrayLike, record: TensorRecord) -> Values:
    """Returns an input with real numbers quantised, if it has a scale; all others unchanged."""
    array = np.asarray(values)
    return (
        real_values.quantised(array, record) if array.dtype.kind == "f" and real_values.is_quantised(record) else array
    )


def encode_states(values: Mapping[str, npt.ArrayLike], tensors: Sequence[TensorRecord], where: str) -> list[bytes]:
    """Checks the whole state of a model and returns its bytes, in the order of the model's states.

    Args:
        values: Arrays by name, in the types of the states: real numbers are not quantised, so that a state that was
            read and written again is the same.
        tensors: The model's states.
        where: Prefix of error messages, such as the model's name.

    Raises:
        InputError: A name, shape or type is wrong, or a value does not fit the type.
    """
    return _encode_all(values, tensors, f"{where}: state")


def _encode_all(feed: Mapping[str, npt.ArrayLike], tensors: Sequence[TensorRecord], where: str) -> list[bytes]:
    """Returns the bytes of all tensors; `where` is the prefix of messages and says what they are."""
    known = [record.name for record in tensors]
    for name in feed:
        if name not in known:
            raise InputError(f"{where} {name} is not one of the model's. {did_you_mean(name, known)}")
    for name in known:
        if name not in feed:
            raise InputError(
                f"{where} {name} is missing, got {', '.join(feed) or 'none'}, expected {', '.join(known)}. "
                "Pass an array for each"
            )
    return [_encode_one(feed[record.name], record, f"{where} {record.name}") for record in tensors]


def _encode_one(values: npt.ArrayLike, record: TensorRecord, where: str) -> bytes:
    array = np.asarray(values)
    wanted = np.dtype(record.dtype)
    if array.size != int(np.prod(record.shape)) or _squeezed(array.shape) != _squeezed(record.shape):
        raise InputError(
            f"{where} has a wrong shape, got {array.shape}, expected {record.shape}. "
            "Reshape it; dimensions of 1 may be left out"
        )
    if array.dtype != wanted:
        array = _cast(array, wanted, where)
    return np.ascontiguousarray(array).astype(wanted.newbyteorder("<"), copy=False).tobytes()


def _squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _cast(array: Values, wanted: np.dtype[np.generic], where: str) -> Values:
    """Returns the values in the wanted type; raises unless every value is exactly representable."""
    problem = InputError(
        f"{where} has a wrong type, got {array.dtype}, expected {wanted}. Convert it with .astype(numpy.{wanted})"
    )
    if array.dtype.kind not in "iub" or wanted.kind == "f":
        if array.dtype.kind == "f" and wanted.kind == "f":
            return array.astype(wanted)
        raise problem
    cast = array.astype(wanted)
    if not np.array_equal(cast, array):
        raise problem
    return cast


def decode(data: Sequence[bytes], tensors: Sequence[TensorRecord]) -> dict[str, Values]:
    """Returns outputs or states by tensor name, from their bytes in the order of the model."""
    return {
        record.name: np.frombuffer(chunk, np.dtype(record.dtype).newbyteorder("<"))
        .astype(record.dtype)
        .reshape(record.shape)
        for chunk, record in zip(data, tensors, strict=True)
    }


def single(results: dict[str, Values]) -> Results:
    """Returns the only output as an array, or all outputs by name."""
    return next(iter(results.values())) if len(results) == 1 else results
