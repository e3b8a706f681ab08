"""What the driver of a device needs of a project: handlers of interrupts, Zephyr's modules and Kconfig, a template."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from aboard import boards
from aboard.base import manifest
from aboard.base.manifest import Manifest
from aboard.errors import ProjectError
from aboard.project import device_needs, templates
from aboard.project.create import create
from aboard.target import ProjectNeeds, Target
from support.bundles import tiny_bundle, tiny_manifest
from support.device import device

M4, RISCV = "arm/mps2_an386", "riscv/qemu_virt32"
ONE = ProjectNeeds({7: "fake_interrupt"}, ("hal_fake",), ("CONFIG_FAKE=y",), ("config FAKE_LEVEL", "\tint"))


def model(name: str = "tiny", board: str = M4, label: str | None = "fake", attributes: str = "") -> Manifest:
    """Returns a model whose node a device computes, or the host."""
    core = boards.load(board).core().mcpu
    made = tiny_manifest(core, name)
    node = made.nodes[0].model_copy(update={"device": label})
    return made.model_copy(update={"target": f"{board} + fake {attributes}", "nodes": (node,)})


def bundle(folder: Path, label: str | None = "fake") -> Path:
    made = tiny_bundle(folder, boards.load(M4).core().mcpu)
    manifest.write(model(label=label), made)
    return made


def needing(needs: ProjectNeeds | Callable[[Target], ProjectNeeds]) -> Callable[[Target], ProjectNeeds]:
    return needs if callable(needs) else lambda target: needs


def collected(*models: Manifest, template: str = "baremetal", board: str = M4) -> ProjectNeeds:
    return device_needs.collect(models, templates.load(template), boards.load(board))


def test_needs_of_several_models_are_joined() -> None:
    two = ProjectNeeds({9: "other_interrupt"}, ("hal_fake",), ("CONFIG_FAKE=y", "CONFIG_TWO=y"))
    with device({"v1": (), "v2": ()}, project=needing(lambda target: ONE if target.get("model") == "v1" else two)):
        found = collected(model("one"), model("two", attributes="-model=v2"))
    assert found == ProjectNeeds(
        {7: "fake_interrupt", 9: "other_interrupt"},
        ("hal_fake",),
        ("CONFIG_FAKE=y", "CONFIG_TWO=y"),
        ("config FAKE_LEVEL\n\tint",),
    )
    assert device_needs.macros(found.interrupts) == [
        ("ABOARD_DEVICE_INTERRUPTS(ENTRY)", "ENTRY(7u, fake_interrupt) ENTRY(9u, other_interrupt)"),
        ("ABOARD_DEVICE_IRQ", "9u"),
    ]


def test_a_device_that_computes_nothing_needs_nothing() -> None:
    with device((), project=needing(ONE)):
        assert collected(model(label=None)) == ProjectNeeds()
    with device(()):
        assert collected(model()) == ProjectNeeds()


def test_the_vector_table_and_zephyr_have_them(tmp_path: Path) -> None:
    with device((), project=needing(ONE)):
        bare = create(bundle(tmp_path / "b"), M4, path=tmp_path / "bare")
        plain = create(bundle(tmp_path / "h", label=None), M4, path=tmp_path / "plain")
        zephyr = create(bundle(tmp_path / "z"), M4, "zephyr", tmp_path / "zephyr")
    header = (bare.path / "board/aboard_board.h").read_text(encoding="utf-8")
    assert "#define ABOARD_DEVICE_INTERRUPTS(ENTRY) ENTRY(7u, fake_interrupt)\n#define ABOARD_DEVICE_IRQ 7u\n" in header
    assert "ABOARD_DEVICE" not in (plain.path / "board/aboard_board.h").read_text(encoding="utf-8")
    assert "ABOARD_DEVICE" not in (zephyr.path / "board/aboard_board.h").read_text(encoding="utf-8")
    assert (zephyr.path / "prj.conf").read_text(encoding="utf-8").endswith("CONFIG_FAKE=y\n")
    kconfig = (zephyr.path / "Kconfig").read_text(encoding="utf-8")
    assert 'config FAKE_LEVEL\n\tint\n\nsource "Kconfig.zephyr"\n' in kconfig
    west = (zephyr.path / "west.yml").read_text(encoding="utf-8")
    assert "          - cmsis_6\n          - hal_fake\n" in west


def test_a_driver_of_another_template() -> None:
    with (
        device((), project=needing(ProjectNeeds(template="zephyr", chosen_by="-system=zephyr"))),
        pytest.raises(ProjectError) as caught,
    ):
        collected(model())
    assert str(caught.value) == (
        "template baremetal: does not have the driver of fake -system=zephyr, expected a project of the template "
        "zephyr. Use --template zephyr, or compile without -system=zephyr"
    )


def test_an_interrupt_with_two_handlers() -> None:
    uart = boards.load(M4).uart
    assert uart is not None
    assert uart.irq == 0
    text = (
        "fake: its interrupt has another handler, got fake_interrupt and the UART for interrupt 0, expected one. Corr"
    )
    with (
        device((), project=needing(ProjectNeeds({0: "fake_interrupt"}))),
        pytest.raises(ProjectError, match=text),
    ):
        collected(model())
    with device({"v1": (), "v2": ()}, project=lambda target: ProjectNeeds({7: str(target.get("model"))})):
        assert collected(model("one"), model("two")).interrupts == {7: "v1"}
        with pytest.raises(ProjectError, match="got v2 and v1 for interrupt 7"):
            collected(model("one"), model("two", attributes="-model=v2"))


def test_a_core_whose_port_has_no_handlers_of_devices() -> None:
    text = r"template baremetal: has no handlers of devices on rv32imac.*, got an interrupt of fake, expected a Co"
    with device((), project=needing(ONE)), pytest.raises(ProjectError, match=text):
        collected(model(board=RISCV), board=RISCV)
