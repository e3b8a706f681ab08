"""Models for which TensorFlow Lite Micro reads memory that it never wrote, so that its results are no reference.

`tests/unit/importers/test_tflite_free.py` shows it: one interpreter gives other outputs for the same inputs.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from aboard.importers.tflite_context import Context
from aboard.importers.tflite_file import File, FileOperator, Subgraph

WRONG_SHAPES = "tflite-micro believes shapes of the file that are wrong, and reads memory that it never wrote"
UNSET_PADDING = "tflite-micro pads with a number that it never sets (SPACE_TO_BATCH_ND)"

#: Operand of SPACE_TO_BATCH_ND.
_PADDINGS = 2


def reason(context: Context, used: Iterable[int]) -> str:
    """Returns why the results of tflite-micro are not defined; empty if they are.

    Args:
        context: Of a file that was read without problems.
        used: Numbers of the subgraphs that the model runs.
    """
    if context.corrected:
        return WRONG_SHAPES
    subgraphs = [context.file.subgraphs[number] for number in used]
    pads = any(_pads(context.file, subgraph, operator) for subgraph in subgraphs for operator in subgraph.operators)
    return UNSET_PADDING if pads else ""


def _pads(file: File, subgraph: Subgraph, operator: FileOperator) -> bool:
    if operator.kind != "SPACE_TO_BATCH_ND":
        return False
    paddings = file.buffer(subgraph.tensors[operator.inputs[_PADDINGS]].buffer)
    return bool(np.frombuffer(paddings, np.int8).any())
