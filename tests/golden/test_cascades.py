"""Schedules of cascades: the same bytes as those of the reference, in less memory than one step after another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import aboard
from aboard.base.manifest import Manifest
from aboard.errors import CapacityError
from support.channel_models import ChannelModel
from support.examples import examples
from support.image_models import global_average, image_model, wide_image_model
from support.one_op import HOST, check_equal, compiled

ATTRIBUTES = ["-opt=size", "-opt=balanced", "-opt=size -input=kept"]
ATTRIBUTES += [f"-opt={opt} -input=rows" for opt in ("size", "balanced", "speed")]


@given(st.integers(0, 10_000), st.sampled_from(ATTRIBUTES))
@example(242, "-opt=size -input=kept")  # rows that nobody reads come after the result
@settings(max_examples=examples(30), deadline=None)
def test_the_same_bytes(seed: int, attributes: str) -> None:
    check_same(image_model(seed), seed, attributes)


@given(st.integers(0, 10_000), st.sampled_from(ATTRIBUTES))
@settings(max_examples=examples(15), deadline=None, phases=[Phase.explicit, Phase.generate])
def test_the_same_bytes_with_large_windows(seed: int, attributes: str) -> None:
    check_same(wide_image_model(seed), seed, attributes)


def check_same(model: bytes, seed: int, attributes: str) -> None:
    """Fails unless a model with one input gives the reference's bytes."""
    shape = aboard.compile(model, target=HOST, name="model").manifest.inputs[0].shape
    x = np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)
    check_equal(model, x, run=lambda m, *inputs: compiled(m, *inputs, attributes=attributes))


def test_many_of_these_models_have_cascades_and_need_less_for_them() -> None:
    saved = []
    for seed in range(12):
        size, speed = (
            aboard.compile(image_model(seed), target=f"{HOST} -opt={opt}", name="model").manifest
            for opt in ("size", "speed")
        )
        assert size.ram_bytes <= speed.ram_bytes
        assert all(node.cascade is None for node in speed.nodes)
        if any(node.cascade is not None for node in size.nodes):
            saved.append(1 - size.ram_bytes / speed.ram_bytes)
    assert len(saved) >= 4
    assert np.mean(saved) > 0.2


def test_ram_max_takes_what_it_may_and_saves_turns() -> None:
    def compiled_within(limit: str) -> Manifest:
        return aboard.compile(image_model(29), target=f"c -mcpu=cortex-m4 {limit}", name="model").manifest

    plain, least = compiled_within("-opt=speed"), compiled_within("-opt=size")
    assert least.ram_bytes < plain.ram_bytes
    between = (least.ram_bytes + plain.ram_bytes) // 2
    within = compiled_within(f"-ram-max={between}")
    assert least.ram_bytes <= within.ram_bytes <= between
    assert compiled_within(f"-opt=speed -ram-max={between}").ram_bytes == within.ram_bytes
    assert all(node.cascade is None for node in compiled_within("-ram-max=1M").nodes)
    with pytest.raises(CapacityError) as error:
        compiled_within("-ram-max=64")
    assert str(error.value) == (
        f"model: needs more RAM than -ram-max allows, got 64 bytes, expected at least {least.ram_bytes}. "
        "Raise -ram-max, or take a smaller model"
    )


@pytest.mark.parametrize("width", [6, 7])
def test_depthwise_layers_that_keep_rows_follow_one_another(width: int) -> None:
    model = ChannelModel(3, (1, 25, width, 1))
    model.conv(16, (3, 3))
    for _ in range(2):
        model.depthwise().conv(16, (1, 1))
    global_average(model)
    data = model.build()
    x = np.random.default_rng(0).integers(-128, 128, (1, 25, width, 1)).astype(np.int8)
    record = aboard.compile(data, target=f"{HOST} -opt=size", name="model").manifest
    assert [node.op for node in record.nodes if node.cascade == 0].count("depthwise_conv2d") == 2
    check_equal(data, x, run=lambda m, *inputs: compiled(m, *inputs, attributes="-opt=size"))


def test_rows_of_the_input_spare_most_of_its_memory() -> None:
    saved = []
    for seed in range(12):
        fed, whole = (
            aboard.compile(image_model(seed), target=f"{HOST} -opt=size {more}", name="model").manifest
            for more in ("-input=rows", "")
        )
        assert (fed.input_mode, whole.input_mode) == ("rows", "consumed")
        saved.append(whole.ram_bytes - fed.ram_bytes)
    # What is known between two rows takes a few words.
    assert min(saved) >= -64
    assert sum(each > 0 for each in saved) >= 4
