"""The standard's own tests of operators, in numpy; and one of each operator as generated C."""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import aboard
from aboard.errors import AboardError
from aboard.importers import load
from aboard.importers.onnx.operator import readers
from aboard.ops.interpreter import run
from support.examples import part
from support.onnx_standard import standard_cases

#: Operands that are constants in every exported model, though inputs in the tests of the standard.
_AXES = ["Compress", "CumSum", "Expand", "OneHot", "Reshape", "ReverseSequence", "Split", "Squeeze", "Tile", "TopK"]
_AXES += ["Trilu", "Unsqueeze", "Upsample", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax"]
_AXES += ["ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"]
_CONSTANT = {
    **dict.fromkeys(_AXES, (1,)),
    "Slice": (1, 2, 3, 4),
    "Pad": (1, 2, 3),
    "Resize": (1, 2, 3),
    "DFT": (1, 2),
    "STFT": (1, 2, 3),
    "Dropout": (1, 2),
    "Clip": (1, 2),
    "BatchNormalization": (1, 2, 3, 4),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), (1, 2, 3, 4, 7)),
    **dict.fromkeys(("Conv", "ConvTranspose", "Gemm"), (1, 2)),
}

#: Cases that come out right at least; all others are refused with the reason.
_RIGHT = 1290


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _models(case: Any) -> list[tuple[bytes, dict[str, Any]]]:
    """Returns the model of a case as it is, and with parameters as constants; each with its inputs."""
    inputs = {info.name: _array(v) for info, v in zip(case.model.graph.input, case.data_sets[0][0], strict=False)}
    whole = case.model.SerializeToString()
    names = {n.input[i] for n in case.model.graph.node for i in _CONSTANT.get(n.op_type, ()) if i < len(n.input)}
    names &= set(inputs)
    if not names or len(names) == len(inputs):
        return [(whole, inputs)]
    frozen = onnx.ModelProto()
    frozen.CopyFrom(case.model)
    frozen.graph.initializer.extend(numpy_helper.from_array(np.asarray(inputs[name]), name) for name in names)
    kept = [value for value in frozen.graph.input if value.name not in names]
    del frozen.graph.input[:]
    frozen.graph.input.extend(kept)
    left = {name: value for name, value in inputs.items() if name not in names}
    return [(whole, inputs), (frozen.SerializeToString(), left)]


def _same(got: np.ndarray, wanted: Any, case: Any) -> None:
    want = np.asarray(_array(wanted))
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    finite = np.abs(want[np.isfinite(want)])
    np.testing.assert_allclose(got, want, case.rtol, max(case.atol, 1e-5, 1e-5 * float(finite.max(initial=0))))


def test_no_case_is_wrong_and_refusals_are_errors_of_aboard():
    right, refused, wrong = 0, Counter(), []
    for case in standard_cases():
        answer: dict[str, np.ndarray] | None = None
        for data, inputs in _models(case):
            try:
                graph = load(data)
            except AboardError as error:
                refused[str(error).partition(": ")[2][:40]] += 1
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = run(graph, {tensor.name: np.asarray(inputs[tensor.name]) for tensor in graph.inputs})
            break
        if answer is None:
            continue
        names = [output.name for output in case.model.graph.output]
        for name, wanted in zip(names, case.data_sets[0][1], strict=True):
            try:
                _same(answer[name], wanted, case)
            except AssertionError as error:
                wrong.append(f"{case.name}: {str(error).strip().splitlines()[-1][:120]}")
                break
        right += 1
    assert not wrong
    assert right >= _RIGHT, refused.most_common(20)


#: Operators that are read, and have no case of one node that is read; beside those of other domains.
_NO_CASE = {"Cast", "CastLike", "ConvInteger", "CumProd", "Einsum", "GlobalLpPool", "Not", "QLinearConv"}
_NO_CASE |= {"QLinearMatMul", "ReduceLogSumExp"}
_KINDS = [kind for kind in sorted(readers()) if kind not in _NO_CASE and "." not in kind]


@functools.cache
def _one_each() -> dict[str, Any]:
    """Returns the first case of each operator that is read.

    Making the cases takes many seconds, which the collection of tests, in every process of them, is not to wait for.
    """
    found: dict[str, Any] = {}
    for case in standard_cases():
        kinds = [n.op_type for n in case.model.graph.node]
        if len(kinds) == 1 and kinds[0] in readers() and kinds[0] not in found and "expanded" not in case.name:
            for data, _ in _models(case):
                try:
                    load(data)
                except AboardError:
                    continue
                found[kinds[0]] = case
                break
    return found


def test_all_operators_with_a_case_have_a_test_as_c():
    assert sorted(_one_each()) == _KINDS


@pytest.mark.parametrize("kind", part(_KINDS))
def test_as_c(kind):
    case = _one_each()[kind]
    for data, inputs in _models(case):
        try:
            module = aboard.compile(data, target="c -runtime=host", name="case")
        except AboardError:
            continue
        feed = {record.name: np.asarray(inputs[record.name]) for record in module.manifest.inputs}
        got = module.run(feed if len(feed) > 1 else next(iter(feed.values())))
        results = got if isinstance(got, dict) else {case.model.graph.output[0].name: got}
        names = [output.name for output in case.model.graph.output]
        for name, wanted in zip(names, case.data_sets[0][1], strict=True):
            _same(np.asarray(results[name]), wanted, case)
        return
    raise AssertionError("no form of the model compiles")
