"""The pages about targets and devices say what is there."""

from __future__ import annotations

import re
from typing import Any

from aboard.cli.group import COMMANDS
from aboard.ir import Graph
from aboard.kernels.accelerator import ClaimedRegion
from aboard.ops.subgraph import Matched
from aboard.partition.matcher import check_patterns
from aboard.target import Target, columns
from aboard.tiling import accelerator as tiling
from support import markdown, tile_layers
from support.device import device


def test_targets_of_the_page_are_targets() -> None:
    specs = [text for language, text in markdown.blocks("docs/reference/targets.md") if language == "python"]
    made: dict[str, object] = {}
    for number, line in enumerate(line for line in specs[0].splitlines() if line.startswith("Target(")):
        exec(f"made[{number}] = {line}", {"Target": Target, "made": made})
    assert len(made) == 8
    assert made[3] == made[4] == made[5]


def test_the_table_names_tests_that_are_there() -> None:
    page = (markdown.CHECKOUT / "docs/reference/targets.md").read_text(encoding="utf-8")
    for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?", page):
        text = (markdown.CHECKOUT / path).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in text, f"{path}::{name}"
    for column in re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE):
        assert column in columns.columns()
    for command in re.findall(r"`aboard ([\w-]+)", page):
        assert command in COMMANDS


def test_commands_of_the_page_run(tmp_path) -> None:
    lines = [
        c
        for language, text in markdown.blocks("docs/reference/targets.md")
        if language == "sh"
        for c in markdown.commands(text)
    ]
    assert len(lines) == 9
    assert "convolve_s8" in markdown.run(lines[0], tmp_path)
    assert '"device":"cmsis-nn"' in markdown.run(lines[1], tmp_path).replace(" ", "")
    assert (tmp_path / "digits.svg").is_file()
    assert "->" in markdown.run(lines[2], tmp_path)
    limited, numbered, both, by_cost, *compiled = (markdown.run(line, tmp_path) for line in lines[3:])
    assert "-claim-ops leaves out softmax" in limited
    assert "-claim-nodes leaves out 3" in numbered
    assert "arm/mps2_an521:cpu1  7 of 7 nodes in 1 region" in both
    assert "host alone" in by_cost
    assert len(compiled) == 2
    assert all("arm/mps2_an521:cpu1" in (tmp_path / name / "manifest.json").read_text() for name in ("both", "here"))


def test_the_pattern_of_the_page_is_one() -> None:
    check_patterns(code_with("offered")["offered"], "the page")


def code_with(name: str) -> dict[str, Any]:
    """Returns what the block of Python that defines a name defines."""
    blocks = [text for language, text in markdown.blocks("docs/how-to/adding_a_device.md") if language == "python"]
    (text,) = [text for text in blocks if re.search(rf"^(def )?{name}\b", text, re.MULTILINE)]
    made: dict[str, Any] = {}
    exec(text, made)
    return made


def test_the_limits_of_the_page_give_tiles() -> None:
    columns_of_page = code_with("tiles")
    layer = Matched("layer", (tile_layers.conv((1, 24, 24, 16), 32, tile_layers.Window((3, 3))),))
    with device([], memory=columns_of_page["memory"], tiles=columns_of_page["tiles"]):
        target = Target("fake", as_device=True)
        free, alternating = (tiling.plans(target, [layer], {"overlap": value})[0] for value in ("on", "off"))
    assert free is not None
    assert alternating is not None
    assert (free.double_buffered, alternating.double_buffered) == (True, False)
    assert free.cycles < alternating.cycles
    assert {tile.output.shape[3] % 8 for tile in free.tiles} == {0}
    assert max(free.bytes, alternating.bytes) <= 8192


def test_the_cost_of_the_page_is_that_of_the_tiles() -> None:
    columns_of_page = {name: code_with(name)[name] for name in ("memory", "tiles", "cost")}
    node = tile_layers.conv((1, 24, 24, 16), 32, tile_layers.Window((3, 3)))
    layer = Matched("layer", (node,))
    with device([], memory=columns_of_page["memory"], tiles=columns_of_page["tiles"]):
        (plan,) = tiling.plans(Target("fake", as_device=True), [layer], {"overlap": "on"})
    assert plan is not None
    region = ClaimedRegion("m_fake_0", Graph("m", [], [], []), (layer, layer), (), (), tiles=(plan, None))
    assert columns_of_page["cost"](None, region).total == 200 + plan.cycles


def test_the_first_command_writes_the_package(tmp_path) -> None:
    (text,) = [text for language, text in markdown.blocks("docs/how-to/adding_a_device.md") if language == "sh"]
    (command,) = markdown.commands(text)
    markdown.run(command, tmp_path)
    assert (tmp_path / "my_npu/my_npu/codegen.py").is_file()
