"""Estimators, with scikit-learn: from fitting to outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import aboard
from aboard.errors import ModelError

X, Y = load_iris(return_X_y=True)
X = X.astype(np.float32)
HOST = "c -runtime=host"

CLASSIFIERS = [
    RandomForestClassifier(5, random_state=0),
    GradientBoostingClassifier(n_estimators=4, random_state=0),
    LogisticRegression(max_iter=500),
    make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    SVC(),
    LinearSVC(random_state=0),
]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_classifiers(estimator: Any) -> None:
    estimator.fit(X, Y)
    module = aboard.compile(estimator, target=HOST, example_inputs=X)
    assert module.name == type(estimator).__name__.lower()
    scores = estimator.predict_proba if hasattr(estimator, "predict_proba") else estimator.decision_function
    for x in X[::15]:
        label, found = module.run(x[None]).values()
        assert label.tolist() == estimator.predict(x[None]).tolist()
        np.testing.assert_allclose(found, scores(x[None]), atol=1e-5)


@pytest.mark.parametrize("estimator", [LinearRegression(), RandomForestRegressor(5)], ids=lambda e: type(e).__name__)
def test_regressors(estimator: Any) -> None:
    estimator.fit(X, Y)
    module = aboard.compile(estimator, target=HOST, example_inputs=X)
    for x in X[::15]:
        np.testing.assert_allclose(np.ravel(module.run(x[None])), estimator.predict(x[None]), atol=1e-5)


def test_an_estimator_that_is_not_fitted() -> None:
    with pytest.raises(ModelError, match=r"cannot be converted \(it is not fitted\)\. Call `fit` before"):
        aboard.compile(RandomForestClassifier(), target=HOST, example_inputs=X)


def test_estimators_of_other_libraries_are_named() -> None:
    class Mine(LogisticRegression):
        pass

    with pytest.raises(ModelError, match=r"^Mine: .*Unable to find a shape calculator.*onnxmltools"):
        aboard.compile(Mine().fit(X, Y), target=HOST, example_inputs=X)
