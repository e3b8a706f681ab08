"""Verification: compares the device with the reference byte for byte, and finds the first difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aboard.base.manifest import Manifest
from aboard.base.manifest_records import OperandRecord
from aboard.check.reference import Reference
from aboard.device import input_files, tensor_layout
from aboard.device.input_files import Named
from aboard.device.session import Session
from aboard.device.tensor_io import Values
from aboard.errors import InputError

#: Floats count as equal up to this relative difference, or up to the difference `FLOAT_ABSOLUTE`.
FLOAT_RELATIVE = 1e-4
FLOAT_ABSOLUTE = 1e-6

_SEED = 2024


class Answering(Protocol):
    """What `compare` asks of a reference: one that computes, or one that gives answers which were computed before."""

    def reset(self) -> None:
        """Gives every state its initial value."""

    def run(self, inputs: Mapping[str, Values], /) -> dict[str, Values]:
        """Returns the outputs by name."""

    def allowed(self, values: Values, name: str, /) -> float:
        """Returns the absolute difference that is none."""


@dataclass(frozen=True)
class Verification:
    """The result of comparing a device with the reference.

    Attributes:
        samples: Number of inputs compared.
        differing_bytes: Differing bytes over all samples; of float outputs, the bytes of elements beyond the tolerance.
        max_abs_diff: Largest absolute difference of an output element, in the element's unit.
        first: Number and inputs of the first sample that differs; None if all are equal.
    """

    samples: int
    differing_bytes: int
    max_abs_diff: float
    first: tuple[int, Named] | None

    @property
    def equal(self) -> bool:
        """True if no byte differs."""
        return self.differing_bytes == 0


@dataclass(frozen=True)
class Difference:
    """The first element, in execution order, in which a device differs from the reference.

    Attributes:
        step: Index of the input, of those that were run in sequence.
        node: Index of the node in the manifest.
        name: Its name.
        op: Its op.
        tensor: Name of the tensor.
        row: Row of the tensor, counted through all batches.
        column: Pixel of the row.
        channel: Channel of the pixel, in the reference tensor.
        device: Value on the device.
        reference: Value of the reference.
    """

    step: int
    node: int
    name: str
    op: str
    tensor: str
    row: int
    column: int
    channel: int
    device: float
    reference: float


def samples(manifest: Manifest, count: int, seed: int = _SEED) -> list[Named]:
    """Returns test inputs: random ones, then one with all elements at the minimum and one at the maximum.

    Args:
        manifest: The model.
        count: Number of random inputs.
        seed: Seed of the random numbers.

    Raises:
        InputError: The count is negative.
    """
    if count < 0:
        raise InputError(f"samples: got {count}, expected 0 or more. Pass a larger number")
    rng = np.random.default_rng(seed)
    return [*(input_files.random(manifest.inputs, rng) for _ in range(count)), *input_files.extremes(manifest.inputs)]


def compare(
    device: Session, reference: Answering, inputs: Sequence[Named], on_sample: Callable[[], None] = lambda: None
) -> Verification:
    """Runs inputs on the device and in the reference, and compares the outputs.

    A model with state runs them as one sequence, from its initial state on.

    Args:
        device: A session with one model.
        reference: The reference for the same model.
        inputs: Inputs by tensor name.
        on_sample: Called after each input.
    """
    differing, largest, first = 0, 0.0, None
    reference.reset()
    device.reset_state()
    for number, feed in enumerate(inputs):
        expected = reference.run(feed)
        got = device.infer(feed).outputs
        allowed = {name: reference.allowed(values, name) for name, values in expected.items()}
        count = sum(_differing_bytes(got[name], values, allowed[name]) for name, values in expected.items())
        largest = max(largest, *(_largest(got[name], values) for name, values in expected.items()))
        if count and first is None:
            first = (number, feed)
        differing += count
        on_sample()
    return Verification(len(inputs), differing, largest, first)


def differs(got: Values, expected: Values, allowed: float = 0.0) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Returns a mask of the differing elements of two arrays; floats differ if they exceed the tolerance.

    Args:
        got: Values.
        expected: Values of the reference.
        allowed: Absolute difference that is none, beside the tolerance of floats (`Reference.allowed`).
    """
    if expected.dtype.kind != "f":
        if not allowed or expected.dtype.kind not in "iu":
            return np.asarray(got != expected)
        return np.asarray(np.abs(got.astype(np.int64) - expected.astype(np.int64)) > allowed)
    # A step of a scale in float32 is a little more than the step.
    absolute = FLOAT_ABSOLUTE + allowed * (1 + FLOAT_RELATIVE)
    return ~np.isclose(got, expected, rtol=FLOAT_RELATIVE, atol=absolute, equal_nan=True)


def locate(traced: Session, reference: Reference, inputs: Sequence[Mapping[str, Values]]) -> Difference | None:
    """Returns the first element, in execution order, in which a device differs from the reference.

    Args:
        traced: Runs one model, built with a trace.
        reference: Of the same model.
        inputs: Inputs up to one for which they differ. A model with state runs them in sequence: its state may differ
            steps before an output does.

    Returns:
        The element, or None if every tensor that the reference computes is equal.
    """
    reference.reset()
    traced.reset_state()
    found = (_locate(traced, reference, step, feed) for step, feed in enumerate(inputs))
    return next((difference for difference in found if difference is not None), None)


def _locate(traced: Session, reference: Reference, step: int, feed: Mapping[str, Values]) -> Difference | None:
    (manifest,) = traced.models
    expected = reference.tensors(feed)
    for index, tensors in sorted(traced.trace(dict(feed)).items()):
        node = manifest.nodes[index]
        for operand in node.outputs:
            if operand.source not in expected:
                continue  # a pass created this tensor, so the reference has no value
            got = tensors[operand.tensor]
            whole = expected[operand.source]
            ordered = whole if operand.order is None else whole.transpose(operand.order)
            wanted = ordered.reshape(tensor_layout.reference_shape(operand))
            mask = differs(np.ma.getdata(got), wanted, reference.allowed(wanted, operand.tensor))
            wrong = np.ma.filled(np.ma.masked_array(mask, np.ma.getmask(got)), False)
            if wrong.any():
                flat = int(np.argmax(wrong))
                row, column, channel = _place(flat, operand)
                return Difference(
                    step=step,
                    node=index,
                    name=node.name,
                    op=node.op,
                    tensor=operand.tensor,
                    row=row,
                    column=column,
                    channel=channel,
                    device=float(np.ma.getdata(got).flat[flat]),
                    reference=float(wanted.flat[flat]),
                )
    return None


def _place(flat: int, operand: OperandRecord) -> tuple[int, int, int]:
    """Returns row, pixel and channel of an element of the reference tensor."""
    shape = tensor_layout.reference_shape(operand)
    channels = shape[-1] if shape else 1
    columns = shape[-2] if len(shape) >= 3 else 1
    pixel, channel = divmod(flat, channels)
    row, column = divmod(pixel, columns)
    return row, column, channel


def _differing_bytes(got: Values, expected: Values, allowed: float) -> int:
    if expected.dtype.kind == "f" or allowed:
        return int(differs(got, expected, allowed).sum()) * expected.dtype.itemsize
    one, other = (np.frombuffer(np.ascontiguousarray(a).tobytes(), np.uint8) for a in (got, expected))
    return int((one != other).sum())


def _largest(got: Values, expected: Values) -> float:
    gap = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    return float(np.nan_to_num(gap, nan=np.inf if np.isnan(gap).any() else 0.0).max(initial=0.0))
