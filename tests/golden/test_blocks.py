"""Rows in blocks: the same bytes as those of the reference, with every cascade in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.memory.arenas import Layout
from aboard.schedule import blocks_instead
from aboard.schedule.lowering import Calls, Program
from support.examples import either, examples
from support.image_models import image_model, wide_image_model
from support.one_op import HOST, check_equal, compiled

ATTRIBUTES = ["-opt=size", "-opt=balanced", "-opt=size -input=kept", "-opt=size -input=rows"]


@pytest.fixture(autouse=True)
def always() -> Iterator[None]:
    """Puts the rows of every cascade in blocks, whether or not that saves RAM."""
    own = blocks_instead.of

    def made(program: Program, calls: Calls, peak: int, region: str | None = None) -> tuple[Program, Layout] | None:
        return own(program, calls, peak + (1 << 40), region)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_instead, "of", made)
        yield


@given(st.integers(0, 10_000), st.sampled_from(ATTRIBUTES), st.booleans())
@settings(max_examples=examples(either(20, 6)), deadline=None)
def test_the_same_bytes(seed: int, attributes: str, wide: bool) -> None:
    model = (wide_image_model if wide else image_model)(seed)
    shape = aboard.compile(model, target=HOST, name="model").manifest.inputs[0].shape
    x = np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)
    check_equal(model, x, run=lambda m, *inputs: compiled(m, *inputs, attributes=attributes))


def test_layers_of_one_shape_share_a_function() -> None:
    """Their tables differ, and are arguments of the function."""
    source = aboard.compile(image_model(29), target=f"{HOST} -opt=size", name="model").files["src/model.c"]
    assert "static const uint16_t rows_of_0[] = {" in source
