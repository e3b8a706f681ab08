"""Arenas and weights in memory regions of emulated boards: where they should be, and bit for bit as this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

import aboard
from aboard import boards
from aboard.base import resources

DIGITS = resources.models() / "digits.tflite"
WHOLE = {"run_op": True, "trace": True}


def sections(image: Path) -> dict[str, tuple[int, int]]:
    """Address and size of each section."""
    with image.open("rb") as stream:
        return {s.name: (s["sh_addr"], s["sh_size"]) for s in ELFFile(stream).iter_sections()}


def lies_in(board: str, region: str, section: tuple[int, int]) -> bool:
    memory = next(memory for memory in boards.load(board).memory if memory.name == region)
    return memory.address <= section[0] and section[0] + section[1] <= memory.end


@pytest.mark.parametrize(
    ("board", "attributes", "runner", "toolchain", "arena", "weights"),
    [
        ("arm/mps2_an500", "-arena=psram:1K,ssram23 -weights=external", "qemu", None, "psram", "psram"),
        ("arm/mps3_an547", "-arena=isram:1K,dtcm -weights=ram", "qemu", None, "isram", "sram"),
        ("arm/mps2_an505", "-arena=sram0:1K,ssram23 -weights=sram0", "unicorn", "zig", "sram0", "sram0"),
    ],
)
def test_two_arenas_and_copied_weights(
    tmp_path: Path, board: str, attributes: str, runner: str, toolchain: str | None, arena: str, weights: str
) -> None:
    module = aboard.compile(DIGITS, target=f"{board} {attributes}")
    assert len(module.manifest.arenas) == 2
    host = aboard.compile(DIGITS, target="c -runtime=host")
    project = aboard.create(module, board=board, path=tmp_path / "project", options=WHOLE)
    built = project.build(toolchain)
    found = sections(built.image)
    assert lies_in(board, arena, found[f".aboard.{arena}"])
    assert found[f".aboard.{arena}"][1] >= module.manifest.arenas[0].bytes
    assert lies_in(board, weights, found[".weights.digits"])
    assert found[".weights.digits"][1] >= module.manifest.weights_bytes
    plain = aboard.create(aboard.compile(DIGITS, board=board), board=board, path=tmp_path / "plain", options=WHOLE)
    sizes, before = built.sizes, plain.build(toolchain).sizes
    assert abs(sizes.image_flash_bytes - before.image_flash_bytes) < 512
    assert sizes.image_ram_bytes - before.image_ram_bytes >= module.manifest.weights_bytes
    assert sizes.models["digits"] > module.manifest.weights_bytes
    rng = np.random.default_rng(11)
    feeds = [rng.integers(-128, 128, host.manifest.inputs[0].shape).astype(np.int8) for _ in range(2)]
    with project.session(runner=runner) as session:
        for feed in feeds:
            np.testing.assert_array_equal(session.run(feed), host.run(feed))
            session.run_n(feed, 3)
            np.testing.assert_array_equal(session.run(feed), host.run(feed))
        traced = session.trace(feeds[0])
    assert len(traced) == len(module.manifest.nodes)


def test_one_arena_in_a_region_of_its_own_and_a_model_in_the_shared_one(tmp_path: Path) -> None:
    board = "arm/mps2_an500"
    apart = aboard.compile(DIGITS, target=f"{board} -arena=psram", name="apart")
    usual = aboard.compile(DIGITS, board=board, name="usual")
    project = aboard.create([apart, usual], board=board, path=tmp_path / "project")
    found = sections(project.build().image)
    assert found[".aboard.psram"][1] == apart.manifest.ram_bytes
    feed = np.random.default_rng(3).integers(-128, 128, usual.manifest.inputs[0].shape).astype(np.int8)
    expected = aboard.compile(DIGITS, target="c -runtime=host").run(feed)
    with project.session() as session:
        for name in ("apart", "usual", "apart"):
            np.testing.assert_array_equal(session.run(feed, model=name), expected)


def test_weights_where_the_code_lies_are_not_copied(tmp_path: Path) -> None:
    board = "arm/mps3_an547"
    module = aboard.compile(DIGITS, target=f"{board} -weights=itcm -arena=dtcm")
    project = aboard.create(module, board=board, path=tmp_path / "project")
    found = sections(project.build().image)
    assert ".weights.digits" not in found
    assert lies_in(board, "itcm", found[".model.digits"])
    assert "ABOARD_COPIES" not in (project.path / "CMakeLists.txt").read_text()
