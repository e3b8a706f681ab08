"""What Zephyr's build says when it stops, as recorded with Zephyr 3.7.1, becomes what is wrong and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.boards.zephyr import explain

RECORDED = Path(__file__).parents[2] / "data" / "zephyr"
INCOMPLETE = (
    "as a copy loses the files that .gitignore matches. Restore the file with git checkout, or with west update"
)


@pytest.mark.parametrize(
    ("file", "board", "needed", "present", "expected"),
    [
        (
            "no_cmsis",
            "mps2/an385",
            ["cmsis", "cmsis_6"],
            [],
            "board mps2/an385 needs the module cmsis of Zephyr. In the workspace, run: west update cmsis",
        ),
        # A board of which nothing is known beforehand: Kconfig's words are enough.
        (
            "no_cmsis",
            "other",
            [],
            [],
            "board other needs the module cmsis of Zephyr. In the workspace, run: west update cmsis",
        ),
        (
            "no_hal_nordic",
            "nrf52840dk/nrf52840",
            ["cmsis", "cmsis_6", "hal_nordic"],
            ["cmsis"],
            (
                "board nrf52840dk/nrf52840 needs the module hal_nordic of Zephyr. In the workspace, run: west update "
                "hal_nordic"
            ),
        ),
        (
            "no_hal_stm32",
            "nucleo_f746zg",
            ["cmsis", "cmsis_6", "hal_stm32"],
            ["cmsis"],
            "board nucleo_f746zg needs the module hal_stm32 of Zephyr. In the workspace, run: west update hal_stm32",
        ),
        (
            "no_board",
            "nrf5284dk",
            [],
            [],
            "no such board, got nrf5284dk. Did you mean nrf52840dk, nrf52dk, nrf52840_mdk? List all with `west boards`",
        ),
        (
            "no_qualifiers",
            "mps2/an38",
            [],
            [],
            (
                "no such board, got mps2/an38, expected one of: mps2/an385, mps2/an521/cpu0, mps2/an521/cpu0/ns, "
                "mps2/an521/cpu1. Say --board zephyr:mps2/an385"
            ),
        ),
        (
            "no_kconfig_file",
            "mps2/an385",
            ["cmsis"],
            ["cmsis"],
            (
                'the Zephyr tree lacks the file subsys/logging/backends/Kconfig.swo, which rsource "Kconfig.swo" asks '
                f"for, {INCOMPLETE}"
            ),
        ),
        (
            "empty_kconfig_file",
            "mps2/an385",
            ["cmsis"],
            ["cmsis"],
            (
                "the Zephyr tree lacks the file that says what LOG_BACKEND_SWO_REF_FREQ_HZ is "
                f"(soc/st/stm32/Kconfig.defconfig:24 uses it), {INCOMPLETE}"
            ),
        ),
        (
            "no_toolchain",
            "mps2/an385",
            ["cmsis"],
            ["cmsis"],
            (
                "Zephyr found no compiler. Install the Zephyr SDK, or for Cortex-M arm-none-eabi-gcc with "
                "ZEPHYR_TOOLCHAIN_VARIANT=gnuarmemb and GNUARMEMB_TOOLCHAIN_PATH"
            ),
        ),
    ],
)
def test_recorded_outputs(file: str, board: str, needed: list[str], present: list[str], expected: str) -> None:
    output = (RECORDED / f"{file}.txt").read_text(encoding="utf-8")
    assert explain.explain(output, board, needed, present) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (
            "Traceback (most recent call last):\nModuleNotFoundError: No module named 'anytree'\n",
            "Zephyr's scripts lack a Python package, got no anytree. Install it: pip install anytree",
        ),
        (
            'CMake Error: find_package\n  provided by "Zephyr" with any of the following names\n',
            "CMake did not find Zephyr. Name its folder: export ZEPHYR_BASE=<workspace>/zephyr",
        ),
        (
            (
                "Parsing Kconfig\n\nwarning: NOISE (at a/Kconfig:3) has dependencies QUIET\n with value n\n\n"
                "error: Aborting due to Kconfig warnings\n"
            ),
            (
                "Kconfig refuses the configuration for b: NOISE (at a/Kconfig:3) has dependencies QUIET with value n. "
                "Change prj.conf, or update Zephyr with west update"
            ),
        ),
        ("main.c:3: error: oops\n", None),
    ],
)
def test_other_words(output: str, expected: str | None) -> None:
    assert explain.explain(output, "b", [], []) == expected
