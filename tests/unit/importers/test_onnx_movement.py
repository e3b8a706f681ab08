"""Movement operators and indices of ONNX: files that contradict the standard are refused, with what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from aboard.errors import ModelError
from aboard.importers import load


def _model(kind, shape, constants=(), rank=2, opset=20, **attributes):
    """Returns a model of one node with an input and constant operands."""
    names = [f"c{i}" for i in range(len(constants))]
    weights = [numpy_helper.from_array(np.asarray(c), n) for c, n in zip(constants, names, strict=True)]
    made = helper.make_graph(
        [helper.make_node(kind, ["x", *names], ["y"], **attributes)],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [f"d{i}" for i in range(rank)])],
        weights,
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)]).SerializeToString()


def _whole(*numbers):
    return np.array(numbers, np.int64)


_ONE_ROW = np.zeros((1, 1), np.int64)
_REFUSED = {
    "slice ends": (("Slice", [4, 4], (_whole(0, 0), _whole(2), _whole(0, 1))), "ends .2., axes"),
    "slice steps": (("Slice", [4, 4], (_whole(0, 0), _whole(2, 2), _whole(0, 1), _whole(1))), "steps .1., expected"),
    "slice twice": (("Slice", [4, 4], (_whole(0, 1), _whole(2, 3), _whole(0, 0))), "no axis twice"),
    "slice rank": (("Slice", [4, 4], (_whole(0, 0, 0), _whole(1, 1, 1))), "as many of each"),
    "unsqueeze twice": (("Unsqueeze", [4], (_whole(0, 0),)), "axes to add, got .0, 0., expected each axis once"),
    "pad value": (("Pad", [4], (_whole(1, 0), np.zeros(0, np.float32)), 1), r"operand 2, got shape \(0,\)"),
    "trilu": (("Trilu", [4, 4], (_whole(0, 1),)), r"operand 1, got shape \(2,\), expected one number"),
    "one hot depth": (("OneHot", [4], (_whole(2, 3), np.zeros(2, np.float32))), "operand 1, got shape"),
    "one hot values": (("OneHot", [4], (_whole(2), np.zeros(1, np.float32))), r"values of shape \(1,\)"),
    "gather rank": (("GatherElements", [4, 4], (_whole(1),)), r"indices, got shape \(1,\), expected at most \(4, 4\)"),
    "gather extent": (("GatherElements", [4, 4], (np.zeros((2, 7), np.int64),)), "but for axis 0"),
}
_REFUSED_ATTRIBUTES = {
    "pad mode": (("Pad", [4], (_whole(1, 0),), 1), {"mode": "round"}, "mode, got round, expected one of constant"),
    "batch": (("GatherND", [4, 4], (np.zeros((3, 1), np.int64),), 1), {"batch_dims": 1}, "batch_dims, got 1"),
    "batch below 0": (("GatherND", [4, 4], (_ONE_ROW,)), {"batch_dims": -1}, "batch_dims, got -1"),
    "reduction": (
        ("ScatterElements", [4, 4], (_ONE_ROW, np.ones((1, 1), np.float32))),
        {"reduction": "mean"},
        "reduction, got mean, expected none",
    ),
    "one axis for both": (
        ("ReverseSequence", [4, 4], (_whole(1, 1, 1, 1),)),
        {"time_axis": 1, "batch_axis": 1},
        "axes of time and samples, got 1 and 1",
    ),
    "axis of time": (
        ("ReverseSequence", [4, 4], (_whole(1, 1, 1, 1),)),
        {"time_axis": 5},
        "axes of time and samples, got 5 and 1",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), _REFUSED.values(), ids=_REFUSED)
def test_operands_that_contradict_the_standard_are_refused(arguments, message):
    with pytest.raises(ModelError, match=f"node 0 {arguments[0]}: .*{message}"):
        load(_model(*arguments))


@pytest.mark.parametrize(("arguments", "attributes", "message"), _REFUSED_ATTRIBUTES.values(), ids=_REFUSED_ATTRIBUTES)
def test_attributes_that_contradict_the_standard_are_refused(arguments, attributes, message):
    with pytest.raises(ModelError, match=f"node 0 {arguments[0]}: .*{message}"):
        load(_model(*arguments, **attributes))


def test_slices_of_old_files_have_as_many_ends_as_starts():
    with pytest.raises(ModelError, match=r"node 0 Slice: starts \[0, 0\], ends \[1\]"):
        load(_model("Slice", [4, 4], opset=9, starts=[0, 0], ends=[1]))
