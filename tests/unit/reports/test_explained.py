"""What `aboard compile --explain` says of layers and schedules."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

from aboard import cli
from aboard.base import resources
from aboard.cli.schema import RESULTS
from aboard.compiler.pipeline import Module, compile_model
from aboard.errors import ProjectError
from aboard.reports import explained, layers
from support import fake_device

DIGITS = resources.models() / "digits.tflite"


def compiled(target: str, model: str = "digits") -> Module:
    return compile_model(resources.models() / f"{model}.tflite", target=target)


def told(module: Module, width: int) -> str:
    return explained.summary(module, module.trade(), width)


@pytest.mark.parametrize(
    ("core", "per_mac"),
    [("cortex-m0", 2), ("cortex-m3", 0.5), ("cortex-m4", 0.5), ("cortex-m55", 1 / 16), ("rv32imc", 2)],
)
def test_the_bound_is_the_core_s(core: str, per_mac: float) -> None:
    known = layers.of(compiled(f"c -mcpu={core}"))
    assert [layer.bound for layer in known if layer.record.macs] == [
        round(layer.record.macs * per_mac) for layer in known if layer.record.macs
    ]
    assert all(layer.bound is None for layer in known if not layer.record.macs)
    for layer in known:
        assert layer.bound is None or layer.instructions is None or layer.instructions > layer.bound


def test_floats_have_a_bound_where_there_is_an_fpu() -> None:
    with_fpu, without = (layers.of(compiled(f"c -mcpu={core}", "digits_f32")) for core in ("cortex-m4", "cortex-m3"))
    assert [layer.bound for layer in with_fpu if layer.record.macs] == [
        layer.record.macs for layer in with_fpu if layer.record.macs
    ]
    assert all(layer.bound is None for layer in without)


def test_predictions_are_those_of_the_manifest() -> None:
    module = compiled("c -mcpu=cortex-m4")
    assert [layer.instructions for layer in layers.of(module)] == [
        node.estimated_instructions for node in module.manifest.nodes
    ]


@pytest.mark.parametrize(
    ("target", "forms"),
    [
        ("c -mcpu=cortex-m4 -opt=size", ["int16", "int8", "int16", "", "int8 pairs", ""]),
        ("c -mcpu=cortex-m33 -opt=speed", ["int16", "int8", "int16", "", "int8 pairs", ""]),
        ("c -mcpu=cortex-m55", ["int8", "int8", "int8", "", "int8", ""]),
        ("c -mcpu=cortex-m3", ["int8", "int8", "int8", "", "int8", ""]),
    ],
)
def test_forms_of_weights(target: str, forms: list[str]) -> None:
    assert [layer.weights_form for layer in layers.of(compiled(target))] == forms


def test_live_bytes_are_most_at_the_peak() -> None:
    module = compiled("c -mcpu=cortex-m4")
    known = layers.of(module)
    assert max(layer.live_bytes[0] for layer in known) == module.manifest.ram_lower_bound_bytes
    assert [layer.index for layer in layers.peaks(known)] == [1]
    assert "set by layer 1: " in told(module, 120)


def test_arenas_have_a_peak_each() -> None:
    module = compiled("c -mcpu=cortex-m7 -arena=dtcm:1K,sram -opt=speed")
    assert [arena.region for arena in module.manifest.arenas] == ["dtcm", "sram"]
    known = layers.of(module)
    for number, arena in enumerate(module.manifest.arenas):
        assert max(layer.live_bytes[number] for layer in known) <= arena.lower_bound_bytes
    text = told(module, 120)
    assert "peak in dtcm  set by" in text
    assert "peak in sram  set by" in text


def test_a_module_that_was_read_cannot_be_explained(tmp_path: Any) -> None:
    folder = compiled("c -mcpu=cortex-m4").save(tmp_path / "digits")
    with pytest.raises(
        ProjectError, match="digits: has no schedule, got a bundle that was read, expected a model comp"
    ):
        layers.of(Module.load(folder))
    with pytest.raises(ProjectError, match="Give the model file"):
        Module.load(folder).trade()


def test_a_wide_terminal_has_a_line_for_each_layer() -> None:
    text = told(compiled("c -mcpu=cortex-m4 -opt=size"), 130)
    head, _, *rows = text.splitlines()[2:10]
    assert head.split() == [
        "#", "op", "name", "kernel", "weights", "MACs", "predicted", "bound", "ratio", "packed", "scratch",
    ]  # fmt: skip
    first = rows[0].split()
    assert (first[:2], first[4:6]) == (["0", "conv2d"], ["int16", "9,216"])
    assert first[7:9] == ["4,608", f"{int(first[6].replace(',', '')) / 4608:.2f}"]
    assert re.search(r"bound +0\.5 instructions per MAC \(SMLAD\); nothing else is counted in it", text)
    assert re.search(r"whole model +error \d+ % in the median and \d+ % at most, over \d+ models", text)


@pytest.mark.parametrize("width", [50, 60, 80, 100, 117, 118, 160])
def test_no_line_of_a_table_is_wider_than_the_terminal(width: int) -> None:
    module = compiled("c -mcpu=cortex-m4 -opt=size")
    tables = explained.by_layer(layers.of(module), width), explained.schedules(module.trade(), width)
    assert max(len(line) for text in tables for line in text.splitlines()) <= width
    assert "int8 pairs" in tables[0]


def test_the_schedules_that_were_weighed() -> None:
    lines = told(compiled("c -mcpu=cortex-m4"), 120).splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:2] == ["RAM", "bound"])
    rows = [line.split() for line in lines[start + 2 : lines.index("", start)]]
    assert rows[0][2] == "none"
    assert sum("taken" in row for row in rows) == 1
    assert "taken    the fewest stripes within" in "\n".join(lines)


def call(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.invoke([*words, "--json"]) == 0, capsys.readouterr().err
    result = json.loads(capsys.readouterr().out)
    schema = RESULTS["compile"].model_json_schema()
    jsonschema.validate(result, schema, cls=jsonschema.Draft202012Validator)
    return result


def test_json_has_it_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(capsys, "compile", "digits", "--target", "c -mcpu=cortex-m4")["explain"] is None
    found = call(capsys, "compile", "digits", "--target", "c -mcpu=cortex-m4", "--explain")["explain"]
    first = found["layers"][0]
    assert (first["macs"], first["bound_instructions"], first["mac_instruction"]) == (9216, 4608, "SMLAD")
    assert first["ratio_to_bound"] == first["predicted_instructions"] / 4608
    assert sum(each["taken"] for each in found["schedules"]) == 1
    assert found["variants_rule"] == (
        "a byte of flash must save 40 cycles, or a hundred-thousandth of an inference if that is less (-opt=balanced)"
    )
    assert found["variants"]
    assert all(each["more_cycles"] * each["more_flash_bytes"] < 0 for each in found["variants"])
    (alone,) = found["peak_layers"]
    most = max(layer["live_bytes"][0] for layer in found["layers"])
    assert [found["layers"][index]["live_bytes"] for index in alone] == [[most]] * len(alone)


def test_layers_of_devices_have_no_prediction_of_the_host(
    capsys: pytest.CaptureFixture[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with fake_device.fake_device():
        words = ("compile", "digits", "--target", "c -mcpu=cortex-m4 + fake", "--explain")
        found = call(capsys, *words)["explain"]
        assert cli.invoke([*words]) == 0
    claimed = [layer for layer in found["layers"] if layer["implementation"].startswith("fake")]
    assert claimed
    for layer in claimed:
        assert (layer["predicted_instructions"], layer["bound_instructions"], layer["weights_form"]) == (None,) * 3
    assert "fake: product" in capsys.readouterr().out


def test_the_text_takes_the_place_of_the_operators(
    capsys: pytest.CaptureFixture[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "130")
    assert cli.invoke(["compile", "digits", "--target", "c -mcpu=cortex-m4", "--explain"]) == 0
    text = capsys.readouterr().out
    assert text.count("conv2d") > 0
    assert "estimated  weights" not in text
    assert "The trade: RAM against instructions" in text
    assert "Memory map of the arena" in text
