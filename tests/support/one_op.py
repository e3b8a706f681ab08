"""What every op is tested for: its meaning in numpy, and its generated C, against the reference interpreters."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import aboard
from aboard.importers import load
from aboard.ops import interpreter
from support import oracle, sanitized
from support.examples import either

HOST = "c -runtime=host"
#: How many models of each test are run under AddressSanitizer and UndefinedBehaviorSanitizer too.
SANITIZED_EXAMPLES = either(2, 1)
_examples: Counter[str] = Counter()


def evaluate(model: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    """Returns the outputs of a model by the ops' `evaluate`, without passes."""
    graph = load(model, name="model")
    values = interpreter.run(graph, {t.name: x for t, x in zip(graph.inputs, inputs, strict=True)})
    return [values[tensor.name] for tensor in graph.outputs]


def compiled(model: bytes, *inputs: np.ndarray, attributes: str = "") -> list[np.ndarray]:
    """Returns the outputs of the generated C, run in this process; `attributes` are more of the target's.

    The first models of tests also run in a sanitized process, which must report nothing and give the same.
    """
    module = aboard.compile(model, target=f"{HOST} {attributes}", name="model")
    feed = {record.name: x for record, x in zip(module.manifest.inputs, inputs, strict=True)}
    results = module.run(feed)
    if not isinstance(results, dict):
        results = {module.manifest.outputs[0].name: results}
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    _examples[test] += 1
    if _examples[test] <= SANITIZED_EXAMPLES and _is_sanitized(test):
        with tempfile.TemporaryDirectory() as folder:
            for name, values in sanitized.run(module, feed, Path(folder)).items():
                np.testing.assert_array_equal(values, results[name], err_msg=f"sanitized, output {name}")
    return [results[record.name] for record in module.manifest.outputs]


def _is_sanitized(test: str) -> bool:
    """True for all tests in `make test-full`; else for those without parameters and for half of the others.

    The sanitizers take most of the time of a test of one layer. The same half every time, whatever runs beside it.
    """
    return either(True, "[" not in test or zlib.crc32(test.partition(" ")[0].encode()) % 2 == 0)


def check_equal(
    model: bytes,
    *inputs: np.ndarray,
    reference: Callable[..., list[np.ndarray]] = oracle.tflm,
    run: Callable[..., list[np.ndarray]] = compiled,
) -> None:
    """Fails unless `evaluate` and the generated C give the reference's outputs, bit for bit.

    Args:
        model: A TFLite file.
        inputs: Values of its inputs.
        reference: `oracle.tflm` or `oracle.litert_ref`.
        run: How the model is run beside `evaluate`.
    """
    expected = reference(model, *inputs)
    for name, results in (("evaluate", evaluate(model, *inputs)), ("generated C", run(model, *inputs))):
        assert len(results) == len(expected), name
        for index, (got, wanted) in enumerate(zip(results, expected, strict=True)):
            assert got.dtype == wanted.dtype, f"{name}, output {index}"
            np.testing.assert_array_equal(got, wanted, err_msg=f"{name}, output {index}")
