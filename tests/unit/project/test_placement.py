"""Arenas and weights of an image by memory region: which arrays there are, what is refused, and the generated text."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import aboard
from aboard import boards
from aboard.api import create
from aboard.base import programs, resources
from aboard.base.manifest import Manifest
from aboard.base.manifest_records import ArenaRecord, StateRecord, TensorRecord
from aboard.errors import CapacityError, ProjectError, TargetError
from aboard.project import capacity, placement, templates
from aboard.project.placement import ArenaBuffer, PlacedWeights
from support import markdown, streams
from support.bundles import tiny_manifest

OPTIONS = templates.load("baremetal").parse_options({})
H7 = boards.load("st/nucleo_h743zi")


def model(name: str = "tiny", arenas: dict[str, int] | None = None, **changes: object) -> Manifest:
    records = tuple(ArenaRecord(region=r, bytes=b, lower_bound_bytes=b) for r, b in (arenas or {}).items())
    return tiny_manifest("cortex-m7", name).model_copy(update={"arenas": records, **changes})


def test_models_share_the_array_of_each_region() -> None:
    models = [
        model("one", {"dtcm": 100, "axi_sram": 5000}),
        model("two", {"dtcm": 1001}),
        model("three", ram_bytes=64),
        model("four", {"axi_sram": 16}),
    ]
    placed = placement.place(models, H7)
    assert placed.buffers == (
        ArenaBuffer("arena", 5008, "axi_sram", None),
        ArenaBuffer("dtcm_arena", 1008, "dtcm", ".aboard.dtcm"),
    )
    assert placed.variables == (("dtcm_arena", "arena"), ("dtcm_arena",), ("arena",), ("arena",))
    assert placed.own == (True, True, False, False)
    assert (placed.shared, placed.further, placed.workspace) == (5008, placed.buffers[1:], "arena")
    assert placement.place(models, H7, workspace_bytes=9000).shared == 9008


def test_a_machine_without_known_regions_has_an_array_for_each_name() -> None:
    placed = placement.place([model(arenas={"a": 10, "b": 20})], boards.load("host/native"))
    assert placed.buffers == (ArenaBuffer("a_arena", 16, "a", None), ArenaBuffer("b_arena", 32, "b", None))
    assert placed.weights == ()


def test_weights_in_ram_are_copied_and_those_in_flash_are_not() -> None:
    models = [model("one", weights_region="itcm"), model("two", weights_region="flash"), model("three")]
    placed = placement.place(models, H7)
    assert placed.weights == (PlacedWeights("one", "itcm", models[0].weights_bytes, copied=True),)
    assert placed.copies
    second = placement.place([model(weights_region="flash2")], boards.load("st/nucleo_h745zi_q:cm7"))
    assert second.weights == (PlacedWeights("tiny", "flash2", models[0].weights_bytes, copied=False),)
    assert not second.copies


def keeping(name: str = "tiny", region: str | None = None, memory: int = 1, **changes: object) -> Manifest:
    block = StateRecord(bytes=100, memory=memory, region=region)
    states = (TensorRecord(name="s", c_name="state_0", dtype="int8", shape=(100,), arena=memory, offset=0, bytes=100),)
    return model(name, **changes).model_copy(update={"state": block, "states": states})


def test_each_model_has_an_array_for_its_state() -> None:
    placed = placement.place([keeping("one"), model("two"), keeping("three", "dtcm")], H7)
    one, three = placed.buffers[1:]
    assert one == ArenaBuffer("one_state", 112, "axi_sram", None, is_state=True)
    assert three == ArenaBuffer("three_state", 112, "dtcm", ".aboard.dtcm", is_state=True)
    assert placed.variables == (("arena", "one_state"), ("arena",), ("arena", "three_state"))
    assert placed.own == (True, False, True)
    assert placed.state == 112
    assert placed.used("dtcm") == (112, 0)
    several = placement.place([keeping(arenas={"dtcm": 10, "axi_sram": 20}, memory=2)], H7)
    assert several.variables == (("dtcm_arena", "arena", "tiny_state"),)
    memory = capacity.plan([keeping()], OPTIONS, H7)
    assert memory.total - capacity.plan([model()], OPTIONS, H7).total == 112
    assert capacity.fit([keeping()], OPTIONS, H7).ram.items["state"] == 112


def test_state_in_an_arena_that_models_share_is_refused() -> None:
    inside = keeping("one", memory=0)
    assert placement.place([inside], H7).variables == (("arena",),)
    with pytest.raises(
        TargetError, match="one: -state=arena does not suit an image of 2 models, which share their arenas"
    ):
        placement.place([model("two"), inside], H7)


def test_single_nodes_do_not_run_where_the_state_is() -> None:
    inside = keeping(memory=0)
    placed = placement.place([inside], H7, workspace_bytes=9000)
    assert (placed.workspace, placed.workspace_bytes, placed.shared) == ("workspace", 9008, 128)
    assert placed.buffers[1] == ArenaBuffer("workspace", 9008, "axi_sram", None)
    assert placement.place([inside], H7).buffers == placed.buffers[:1]
    several = keeping(arenas={"dtcm": 10, "axi_sram": 20}, memory=1)
    elsewhere = placement.place([several], H7, workspace_bytes=9000)
    assert (elsewhere.workspace, elsewhere.workspace_bytes) == ("dtcm_arena", 0)
    apart = placement.place([keeping()], H7, workspace_bytes=9000)
    assert (apart.workspace, apart.shared, apart.workspace_bytes) == ("arena", 9008, 0)
    nodes = tuple(node.model_copy(update={"workspace_bytes": 40}) for node in inside.nodes)
    items = capacity.fit([inside.model_copy(update={"nodes": nodes})], {**OPTIONS, "run_op": True}, H7).ram.items
    assert items["workspace"] == 48


@pytest.mark.parametrize("template", ["cmake-lib", "arduino"])
def test_templates_without_the_server_refuse_state(template: str, tmp_path: Path) -> None:
    module = aboard.compile(streams.accumulator(), target="c -mcpu=cortex-m4", name="net")
    with pytest.raises(
        ProjectError, match=f"template {template}: provides no memory for state, got 1 states of net, expected none"
    ):
        create(module, "arm/mps2_an386", template=template, path=tmp_path / "project")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            model(arenas={"dtcm": 140000}),
            (
                r"st/nucleo_h743zi: tiny does not fit\. dtcm: got 131072 bytes, expected at least 140000 "
                r"\(arenas 140000, weights 0\)\. Try other regions for -arena or -weights, a smaller model"
            ),
        ),
        (
            model(weights_region="itcm", weights_bytes=70000),
            r"itcm: got 65536 bytes, expected at least 70000 \(arenas 0, weights 70000\)",
        ),
        (
            model(arenas={"itcm": 60000}, weights_region="itcm", weights_bytes=10000),
            r"itcm: got 65536 bytes, expected at least 70000 \(arenas 60000, weights 10000\)",
        ),
        (
            model(ram_bytes=400000, weights_region="axi_sram", weights_bytes=200000),
            r"ram: got 524288 bytes, expected at least 6\d{5} \(arena 400000, copied weights and code 200000,",
        ),
        (
            model(weights_region="itcm", weights_bytes=3 << 20),
            r"flash: got 2097152 bytes, expected at least 3149824 \(constants 3145728, ",
        ),
    ],
)
def test_what_does_not_fit_a_region_is_refused_with_numbers(given: Manifest, message: str) -> None:
    with pytest.raises(CapacityError, match=message):
        capacity.check([given], OPTIONS, H7)


def test_weights_in_another_flash_leave_that_of_the_code_free() -> None:
    board = boards.load("st/nucleo_h745zi_q:cm7")
    large = model(weights_bytes=board.flash_bytes)
    with pytest.raises(CapacityError, match=r"flash: got 1048576 bytes, expected at least 1052672"):
        capacity.check([large], OPTIONS, board)
    capacity.check([large.model_copy(update={"weights_region": "flash2"})], OPTIONS, board)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (model(arenas={"dtmc": 10}), r"^tiny: -arena: unknown memory region of st/nucleo_h743zi, got dtmc\. Did you"),
        (model(arenas={"flash": 10}), r"^tiny: -arena: memory region is not writable, got flash of st/nucleo_h743zi"),
        (model(weights_region="qspi"), r"^tiny: -weights: unknown memory region of st/nucleo_h743zi, got qspi\."),
    ],
)
def test_names_from_a_target_without_a_board_are_held_against_the_board(given: Manifest, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        capacity.check([given], OPTIONS, H7)


def test_the_generated_text_is_clean_and_names_each_region(tmp_path: Path) -> None:
    board = "arm/mps2_an500"
    digits = resources.models() / "digits.tflite"
    apart = aboard.compile(digits, target=f"{board} -arena=psram:1K,ssram23 -weights=external", name="apart")
    usual = aboard.compile(digits, board=board, name="usual")
    project = create([apart, usual], board, path=tmp_path / "project", options={"run_op": True})
    main = (project.path / "src/main.c").read_text()
    style = f"--style=file:{markdown.CHECKOUT / '.clang-format'}"
    clang_format = programs.require("clang-format", "pip install clang-format")
    formatted = subprocess.run([clang_format, style, project.path / "src/main.c"], capture_output=True, text=True)
    assert formatted.stdout == main
    assert 'ABOARD_SECTION(".aboard.psram");' in main
    assert re.search(
        r"apart_memory\[\] = \{\n    \{psram_arena, sizeof psram_arena\},\n    \{arena, sizeof arena\},", main
    )
    assert re.search(r"memory\[\] = \{\n    apart_memory,\n    NULL,\n\};", main)
    assert "ABOARD_COPIES=1" in (project.path / "CMakeLists.txt").read_text()
    readme = (project.path / "README.md").read_text()
    assert f"An arena of {-(-apart.manifest.arenas[0].bytes // 16) * 16} bytes lies in `psram`." in readme
    assert "The constants of apart are read from `psram`, into which they are copied before main." in readme


def test_a_template_without_a_linker_script_of_its_own_refuses_regions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(resources.project_templates(), tmp_path / "templates")
    (tmp_path / "templates/baremetal").rename(tmp_path / "templates/rtos")
    (tmp_path / "templates/rtos/linker.ld.j2").unlink()
    description = tmp_path / "templates/rtos/template.toml"
    description.write_text(description.read_text().replace('name = "baremetal"', 'name = "rtos"'))
    shutil.copytree(resources.project_templates() / "baremetal", tmp_path / "templates/baremetal")
    monkeypatch.setattr(resources, "project_templates", lambda: tmp_path / "templates")
    module = aboard.compile(resources.models() / "digits.tflite", target="arm/mps2_an500 -arena=psram -weights=psram")
    with pytest.raises(ProjectError) as error:
        create(module, "arm/mps2_an500", template="rtos", path=tmp_path / "project")
    assert str(error.value) == (
        "template rtos: does not place memory regions, got an arena in psram and weights in psram, expected a model "
        "without -arena, -state=REGION and -weights. Compile without them, or use --template baremetal"
    )
