"""A limit of RAM that cannot be kept: the error names a least that works, and options that give what it says."""

from __future__ import annotations

import itertools
import json
import re

import pytest

import aboard
from aboard import cli
from aboard.base import resources
from aboard.errors import CapacityError
from support import models, zoo
from support.channel_models import ChannelModel
from support.examples import either
from support.image_models import global_average

CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imac")
OPTS = ("size", "balanced", "speed")
MODES = ("consumed", "kept", "rows")
OPTION = re.compile(r"((?:-\w+=\w+ ?)+) \((\d+) bytes\)")


def refusal(data: bytes, target: str) -> CapacityError:
    """Returns the error with a limit that no model keeps."""
    with pytest.raises(CapacityError) as caught:
        aboard.compile(data, target=f"{target} -ram-max=16", name="model")
    assert caught.value.least_bytes is not None
    return caught.value


def works(data: bytes, target: str, limit: int) -> bool:
    try:
        return aboard.compile(data, target=f"{target} -ram-max={limit}", name="model").manifest.ram_bytes <= limit
    except CapacityError:
        return False


def check(data: bytes, target: str) -> None:
    """The least works, and a little less says the same, or a longer search keeps it; each option gives what is said."""
    error = refusal(data, target)
    least = error.least_bytes or 0
    assert f"got 16 bytes, expected at least {least}. Raise -ram-max, or " in str(error)
    assert works(data, target, least)
    if not works(data, target, least - 1):
        with pytest.raises(CapacityError) as caught:
            aboard.compile(data, target=f"{target} -ram-max={least - 1}", name="model")
        assert caught.value.least_bytes == least
    for options, needed in OPTION.findall(str(error)):
        assert int(needed) < least
        changed = " ".join(w for w in target.split() if w.split("=")[0] not in re.findall(r"(-\w+)=", options))
        assert works(data, f"{changed} {options}", int(needed))


# Every fourth: each core, and each preference with each way of the input.
@pytest.mark.parametrize(("core", "opt", "mode"), [*itertools.product(CORES, OPTS, MODES)][:: either(1, 4)])
def test_the_least_works_with_the_same_options(core: str, opt: str, mode: str) -> None:
    check(models.read("digits"), f"c -mcpu={core} -opt={opt} -input={mode}")


#: Larger models and cores; in `make test-full` each model on each core.
LARGER = either(
    list(itertools.product(["kws", "ic", "sww"], ["cortex-m3", "cortex-m4", "cortex-m55"])), [("sww", "cortex-m3")]
)


@pytest.mark.parametrize(("name", "core"), [each for each in LARGER if models.available([each[0]])])
def test_so_it_is_for_larger_models(name: str, core: str) -> None:
    check(models.read(name), f"c -mcpu={core}")


SEVERAL = ["-arena=a:700,b", "-arena=a:700,b -opt=size", "-flash-max=14K", "-weights=x"]
MODELS = {"digits": models.read("digits"), "many_ops": zoo.many_ops()}


@pytest.mark.parametrize("attributes", SEVERAL)
@pytest.mark.parametrize("name", either([*MODELS], ["digits"]))
def test_so_it_is_with_several_arenas_and_little_flash(name: str, attributes: str) -> None:
    check(MODELS[name], f"c -mcpu=cortex-m3 {attributes}")


def test_so_it_is_for_a_graph_of_many_operators() -> None:
    check(MODELS["many_ops"], f"c -mcpu=cortex-m3 {SEVERAL[0]}")


def test_the_least_is_none_that_another_preference_is_below() -> None:
    """The search for the least memory ends at 468 bytes here, that of -opt=balanced at 452."""
    model = ChannelModel(3, (1, 25, 4, 1)).conv(16, (3, 3))
    global_average(model.depthwise().conv(16, (1, 1)).depthwise().conv(16, (1, 1)))
    data = model.build()
    free = aboard.compile(data, target="c -mcpu=cortex-m0", name="model").manifest.ram_bytes
    assert (refusal(data, "c -mcpu=cortex-m0").least_bytes or 0) <= free
    check(data, "c -mcpu=cortex-m0")


@pytest.mark.parametrize("name", models.available(["kws"]))
def test_every_option_that_helps_is_named(name: str) -> None:
    said = str(refusal(models.read(name), "arm/mps2_an386"))
    assert said == (
        "model: needs more RAM than -ram-max allows, got 16 bytes, expected at least 3760. "
        "Raise -ram-max, or try -input=rows (3500 bytes)"
    )


def test_the_input_may_be_overwritten_where_that_helps() -> None:
    said = str(refusal(zoo.many_ops(), "c -mcpu=cortex-m0 -input=kept"))
    assert "Raise -ram-max, or try -input=consumed (692 bytes)" in said
    assert "-input=consumed" not in str(refusal(zoo.many_ops(), "c -mcpu=cortex-m0"))


@pytest.mark.parametrize("name", models.available(["ad"]))
def test_options_that_the_model_does_not_suit_are_not_named(name: str) -> None:
    """A model of vectors has no rows that could be fed."""
    said = str(refusal(models.read(name), "c -mcpu=cortex-m0 -opt=size"))
    assert said.endswith("Raise -ram-max, or take a smaller model")


def wide() -> bytes:
    """Returns a model of 9 KB of input and as much output, more than a small board has RAM for."""
    return ChannelModel(1, (1, 48, 48, 4)).conv(4, (1, 1)).build()


def test_boards_with_room_are_named_where_the_own_one_has_none() -> None:
    error = refusal(wide(), "st/stm32f0_disco -opt=size -input=kept")
    assert 24576 >= (error.least_bytes or 0) > 8192
    assert str(error).endswith("st/nucleo_f091rc (32768 bytes of RAM)")
    assert "bytes of RAM" not in str(refusal(wide(), "st/nucleo_f091rc -opt=size -input=kept"))
    assert "bytes of RAM" not in str(refusal(wide(), "c -mcpu=cortex-m0 -opt=size -input=kept"))


def test_the_json_of_the_error_has_the_least(capsys: pytest.CaptureFixture[str]) -> None:
    digits = str(resources.models() / "digits.tflite")
    assert cli.invoke(["compile", digits, "-t", "c -mcpu=cortex-m4 -ram-max=16", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["kind"], error["least_bytes"]) == ("CapacityError", 1344)
    assert cli.invoke(["compile", digits, "-t", "c -mcpu=cortex-m4 -flash-max=16", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["least_bytes"] is None
