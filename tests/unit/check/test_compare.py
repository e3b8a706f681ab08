"""`aboard.compare`: what it pairs, what it takes for rounding, and which causes it names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.base import resources
from aboard.check.compare import Cause, State, comparer, samples, sides
from aboard.errors import InputError, ModelError, ToolError
from aboard.importers import load
from support import models
from support.damage import judge
from support.examples import either
from support.tflite_builder import ModelBuilder

DIGITS, FLOAT = (resources.models() / name for name in ("digits.tflite", "digits_f32.tflite"))
SAMPLES = resources.models() / "digits_test.npz"
RNG = np.random.default_rng(3)


def test_drawn_faults_are_found_with_layer_and_cause() -> None:
    # `make compare-faults` draws others.
    missed = judge.missed(0, either(50, 10))
    assert len(missed) <= 2, "\n".join(missed)


def test_undamaged_pairs_have_no_fault() -> None:
    assert judge.alarms(0, either(10, 5)) == []


def test_a_model_equals_itself() -> None:
    found = aboard.compare(DIGITS, DIGITS, SAMPLES)
    assert (found.state, found.defect, found.samples) == (State.EQUAL, None, 16)
    assert (found.unpaired_a, found.unpaired_b) == ((), ())
    assert [output.largest for output in found.outputs] == [0.0]


@pytest.mark.parametrize("run", ["host", "litert", "numpy", "tflm"])
def test_other_ways_of_running_give_the_same(run: str) -> None:
    found = aboard.compare(DIGITS, f"{DIGITS}@{run}", SAMPLES, most=4)
    assert found.state is State.EQUAL
    assert len(found.layers) >= 7


def test_a_float_model_and_its_int8_form_differ_by_rounding() -> None:
    found = aboard.compare(FLOAT, DIGITS, SAMPLES)
    assert found.state is State.ROUNDING
    (output,) = found.outputs
    assert output.snr_db is not None
    assert output.snr_db > 30
    assert output.agreement == 1.0
    assert [layer.op for layer in found.layers] == [
        "input", "conv2d", "depthwise_conv2d", "conv2d", "max_pool2d", "reshape", "fully_connected", "softmax",
    ]  # fmt: skip
    assert all(layer.steps is not None and layer.steps < 3 for layer in found.layers)


def test_a_state_is_followed_through_a_sequence() -> None:
    path = models.path("lstm")
    data = RNG.integers(-128, 128, (3, 28, 28)).astype(np.int8)
    assert aboard.compare(path, f"{path}@host", data).state is State.EQUAL


def dense(weights: np.ndarray, bias: np.ndarray, scale: float = 0.02, zero_point: int = 0) -> bytes:
    model = ModelBuilder().tensor("x", (1, 16), np.int8, scale=0.02, zero_point=0)
    model.tensor("y", (1, len(weights)), np.int8, scale=scale, zero_point=zero_point)
    model.tensor("w", weights.shape, np.int8, scale=0.01, data=weights)
    model.tensor("b", bias.shape, np.int32, scale=0.0002, data=bias)
    return model.op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], {}).build(["x"], ["y"])


WEIGHTS = RNG.integers(-100, 100, (12, 16)).astype(np.int8)
OTHER = RNG.integers(-100, 100, (12, 16)).astype(np.int8)
BIAS = RNG.integers(-500, 500, 12).astype(np.int32)
INPUTS = RNG.uniform(-0.8, 0.8, (12, 16)).astype(np.float32)


def files(tmp_path: Path, a: bytes, b: bytes) -> tuple[Path, Path]:
    (tmp_path / "a.tflite").write_bytes(a)
    (tmp_path / "b.tflite").write_bytes(b)
    return tmp_path / "a.tflite", tmp_path / "b.tflite"


@pytest.mark.parametrize(
    ("b", "cause", "detail"),
    [
        (dense(WEIGHTS, BIAS, scale=0.03), Cause.SCALE, "the result has scale 0.03 in B, 0.02 in A"),
        (dense(WEIGHTS, BIAS, zero_point=90), Cause.ZERO_POINT, "the result has zero point 90 in B, 0 in A"),
        (dense(OTHER, BIAS), Cause.WEIGHTS, "B has other numbers: weights"),
        (dense(np.roll(WEIGHTS, 1, 0), BIAS), Cause.TRANSPOSITION, "B has the numbers of the weights at other places"),
        (dense(WEIGHTS, BIAS + 300), Cause.ZERO_POINT, "bias 0.06 to 0.06 larger in B"),
        (dense(WEIGHTS, BIAS * 2), Cause.SCALE, "bias 2 to 2 times as large in B"),
    ],
    ids=["scale", "zero point", "weights", "places", "bias", "bias scale"],
)
def test_files_of_one_training_that_differ_in_one_place(tmp_path: Path, b: bytes, cause: Cause, detail: str) -> None:
    found = aboard.compare(*files(tmp_path, dense(WEIGHTS, BIAS), b), INPUTS)
    assert found.defect is not None
    assert (found.defect.explanation.cause, found.defect.explanation.detail) == (cause, detail)
    assert (found.defect.layer.operator, found.defect.layer.operator_b, found.defect.layer.b) == (0, 0, "y")


def dense_of_reals() -> bytes:
    model = ModelBuilder().tensor("x", (1, 16), np.float32).tensor("y", (1, 12), np.float32)
    model.tensor("w", WEIGHTS.shape, np.float32, data=WEIGHTS * np.float32(0.01))
    model.tensor("b", BIAS.shape, np.float32, data=(BIAS * 0.0002).astype(np.float32))
    return model.op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], {}).build(["x"], ["y"])


def test_numbers_that_wrap_are_an_overflow(tmp_path: Path) -> None:
    a, b = files(tmp_path, dense_of_reals(), dense(WEIGHTS, BIAS, scale=0.01))
    ours = samples.read(INPUTS, load(a), 12)
    right = sides.record(sides.parse(str(a)), load(a), ours)
    theirs = samples.for_other(ours, load(a), load(b))
    given = sides.record(sides.parse(str(b)), load(b), theirs)
    turned = [{**sample, "y": (right.samples[n]["y"] + 1.28) % 2.56 - 1.28} for n, sample in enumerate(given.samples)]
    found = comparer.compare(right, replace(given, samples=turned))
    assert found.defect is not None
    assert found.defect.explanation.cause is Cause.OVERFLOW
    assert found.defect.explanation.detail.startswith("results beyond the range of the integers come out at its other")


def test_results_that_are_no_numbers_are_an_overflow(tmp_path: Path) -> None:
    a = files(tmp_path, dense_of_reals(), b"")[0]
    right = sides.record(sides.parse(str(a)), load(a), samples.read(INPUTS, load(a), 12))
    broken = [{**sample, "y": np.where(np.arange(12) == 5, np.nan, sample["y"])} for sample in right.samples]
    found = comparer.compare(right, replace(right, samples=broken))
    assert found.defect is not None
    assert (found.defect.explanation.cause, found.defect.channels) == (Cause.OVERFLOW, (5,))


def test_samples_unlike_those_of_the_calibration_are_no_defect(tmp_path: Path) -> None:
    a = dense_of_reals()
    given = files(tmp_path, a, dense(WEIGHTS, BIAS, scale=0.032))
    assert aboard.compare(*given, INPUTS * 0.5).state is State.ROUNDING
    assert aboard.compare(*given, INPUTS * 1.8).state is State.LIMITS
    narrow = files(tmp_path, a, dense(WEIGHTS, BIAS, scale=0.01))
    cut = aboard.compare(*narrow, INPUTS).defect
    assert cut is not None
    assert cut.explanation.cause is Cause.SCALE
    assert cut.explanation.detail.startswith("B's integers hold numbers from -1.28 to 1.27, the results are ")


def test_channels_are_named(tmp_path: Path) -> None:
    weights = WEIGHTS.copy()
    weights[[3, 7]] = np.clip(weights[[3, 7]].astype(int) * 2 - 1, -127, 127)
    found = aboard.compare(*files(tmp_path, dense(WEIGHTS, BIAS, scale=0.08), dense(weights, BIAS, scale=0.08)), INPUTS)
    assert found.defect is not None
    assert (found.defect.channels, found.defect.of) == ((3, 7), 12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("digits.tflite@tflite", "digits.tflite@tflite: what runs the model, got tflite, expected one of auto, tflm, "),
        ("digits.tflite@arm/none", "what runs the model, got arm/none"),
    ],
)
def test_what_runs_a_side_is_checked(text: str, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        sides.parse(text)
    assert message in str(caught.value)


def test_a_file_whose_name_has_an_at(tmp_path: Path) -> None:
    path = tmp_path / "mine@home.tflite"
    path.write_bytes(DIGITS.read_bytes())
    assert sides.parse(str(path)) == sides.Side(path, "auto")
    assert sides.parse(f"{path}@host") == sides.Side(path, "host")


def test_models_that_do_not_belong_together(tmp_path: Path) -> None:
    other = files(tmp_path, dense(WEIGHTS, BIAS), dense(WEIGHTS, BIAS))[0]
    with pytest.raises(InputError) as caught:
        aboard.compare(DIGITS, other, SAMPLES)
    assert str(caught.value) == (
        "a.tflite: input x, got shape [1, 16], expected [1, 8, 8, 1] as input serving_default_image:0 of the other "
        "model has, or an order of these axes. Give two forms of one model"
    )


def test_models_with_other_numbers_of_inputs(tmp_path: Path) -> None:
    two = ModelBuilder()
    for name in ("a", "b", "y"):
        two.tensor(name, (1, 4), np.float32)
    path = tmp_path / "two.tflite"
    path.write_bytes(two.op("ADD", ["a", "b"], ["y"]).build(["a", "b"], ["y"]))
    with pytest.raises(InputError, match=r"two.tflite: 2 inputs, expected 1 as digits.tflite has"):
        aboard.compare(DIGITS, path, SAMPLES)


def test_an_interpreter_of_another_format() -> None:
    with pytest.raises(ModelError, match="format, got TFLite, expected ONNX for onnxruntime"):
        aboard.compare(f"{DIGITS}@onnxruntime", DIGITS, SAMPLES)


def test_faults_of_int8_models_are_found_beside_the_float_ones() -> None:
    missed = judge.missed_beside_float(0, 12)
    assert len(missed) <= 1, "\n".join(missed)


@pytest.mark.parametrize(
    ("limits", "results", "fits"),
    [
        ((-1.0, 1.5), (-2.0, 3.0), True),  # Half of the true scale: both sides are cut alike.
        ((0.0, 1.0), (0.0, 2.5), True),
        ((-1.0, 0.99), (0.0, 2.0), True),  # Symmetric integers behind a RELU: the negative side says nothing.
        ((-0.73, 1.6), (-1.44, 1.39), False),  # Samples that the limits do not come from: one side has room.
    ],
)
def test_a_scale_is_to_blame_only_where_another_one_would_fit(
    limits: tuple[float, float], results: tuple[float, float], fits: bool
) -> None:
    assert comparer._would_fit(limits, results) is fits
