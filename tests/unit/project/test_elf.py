"""Sizes of images: by section, as readelf shows them."""

from __future__ import annotations

import re
import subprocess

import pytest

from aboard import boards
from aboard.api import create
from aboard.errors import ToolError
from aboard.project import elf
from support.bundles import tiny_bundle


def weighed(elf) -> tuple[int, int]:
    """Flash and RAM from readelf's section headers: (alloc, not bss) and (alloc, writable), without the stack."""
    out = subprocess.run(["readelf", "-SW", elf], check=True, capture_output=True, text=True).stdout
    flash = ram = 0
    for m in re.finditer(
        r"^\s*\[\s*\d+\]\s+(\S+)\s+(\S+)\s+[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+\S+\s+(\S*)", out, re.M
    ):
        name, kind, size, flags = m[1], m[2], int(m[3], 16), m[4]
        if "A" not in flags or name.startswith((".stack", ".heap")):
            continue
        flash += size if kind != "NOBITS" else 0
        ram += size if "W" in flags else 0
    return flash, ram


@pytest.mark.parametrize(
    ("board", "toolchain"),
    [("arm/mps2_an386", None), ("arm/mps2_an386", "zig"), ("riscv/qemu_virt32", None), ("host/native", None)],
)
def test_sizes_are_what_readelf_weighs(tmp_path, board, toolchain):
    core = boards.load(board).core().mcpu
    built = create(tiny_bundle(tmp_path / "b", core), board, path=tmp_path / "p").build(toolchain)
    assert (built.sizes.image_flash_bytes, built.sizes.image_ram_bytes) == weighed(built.image)
    assert 50 < built.sizes.models["tiny"] <= built.sizes.model_flash_bytes < 1200
    assert built.sizes.model_flash_bytes < built.sizes.image_flash_bytes
    assert built.sizes.stack_reserved == (0 if board == "host/native" else 4096)


def test_a_missing_image_is_named(tmp_path):
    with pytest.raises(ToolError, match=r"nothing\.elf: no image, got No such file or directory.*aboard build"):
        elf.sizes(tmp_path / "nothing.elf")


def test_what_is_no_image_is_named(tmp_path):
    (tmp_path / "text.elf").write_text("hello")
    with pytest.raises(ToolError, match=r"text\.elf: not an ELF file"):
        elf.sizes(tmp_path / "text.elf")


def test_what_is_no_library_is_named(tmp_path):
    (tmp_path / "lib.a").write_text("hello")
    with pytest.raises(ToolError, match=r"lib\.a: not a static library"):
        elf.archive_bytes(tmp_path / "lib.a")
