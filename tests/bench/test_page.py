"""The benchmark page says what was recorded, and `--check` finds what became worse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import measure, page, run

LAYERS = [
    {
        "op": "conv2d",
        "implementation": "portable",
        "sources": [0, 1],
        "macs": 100,
        "instructions": 300,
        "cycles": 450,
        "multiply": 50,
        "memory": 100,
        "branch": 25,
        "other": 125,
    },
    {"op": "softmax", "implementation": "portable", "sources": [3], "macs": 0, "instructions": 70},
]
RECORD: dict[str, Any] = {
    "instructions": 1500, "flash_bytes": 3000, "ram_bytes": 400, "ram_lower_bound_bytes": 390, "stack_bytes": 96,
    "image_flash_bytes": 9000, "image_ram_bytes": 2000, "weights_bytes": 1000, "macs": 120, "macs_run": 110,
    "toolchain": "arm-none-eabi-gcc 12.2.1", "runner": "qemu", "layers": LAYERS, "cycles": 2400,
    "verified": {"reference": "tflite-micro", "samples": 5, "differing_bytes": 0},
}  # fmt: skip
TFLM = {
    "insns": 3000,
    "cycles": 4800,
    "arena_used": 800,
    "flash_total": 20000,
    "flash_ex_model": 15000,
    "stack_invoke": 500,
}
ANCHORS = {
    "tflm_cmsis_nn": {"kws": {"m4": TFLM}},
    "records_m4_cycles_per_mac": {"A": {"kws": 9.0}, "B": {"vww": 1.0}, "C": {"vww": 2.0, "kws": None}},
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
    "timing": {"m4": {"basis": "table", "source": "a manual", "mac_instruction": "SMLAD", "instructions_per_mac": 0.5}},
    "options": {
        "kws": {
            "m4": {
                "size": {},
                "speed": {
                    "instructions": 1400,
                    "cycles": 2160,
                    "ram_bytes": 500,
                    "flash_bytes": 4000,
                    "stack_bytes": 96,
                },
            }
        }
    },
    "formats": {"kws": {"instructions": 1510, "ram_bytes": 400, "flash_bytes": 3004}},
    "compilation": {"kws": {"seconds": 2.1, "peak_bytes": 71_000_000}},
    "prototypes": [{"name": "pw", "core": "m4", "macs": 100, "instructions": 75, "cycles": 130}],
}


@pytest.mark.parametrize(
    "line",
    [
        "| kws | 120 | does not fit | 1,500 |",
        "| kws | 0.50 of 3,000 |",
        "| kws | 400 | 390 | 800 (0.50) | - | - |",
        "| kws | does not fit | 400 |",
        "| kws | 3,000 | 1,000 | 2,000 | 9,000 | 8,000 | 20,000 | 15,000 |",
        "| kws | - | 96 | - | 500 |",
        "| 0 | conv2d | 3x3 | 100 | 300 | 600 | 0.50 | 0.5 | 3.00 | 0.50 | 1.00 | 0.25 | 1.25 | 450 | 4.50 |",
        "| 2 | reshape | 8x1 | - | 0 | 11 | - | - | - | - | - | - | - | - | - |",
        "| 3 | softmax | 8 | - | 70 | 140 | 0.50 | - | - | - | - | - | - | - | - |",
        "Verified against tflite-micro: 1 rows, 5 inferences, no byte differs.",
        "| kws | 2,400 |",
        "| kws | 20.00 |",
        "| m4 | SMLAD: 2 | table | a manual |",
        "| kws | 20.00 | 18.00 | 9.00 (2.00) | - |",
        "| kws | `size` | - | - | - | - | - | - |",
        "| kws | `balanced` | 1,500 | 2,400 | 400 | 3,000 | 96 | +0.0 % |",
        "| kws | `speed` | 1,400 | 2,160 | 500 | 4,000 | 96 | -6.7 % |",
        "| kws | TFLite | 1,500 | 400 | 3,000 |",
        "| kws | ONNX | 1,510 | 400 | 3,004 |",
        "| kws | yes | 3 | 80 MB |",
        "| pw | m4 | 100 | 75 | 130 | 0.75 | 1.30 |",
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


def test_the_page_names_rows_that_differ_from_the_reference() -> None:
    wrong = {**RECORD, "verified": {"reference": "tflite-micro", "samples": 5, "differing_bytes": 3}}
    text = page.render({**RECORDED, "results": {"kws": {"m4": wrong}}})
    assert "- kws on m4: 3 differing bytes" in text.splitlines()


def test_check_finds_what_is_worse_by_more_than_a_hundredth() -> None:
    large = {**RECORD, "instructions": 1_000_000, "ram_bytes": 10_000, "flash_bytes": 20_000}
    assert run.worse(large, large) == []
    assert run.worse({**large, "instructions": 1_010_063, "ram_bytes": 10_100, "flash_bytes": 20_200}, large) == []
    assert run.worse({**large, "instructions": 1_010_064, "ram_bytes": 10_101, "flash_bytes": 20_201}, large) == [
        "instructions 1,010,064, recorded 1,000,000: +1.0 %",
        "ram_bytes 10,101, recorded 10,000: +1.0 %",
        "flash_bytes 20,201, recorded 20,000: +1.0 %",
    ]
    assert run.worse({"refused": "too large"}, RECORD) == ["refused: too large"]
    assert run.worse({"refused": "too large"}, {"refused": "too large"}) == []


def test_files_of_one_network_differ_by_two_hundredths_at_most() -> None:
    large = {"instructions": 1_000_000, "ram_bytes": 10_000, "flash_bytes": 20_000}
    assert run.of_formats({"instructions": 1_020_063, "ram_bytes": 10_200, "flash_bytes": 19_608}, large) == []
    assert run.of_formats({"instructions": 1_020_064, "ram_bytes": 10_201, "flash_bytes": 19_607}, large) == [
        "instructions 1,020,064 as ONNX, 1,000,000 as TFLite: +2.0 %",
        "ram_bytes 10,201 as ONNX, 10,000 as TFLite: +2.0 %",
        "flash_bytes 19,607 as ONNX, 20,000 as TFLite: -2.0 %",
    ]


def test_check_fails_for_an_onnx_file_that_needs_more(capsys: pytest.CaptureFixture[str]) -> None:
    results = {"kws": {"m4": RECORD}, "vww": {"m0": RECORD}, "ic": {"m4": {"refused": "too large"}}}
    assert run.check_formats(results, lambda name: RECORD) == 0
    assert capsys.readouterr().out == "1 ONNX files: as their TFLite files.\n"
    assert run.check_formats(results, lambda name: {**RECORD, "ram_bytes": 500}) == 1
    assert capsys.readouterr().out == "kws: ram_bytes 500 as ONNX, 400 as TFLite: +25.0 %\n"


def test_recorded_files_of_one_network_differ_by_two_hundredths_at_most() -> None:
    recorded = run.recorded()
    assert set(recorded["formats"]) == set(measure.AS_ONNX)
    for name, as_onnx in recorded["formats"].items():
        assert run.of_formats(as_onnx, recorded["results"][name]["m4"]) == []


def test_another_compiler_may_make_more_code_but_not_more_ram() -> None:
    other = {**RECORD, "toolchain": "arm-none-eabi-gcc 13.2.1"}
    assert run.worse({**other, "instructions": 1650, "flash_bytes": 3300}, RECORD) == []
    assert run.worse({**other, "flash_bytes": 3301, "ram_bytes": 405}, RECORD) == [
        "ram_bytes 405, recorded 400: +1.2 %",
        "flash_bytes 3,301, recorded 3,000: +10.0 %",
    ]


def test_check_says_what_is_compared_and_fails_for_what_is_worse(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.check({"kws": {"m4": RECORD}}, RECORDED) == 0
    assert capsys.readouterr().out == "1 rows: no figure is worse than recorded.\n"
    other = {**RECORD, "toolchain": "zig 0.17", "ram_bytes": 500}
    assert run.check({"kws": {"m4": other}}, RECORDED) == 1
    assert capsys.readouterr().out.splitlines() == [
        "zig 0.17 is not the compiler that was recorded: instructions and flash may differ by 10 % from its.",
        "kws on m4: ram_bytes 500, recorded 400: +25.0 %",
    ]
    assert run.check({"kws": {"m33": RECORD}}, RECORDED) == 1
    assert "kws on m33: is not recorded" in capsys.readouterr().out


def test_the_shipped_model_is_always_checked_and_it_is_said_where_it_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ABOARD_MODELS", str(tmp_path))
    assert run.checked_models() == ["digits"]
    assert "kws, vww, ic, ad, sww are not here: only digits is checked" in capsys.readouterr().out
    (tmp_path / "ad.tflite").touch()
    assert run.checked_models() == ["ad", "digits"]
    assert capsys.readouterr().out == ""


def test_boards_are_named_by_core_or_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--check", "--boards", "m9"])
    assert "got m9, expected one of m0, m3" in capsys.readouterr().err


def test_the_page_begins_with_the_table() -> None:
    head, _, rest = page.render(RECORDED).partition("| model |")
    assert head.count("\n\n") == 2
    assert "How it is measured" not in head
    row = rest.splitlines()[2]
    assert row == "| kws | 2,400 | 4,800 (0.50) | 1,500 | 3,000 (0.50) | 400 | 800 (0.50) | 9,000 | 20,000 (0.45) |"


def test_figures_of_peers_stand_beside_those_of_the_anchors() -> None:
    shown = run.shown({page.TFLM: {"kws": {"m4": {"insns": 3000}, "m3": {"insns": 4000}}}, "macs": {}})
    assert shown[page.TFLM]["kws"] == {"m4": {"insns": 3000, "cycles": 9_208_968}, "m3": {"insns": 4000}}
    assert shown[page.TFLM]["person"]["m4"]["arena_used"] == 82_308
    assert "macs" not in shown
    assert run.shown(shown) == shown


def test_ten_models_are_recorded() -> None:
    results = run.recorded()["results"]
    assert set(results) == set(measure.MODELS)
    assert len([name for name, cores in results.items() if "cycles" in cores["m4"]]) >= 10
