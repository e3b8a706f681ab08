"""Real models on emulated boards against the reference, byte for byte, through `aboard verify`.

A random input beside the extremes for every case; with ABOARD_FULL=1 twenty of them, as a release is checked.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from aboard import cli
from support import models
from support.examples import either

SAMPLES = "20" if os.environ.get("ABOARD_FULL") else "1"
MAIN_BOARD = "arm/mps2_an386"
#: Boards with the models they have room for.
OTHERS = {
    "arm/mps2_an385": "kws",
    "arm/mps2_an500": "kws",
    "arm/mps2_an505": "kws",
    "arm/mps3_an547": "kws",
    "ti/lm3s6965evb": "kws",
    "riscv/qemu_virt32": "kws",
    "host/native": "kws",
    "bbc/microbit": "hello_world",
}


def verify(name: str, board: str, capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    words = ["verify", str(models.path(name)), "--board", board, "--samples", SAMPLES, *options, "--json"]
    capsys.readouterr()
    code = cli.invoke(words)
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert code == 0, err or result
    assert result["samples"] == int(SAMPLES) + 2
    return result


@pytest.mark.parametrize("name", models.available([models.SHIPPED, *models.INT8]))
def test_integers_are_those_of_tflite_micro(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = verify(name, MAIN_BOARD, capsys)
    assert (result["reference"], result["differing_bytes"], result["max_abs_diff"]) == ("tflite-micro", 0, 0.0)


@pytest.mark.parametrize("name", models.available(either(models.FLOAT, models.FLOAT[:1])))
def test_floats_are_near_those_of_tflite_micro(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = verify(name, MAIN_BOARD, capsys)
    assert (result["reference"], result["differing_bytes"]) == ("tflite-micro", 0)
    assert result["max_abs_diff"] < 1e-4


@pytest.mark.parametrize("name", models.available(models.HYBRID))
def test_integer_weights_in_a_float_model(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = verify(name, MAIN_BOARD, capsys)
    assert (result["reference"], result["differing_bytes"]) == ("numpy", 0)


@pytest.mark.parametrize("name", models.available([models.SHIPPED, "kws"]))
def test_the_same_on_unicorn(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = verify(name, MAIN_BOARD, capsys, "--runner", "unicorn")
    assert (result["runner"], result["differing_bytes"]) == ("unicorn", 0)


@pytest.mark.parametrize("board", [board for board, name in OTHERS.items() if models.path(name)])
def test_every_board_runs_a_real_model(board: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(OTHERS[board], board, capsys)["differing_bytes"] == 0


@pytest.mark.parametrize("toolchain", ["zig", "arm-none-eabi-gcc"])
def test_every_toolchain_gives_the_same(toolchain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(models.SHIPPED, MAIN_BOARD, capsys, "--toolchain", toolchain)["differing_bytes"] == 0


@pytest.mark.parametrize("opt", ["size", "balanced", "speed"])
@pytest.mark.parametrize("name", models.available([models.SHIPPED, "kws", "ic"]))
def test_every_level_of_optimisation_gives_the_same(name: str, opt: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(name, MAIN_BOARD, capsys, "--opt", opt)["differing_bytes"] == 0
