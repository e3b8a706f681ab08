"""detection_postprocess: boxes of objects from encodings and scores, overlapping ones left out.

Operands: encodings [1, boxes, 4 or more] (y, x, height, width, then what is not read), scores [1, boxes, classes] or
with the background as class 0 in front, anchors [boxes, 4] (y, x, height, width). Results: boxes [1, detections, 4]
(least y and x, largest y and x), their classes [1, detections], their scores [1, detections], and how many there are
[1]; what lies behind these is 0. All are float32.

Source: TensorFlow Lite Micro's `detection_postprocess.cc`. It leaves what lies behind the detections as it was in
memory, and refuses to run where a box is empty; here such a box overlaps no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.unary import Float32

ENCODINGS, SCORES, ANCHORS = range(3)

#: Detections of each class by default, as in the reference.
_PER_CLASS = 100

#: Largest number of detections, so that a corrupt file asks for no unreasonable memory.
_MOST = 1 << 16

_REQUIRED = (
    "max_detections",
    "max_classes_per_detection",
    "num_classes",
    "nms_score_threshold",
    "nms_iou_threshold",
    "y_scale",
    "x_scale",
    "h_scale",
    "w_scale",
)


@dataclass(frozen=True)
class DetectionAttributes(Attributes):
    """Attributes of `detection_postprocess`.

    Attributes:
        detections: Most detections.
        classes: Number of classes without the background.
        per_class: Most detections of a class where each class is searched by itself; 0 where a box counts with its
            best class only.
        score_threshold: Least score of a detection.
        overlap_threshold: Intersection over union above which the box with the lower score is left out.
        scales: Divisors of the encodings: y, x, height, width.
    """

    detections: int
    classes: int
    per_class: int
    score_threshold: float
    overlap_threshold: float
    scales: tuple[float, float, float, float]


def attributes(node: Node) -> DetectionAttributes:
    """Returns the attributes of a `detection_postprocess` node."""
    return cast(DetectionAttributes, node.attrs)


@register
class DetectionPostprocess(Op):
    """The boxes with the highest scores, each of which overlaps those before it only a little."""

    name = "detection_postprocess"
    attributes = DetectionAttributes
    tflite = ("CUSTOM TFLite_Detection_PostProcess",)
    types = (DType.FLOAT32,)

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads the options.

        Raises:
            ModelError: Options, shapes or types are not supported.
        """
        missing = [name for name in _REQUIRED if name not in source.options]
        if missing:
            raise source.unsupported(f"options, got none named {', '.join(missing)}. Export the model again")
        classes = int(source.options["max_classes_per_detection"])
        regular = bool(source.options.get("use_regular_nms", False))
        if classes != 1 and not regular:
            raise source.unsupported(
                f"max_classes_per_detection, got {classes}, expected 1. TensorFlow Lite Micro writes outside of its "
                "results with more; export the model with 1, or with use_regular_nms"
            )
        operands = [source.input(index) for index in range(3)]
        node = source.node(self.name, operands, _attributes(source.options, regular))
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(f"{wrong}. Export the model again")
        return node

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with shapes, types or attributes, or None."""
        if len(node.inputs) != 3 or len(node.outputs) != 4:
            return f"operands and results, got {len(node.inputs)} and {len(node.outputs)}, expected 3 and 4"
        given = [tensor.type for tensor in (*node.operands, *node.outputs)]
        if any(kind.dtype is not DType.FLOAT32 for kind in given):
            return f"element types, got {', '.join(kind.dtype.value for kind in given)}, expected float32 for all"
        attrs, (encodings, scores, anchors) = attributes(node), (tensor.shape for tensor in node.operands)
        if len(encodings) != 3 or encodings[0] != 1 or encodings[2] < 4:
            return f"encodings, got shape {encodings}, expected one batch of boxes of 4 numbers"
        if scores[:-1] != encodings[:-1] or scores[-1] - attrs.classes not in (0, 1):
            return f"scores, got shape {scores}, expected {attrs.classes} classes for each of {encodings[1]} boxes"
        if anchors != (encodings[1], 4):
            return f"anchors, got shape {anchors}, expected {(encodings[1], 4)}"
        return _attributes_problem(attrs)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        count = attributes(node).detections
        return [TensorType(shape, DType.FLOAT32) for shape in ((1, count, 4), (1, count), (1, count), (1,))]

    @override
    def verify(self, node: Node) -> None:
        """Checks what `problem` finds.

        Raises:
            VerifyError: Shapes, types or attributes do not fit.
        """
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Decodes boxes in doubles, and searches."""
        encodings, scores, anchors = (np.asarray(operand).astype(np.float32) for operand in operands)
        attrs = attributes(node)
        boxes = _decoded(encodings[0, :, :4], anchors, attrs.scales)
        named = scores[0][:, scores.shape[2] - attrs.classes :]
        found = _each_class(boxes, named, attrs) if attrs.per_class else _best_class(boxes, named, attrs)
        results = [np.zeros(tensor.shape, np.float32) for tensor in node.outputs]
        for place, (box, label, score) in enumerate(found):
            results[0][0, place], results[1][0, place], results[2][0, place] = boxes[box], label, score
        results[3][0] = len(found)
        return list(results)


def _attributes(options: Mapping[str, Any], regular: bool) -> DetectionAttributes:
    threshold, overlap, y, x, height, width = (float(np.float32(options[name])) for name in _REQUIRED[3:])
    return DetectionAttributes(
        int(options["max_detections"]),
        int(options["num_classes"]),
        int(options.get("detections_per_class", _PER_CLASS)) if regular else 0,
        threshold,
        overlap,
        (y, x, height, width),
    )


def _attributes_problem(attrs: DetectionAttributes) -> str | None:
    if not (0 < attrs.detections <= _MOST and attrs.classes > 0 and attrs.per_class >= 0):
        return (
            f"detections, classes and detections of a class, got {attrs.detections}, {attrs.classes} and "
            f"{attrs.per_class}, expected numbers from 1, and at most {_MOST} detections"
        )
    if not 0 < attrs.overlap_threshold <= 1:
        return f"nms_iou_threshold, got {attrs.overlap_threshold:g}, expected a number above 0, at most 1"
    if not all(np.isfinite(scale) and scale > 0 for scale in attrs.scales):
        return f"scales of the encodings, got {attrs.scales}, expected numbers above 0"
    return None


def _decoded(encodings: Float32, anchors: Float32, scales: Sequence[float]) -> Float32:
    """Returns [boxes, 4]: least y and x, largest y and x."""
    ratio, anchor = encodings.astype(np.float64) / np.array(scales), anchors.astype(np.float64)
    with np.errstate(over="ignore"):
        centre = (ratio[:, :2] * anchor[:, 2:] + anchor[:, :2]).astype(np.float32)
        half = (0.5 * np.exp(ratio[:, 2:]) * anchor[:, 2:]).astype(np.float32)
    return np.concatenate([centre - half, centre + half], axis=1)


def _overlaps(boxes: Float32, one: int) -> Float32:
    """Returns the intersection over union of a box with every box."""
    least, most = boxes[:, :2], boxes[:, 2:]
    area = (most[:, 0] - least[:, 0]) * (most[:, 1] - least[:, 1])
    sides = np.maximum(np.minimum(most, most[one]) - np.maximum(least, least[one]), np.float32(0))
    common = sides[:, 0] * sides[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = common / (area + area[one] - common)
    overlaps: Float32 = np.where((area <= 0) | (area[one] <= 0), np.float32(0), ratio)
    return overlaps


def _selected(boxes: Float32, scores: Float32, attrs: DetectionAttributes, most: int) -> list[int]:
    """Returns boxes from the highest score on, the first of equal ones first, without those that overlap one before."""
    left, found = scores >= np.float32(attrs.score_threshold), list[int]()
    while left.any() and len(found) < most:
        best = int(np.argmax(np.where(left, scores, -np.inf)))
        found.append(best)
        left[best] = False
        left &= ~(_overlaps(boxes, best) > np.float32(attrs.overlap_threshold))
    return found


def _best_class(boxes: Float32, scores: Float32, attrs: DetectionAttributes) -> list[tuple[int, int, float]]:
    labels, best = scores.argmax(axis=1), scores.max(axis=1)
    return [(box, int(labels[box]), float(best[box])) for box in _selected(boxes, best, attrs, attrs.detections)]


def _each_class(boxes: Float32, scores: Float32, attrs: DetectionAttributes) -> list[tuple[int, int, float]]:
    found: list[tuple[int, int, float]] = []
    for label in range(attrs.classes):
        own = np.ascontiguousarray(scores[:, label])
        found += [(box, label, float(own[box])) for box in _selected(boxes, own, attrs, attrs.per_class)]
        found = sorted(found, key=lambda each: -each[2])[: attrs.detections]
    return found
