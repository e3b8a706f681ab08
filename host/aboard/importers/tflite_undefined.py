"""Models for which TensorFlow Lite Micro reads memory that it never wrote, so that its results are no reference.

`tests/unit/importers/test_tflite_free.py` shows it: one interpreter gives other outputs for the same inputs.
"""

from __future__ import annotations

import numpy as np

from aboard.importers.tflite_context import Context
from aboard.importers.tflite_file import File, FileOperator, Subgraph

WRONG_SHAPES = "tflite-micro believes shapes of the file that are wrong, and reads memory that it never wrote"
UNSET_PADDING = "tflite-micro pads with a number that it never sets (SPACE_TO_BATCH_ND)"

#: Operand of SPACE_TO_BATCH_ND.
_PADDINGS = 2


def reason(context: Context) -> str:
    """Returns why the results of tflite-micro are not defined; empty if they are.

    Args:
        context: Of a file that was read.
    """
    if context.corrected:
        return WRONG_SHAPES
    file = context.file
    pads = any(_pads(file, subgraph, operator) for subgraph in file.subgraphs for operator in subgraph.operators)
    return UNSET_PADDING if pads else ""


def _pads(file: File, subgraph: Subgraph, operator: FileOperator) -> bool:
    numbers = operator.inputs[_PADDINGS : _PADDINGS + 1]
    # Of a subgraph that nothing calls, nobody has checked the operands.
    if operator.kind != "SPACE_TO_BATCH_ND" or not all(0 <= number < len(subgraph.tensors) for number in numbers):
        return False
    return any(np.frombuffer(file.buffer(subgraph.tensors[number].buffer), np.int8).any() for number in numbers)
