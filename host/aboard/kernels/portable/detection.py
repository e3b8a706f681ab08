"""detection_postprocess on any core."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg, Scratch, ScratchArg
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.detection import ENCODINGS, SCORES, attributes
from aboard.target import Target

#: Bytes of a decoded box, and of a score.
_BOX, _SCORE = 16, 4


@implements
class DetectionPortable(Implementation):
    """float32; its scratch is 21 bytes for each box."""

    op = "detection_postprocess"
    name = "portable_f32"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        attrs, (_, boxes, encoding) = attributes(node), node.input(ENCODINGS).shape
        results = (OutputArg(index, "float *") for index in range(len(outputs)))
        return KernelCall(
            header="portable/detection.h",
            function="aboard_detection",
            params_type="aboard_detection_t",
            params={
                "boxes": boxes,
                "encoding": encoding,
                "classes": attrs.classes,
                "background": node.input(SCORES).shape[2] - attrs.classes,
                "detections": attrs.detections,
                "per_class": attrs.per_class,
                "score_threshold": attrs.score_threshold,
                "overlap_threshold": attrs.overlap_threshold,
                "scale": list(attrs.scales),
            },
            arguments=(
                *(InputArg(index, "const float *") for index in range(3)),
                *results,
                ScratchArg(Scratch(_BOX * boxes), "float *"),
                ScratchArg(Scratch(_SCORE * boxes), "float *"),
                ScratchArg(Scratch(boxes), "uint8_t *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )
