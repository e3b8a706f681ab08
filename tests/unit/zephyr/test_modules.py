"""Which of Zephyr's modules a board needs, and what is said where they are missing."""

from __future__ import annotations

import pytest

from aboard import boards
from aboard.boards.zephyr import modules


@pytest.mark.parametrize(
    ("board", "expected"),
    [
        ("arm/mps2_an385", ["cmsis", "cmsis_6"]),
        ("ti/lm3s6965evb", ["cmsis", "cmsis_6"]),
        ("nordic/nrf52840dk", ["cmsis", "cmsis_6", "hal_nordic"]),
        ("arduino/nano_33_ble", ["cmsis", "cmsis_6", "hal_nordic"]),
        ("st/nucleo_f746zg", ["cmsis", "cmsis_6", "hal_stm32"]),
        ("raspberrypi/rpi_pico", ["cmsis", "cmsis_6", "hal_rpi_pico"]),
        ("espressif/esp32c3_devkitm", ["hal_espressif"]),
        ("riscv/qemu_virt32", []),
        ("sifive/hifive1", []),
        ("host/native", []),
    ],
)
def test_a_board_needs_those_of_its_architecture_and_of_its_vendor(board: str, expected: list[str]) -> None:
    assert modules.needed(boards.load(board)) == expected


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        ([], ["cmsis", "hal_stm32"]),
        (["cmsis"], ["hal_stm32"]),
        (["cmsis_6"], ["hal_stm32"]),
        (["cmsis", "stm32"], []),  # a module without a name is called by its folder
        (["cmsis_6", "hal_stm32"], []),
        (["hal_stm32"], ["cmsis"]),
    ],
)
def test_one_of_two_that_follow_each_other_is_enough(present: list[str], expected: list[str]) -> None:
    assert modules.missing(["cmsis", "cmsis_6", "hal_stm32"], present) == expected


def test_several_modules_in_one_command() -> None:
    assert modules.advice("nucleo_f746zg", ["cmsis", "hal_stm32"]) == (
        "board nucleo_f746zg needs the modules cmsis and hal_stm32 of Zephyr. "
        "In the workspace, run: west update cmsis hal_stm32"
    )
