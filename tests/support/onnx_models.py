"""ONNX models of a few nodes, and what every operator of ONNX is tested for: equality with the reference evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from aboard.check import onnx_session
from aboard.errors import ModelError
from aboard.importers import load
from aboard.ops import interpreter
from support import one_op

OPSET = 22

Feed = Mapping[str, np.ndarray]


def node(kind: str, inputs: str, outputs: str = "y", domain: str = "", **attributes: Any) -> onnx.NodeProto:
    """Returns a node; names of operands and results are separated by blanks, and `_` is an absent operand."""
    operands = ["" if name == "_" else name for name in inputs.split()]
    return helper.make_node(kind, operands, outputs.split(), domain=domain, **attributes)


def model(nodes: Sequence[onnx.NodeProto], feed: Feed, constants: Feed | None = None, opset: int = OPSET) -> bytes:
    """Returns a model file with inputs as in `feed`; outputs are the results that no node reads.

    Args:
        nodes: In execution order.
        feed: Arrays with the shapes and types of the inputs.
        constants: Values of initializers.
        opset: Version of the standard's operators.
    """
    inputs = [_value(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in feed.items()]
    initializers = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    read = {name for each in nodes for name in each.input}
    outputs = [onnx.ValueInfoProto(name=name) for each in nodes for name in each.output if name and name not in read]
    graph = helper.make_graph(list(nodes), "test", inputs, outputs, initializers)
    imports = [helper.make_opsetid("", opset)]
    imports += [helper.make_opsetid(domain, 1) for domain in sorted({each.domain for each in nodes} - {""})]
    made = helper.make_model(graph, opset_imports=imports, ir_version=10)
    return onnx.shape_inference.infer_shapes(made, strict_mode=True).SerializeToString()


def unchecked(
    nodes: Sequence[onnx.NodeProto], feed: Feed, outputs: str, constants: Feed | None = None, opset: int = OPSET
) -> bytes:
    """Returns a model file as `model` does, whose shapes nobody has inferred: they need not fit.

    `outputs` are names of results of float32, separated by blanks.
    """
    inputs = [_value(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in feed.items()]
    results = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n"]) for name in outputs.split()]
    initializers = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "test", inputs, results, initializers)
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


def _value(name: str, kind: int, shape: Sequence[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(shape))


def expected(data: bytes, feed: Feed) -> list[np.ndarray]:
    """Returns the outputs of the standard's reference evaluator."""
    with np.errstate(all="ignore"):
        return [np.asarray(each) for each in ReferenceEvaluator(onnx.load_from_string(data)).run(None, dict(feed))]


def evaluated(data: bytes, feed: Feed) -> list[np.ndarray]:
    """Returns the outputs by the numpy semantics of the imported graph."""
    graph = load(data, name="model")
    values = interpreter.run(graph, dict(feed))
    return [values[tensor.name] for tensor in graph.outputs]


def check(
    data: bytes, feed: Feed, *, wanted: Sequence[np.ndarray] | None = None, compiled: bool = False, rtol: float = 2e-6
) -> None:
    """Fails unless the imported model gives the outputs of the reference evaluator.

    Integers and bools are equal; float32 differs by at most `rtol`, of 1 where it is smaller.

    Args:
        data: The model file.
        feed: Values for its inputs.
        wanted: The outputs, where the reference evaluator is not to be asked.
        compiled: True to run the generated C too.
        rtol: Relative tolerance.
    """
    wanted = expected(data, feed) if wanted is None else wanted
    runs = {"evaluate": evaluated(data, feed)}
    if compiled:
        runs["generated C"] = one_op.compiled(data, *feed.values())
    for name, results in runs.items():
        assert len(results) == len(wanted), name
        for got, value in zip(results, wanted, strict=True):
            assert (got.shape, got.dtype) == (value.shape, value.dtype), name
            if value.dtype.kind == "f":
                np.testing.assert_allclose(got, value, rtol=rtol, atol=rtol, err_msg=name)
            else:
                np.testing.assert_array_equal(got, value, err_msg=name)


def refusal(data: bytes) -> str:
    """Returns the message with which the importer refuses a model."""
    with pytest.raises(ModelError) as caught:
        load(data, name="model")
    return str(caught.value)


def runtime(data: bytes, feed: Feed) -> list[np.ndarray]:
    """Returns the outputs of onnxruntime without optimisations, for operators that the reference evaluator lacks."""
    session = onnx_session.open_session(data)
    return [np.asarray(each) for each in session.run(None, dict(feed))]
