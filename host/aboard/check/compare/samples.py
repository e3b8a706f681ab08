"""The inputs of both sides of a comparison: the same real numbers, as each model stores them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aboard.check.compare.alignment import same_axes
from aboard.check.compare.real_numbers import is_quantised, to_real, to_stored
from aboard.errors import InputError
from aboard.ir import Array, Graph, Tensor
from aboard.quantization.samples import Data, Inputs
from aboard.quantization.samples import read as read_samples


def read(data: Data, graph: Graph, most: int) -> list[Inputs]:
    """Returns samples as a model takes them.

    Args:
        data: A file `.npz` or arrays, as for `aboard.quantize`. An input of integers with a scale takes these integers
            or real numbers.
        graph: The model.
        most: How many samples count, of those given; they are spread over all.

    Raises:
        InputError: The file cannot be read, or arrays are missing or do not fit the model.
    """
    given = read_samples(data, graph).test
    places = np.unique(np.linspace(0, len(given) - 1, min(most, len(given))).round().astype(int))
    return [given[place] for place in places]


def for_other(samples: Sequence[Inputs], graph: Graph, other: Graph) -> list[Inputs]:
    """Returns the same samples as another model takes them.

    Inputs belong together by name, or else by place; axes of images may be in the order of another format.

    Raises:
        InputError: The models have inputs that do not belong together.
    """
    if len(graph.inputs) != len(other.inputs):
        raise InputError(
            f"{other.source}: {len(other.inputs)} inputs, expected {len(graph.inputs)} as {graph.source} has. Give "
            "two forms of one model"
        )
    by_name = {tensor.name: tensor for tensor in graph.inputs}
    named = all(tensor.name in by_name for tensor in other.inputs)
    pairs = [
        (by_name[tensor.name] if named else graph.inputs[place], tensor) for place, tensor in enumerate(other.inputs)
    ]
    return [
        {theirs.name: _moved(sample[ours.name], ours, theirs, other) for ours, theirs in pairs} for sample in samples
    ]


def _moved(values: Array, ours: Tensor, theirs: Tensor, other: Graph) -> Array:
    order = same_axes(theirs.shape, ours.shape)
    if order is None:
        raise InputError(
            f"{other.source}: input {theirs.name}, got shape {list(theirs.shape)}, expected {list(ours.shape)} as "
            f"input {ours.name} of the other model has, or an order of these axes. Give two forms of one model"
        )
    if is_quantised(ours) or is_quantised(theirs):
        same = ours.type.quant == theirs.type.quant and ours.dtype is theirs.dtype
        values = values if same else to_stored(to_real(values, ours), theirs)
    return np.ascontiguousarray(values.transpose(order).reshape(theirs.shape).astype(theirs.dtype.numpy))
