"""The table of operators: from the registries, true, on its page and within 80 columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from aboard import ops
from aboard.cli import invoke, ops_page
from aboard.cli.schema import RESULTS
from aboard.errors import InputError, ModelError, TargetError
from aboard.importers import load, tflite_operators, tflite_shapes, tflite_state
from aboard.ir import DType
from aboard.reports import operators
from support import element_models, refusals
from support.element_models import Value

_PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "operators.md"

_UNARY = (
    *("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LOG", "LOGISTIC", "NEG", "RELU", "ROUND", "RSQRT"),
    *("SIN", "SQRT", "SQUARE", "TANH"),
)
_BINARY = (
    *("ADD", "DIV", "FLOOR_DIV", "FLOOR_MOD", "LOGICAL_AND", "LOGICAL_OR", "MAXIMUM", "MINIMUM", "MUL"),
    *("SQUARED_DIFFERENCE", "SUB"),
)


def _axis(*values: int) -> Value:
    return Value((len(values),), np.int32, data=np.array(values, np.int32))


#: Shapes of operands and result, constant operands behind these, and options; all tensors have one element type.
_SAMPLES: Mapping[str, tuple[Sequence[tuple[int, ...]], tuple[int, ...], Sequence[Value], Mapping[str, object]]] = {
    **{kind: ([(2, 3)], (2, 3), (), {}) for kind in _UNARY},
    **{kind: ([(2, 3), (2, 3)], (2, 3), (), {}) for kind in _BINARY},
    "ADD_N": ([(2, 3)] * 3, (2, 3), (), {}),
    "BATCH_MATMUL": ([(2, 3), (3, 4)], (2, 4), (), {}),
    "BATCH_TO_SPACE_ND": (
        [(4, 2, 2, 1)],
        (1, 4, 4, 1),
        (_axis(2, 2), Value((2, 2), np.int32, data=np.zeros((2, 2), np.int32))),
        {},
    ),
    "BROADCAST_TO": ([(1, 3)], (2, 3), (_axis(2, 3),), {}),
    "CONCATENATION": ([(2, 3), (2, 3)], (4, 3), (), {"Axis": 0}),
    "CUMSUM": ([(2, 3)], (2, 3), (Value((), np.int32, data=np.array(1, np.int32)),), {}),
    "DEPTH_TO_SPACE": ([(1, 2, 2, 4)], (1, 4, 4, 1), (), {"BlockSize": 2}),
    "EXPAND_DIMS": ([(2, 3)], (1, 2, 3), (_axis(0),), {}),
    "GATHER": ([(2, 3)], (1, 3), (_axis(1),), {}),
    "MAX_POOL_2D": (
        [(1, 4, 4, 1)],
        (1, 2, 2, 1),
        (),
        {"FilterHeight": 2, "FilterWidth": 2, "StrideH": 2, "StrideW": 2},
    ),
    "MEAN": ([(2, 3)], (2, 1), (_axis(1),), {"KeepDims": True}),
    "MIRROR_PAD": ([(3,)], (5,), (Value((1, 2), np.int32, data=np.array([[1, 1]], np.int32)),), {}),
    "PACK": ([(3,), (3,)], (2, 3), (), {"ValuesCount": 2}),
    "PAD": ([(3,)], (5,), (Value((1, 2), np.int32, data=np.array([[1, 1]], np.int32)),), {}),
    "REDUCE_ALL": ([(2, 3)], (2, 1), (_axis(1),), {"KeepDims": True}),
    "REDUCE_MAX": ([(2, 3)], (2, 1), (_axis(1),), {"KeepDims": True}),
    "RESHAPE": ([(2, 3)], (3, 2), (_axis(3, 2),), {}),
    "RESIZE_BILINEAR": ([(1, 2, 2, 1)], (1, 4, 4, 1), (_axis(4, 4),), {}),
    "RESIZE_NEAREST_NEIGHBOR": ([(1, 2, 2, 1)], (1, 4, 4, 1), (_axis(4, 4),), {}),
    "REVERSE_V2": ([(2, 3)], (2, 3), (_axis(1),), {}),
    "SLICE": ([(2, 3)], (1, 3), (_axis(1, 0), _axis(1, 3)), {}),
    "SPACE_TO_DEPTH": ([(1, 4, 4, 1)], (1, 2, 2, 4), (), {"BlockSize": 2}),
    "STRIDED_SLICE": ([(2, 3)], (1, 3), (_axis(0, 0), _axis(1, 3), _axis(1, 1)), {}),
    "SUM": ([(2, 3)], (2, 1), (_axis(1),), {"KeepDims": True}),
    "TILE": ([(2, 3)], (4, 3), (_axis(2, 1),), {}),
    "TRANSPOSE": ([(2, 3)], (3, 2), (_axis(1, 0),), {}),
    "ZEROS_LIKE": ([(2, 3)], (2, 3), (), {}),
}


def _is_read(kind: str, dtype: DType, scale: float | None) -> bool:
    shapes, result, constants, given = _SAMPLES[kind]
    operands = [Value(shape, dtype.numpy, scale) for shape in shapes]
    # Results of logistic and tanh have the quantisation that the reference gives them; squares need a larger scale.
    fixed = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0), "SQUARED_DIFFERENCE": (4.0, 0)}.get(kind)
    if dtype is DType.INT16 and kind in ("LOGISTIC", "TANH"):
        fixed = (1 / 32768, 0)
    out = Value(result, dtype.numpy, *(fixed if scale is not None and fixed is not None else (scale, 0)))
    try:
        load(element_models.build(kind, [*operands, *constants], out, given))
    except ModelError:
        return False
    return True


@pytest.mark.parametrize("kind", sorted(_SAMPLES))
def test_an_operator_is_read_in_the_types_that_the_table_names_and_in_no_other(kind: str) -> None:
    types = [dtype for dtype in DType if dtype is not DType.FLOAT16]
    read = {dtype.value for dtype in types if _is_read(kind, dtype, 0.5) or _is_read(kind, dtype, None)}
    assert read == set(ops.tflite_types(kind))


def test_every_operator_states_its_types() -> None:
    assert [kind for kind in ops.tflite_kinds() if not ops.tflite_types(kind)] == []
    names = {dtype.value for dtype in DType}
    assert [
        text
        for kind in ops.tflite_kinds()
        for text in ops.tflite_types(kind)
        if text.split()[0].rstrip(",") not in names
    ] == []


def test_every_kernel_of_an_operator_is_in_the_table() -> None:
    conv = operators.operators(["CONV_2D"])[0]
    assert conv.faster == ("arm_thumb1", "arm_mla", "riscv_v", "arm_dsp", "arm_mve")
    assert "mla_s8" in conv.kernels["arm_mla"]
    assert operators.operators(["TRANSPOSE_CONV"])[0].kernels == conv.kernels
    assert operators.operators(["ABS"])[0].faster == ()


def test_a_core_has_the_kernels_that_its_target_runs() -> None:
    for core, keys in {
        "m4": ["arm_dsp"],
        "cortex-m3": ["arm_mla"],
        "m55": ["arm_dsp", "arm_mve"],
        "m0": ["arm_thumb1"],
    }.items():
        found = operators.operators(["FULLY_CONNECTED"], operators.of_core(core))[0]
        assert list(found.faster) == keys
        assert found.kernels["portable"]


def test_all_operators_are_listed_once() -> None:
    names = [operator.name for operator in operators.operators()]
    assert len(names) == len(set(names))
    assert set(names) == {*ops.tflite_kinds(), *tflite_state.KINDS, *tflite_shapes.kinds()}


def test_operators_of_tflite_micro_are_supported_or_listed_as_missing() -> None:
    known, missing = set(tflite_operators.read()), tflite_operators.missing()
    assert len(tflite_operators.TFLITE_MICRO) == 117
    assert known.isdisjoint(missing)
    assert known | set(missing) >= tflite_operators.TFLITE_MICRO
    assert len(missing) <= 7
    assert set(tflite_operators.REASONS) <= tflite_operators.TFLITE_MICRO


def test_names_are_found_in_any_case_and_without_custom() -> None:
    found = operators.operators(["conv_2d", "signalrfft", "CUSTOM SignalPCAN"])
    assert [operator.name for operator in found] == ["CONV_2D", "CUSTOM SignalRfft", "CUSTOM SignalPCAN"]


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"operator conv2: unknown\. Did you mean CONV_2D"):
        operators.operators(["conv2"])
    with pytest.raises(InputError, match=r"operator CUSTOM TFLM_DECODE: not supported \(unpacks .*\)\. Choose"):
        operators.operators(["tflm_decode"])
    with pytest.raises(TargetError, match=r"core m44: unknown"):
        operators.of_core("m44")


def test_rules_are_those_of_the_messages() -> None:
    found = refusals.rules("REVERSE_V2")
    assert "axes: neighbouring axes, each once. TensorFlow Lite Micro reverses no others" in found
    assert "operand 1: a constant" in found
    model = [Value((2, 3, 4), np.float32), _axis(0, 2)]
    said = element_models.refusal("REVERSE_V2", model, Value((2, 3, 4), np.float32))
    assert "axes, got [0, 2], expected neighbouring axes, each once" in said


def test_rules_of_functions_that_checks_call_are_found() -> None:
    # In `weighted`, which three ops share; in a base class; and in a constant of another module.
    for kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"):
        assert any(rule.startswith("weights: symmetric quantisation") for rule in refusals.rules(kind)), kind
    assert "shapes: extents that are equal or 1, counted from the last" in refusals.rules("MAXIMUM")
    assert any("at most 32767" in rule for rule in refusals.rules("MAX_POOL_2D"))


def test_rules_in_the_package_are_fresh() -> None:
    assert refusals.PAGE.read_text(encoding="utf-8") == refusals.page(), "run `make snapshots`"


def test_the_page_is_fresh() -> None:
    assert _PAGE.read_text(encoding="utf-8") == ops_page.markdown(), "run `make docs-ops`"


def test_the_table_fits_80_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words in ([], ["--core", "m4"], ["--missing"], ["cast", "CONV_2D", "signalstacker"]):
        assert invoke(["ops", *words]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_json_has_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["ops", "--json", "--core", "m4"]) == 0
    result = RESULTS["ops"].model_validate(json.loads(capsys.readouterr().out), strict=True).model_dump()
    assert result["core"] == "cortex-m4"
    assert [each["name"] for each in result["operators"]] == [each.name for each in operators.operators()]
    assert {each["name"] for each in result["missing"]} == set(tflite_operators.missing())
