"""Every command for real: its JSON against its schema, and that figures agree from one command to the next."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from aboard import cli
from aboard.base import resources
from aboard.cli import json_page
from aboard.cli.schema import RESULTS
from aboard.cli.schema_result import ErrorResult
from aboard.cycles import plugin

BOARD = "arm/mps2_an386"
#: Instructions in a tick of the board's counter: a run starts anywhere within one.
TICK = 40
Call = Callable[..., Any]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a command with --json in an empty folder; returns its object, which was checked against the schema."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path, code: int = 0) -> Any:
        capsys.readouterr()
        assert cli.invoke([*map(str, words), "--json"]) == code, capsys.readouterr().err
        result = json.loads(capsys.readouterr().out)
        name = " ".join(map(str, words[: 2 if words[1:2] == ("show",) else 1]))
        schema = ErrorResult if "error" in result else RESULTS[name]
        jsonschema.validate(result, schema.model_json_schema(), cls=jsonschema.Draft202012Validator)
        return result

    return run


def test_the_page_of_schemas_is_up_to_date() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "json.md"
    assert page.read_text(encoding="utf-8") == json_page.markdown(), "run `make docs-json`"


def test_lists(call: Call) -> None:
    listed = {board["id"]: board for board in call("boards")["boards"]}
    assert listed[BOARD] == call("boards", "show", BOARD)
    assert listed[BOARD]["cores"][0]["mcpu"] == "cortex-m4"
    assert [kind["name"] for kind in call("targets")["kinds"]] == ["c", "cmsis-nn", "composite"]
    shown = call("targets", "show", BOARD)
    assert call("targets", "show", shown["target"]) == shown
    assert shown["attributes"]["mcpu"] == "cortex-m4"
    tools = {tool["name"]: tool for tool in call("doctor")["tools"]}
    assert tools["cmake"]["found"]
    assert tools["cmake"]["version"]


def test_step_by_step_and_in_one_agree(call: Call, tmp_path: Path) -> None:
    compiled = call("compile", "digits", "--board", BOARD, "--hooks", "-o", "bundle")
    created = call("create", "bundle", "--board", BOARD, "-o", "project")
    built = call("build", "project")
    ran = call("run", "project", "--input", "random:3", "--output", "y.npz", "--profile")
    deployed = call("deploy", "digits", "--board", BOARD, "--input", "random:3", "-o", "deployed", "--profile")

    assert compiled["ram_lower_bound_bytes"] <= compiled["ram_bytes"] == ran["ram_bytes"]
    assert compiled["weights_bytes"] < built["flash_bytes"] < built["image_flash_bytes"]
    assert created["models"][0]["model_hash"] == compiled["model_hash"]
    assert sum(op["macs"] for op in compiled["ops"]) == compiled["macs_run"]
    assert ran["image"] == built["image"] == str(tmp_path / "project/build/firmware.elf")
    assert sum(row["instructions"] for row in ran["profile"]) <= ran["instructions"] * 1.01
    assert 0 < ran["stack_bytes"] < 1024
    for key in ("outputs", "ram_bytes", "flash_bytes", "image_flash_bytes", "stack_bytes"):
        assert deployed[key] == ran[key]
    assert abs(deployed["instructions"] - ran["instructions"]) <= TICK
    with np.load("y.npz") as file:
        assert {name: file[name].tolist() for name in file.files} == ran["outputs"]
    check_counted_cycles(ran, compiled)
    assert abs(deployed["estimated_cycles"] - ran["estimated_cycles"]) <= 2 * TICK


def check_counted_cycles(ran: Any, compiled: Any) -> None:
    """Checks the cycles of a run and of its nodes, and that without the plugin the cost model predicts them."""
    assert ran["estimated_cycles_basis"] == ran["estimated_time"]["basis"] == "counted"
    assert ran["estimated_time"]["cycles"] == ran["estimated_cycles"]
    # Cortex-M4 needs a cycle for each instruction, and more for loads and branches.
    assert ran["instructions"] < ran["estimated_cycles"] < 2 * ran["instructions"]
    nodes = ran["profile"]
    assert {row["estimated_cycles_basis"] for row in nodes} == {"counted"}
    # The run of the nodes enters a hook before and after each: 2 % of this small model.
    total = sum(row["estimated_cycles"] for row in nodes)
    assert 0.98 * ran["estimated_cycles"] < total < 1.02 * ran["estimated_cycles"]
    predicted = [op["estimated_cycles"] for op in compiled["ops"]]
    assert [row["estimated_cycles"] for row in nodes] != predicted
    assert sum(predicted) / 2 < total < 2 * sum(predicted)


def test_cycles_are_predicted_where_no_plugin_is_built(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = call("deploy", "digits", "--board", BOARD, "-o", "project")
    monkeypatch.setattr(plugin, "_COMPILERS", ())
    predicted = call("run", "project", "--profile")
    assert (counted["estimated_cycles_basis"], predicted["estimated_cycles_basis"]) == ("counted", "predicted")
    assert predicted["outputs"] == counted["outputs"]
    assert abs(predicted["instructions"] - counted["instructions"]) <= TICK
    assert counted["estimated_cycles"] / 1.5 < predicted["estimated_cycles"] < counted["estimated_cycles"] * 1.5
    ops = call("compile", "digits", "--board", BOARD, "--hooks", "-o", "bundle")["ops"]
    assert [row["estimated_cycles"] for row in predicted["profile"]] == [op["estimated_cycles"] for op in ops]
    assert {row["estimated_cycles_basis"] for row in predicted["profile"]} == {"predicted"}


def test_random_inputs_are_those_of_the_manual(call: Call) -> None:
    x = np.random.default_rng(11).integers(-128, 128, (1, 8, 8, 1)).astype(np.int8)
    np.save("x.npy", x)
    np.savez("x.npz", **{"serving_default_image:0": x})
    Path("x.bin").write_bytes(x.tobytes())
    call("deploy", "digits", "--board", "host/native", "-o", "native")
    outputs = [
        call("run", "native", "--input", source)["outputs"] for source in ("random:11", "x.npy", "x.npz", "x.bin")
    ]
    assert outputs == [outputs[0]] * 4
    assert outputs[0] != call("run", "native", "--input", "random:12")["outputs"]


def test_a_native_run_has_no_instructions(call: Call) -> None:
    result = call("deploy", "digits", "--board", "host/native", "-o", "native")
    assert result["runner"] == "native"
    assert (result["instructions"], result["cycles"]) == (None, None)
    assert result["estimated_cycles_basis"] == "predicted"
    assert result["estimated_time"] is None
    assert result["seconds"] > 0


def test_the_ir_is_printed_after_every_pass(call: Call) -> None:
    dumps = call("compile", "digits", "--board", BOARD, "-o", "b", "--print-ir-after", "all")["ir"]
    listed = [step["name"] for step in call("passes", "--board", BOARD)["steps"]]
    assert [(dump["position"], dump["step"]) for dump in dumps] == [("after", name) for name in ["import", *listed]]
    assert "conv2d" in dumps[-1]["text"]


def test_two_models_in_one_image(call: Call) -> None:
    call("create", "digits", "digits_f32", "--board", BOARD, "-o", "both")
    built = call("build", "both")
    one = call("run", "both", "--model", "digits", "--input", "random:1")
    other = call("run", "both", "--model", "digits_f32", "--input", "random:1", "--profile")
    assert (one["estimated_cycles_basis"], other["estimated_cycles_basis"]) == ("counted", "counted")
    assert {row["estimated_cycles_basis"] for row in other["profile"]} == {"counted"}
    assert one["flash_bytes"] + other["flash_bytes"] >= built["flash_bytes"]
    assert built["image_ram_bytes"] < one["ram_bytes"] + other["ram_bytes"] + 3000
    alone = call("deploy", "digits_f32", "--board", BOARD, "--input", "random:1", "-o", "alone")
    assert other["outputs"] == alone["outputs"]
    assert one["outputs"] != other["outputs"]
    refused = call("run", "both", code=1)["error"]
    assert "has several models. Choose one with --model: digits, digits_f32" in refused["message"]


def test_an_input_that_is_kept_costs_ram(call: Call) -> None:
    # One step after another: cascades have other ways to share memory, and differ by a few bytes either way.
    consumed = call("compile", "digits", "--target", f"{BOARD} -opt=speed", "-o", "a")
    kept = call("compile", "digits", "--target", f"{BOARD} -opt=speed -input=kept", "-o", "b")
    assert (consumed["input_mode"], kept["input_mode"]) == ("consumed", "kept")
    assert consumed["ram_bytes"] < kept["ram_bytes"]


def test_verify_and_evaluate(call: Call) -> None:
    verified = call("verify", "digits", "--board", BOARD, "--samples", "3")
    assert (verified["samples"], verified["differing_bytes"], verified["equal"]) == (5, 0, True)
    assert verified["first_difference"] is None
    data = resources.models() / "digits_test.npz"
    evaluated = call("evaluate", "digits", "--board", BOARD, "--data", data, "--samples", "30")
    assert sum(map(sum, evaluated["confusion"])) == evaluated["samples"] == 30
    assert evaluated["accuracy"] >= 0.9
    assert evaluated["instructions_per_sample"] > 50_000
    floats = call("evaluate", "digits_f32", "--board", "host/native", "--data", data, "--samples", "30")
    assert floats["accuracy"] >= 0.9
    assert floats["instructions_per_sample"] is None


def test_verify_names_the_operator_at_fault(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from aboard.cli import verify

    def damaged(*arguments: Any, **options: Any) -> list[Any]:
        (module,) = compile_all(*arguments, **options)
        text = module.files["src/digits_weights.h"]
        broken = re.sub(r"(digits_2_weights\[\d+\][^{]*\{\s*)-?\d+", r"\g<1>101", text)
        assert broken != text
        return [replace(module, files={**module.files, "src/digits_weights.h": broken})]

    compile_all = verify.compile_all
    monkeypatch.setattr(verify, "compile_all", damaged)
    result = call("verify", "digits", "--board", BOARD, "--samples", "2", code=1)
    assert not result["equal"]
    assert result["differing_bytes"] > 0
    found = result["first_difference"]
    assert (found["node"], found["op"]) == (2, "conv2d")
    assert found["device"] != found["reference"]
    assert 0 <= found["row"] < 8


def test_stdout_is_one_object_even_of_a_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from aboard.cli import main; main()", "boards", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["boards"]
    assert done.stderr == ""


REFUSED = {
    "no such file": (("compile", "nothing.tflite", "--board", BOARD), "ModelError", "nothing.tflite: no such file"),
    "a near name": (("compile", "digit", "--board", BOARD), "ModelError", "Did you mean digits"),
    "a folder": (("compile", ".", "--board", BOARD), "ModelError", "expected a model file"),
    "a folder that is no bundle": (
        ("create", ".", "--board", BOARD, "-o", "out"),
        "ProjectError",
        "a folder without manifest.json, expected a bundle",
    ),
    "board": (("compile", "digits", "--board", "arm/mps2_an38"), "BoardError", "Did you mean arm/mps2_an38"),
    "core": (("compile", "digits", "--target", "c -mcpu=cortx-m7"), "TargetError", "cortex-m7"),
    "attribute": (("compile", "digits", "--target", "c -mcup=cortex-m4"), "TargetError", "mcpu"),
    "target without board": (
        ("deploy", "digits", "--target", "c -mcpu=cortex-m4"),
        "TargetError",
        "names no board",
    ),
    "template": (
        ("create", "digits", "--board", BOARD, "--template", "baremetl", "-o", "out"),
        "ProjectError",
        "baremetal",
    ),
    "option": (("deploy", "digits", "--board", BOARD, "-O", "tap=on"), "ProjectError", "unknown option tap"),
    "runner": (("deploy", "digits", "--board", BOARD, "--runner", "qemo"), "ToolError", "Did you mean qemu?"),
    "runner of another board": (
        ("deploy", "digits", "--board", "arm/mps3_an547", "--runner", "unicorn"),
        "ToolError",
        "cannot be arm/mps3_an547",
    ),
    "toolchain": (("deploy", "digits", "--board", BOARD, "--toolchain", "gc"), "ToolError", "unknown toolchain"),
    "no project": (("build", "nowhere"), "ProjectError", "nowhere: not a project"),
    "input": (("deploy", "digits", "--board", BOARD, "--input", "x.npy"), "InputError", "x.npy: cannot be read"),
    "output": (("deploy", "digits", "--board", BOARD, "--output", "y.txt"), "InputError", "expected .npz"),
    "data": (("evaluate", "digits", "--board", BOARD, "--data", "none.npz"), "InputError", "none.npz: cannot be read"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_nothing_behind(case: str, call: Call, tmp_path: Path) -> None:
    words, kind, message = REFUSED[case]
    error = call(*words, code=1)["error"]
    assert error["kind"] == kind
    assert message in error["message"]
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_shape_is_refused_before_anything_is_made(call: Call, tmp_path: Path) -> None:
    np.save("x.npy", np.zeros((1, 8, 9, 1), np.int8))
    error = call("deploy", "digits", "--board", BOARD, "--input", "x.npy", code=1)["error"]
    assert error["kind"] == "InputError"
    assert "has a wrong shape, got (1, 8, 9, 1), expected (1, 8, 8, 1)" in error["message"]
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_a_bundle_for_another_core_is_refused_with_both_names(call: Call, tmp_path: Path) -> None:
    call("compile", "digits", "--board", "arm/mps2_an385", "-o", "bundle")
    error = call("create", "bundle", "--board", BOARD, "-o", "project", code=1)["error"]
    assert "got cortex-m3, expected cortex-m4" in error["message"]
    assert not (tmp_path / "project").exists()


def test_options_of_the_compiler_are_refused_for_a_bundle(call: Call) -> None:
    call("compile", "digits", "--board", BOARD, "-o", "bundle")
    error = call("create", "bundle", "--board", BOARD, "--opt", "size", "-o", "project", code=1)["error"]
    assert "is compiled already" in error["message"]
    error = call("verify", "bundle", "--board", BOARD, code=1)["error"]
    assert "a bundle, expected the model file that the reference interpreter runs" in error["message"]


def test_running_before_building_is_refused(call: Call) -> None:
    call("create", "digits", "--board", BOARD, "-o", "project")
    error = call("run", "project", code=1)["error"]
    assert error["kind"] == "ToolError"
    assert "aboard build" in error["message"]
