"""scikit-learn: fitted estimators and pipelines become ONNX files, by skl2onnx."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from aboard.errors import InputError


def of_model(model: Any, example_inputs: object) -> bytes:
    """Returns the ONNX file of a fitted estimator or pipeline, with one input of float32.

    A classifier has two outputs: the label, and the probabilities or scores of the classes as a tensor.

    Args:
        model: A fitted estimator.
        example_inputs: Samples as for `predict`, (N, features); only their number of features counts.

    Raises:
        InputError: There are no samples, or they are not a table of numbers.
        Exception: Of any class, from skl2onnx; `explain` has the reason.
    """
    import skl2onnx
    from sklearn.base import is_classifier

    sample = sample_of(model, example_inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = skl2onnx.to_onnx(model, sample, options={"zipmap": False} if is_classifier(model) else None)
        except NameError:  # a classifier that has no such option: its scores are a tensor, or a map that is read too
            made = skl2onnx.to_onnx(model, sample)
    return bytes(made.SerializeToString())


def sample_of(model: Any, given: object) -> Any:
    """Returns the first sample as float32 (1, features); errors as for `of_model`."""
    name = type(model).__name__
    if given is None:
        raise InputError(
            f"{name}: an estimator of scikit-learn without example_inputs, expected samples as for `predict`. Give "
            "some: example_inputs=x_train"
        )
    try:
        samples = np.asarray(given, np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name}: example_inputs are not numbers ({error}), expected a table of them. Convert text to numbers "
            "before the estimator"
        ) from error
    if samples.ndim != 2 or 0 in samples.shape:
        raise InputError(
            f"{name}: shape of example_inputs, got {samples.shape}, expected (samples, features). Give a table such as "
            "x_train"
        )
    return samples[:1]


def explain(error: Exception) -> tuple[str, str]:
    """Returns the reason of a failed conversion, and what to do."""
    text = " ".join(str(error).split())
    kind = type(error).__name__
    if "NotFitted" in kind or "No known ways to retrieve the number of classes" in text or "not fitted" in text:
        return "it is not fitted", "Call `fit` before"
    if kind in ("MissingShapeCalculator", "MissingConverter"):
        return text.partition(".")[0], (
            "Convert models of LightGBM and XGBoost with `onnxmltools`; replace other steps by those of scikit-learn"
        )
    if "Unable to create node" in text:
        return (
            "skl2onnx writes an attribute that the package onnx refuses",
            "Replace it, or try other versions",
        )
    return f"{kind}: {text}", "Replace the step that the reason names"
