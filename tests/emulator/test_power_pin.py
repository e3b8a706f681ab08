"""The pin for a power analyser is high while the model runs, and at no other time, as emulators see it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from aboard import boards
from aboard.api import Project, Session, create
from aboard.base import resources
from aboard.boards.records import PowerPin
from aboard.compiler.pipeline import compile_model
from aboard.emulation.registers import Registers
from aboard.errors import ProjectError
from support import markdown
from support.bundles import BYTES, tiny_bundle
from support.examples import part

DIGITS = resources.models() / "digits.tflite"
PINNED = [name for name in boards.names() if boards.load(name).power_pin is not None]


def drives(
    monkeypatch: pytest.MonkeyPatch, project: Project, use: Callable[[Session, np.ndarray], object]
) -> list[bool]:
    """Returns the levels that the pin is driven to, in order, in a session that calls `use`."""
    pin, written = project.board.power_pin, []
    assert pin is not None
    plain = Registers.write

    def write(self: Registers, offset: int, size: int, value: int) -> None:
        written.append((self.base + offset, value))
        plain(self, offset, size, value)

    monkeypatch.setattr(Registers, "write", write)
    model = project.models[0]
    x = np.zeros(model.inputs[0].shape, np.int8)
    with project.session("unicorn") as device:
        use(device, x)
    monkeypatch.setattr(Registers, "write", plain)
    high, low = ((step.address, step.write) for step in (pin.high, pin.low))
    return [access == high for access in written if access in (high, low)]


def built(path: Path, board: str, **options: bool) -> Project:
    bundle = tiny_bundle(path / "bundle", boards.load(board).core().mcpu)
    project = create(bundle, board, path=path / "project", options=options)
    project.build()
    return project


@pytest.mark.parametrize("board", part(PINNED))
def test_the_pin_is_high_during_each_inference(board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def thrice(device: Session, x: np.ndarray) -> None:
        for _ in range(3):
            device.run(x)

    # The set-up drives the pin low.
    assert drives(monkeypatch, built(tmp_path, board, power_pin=True), thrice) == [False, *[True, False] * 3]


def test_the_pin_is_high_during_each_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = compile_model(DIGITS, target="st/nucleo_f411re -opt=speed")
    project = create(module, "st/nucleo_f411re", path=tmp_path / "project", options={"power_pin_layers": True})
    project.build()
    pulses = len(module.manifest.nodes)
    assert drives(monkeypatch, project, lambda device, x: device.run(x)) == [False, *[True, False] * pulses]
    # A profile is a run of its own, and takes the time of each layer within its pulse.
    assert drives(monkeypatch, project, lambda device, x: device.profile(x)) == [False, *[True, False] * 2 * pulses]


def test_images_without_the_option_leave_the_pin_alone(tmp_path: Path) -> None:
    project = create(tiny_bundle(tmp_path / "bundle", "cortex-m0"), "bbc/microbit", path=tmp_path / "project")
    assert not (project.path / "board" / "power_pin.c").exists()
    assert not re.search(r"P0\.03|0x5000050Cu", (project.path / "board" / "setup.c").read_text(encoding="utf-8"))


def test_qemu_sees_the_pin_too(tmp_path: Path) -> None:
    log = tmp_path / "gpio.txt"
    plain = boards.load("bbc/microbit")
    assert plain.emulator.qemu is not None
    traced = plain.emulator.qemu.model_copy(update={"arguments": ("-d", "trace:nrf51_gpio_write", "-D", str(log))})
    board = plain.model_copy(update={"emulator": plain.emulator.model_copy(update={"qemu": traced})})
    project = create(
        tiny_bundle(tmp_path / "bundle", board.core().mcpu),
        board,
        path=tmp_path / "project",
        options={"power_pin": True},
    )
    project.build()
    with project.session("qemu") as device:
        for _ in range(3):
            device.run(np.zeros((1, BYTES), np.int8))
    # OUTSET and OUTCLR of P0.03.
    accesses = re.findall(r"nrf51_gpio_write offset (0x50[8c]) value 0x8$", log.read_text("utf-8"), re.MULTILINE)
    assert accesses == ["0x50c", *["0x508", "0x50c"] * 3]


def test_a_board_without_a_pin_is_refused(tmp_path: Path) -> None:
    expected = (
        r"option power_pin: the board file names no pin, got arm/mps2_an386, expected \[power_pin\] in it\. Add the "
        r"table \(docs/how-to/measuring_power\.md\), or take a board that has one: .*bbc/microbit"
    )
    bundle = tiny_bundle(tmp_path / "bundle", "cortex-m4")
    with pytest.raises(ProjectError, match=expected):
        create(bundle, "arm/mps2_an386", path=tmp_path / "project", options={"power_pin": True})


def test_the_address_of_the_vectors_drives_no_pin() -> None:
    step = {"address": 0x4002_0018, "write": "vectors"}
    with pytest.raises(ValueError, match="writes no number, got vectors, expected a value"):
        PowerPin.model_validate({"what": "PA8", "high": step, "low": {"address": 0x4002_0018, "write": 1}})


def test_the_page_has_every_pin_and_its_commands_run(tmp_path: Path) -> None:
    page = "docs/how-to/measuring_power.md"
    text = (markdown.CHECKOUT / page).read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\| `([a-z]+/\w+)` \| (.*) \|$", text, re.MULTILINE))
    assert stated == {name: pin.what for name in PINNED if (pin := boards.load(name).power_pin)}
    blocks = markdown.blocks(page)
    (script,) = (code for language, code in blocks if language == "sh")
    for line in markdown.commands(script):
        markdown.run(line, tmp_path)
    project = tmp_path / "build" / "power"
    (code,) = (code for language, code in blocks if language == "c")
    (project / "infer.c").write_text(code, encoding="utf-8")
    folders = "-Ifirmware/ports/runtime -Ifirmware/include -Imodels/digits/include"
    markdown.run(f"arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -Wall -Werror {folders} -c infer.c -o infer.o", project)
    (table,) = (code for language, code in blocks if language == "toml")
    assert table in (markdown.CHECKOUT / "boards/st/nucleo_f411re.toml").read_text(encoding="utf-8")
