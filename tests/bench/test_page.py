"""The benchmark page says what was recorded, and `--check` finds what became worse."""

from __future__ import annotations

from typing import Any

import pytest

from bench import page, run

LAYERS = [
    {"op": "conv2d", "implementation": "portable", "sources": [0, 1], "macs": 100, "instructions": 300},
    {"op": "softmax", "implementation": "portable", "sources": [3], "macs": 0, "instructions": 70},
]
RECORD: dict[str, Any] = {
    "instructions": 1500, "flash_bytes": 3000, "ram_bytes": 400, "ram_lower_bound_bytes": 390, "stack_bytes": 96,
    "image_flash_bytes": 9000, "image_ram_bytes": 2000, "weights_bytes": 1000, "macs": 120, "macs_run": 110,
    "toolchain": "arm-none-eabi-gcc 12.2.1", "runner": "qemu", "layers": LAYERS,
}  # fmt: skip
TFLM = {"insns": 3000, "arena_used": 800, "flash_total": 20000, "flash_ex_model": 15000, "stack_invoke": 500}
ANCHORS = {
    "tflm_cmsis_nn": {"kws": {"m4": TFLM}},
    "layers": {
        "kws": {
            "m4": [
                {"op": "CONV_2D", "shape": "3x3", "insns": 400},
                {"op": "RELU", "shape": "8", "insns": 200},
                {"op": "RESHAPE", "shape": "8x1", "insns": 11},
                {"op": "SOFTMAX", "shape": "8", "insns": 140},
            ]
        }
    },
}
RECORDED = {
    "tools": {"aboard": "0.1.0"},
    "boards": {"m0": "bbc/microbit", "m4": "arm/mps2_an386"},
    "results": {"kws": {"m0": {"refused": "too large"}, "m4": RECORD}},
    "anchors": ANCHORS,
}


@pytest.mark.parametrize(
    "line",
    [
        "| kws | 120 | does not fit | 1,500 |",
        "| kws | 0.50 of 3,000 |",
        "| kws | 400 | 390 | 800 (0.50) | - | - |",
        "| kws | 3,000 | 1,000 | 2,000 | 9,000 | 8,000 | 20,000 | 15,000 |",
        "| kws | - | 96 | - | 500 |",
        "| 0 | conv2d | 3x3 | 100 | 300 | 600 | 0.50 |",
        "| 2 | reshape | 8x1 | - | 0 | 11 | - |",
        "| 3 | softmax | 8 | - | 70 | 140 | 0.50 |",
        "- m4: `arm/mps2_an386`",
        "- aboard: 0.1.0",
    ],
)
def test_the_page_says_what_was_recorded(line: str) -> None:
    assert line in page.render(RECORDED).splitlines()


def test_a_page_without_other_systems_has_no_ratios() -> None:
    text = page.render({**RECORDED, "anchors": {}})
    assert "Relative to" not in text
    assert "| kws | 400 | 390 | - | - | - |" in text.splitlines()


def test_check_finds_what_is_worse() -> None:
    assert run.worse(RECORD, RECORD) == []
    assert run.worse({**RECORD, "instructions": 1514}, RECORD) == []
    assert run.worse({**RECORD, "instructions": 1516, "ram_bytes": 401}, RECORD) == [
        "instructions 1,516, recorded 1,500",
        "ram_bytes 401, recorded 400",
    ]
    assert run.worse({"refused": "too large"}, RECORD) == ["refused: too large"]
    assert run.worse({"refused": "too large"}, {"refused": "too large"}) == []
