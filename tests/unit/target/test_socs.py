"""SoCs as hardware strings: their core, memory and accelerators, and an error where a board is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import aboard
from aboard import boards, cli
from aboard.base import resources
from aboard.boards import cpu, socs
from aboard.errors import BoardError, ProjectError, TargetError
from aboard.target import Attribute, Kind, Target, plugins, register
from aboard.target.origins import origins

DIGITS = resources.models() / "digits.tflite"

SOC_FILE = """
name = "Acme AX9"
source = "data sheet"
[[cores]]
name = "cpu0"
mcpu = "cortex-m55"
[[memory]]
name = "ram"
kind = "ram"
address = 0x2000_0000
size_bytes = 65_536
data = true
[[accelerators]]
kind = "acme-npu"
attributes = { macs = 128 }
"""


def only_socs() -> list[str]:
    return [name for name in socs.names() if name not in boards.names()]


@pytest.mark.parametrize("name", only_socs())
def test_every_soc_is_a_target(name: str) -> None:
    view = boards.of_hardware(name)
    target = Target(name)
    assert (target.hardware, target.cpu) == (view.target, cpu.find(view.cores[0].mcpu))
    assert target.runtime == ("host" if target.cpu.is_host_class else "standalone")
    assert Target(str(target)) == target
    assert Target(target.key).key == target.key


def test_the_core_units_and_memory_are_those_of_the_file() -> None:
    target = Target("nordic/nrf52840 -opt=size")
    assert str(target) == str(Target({"kind": "c", "hardware": "nordic/nrf52840", "opt": "size"}))
    assert (target.cpu.name, target.attrs["mfpu"], target.opt) == ("cortex-m4", "fpv4-sp-d16", "size")
    board = boards.of_hardware("nordic/nrf52840")
    assert (board.is_soc, board.flash_bytes, board.ram_bytes) == (True, 1048576, 262144)
    assert (board.rpc, board.flash, board.emulators, board.setup) == (None, None, {}, ())
    assert boards.Board.model_validate(board.model_dump()) == board
    with pytest.raises(
        TargetError, match=r"-arena: memory region is not writable, got flash of nordic/nrf52840, which"
    ):
        Target("nordic/nrf52840 -arena=flash")


def test_cores_are_named_as_for_boards() -> None:
    for text in ("nordic/nrf5340:net", "nordic/nrf5340/net"):
        target = Target(text)
        assert (target.hardware, target.cpu.name) == ("nordic/nrf5340:net", "cortex-m33+nodsp+nofp")
    assert Target("nordic/nrf5340").hardware == "nordic/nrf5340:app"
    with pytest.raises(
        TargetError, match=r"SoC nordic/nrf5340: unknown core, got x, expected one of: app, net\. Write it"
    ):
        Target("nordic/nrf5340:x")
    with pytest.raises(TargetError, match=r"gpu is a GPU, which is not supported, got Broadcom VideoCore VI, expected"):
        Target("broadcom/bcm2711:gpu")


def test_the_example_of_a_machine_of_host_class() -> None:
    target = Target("broadcom/bcm2711")
    assert (target.cpu.name, target.runtime, target.cpu.flags("gcc")) == ("cortex-a72", "host", ("-mcpu=cortex-a72",))


def test_a_board_of_the_same_name_comes_first() -> None:
    assert "arm/mps2_an386" in socs.names()
    assert not boards.of_hardware("arm/mps2_an386").is_soc
    assert boards.of_hardware("soc:arm/mps2_an386").is_soc


def test_devices_take_what_the_soc_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "soc/acme").mkdir(parents=True)
    (tmp_path / "soc/acme/ax9.toml").write_text(SOC_FILE)
    monkeypatch.setenv(boards.SEARCH_PATH, str(tmp_path))
    with plugins.restored():
        macs = Attribute("macs", "MACs", type=int, default=64, identity=True)
        register(Kind("acme-npu", "An NPU", "accelerator", (macs,), subgraph_only=True))
        assert Target("acme/ax9 + acme-npu").devices[0].attrs["macs"] == 128
        with pytest.raises(TargetError, match=r"-macs is not that of acme/ax9, got 32, expected 128"):
            Target("acme/ax9 + acme-npu -macs=32")
    assert Target("nordic/nrf52840 + cmsis-nn").host == Target("nordic/nrf52840")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SOC_FILE.replace("macs = 128 }", 'macs = 128 }\ncores = ["cpu1"]'),
            r"ax9\.toml: accelerators\.acme-npu\.cores: unk",
        ),
        (
            SOC_FILE.replace(
                "data = true",
                'data = true\n[[memory]]\nname = "two"\nkind = "ram"\naddress = 0x2000_0000\n'
                "size_bytes = 4\ndata = true",
            ),
            r"ax9\.toml: memory: regions overlap, got ram .* and two",
        ),
        (SOC_FILE.replace("cortex-m55", "cortex-m5"), r"ax9\.toml: cores\.0\.mcpu: core cortex-m5: unknown"),
    ],
)
def test_a_wrong_file_is_named(text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "soc/acme").mkdir(parents=True)
    (tmp_path / "soc/acme/ax9.toml").write_text(text)
    monkeypatch.setenv(boards.SEARCH_PATH, str(tmp_path))
    with pytest.raises(TargetError, match=message):
        Target("acme/ax9")


def test_origins_name_the_file_of_the_soc() -> None:
    found = {each.name: (each.origin, each.file) for each in origins(Target("nordic/nrf52840"))}
    file = boards.soc_path_of(boards.of_hardware("nordic/nrf52840"))
    assert found["hardware"] == ("the SoC", file)
    assert found["mcpu"] == ("core cpu0 of the SoC", file)
    assert found["runtime"] == ("the SoC", None)


NO_BOARD = (
    r"board nordic/nrf52840: is a SoC, got it without pins, serial port and flash tool, expected a board with it: "
    r"arduino/nano_33_ble, nordic/nrf52840dk\. Name a board, or use --target \"nordic/nrf52840\" to compile for the SoC"
)


def test_what_needs_a_board_says_so(tmp_path: Path) -> None:
    for call in (boards.load, boards.path_of):
        with pytest.raises(BoardError, match=NO_BOARD):
            call("nordic/nrf52840")
    with pytest.raises(BoardError, match=NO_BOARD):
        aboard.compile(DIGITS, board="nordic/nrf52840")
    assert "expected a board, and no file describes one with it. Name" in str(socs.no_board("acme/none"))
    module = aboard.compile(DIGITS, target="nordic/nrf52840")
    with pytest.raises(ProjectError, match=r"template baremetal: needs a board, got the SoC nordic/nrf52840 alone"):
        aboard.create(module, board=boards.of_hardware("nordic/nrf52840"), template="baremetal", path=tmp_path / "p")
    with pytest.raises(ProjectError, match=r'expected cortex-m33 of soc:nordic/nrf9160\. .* --target "nordic/nrf9160"'):
        aboard.create(module, board=boards.of_hardware("nordic/nrf9160"), template="cmake-lib", path=tmp_path / "p")


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["hardware", "show", "nordic/nrf52840", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["hardware"], shown["board_file"], len(shown["sources"])) == ("nordic/nrf52840", None, 1)
    assert shown["soc_file"].endswith("boards/soc/nordic/nrf52840.toml")
    assert cli.invoke(["hardware", "show", "nordic/nrf52840"]) == 0
    assert "soc/nordic/nrf52840.toml" in capsys.readouterr().out
    bundle, library = tmp_path / "digits", tmp_path / "library"
    assert cli.invoke(["compile", "digits", "--target", "nordic/nrf52840", "-o", str(bundle), "--json"]) == 0
    compiled = json.loads(capsys.readouterr().out)
    assert (compiled["fits"], compiled["memory"]["flash"]["available_bytes"]) == (True, 1048576)
    words = ["create", str(bundle), "--target", "nordic/nrf52840", "--template", "cmake-lib", "-o", str(library)]
    assert cli.invoke(words) == 0
    assert cli.invoke(["compile", "digits", "--target", "raspberrypi/rp2040", "-o", str(tmp_path / "x"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["fits"] is None
