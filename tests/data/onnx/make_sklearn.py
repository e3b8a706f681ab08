"""Trains small models with scikit-learn, converts them with skl2onnx, and stores what onnxruntime computes.

    python3 -m venv sklearn
    sklearn/bin/pip install scikit-learn==1.9.1 skl2onnx==1.20.0 onnx==1.23.2 onnxruntime==1.32.0
    sklearn/bin/python tests/data/onnx/make_sklearn.py

Writes sklearn_*.onnx, and sklearn.npz with samples that no model was trained on (NAME/x) and the outputs for each
of them (NAME/0, NAME/1). Data are those that scikit-learn brings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import skl2onnx.common._container as container
from skl2onnx import to_onnx
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

HERE = Path(__file__).parent

#: Samples that are stored for each model.
SAMPLES = 24

Array = np.ndarray[Any, Any]
Data = tuple[Array, Array]


def _plain(value: Any) -> Any:
    """Returns an attribute without types of numpy, which some versions of the package onnx refuse."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list):
        return [int(each) if isinstance(each, np.integer | np.bool_ | bool) else each for each in value]
    return value


def models() -> dict[str, tuple[Any, Data]]:
    """Returns untrained models and their data by name."""
    iris, digits, diabetes = load_iris(), load_digits(), load_diabetes()
    flowers: Data = (iris.data, iris.target)
    names: Data = (iris.data, iris.target_names[iris.target])
    images: Data = (digits.data, digits.target)
    holes = iris.data.copy()
    holes[::5, 2] = np.nan
    return {
        "forest": (RandomForestClassifier(6, max_depth=6, random_state=0), images),
        "forest_of_names": (RandomForestClassifier(5, max_depth=4, random_state=0), names),
        "extra_trees": (ExtraTreesRegressor(8, max_depth=5, random_state=0), (diabetes.data, diabetes.target)),
        "boosting": (GradientBoostingClassifier(n_estimators=10, max_depth=3, random_state=0), flowers),
        "boosting_with_holes": (HistGradientBoostingClassifier(max_iter=10, random_state=0), (holes, iris.target)),
        "logistic_regression": (LogisticRegression(max_iter=1000), names),
        "linear_svm": (LinearSVC(random_state=0), images),
        "rbf_svm": (SVC(probability=True, random_state=0), flowers),
        "poly_svm": (SVC(kernel="poly", degree=2), flowers),
        "pipeline": (make_pipeline(StandardScaler(), PCA(12), LogisticRegression(max_iter=1000)), images),
        "mlp": (MLPClassifier((24,), max_iter=60, random_state=0), images),
        "neighbours": (KNeighborsClassifier(3), flowers),
    }


def main() -> None:
    """Writes the files."""
    make_node = container.make_node
    container.make_node = lambda *args, **options: make_node(*args, **{k: _plain(v) for k, v in options.items()})
    stored: dict[str, Array] = {}
    for name, (model, (x, y)) in models().items():
        train, test, labels, _ = train_test_split(x.astype(np.float32), y, test_size=0.3, random_state=0)
        model.fit(train, labels)
        data = to_onnx(model, train[:1]).SerializeToString()
        (HERE / f"sklearn_{name}.onnx").write_bytes(data)
        session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
        stored[f"{name}/x"] = test[:SAMPLES]
        for place, output in enumerate(session.run(None, {session.get_inputs()[0].name: test[:SAMPLES]})):
            maps = isinstance(output, list)
            values = np.array([list(each.values()) for each in output]) if maps else np.asarray(output)
            stored[f"{name}/{place}"] = values.astype(str) if values.dtype.kind == "O" else values
        print(name, len(data))
    np.savez_compressed(HERE / "sklearn.npz", **stored)


if __name__ == "__main__":
    main()
