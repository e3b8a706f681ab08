"""Which templates suit a board, and what the errors of the others say."""

from __future__ import annotations

import pytest

from aboard import boards
from aboard.errors import ProjectError
from aboard.project import suitability, templates

#: Templates of libraries for any board with a Cortex-M.
CORTEX_M = ("cmake-lib", "cmsis-pack", "makefile", "platformio")


def names_for(board: str) -> list[str]:
    return [template.name for template in suitability.fitting(boards.load(board))]


@pytest.mark.parametrize(
    ("board", "expected"),
    [
        ("bbc/microbit", ["arduino", "baremetal", *CORTEX_M, "zephyr"]),
        ("st/nucleo_l476rg", ["arduino", *CORTEX_M, "zephyr"]),
        ("ambiq/apollo4p_evb", [*CORTEX_M, "zephyr"]),
        ("arm/mps2_an505", ["baremetal", *CORTEX_M]),
        ("host/native", ["cmake-lib", "makefile", "native", "zephyr"]),
        ("nordic/nrf5340dk:net", [*CORTEX_M, "zephyr"]),
        ("st/nucleo_h745zi_q:cm4", [*CORTEX_M, "zephyr"]),
        (
            "espressif/esp32c3_devkitm",
            ["arduino", "baremetal", "cmake-lib", "esp-idf", "makefile", "platformio", "zephyr"],
        ),
    ],
)
def test_templates_follow_from_the_files(board: str, expected: list[str]) -> None:
    assert names_for(board) == expected


def test_a_board_that_no_release_of_zephyr_has_is_not_listed_with_zephyr() -> None:
    board = boards.load("bbc/microbit").model_copy(update={"zephyr_since": "none"})
    assert "zephyr" not in [template.name for template in suitability.fitting(board)]


def error_of(board: str, template: str) -> str:
    with pytest.raises(ProjectError) as caught:
        suitability.check(templates.load(template), boards.load(board))
    return str(caught.value)


def test_the_error_of_a_board_without_a_port_names_the_templates_that_work() -> None:
    assert error_of("st/nucleo_l476rg", "baremetal") == (
        "st/nucleo_l476rg: has no port yet, got a board without [counter] in the file of its SoC st/stm32l476rg and "
        "[rpc] in its own file, expected [counter] and [rpc]. Use --template zephyr, which needs no port; for a "
        "library that your firmware calls use --template arduino or cmake-lib or cmsis-pack or makefile or platformio; "
        "docs/how-to/adding_a_board.md says how to add a port"
    )


def test_the_error_names_no_template_that_does_not_work() -> None:
    assert error_of("infineon/cy8ckit_062s2_43012", "baremetal").endswith(
        "expected [counter] and [rpc]. For a library that your firmware calls use --template cmake-lib or cmsis-pack "
        "or makefile or platformio; docs/how-to/adding_a_board.md says how to add a port"
    )


def test_a_template_for_other_machines_is_refused() -> None:
    assert error_of("host/native", "baremetal") == (
        "template baremetal: is not for the board, got host/native, a host, expected a microcontroller. Use --template "
        "cmake-lib or makefile or native or zephyr"
    )


def test_zephyr_needs_a_name() -> None:
    assert "Zephyr's name of arm/mps2_an505 is unknown" in error_of("arm/mps2_an505", "zephyr")


def test_a_driver_that_does_not_exist_is_named() -> None:
    board = boards.load("bbc/microbit")
    assert board.counter is not None
    wrong = board.model_copy(update={"counter": board.counter.model_copy(update={"driver": "systik"})})
    with pytest.raises(ProjectError, match=r"no driver for its counter, got systik, expected a file in .*systick"):
        suitability.check(templates.load("baremetal"), wrong)


def test_a_template_for_both_suits_a_board_without_drivers() -> None:
    suitability.check(templates.load("cmake-lib"), boards.load("st/nucleo_l476rg"))
    suitability.check(templates.load("zephyr"), boards.load("st/nucleo_l476rg"))
