"""Where flash goes: symbols by what they are, and images whose parts add up."""

from __future__ import annotations

from pathlib import Path

import pytest

import aboard
from aboard.base import resources
from aboard.errors import ToolError
from aboard.project import elf
from aboard.project.elf import ImageSizes, Section, Symbol
from aboard.reports import flash, flash_svg
from aboard.reports.flash import FunctionSize
from aboard.reports.flash_svg import Part

SIZES = ImageSizes(3000, 100, 2000, 0, {"m": 2000})
SECTIONS = (Section(".model.m", 2000, True, False), Section(".text", 1000, True, False))


def symbol(name: str, size: int, *, code: bool = True, section: str = ".model.m") -> Symbol:
    return Symbol(name, size, section, code)


def test_symbols_by_what_they_are() -> None:
    symbols = [
        symbol("k0_conv2d_dsp.constprop.0", 300),
        symbol("k0_conv2d_dsp.part.1", 20),
        symbol("aboard_dsp_pair_single", 500),
        symbol("cascade_0", 100),
        symbol("stripes.9", 40, code=False),
        symbol("__aeabi_fadd", 60),
        symbol("m_0_weights", 400, code=False),
        symbol("m_0_constants", 50, code=False),
        symbol("m_12_weights", 200, code=False, section=".weights.m"),
        symbol("m_model", 30, code=False),
        symbol("aboard_server_poll", 700, section=".text"),
    ]
    found = flash.split(SECTIONS, symbols, SIZES, "m")
    assert found.constants == {0: 450, 12: 200}
    assert found.kernels == (FunctionSize("aboard_dsp_pair_single", 500), FunctionSize("k0_conv2d_dsp", 320))
    assert found.code == (FunctionSize("cascade_0", 100), FunctionSize("stripes", 40), FunctionSize("m_model", 30))
    assert found.library == (FunctionSize("__aeabi_fadd", 60),)
    assert (found.constants_bytes, found.kernels_bytes, found.code_bytes, found.library_bytes) == (650, 820, 170, 60)
    assert (found.other, found.rest_bytes) == (300, 1000)


def test_an_image_that_does_not_set_models_apart_has_no_parts() -> None:
    found = flash.split((Section(".text", 3000, True, False),), [symbol("run", 9, section=".text")], SIZES, "m")
    assert (found.other, found.kernels, found.constants) == (None, (), {})


@pytest.mark.parametrize(
    ("board", "toolchain", "model"),
    [
        ("arm/mps2_an386", None, "digits"),
        ("arm/mps2_an385", None, "digits_f32"),
        ("arm/mps2_an386", "zig", "digits"),
        ("riscv/qemu_virt32", None, "digits"),
    ],
)
def test_parts_of_an_image_add_up(tmp_path: Path, board: str, toolchain: str | None, model: str) -> None:
    module = aboard.compile(resources.models() / f"{model}.tflite", board=board)
    built = aboard.create(module, board=board, path=tmp_path / "p").build(toolchain)
    found = flash.of(built.image, built.sizes, module.name)
    assert found.other is not None
    assert 0 <= found.other < 300
    parts = found.constants_bytes + found.kernels_bytes + found.code_bytes + found.library_bytes + found.other
    assert parts == built.sizes.model_flash_bytes
    assert parts + found.rest_bytes == built.sizes.image_flash_bytes
    assert found.constants_bytes == module.manifest.weights_bytes
    assert {i for i, node in enumerate(module.manifest.nodes) if node.weights_bytes} == set(found.constants)
    assert sum(section.bytes for section in found.sections if section.in_flash) == built.sizes.image_flash_bytes


def test_no_byte_of_an_image_has_two_symbols(tmp_path: Path) -> None:
    module = aboard.compile(resources.models() / "digits_f32.tflite", board="arm/mps2_an385")
    built = aboard.create(module, board="arm/mps2_an385", path=tmp_path / "p").build()
    sections = {section.name: section.bytes for section in elf.sections(built.image)}
    for name in (".model.digits_f32", ".text"):
        assert 0 < sum(s.bytes for s in elf.symbols(built.image) if s.section == name) <= sections[name]


@pytest.mark.parametrize("read", [elf.sections, elf.symbols])
def test_what_is_no_image_is_named(tmp_path: Path, read: object) -> None:
    assert callable(read)
    with pytest.raises(ToolError, match=r"nothing\.elf: no image, got No such file or directory.*aboard build"):
        read(tmp_path / "nothing.elf")
    (tmp_path / "text.elf").write_text("hello")
    with pytest.raises(ToolError, match=r"text\.elf: not an ELF file, got .*, expected an image\. Build it again"):
        read(tmp_path / "text.elf")


def test_a_bar_is_as_long_as_its_parts_are_large() -> None:
    parts = [Part("first", 300, "a"), Part("none", 0, "b"), Part("a name that is too long", 100, "c", "c")]
    markup = flash_svg.picture(parts, "All", 400, "f").markup("p")
    assert 'class="part a" x="0" y="6" width="300"' in markup
    assert 'class="part c" x="300" y="6" width="100"' in markup
    assert "part b" not in markup
    assert ">c</text>" in markup
    assert "400 bytes: first 300, a name that is too long 100." in markup
