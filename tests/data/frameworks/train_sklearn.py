"""Fits three estimators with scikit-learn, and converts them as aboard does.

make test-frameworks                         # makes .venv-frameworks
.venv-frameworks/bin/python tests/data/frameworks/train_sklearn.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from samples import STORED, Split, digits, split, store
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from aboard import frameworks


def estimators() -> dict[str, tuple[Any, Split]]:
    """Returns each estimator, and its data."""
    images, test, y, labels = digits()
    iris, wine = load_iris(), load_wine()
    return {
        "forest": (
            RandomForestClassifier(8, max_depth=6, random_state=0),
            (images.reshape(-1, 64), test.reshape(-1, 64), y, labels),
        ),
        "logistic": (
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
            split(wine.data, wine.target),
        ),
        "svm": (SVC(gamma="scale"), split(iris.data, iris.target)),
    }


def main() -> None:
    """Writes sklearn_*.onnx and sklearn.npz."""
    files: dict[str, bytes] = {}
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, (estimator, (x, test, y, labels)) in estimators().items():
        estimator.fit(x, y)
        print(name, "accuracy", round(estimator.score(test, labels), 3))
        data, _ = frameworks.as_file(estimator, x)
        assert isinstance(data, bytes)
        files[name] = data
        arrays[f"{name}/x"] = test[:STORED]
        arrays[f"{name}/label"] = estimator.predict(test[:STORED])
        scores = estimator.predict_proba if hasattr(estimator, "predict_proba") else estimator.decision_function
        arrays[f"{name}/scores"] = scores(test[:STORED]).astype(np.float32)
    store("sklearn", ".onnx", files, arrays)


if __name__ == "__main__":
    main()
