"""The device `ethos-u55` as a package: attributes, what it refuses, and the option that puts the model in its place."""

from __future__ import annotations

import re
import subprocess
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

import aboard
from aboard.errors import DeviceStatusError, ExtraError, ProjectError, TargetError, ToolError
from aboard.importers import load
from aboard.project import templates
from aboard.runners import all_runners
from aboard.target import Target
from aboard_ethos_u import borders, install, lowered, vela
from support import ethos_u, npu_models, oracle
from support.channel_models import ChannelModel
from support.examples import either

BOARD = "arm/mps3_an547"
PSOC = "infineon/kit_pse84_eval"
TARGET = f"{BOARD} + ethos-u55 -macs=128"


@pytest.fixture(scope="module")
def product() -> aboard.Module:
    return aboard.compile(npu_models.product(), target=TARGET, name="product")


def test_the_canonical_form_names_all_attributes() -> None:
    device = Target("c -mcpu=cortex-m55 + ethos-u55").devices[0]
    assert (
        str(device)
        == "ethos-u55 -driver=own -macs=128 -memory=shared_sram -optimise=performance -secure=true -wait=poll"
    )
    assert device.key == "ethos-u55 -macs=128"


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ("-macs=100", "-macs has a value that is not allowed, got 100, expected one of: 32, 64, 128, 256"),
        ("-arena-max=0", "-arena-max, got 0, expected at least 1. Leave it out for no limit"),
        ("-irq=480", "-irq is not the number of an interrupt, got 480, expected 0 to 479. Leave it out"),
        (
            "-wait=sleep",
            "-wait has a value that is not allowed, got sleep, expected one of: poll, interrupt",
        ),
        ("-address=0x100", "-address is not a register address, got 0x100, expected a multiple of 4096 below 4 GiB"),
    ],
)
def test_a_wrong_attribute(attributes: str, message: str) -> None:
    with pytest.raises(TargetError, match=re.escape(message)):
        Target(f"{BOARD} + ethos-u55 {attributes}")


@pytest.mark.parametrize(
    ("board", "macs", "address", "irq", "secure"),
    [
        ("arm/mps3_an547", 128, 0x5810_2000, 56, True),
        ("alif/devkit_e7:hp", 256, 0x400E_1000, 55, True),
        ("alif/devkit_e7:he", 128, 0x400E_1000, 55, True),
        ("alif/ensemble_e3:hp", 256, 0x400E_1000, None, True),
        ("alif/ensemble_e3:he", 128, 0x400E_1000, None, True),
        ("seeed/grove_vision_ai_v2", 64, 0x5302_0000, 192, True),
        ("infineon/kit_pse84_eval", 128, 0x4460_0000, 38, False),
        ("renesas/ek_ra8p1", 256, 0x4014_0000, None, True),
    ],
)
def test_the_file_of_the_soc_gives_the_attributes(
    board: str, macs: int, address: int, irq: int | None, secure: bool
) -> None:
    target = Target(f"{board} + ethos-u55")
    attrs = target.devices[0].attrs
    assert (attrs["macs"], attrs["address"], attrs.get("irq"), attrs["secure"]) == (macs, address, irq, secure)
    assert Target(str(target)) == target
    assert Target(board).devices == ()


def test_given_attributes_come_first() -> None:
    attrs = Target(f"{BOARD} + ethos-u55 -macs=64 -address=0x48102000 -secure=false").devices[0].attrs
    assert (attrs["macs"], attrs["address"], attrs["irq"], attrs["secure"]) == (64, 0x4810_2000, 56, False)


def test_a_chip_with_other_macs() -> None:
    message = (
        "-macs is not that of alif/devkit_e7:he, got 256, expected 128: its ethos-u55 does not run code for another. "
        "Leave -macs out"
    )
    with pytest.raises(TargetError, match=re.escape(message)):
        Target("alif/devkit_e7:he + ethos-u55 -macs=256")


def test_the_code_of_a_region_has_the_place_of_the_npu() -> None:
    model = npu_models.product()
    for board, secure, address in (("renesas/ek_ra8p1", "false", "0x40140000"), (PSOC, "true", "0x44600000")):
        module = aboard.compile(model, target=f"{board} + ethos-u55", name="place")
        text = "".join(module.files[name] for name in module.files if str(name).endswith(".c"))
        assert f".registers = {address}u, .non_secure = {secure}" in text


def test_the_code_of_a_region_waits_as_it_is_told() -> None:
    model = npu_models.product()
    for wait, place in (("poll", "false};"), ("interrupt", "false, .by_interrupt = true, .irq = 56u};")):
        module = aboard.compile(model, target=f"{TARGET} -wait={wait}", name="product")
        text = str(module.files["src/product_ethos_u55_0.c"])
        assert f"place = {{.registers = 0x58102000u, .non_secure = {place}" in text
        assert ("CONFIG_DYNAMIC_INTERRUPTS" in text) == (wait == "interrupt")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "alif/ensemble_e3:hp + ethos-u55 -wait=interrupt",
            "-wait=interrupt has no interrupt to wait for, expected its number. Give it with -irq=, or leave -wait out",
        ),
        (
            "c -mcpu=rv32imac + ethos-u55 -wait=interrupt -irq=5",
            "ethos-u55: -wait=interrupt is for hosts with Arm's interrupt controller, got rv32imac, expected a Cortex",
        ),
    ],
)
def test_an_interrupt_that_cannot_be_waited_for(target: str, message: str) -> None:
    with pytest.raises(TargetError, match=re.escape(message)):
        Target(target)


def test_the_handler_is_in_the_vector_table(tmp_path: Path) -> None:
    module = aboard.compile(npu_models.product(), target=f"{TARGET} -wait=interrupt", name="product")
    project = aboard.create(module, BOARD, path=tmp_path / "project")
    project.build()
    command = ["arm-none-eabi-nm", str(project.image)]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    address = next(line.split()[0] for line in listing.splitlines() if line.endswith(" T ethos_u_interrupt"))
    with project.image.open("rb") as stream:
        vectors = ELFFile(stream).get_section_by_name(".vectors").data()
    assert len(vectors) == 4 * (16 + 56 + 1)
    assert int.from_bytes(vectors[-4:], "little") == int(address, 16) | 1
    zephyr = aboard.create(module, BOARD, "zephyr", tmp_path / "zephyr")
    assert "CONFIG_DYNAMIC_INTERRUPTS=y\n" in (zephyr.path / "prj.conf").read_text(encoding="utf-8")


def test_the_manifest_has_the_cycles_that_vela_estimates(product: aboard.Module) -> None:
    made, _ = ethos_u.compiled(npu_models.product(), Target(TARGET).devices[0])
    (node,) = product.manifest.nodes
    assert node.device_cycles == round(made.cycles) > 0


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, "the compiler Vela is not installed, expected ethos-u-vela 5.2.0"),
        ("4.5.0", "another release of Vela is installed, got 4.5.0, expected 5.2.0"),
    ],
)
def test_without_the_right_release_of_vela(version: str | None, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(install.metadata, "version", found)
    vela.compiled.cache_clear()
    with pytest.raises(ExtraError, match=rf"{re.escape(message)}[^\n]*Run:\n    pip install ethos-u-vela==5\.2\.0"):
        ethos_u.module(npu_models.product())
    (need,) = install.probe()
    assert (need.found, need.version) == (False, version)


def test_the_pinned_release_is_the_one_that_is_asked_for() -> None:
    text = (ethos_u.FIRMWARE.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert f'ethos-u = ["{install.PACKAGE}=={install.VERSION}"]' in text


def test_a_region_that_vela_refuses() -> None:
    model = ChannelModel(1, (1, 8, 8, 4)).mean().build()
    file = lowered.file_of(load(model, name="model"))
    text = r"test: Vela refuses the region, got '.*', expected every operator on the NPU"
    with pytest.raises(TargetError, match=text):
        vela.compiled(file[:200] + bytes(len(file) - 200), ethos_u.device(), "test")


def test_an_output_of_vela_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(command: list[str], folder: Path, where: str) -> tuple[int, str]:
        (folder / "out").mkdir()
        np.savez(folder / "out" / "region.npz", cmd_data=np.frombuffer(b"COP9", np.uint8))
        return 0, ""

    monkeypatch.setattr(vela, "_run", wrong)
    vela.compiled.cache_clear()
    text = r"test: Vela's output cannot be read, got .*, expected that of release 5\.2\.0"
    with pytest.raises(ToolError, match=text):
        vela.compiled(b"any", ethos_u.device(), "test")


def test_a_region_with_more_inputs_and_outputs_than_base_pointers() -> None:
    border = vela.Border(3, 0, 16)
    made = vela.Compiled(np.zeros(1, np.uint32), 0, 0, np.zeros(0, np.uint8), 1, 0, (border,) * 4, (border,) * 2, 0.0)
    with pytest.raises(TargetError, match=r"test: inputs and outputs of the region, got 6, expected at most 5\. Claim"):
        borders.assigned(made, "test")


def test_each_input_has_a_base_pointer() -> None:
    ofm = [0x11F | 4 << 16, 0x4010, 32]
    words = [0x10F | 3 << 16, 0x4000, 16, 0x4001, 20, 0x18F | 3 << 16, 0x4080, 0, *ofm, 0x006, 0x4000, 0, 0x006, 0x000]
    inputs = (vela.Border(3, 0, 16), vela.Border(3, 16, 16))
    outputs = (vela.Border(4, 0, 32), vela.Border(4, 32, 8))
    made = vela.Compiled(np.array(words, np.uint32), 0, 0, np.zeros(0, np.uint8), 1, 0, inputs, outputs, 0.0)
    placed = borders.assigned(made, "test")
    assert (placed.inputs, placed.outputs) == ((3, 4), (5, 6))
    first = [0x10F | 4 << 16, 0x4000, 0, 0x4001, 4, 0x11F | 6 << 16, 0x4010, 0, 0x18F | 3 << 16, 0x4080, 0, 0x006]
    again = [0x10F | 3 << 16, 0x4001, 20, 0x006, 0x000]
    assert placed.stream.tolist() == [*first, *again]


def test_the_bundle_has_the_driver_and_no_model(product: aboard.Module) -> None:
    names = {Path(path).name for path in product.files if "/devices/" in path}
    assert names == {"ethos_u.c", "ethos_u.h", "ethos_u_access.h", "ethos_u_cache.c", "ethos_u_hooks.c"}
    assert not any("MODEL" in flag for flag in product.manifest.cflags)


def test_the_model_is_in_an_image_with_the_option_alone(product: aboard.Module, tmp_path: Path) -> None:
    plain = aboard.create(product, BOARD, path=tmp_path / "plain")
    model = aboard.create(product, BOARD, path=tmp_path / "model", options={"npu": "model"})
    for project, has in ((plain, False), (model, True)):
        rules = (project.path / "CMakeLists.txt").read_text(encoding="utf-8")
        assert ("firmware/devices/npu/emulated.c" in rules) == has
        assert ("ABOARD_ETHOS_U_MODEL=1 ABOARD_ETHOS_U_MACS=128" in rules) == has
        assert (project.path / "firmware" / "devices").exists() == has
    assert (plain.info.options["npu"], model.info.options["npu"]) == ("hardware", "model")


def test_a_wrong_value_of_the_option(product: aboard.Module, tmp_path: Path) -> None:
    message = "option npu has a wrong value, got maybe, expected hardware or model"
    with pytest.raises(ProjectError, match=message):
        aboard.create(product, BOARD, path=tmp_path / "p", options={"npu": "maybe"})
    with pytest.raises(ProjectError, match="template zephyr: unknown option npu"):
        aboard.create(product, BOARD, "zephyr", tmp_path / "z", {"npu": "model"})
    assert "npu" not in templates.load("baremetal").options


def test_two_models_for_different_npus(product: aboard.Module, tmp_path: Path) -> None:
    other = aboard.compile(npu_models.product(), target=f"{BOARD} + ethos-u55 -macs=64", name="other")
    text = "two models need different devices behind -O npu, got two values of ABOARD_ETHOS"
    with pytest.raises(ProjectError, match=text):
        aboard.create([product, other], BOARD, path=tmp_path / "p", options={"npu": "model"})


@pytest.mark.parametrize("macs", either(ethos_u.MACS, (128,)))
def test_an_image_on_an_emulated_board(macs: int, tmp_path: Path) -> None:
    model = npu_models.layers()
    module = aboard.compile(model, target=f"{BOARD} + ethos-u55 -macs={macs} -address=0x58102000", name="layers")
    x = np.random.default_rng(macs).integers(-128, 128, (1, 11, 9, 3)).astype(np.int8)
    project = aboard.create(module, BOARD, path=tmp_path / "model", options={"npu": "model"})
    project.build()
    with project.session(runner="qemu") as device:
        np.testing.assert_array_equal(device.run(x), oracle.tflm(model, x)[0])
    if macs == 128:  # the machine has no NPU, and an image without the model notices
        project = aboard.create(module, BOARD, path=tmp_path / "hardware")
        project.build()
        with pytest.raises(ToolError, match=r"whose device ethos-u55 \(without -O npu=model\) it does not model"):
            project.session(runner="qemu")
        machine = all_runners()["qemu"](project.board)
        with (
            project.session(runner=machine) as device,
            pytest.raises(DeviceStatusError, match="accelerator") as caught,
        ):
            device.run(x)
        assert caught.value.status == 12
