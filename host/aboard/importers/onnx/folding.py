"""Computes nodes of an ONNX file whose operands are known, with the reference evaluator of the package `onnx`.

Exporters write shapes as operators, so that most files have some such nodes. They may have types that no kernel has.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aboard.ir import Array

if TYPE_CHECKING:
    import onnx

#: Elements of a folded constant at most: more than any microcontroller stores, and little enough for the host.
_MOST_ELEMENTS = 1 << 24

#: Operators whose results differ from run to run.
_RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")

#: Operators that stay nodes of constants, so that passes see how values are stored.
_KEPT = ("DequantizeLinear",)


def foldable(node: onnx.NodeProto) -> bool:
    """True for operators that are functions of their operands."""
    graphs = any(each.HasField("g") or each.graphs for each in node.attribute)
    return node.op_type not in (*_RANDOM, *_KEPT) and not graphs


def fold(node: onnx.NodeProto, operands: Sequence[Array | None], opsets: Mapping[str, int]) -> list[Any]:
    """Returns the results.

    Args:
        node: The node.
        operands: Their values; None for an absent operand.
        opsets: Versions of the operators by domain.

    Raises:
        ValueError: The evaluator cannot compute it, or the result is too large.
    """
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    known = [None if value is None else np.asarray(value) for value in operands]
    elements = _elements(node, known)
    if elements > _MOST_ELEMENTS:
        raise ValueError(f"got a result of {elements:,} elements, expected at most {_MOST_ELEMENTS:,}")
    names = [name for name in node.input if name]
    graph = helper.make_graph([node], "fold", [], [])
    graph.input.extend(_untyped(name) for name in dict.fromkeys(names))
    graph.output.extend(_untyped(name) for name in node.output if name)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in opsets.items()])
    feed = {name: value for name, value in zip(node.input, known, strict=True) if name and value is not None}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return list(ReferenceEvaluator(model).run(None, feed))
    except Exception as error:  # the evaluator raises whatever numpy does
        raise ValueError(f"{type(error).__name__}: {error}".split("\n")[0][:160]) from error


def _untyped(name: str) -> onnx.ValueInfoProto:
    import onnx

    return onnx.ValueInfoProto(name=name)


def _elements(node: onnx.NodeProto, operands: Sequence[Array | None]) -> int:
    """Returns how many elements a result has that is larger than its operands; 0 for other operators."""
    shape_at = {"ConstantOfShape": 0, "Expand": 1, "Tile": 1, "Resize": 3, "Pad": 1, "OneHot": 1}.get(node.op_type)
    if node.op_type == "Range" and len(operands) == 3:
        start, limit, delta = (float(np.asarray(value).reshape(-1)[0]) for value in operands if value is not None)
        return int(abs((limit - start) / delta)) if delta else 0
    if shape_at is None or shape_at >= len(operands) or operands[shape_at] is None:
        return 0
    sizes = [abs(int(size)) for size in np.asarray(operands[shape_at]).reshape(-1)]
    first = operands[0]
    if node.op_type in ("Tile", "OneHot", "Pad") and first is not None:
        return max(first.size, 1) * math.prod(max(size, 1) + (node.op_type == "Pad") for size in sizes)
    return math.prod(sizes)
