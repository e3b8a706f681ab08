"""detection_postprocess against tflite-micro."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from support import one_op, oracle
from support.examples import examples
from support.signal_models import options
from support.tflite_builder import ModelBuilder


@dataclass(frozen=True)
class Detector:
    """A model of one operator; every field has a value with which it works."""

    boxes: int = 30
    encoding: int = 4
    classes: int = 3
    background: int = 1
    detections: int = 8
    regular: bool = False
    per_class: int | None = None
    threshold: float = 0.4
    overlap: float = 0.5
    seed: int = 0
    dtype: Any = np.float32
    changed: dict[str, Any] = field(default_factory=dict)

    def model(self) -> bytes:
        rng, dtype = np.random.default_rng(self.seed), self.dtype
        anchors = np.concatenate([rng.random((self.boxes, 2)), 0.1 + 0.4 * rng.random((self.boxes, 2))], axis=1)
        m = ModelBuilder().tensor("e", (1, self.boxes, self.encoding), dtype)
        m.tensor("s", (1, self.boxes, self.classes + self.background), dtype)
        m.tensor("a", (self.boxes, 4), dtype, data=anchors)
        shapes = {"b": (1, self.detections, 4), "c": (1, self.detections), "p": (1, self.detections), "n": (1,)}
        for name, shape in shapes.items():
            m.tensor(name, shape, dtype)
        values = {
            "max_detections": self.detections,
            "max_classes_per_detection": 1,
            "num_classes": self.classes,
            "nms_score_threshold": self.threshold,
            "nms_iou_threshold": self.overlap,
            "use_regular_nms": self.regular,
            "y_scale": 10.0,
            "x_scale": 10.0,
            "h_scale": 5.0,
            "w_scale": 5.0,
            **({} if self.per_class is None else {"detections_per_class": self.per_class}),
        }
        given = {name: value for name, value in {**values, **self.changed}.items() if value is not None}
        name = "TFLite_Detection_PostProcess"
        m.op("CUSTOM", ["e", "s", "a"], list(shapes), custom=name, custom_options=options(given))
        return m.build(["e", "s"], list(shapes))

    def feed(self) -> list[np.ndarray]:
        """Returns encodings and scores; scores have few values, so that many are equal."""
        rng = np.random.default_rng(self.seed + 1)
        scores = rng.integers(0, 20, (1, self.boxes, self.classes + self.background)) / 20
        return [rng.normal(0, 3, (1, self.boxes, self.encoding)).astype(np.float32), scores.astype(np.float32)]


def check(case: Detector) -> int:
    """Compares the detections with the reference's, which leaves the rest as it was; returns their number."""
    data, given = case.model(), case.feed()
    boxes, classes, scores, count = oracle.tflm(data, *given)
    number = int(count[0])
    for name, results in (("evaluate", one_op.evaluate(data, *given)), ("C", one_op.compiled(data, *given))):
        assert results[3].tolist() == [number], name
        np.testing.assert_array_equal(results[1][0, :number], classes[0, :number], err_msg=name)
        np.testing.assert_array_equal(results[2][0, :number], scores[0, :number], err_msg=name)
        np.testing.assert_allclose(results[0][0, :number], boxes[0, :number], rtol=1e-5, atol=1e-5, err_msg=name)
        assert not any(np.any(result[0, number:]) for result in results[:3]), name
    return number


@settings(max_examples=examples(40), deadline=None)
@given(
    st.builds(
        Detector,
        boxes=st.integers(1, 60),
        encoding=st.integers(4, 6),
        classes=st.integers(1, 4),
        background=st.integers(0, 1),
        detections=st.integers(1, 10),
        regular=st.booleans(),
        per_class=st.sampled_from([None, 1, 3]),
        threshold=st.sampled_from([-1.0, 0.33, 0.77, 2.0]),
        overlap=st.sampled_from([0.1, 0.5, 1.0]),
        seed=st.integers(0, 1000),
    )
)
def test_detections_are_those_of_the_reference(case: Detector) -> None:
    check(case)


@pytest.mark.parametrize("regular", [False, True])
def test_some_boxes_are_found_and_some_left_out(regular: bool) -> None:
    assert 3 < check(Detector(boxes=60, detections=180, overlap=0.05, regular=regular)) < (180 if regular else 60)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (Detector(changed={"num_classes": None}), "options, got none named num_classes"),
        (Detector(changed={"max_classes_per_detection": 2}), "max_classes_per_detection, got 2, expected 1"),
        (Detector(changed={"num_classes": 2, "nms_iou_threshold": 1.5}), "scores, got shape (1, 30, 4), expected 2"),
        (Detector(overlap=1.5), "nms_iou_threshold, got 1.5, expected a number above 0"),
        (Detector(changed={"y_scale": 0.0}), "scales of the encodings, got (0.0, 10.0"),
        (Detector(changed={"max_detections": 0}), "got 0, 3 and 0, expected numbers from 1"),
        (Detector(changed={"max_detections": 9}), "type of b, got float32[1x8x4], expected"),
        (Detector(encoding=3), "encodings, got shape (1, 30, 3), expected one batch"),
        (Detector(dtype=np.int32), "element types, got int32"),
    ],
)
def test_what_is_refused(case: Detector, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        load(case.model())
    assert words in str(caught.value)
