"""Recognises the loop by which exporters compute distances: for each point, squared differences to samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator
from aboard.ir import Array, DType, Tensor

if TYPE_CHECKING:
    import onnx


def squared(
    source: Operator, make: Builder, operands: Sequence[Tensor | Array | None]
) -> list[Tensor | Array | None] | None:
    """Returns the results of a Scan over points that keeps its state, the samples, and stacks squared distances.

    Returns:
        The samples, and distances [points, samples]; None for any other Scan.
    """
    given = [operand for operand in operands if operand is not None and len(operand.shape) == 2]
    if source.since < 9 or len(operands) != 2 or len(given) != 2 or int(source.options["num_scan_inputs"]) != 1:
        return None
    plain = not any(any(value) for name, value in source.options.items() if name.startswith("scan_"))
    if not plain or not _is_distance(source.options["body"]) or given[0].shape[1] != given[1].shape[1]:
        return None
    samples, points = (make.value(each) for each in given)
    if {samples.dtype, points.dtype} != {DType.FLOAT32}:
        return None
    distances = make.op("squared_distance", [samples, points])
    return [operands[0], make.transpose(distances, (1, 0))]


def _is_distance(body: onnx.GraphProto) -> bool:
    """True for a graph of a state and a point that returns the state, and sums of squares of the difference."""
    from onnx import numpy_helper

    constants = {each.name: numpy_helper.to_array(each).reshape(-1).tolist() for each in body.initializer}
    same = {each.output[0]: each.input[0] for each in body.node if each.op_type == "Identity"}
    others = [each for each in body.node if each.op_type != "Identity"]
    if [each.op_type for each in others] != ["Sub", "ReduceSumSquare"] or len(body.input) != 2 or len(body.output) != 2:
        return False
    (difference, total), (state, point) = others, (each.name for each in body.input)
    options = {each.name: list(each.ints) or each.i for each in total.attribute}
    axes = constants.get(total.input[1], []) if len(total.input) > 1 else options.get("axes", [])
    kept, rows = (same.get(each.name, each.name) for each in body.output)
    return (
        {same.get(name, name) for name in difference.input} == {state, point}
        and total.input[0] == difference.output[0]
        and axes in ([1], [-1])
        and options.get("keepdims", 1) == 0
        and (kept, rows) == (state, total.output[0])
    )
