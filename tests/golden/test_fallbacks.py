"""Whole models by the C that stands beside assembly: for every set of kernels what the reference computes, sanitized.

Sources compiled for a microcontroller are built by the host's compiler, as a user may do who has no other.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aboard
from aboard.check.reference import Reference
from aboard.ops import interpreter
from support import dsp_layers, int16_models, layer_shapes, models, one_op, sanitized, zoo
from support.examples import either, examples, without_shrinking
from support.image_models import wide_image_model
from support.weighted_models import Layer

#: Sets of kernels: a core that has them, and what makes the host's compiler take the code for it.
CORES = {
    "arm_mve": ("cortex-m55", ()),
    "arm_dsp": ("cortex-m4", ()),
    "arm_mla": ("cortex-m3", ()),
    "thumb1": ("cortex-m0", ("-DABOARD_THUMB1=1",)),
}
MADE = {
    "many_ops_int8": zoo.many_ops,
    "many_ops_int16": lambda: zoo.many_ops(np.int16),
    "many_ops_float": lambda: zoo.many_ops(np.float32),
    "many_shapes": lambda: layer_shapes.sample("many_shapes"),
    "deep_windows": lambda: layer_shapes.sample("deep_shapes"),
    "keywords_int16": int16_models.keyword_model,
    "cascades_int16": int16_models.image_model,
    "large_windows": lambda: wide_image_model(3),
}
REAL = [models.SHIPPED, models.SHIPPED_FLOAT, *models.available(models.INT8)]


def check(data: bytes, core: str, flags: tuple[str, ...], opt: str, folder: Path) -> None:
    """Fails unless the C of a core's kernels gives the values of the ops' `evaluate`, and no sanitizer reports."""
    module = aboard.compile(data, target=f"c -mcpu={core} -opt={opt}", name="model")
    graph = Reference.open(data, "numpy").graph
    feed = sanitized.random_feed(module, 1)
    wanted = interpreter.run(graph, feed)
    for name, got in sanitized.run(module, feed, folder, flags=flags).items():
        if got.dtype.kind == "f":
            np.testing.assert_allclose(got, wanted[name], rtol=1e-4, atol=1e-5, err_msg=name)
        else:
            np.testing.assert_array_equal(got, wanted[name], err_msg=name)


# Every third: each model, and each set of kernels.
@pytest.mark.parametrize(("name", "kernels"), [*itertools.product(MADE, CORES)][:: either(1, 3)])
def test_models_of_many_layers(name: str, kernels: str, tmp_path: Path) -> None:
    opt = ("balanced", "size", "speed")[(list(MADE).index(name) + list(CORES).index(kernels)) % 3]
    check(MADE[name](), *CORES[kernels], opt, tmp_path)


# Every fourth: each set of kernels.
@pytest.mark.parametrize(
    ("name", "kernels"), [*itertools.product(REAL, ["arm_mve", "arm_dsp", "arm_mla"])][:: either(1, 4)]
)
def test_real_models(name: str, kernels: str, tmp_path: Path) -> None:
    check(models.read(name), *CORES[kernels], "balanced", tmp_path)


@pytest.mark.parametrize("opt", ["balanced", "size", "speed"])
def test_the_shipped_model_with_every_preference(opt: str, tmp_path: Path) -> None:
    check(models.read(models.SHIPPED), "cortex-m4", (), opt, tmp_path)


@without_shrinking(examples(10))
@given(st.sampled_from(["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"]).flatmap(dsp_layers.layers))
def test_random_layers_of_the_dsp_extension(tmp_path_factory: pytest.TempPathFactory, layer: Layer) -> None:
    model, x = layer.model(), layer.input()
    module = aboard.compile(model, target=str(dsp_layers.TARGET), name="model")
    got = sanitized.run(module, {module.manifest.inputs[0].name: x}, tmp_path_factory.mktemp("layer"))
    np.testing.assert_array_equal(next(iter(got.values())), one_op.evaluate(model, x)[0])
