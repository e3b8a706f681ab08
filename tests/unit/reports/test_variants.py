"""The trade between flash and time: variants that layers could have."""

from __future__ import annotations

import pytest

from aboard.compiler.pipeline import Module, compile_model
from aboard.errors import ProjectError
from aboard.kernels.select.price import flash_price
from aboard.reports import explained, variants
from aboard.reports.variants import Other
from aboard.target import Target
from support.models import available, path

M4 = "c -mcpu=cortex-m4"


def compiled(target: str = M4, model: str = "digits") -> Module:
    found = path(model)
    assert found is not None
    return compile_model(found, target=target)


@pytest.mark.parametrize("model", available(["digits", "vww", "ic"]))
def test_what_is_left_out_only_loses_and_what_is_there_is_a_trade(model: str) -> None:
    module = compiled(model=model)
    found = variants.of(module)
    assert found
    for other in found:
        assert other.time * other.flash_bytes < 0
        assert other.taken == module.manifest.nodes[other.layer].implementation
        assert other.name != other.taken
        assert other.each == pytest.approx(abs(other.time / other.flash_bytes))


@pytest.mark.parametrize("model", available(["digits", "kws"]))
def test_the_price_of_a_byte_lies_between_what_was_taken_and_what_was_not(model: str) -> None:
    module = compiled(model=model)
    price = flash_price(module.target, sum(node.estimated_cycles or 0 for node in module.manifest.nodes))
    for other in variants.of(module):
        if other.flash_bytes > 0:
            assert other.each < price
        else:
            assert other.each > price


def test_speed_has_only_slower_variants_left() -> None:
    assert all(other.time > 0 for other in variants.of(compiled(f"{M4} -opt=speed")))


SHORT = "or a hundred-thousandth of an inference if that is less"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (M4, f"a byte of flash must save 40 cycles, {SHORT} (-opt=balanced)"),
        ("c -mcpu=cortex-m55", f"a byte of flash must save 5 instructions, {SHORT} (-opt=balanced)"),
        (f"{M4} -opt=size", "a byte of flash must save 1,000 cycles (-opt=size)"),
        (f"{M4} -opt=speed", "the fewest cycles, whatever flash they take (-opt=speed)"),
        (f"{M4} -flash-max=32K", "the fewest cycles within -flash-max=32768"),
    ],
)
def test_the_rule_in_words(target: str, words: str) -> None:
    assert variants.rule(Target(target)) == words


def test_the_table() -> None:
    others = [
        Other(3, "conv2d", "narrow", "wide", -2000, -3000, 200),
        Other(4, "conv2d", "wide", "narrow", 90, None, -2),
    ]
    lines = explained.other_variants(others, 100).splitlines()
    assert lines[0].split() == ["#", "op", "taken", "instead", "predicted", "flash", "for", "a", "byte"]
    assert [line.split() for line in lines[2:]] == [
        ["3", "conv2d", "narrow", "wide", "-3,000", "+200", "15.0"],
        ["4", "conv2d", "wide", "narrow", "+90", "-2", "45.0"],
    ]
    assert explained.other_variants([], 100) == ""


def test_a_bundle_does_not_tell(tmp_path: object) -> None:
    folder = compiled().save(f"{tmp_path}/digits")
    with pytest.raises(ProjectError, match="digits: has no schedule"):
        variants.of(Module.load(folder))
