"""Board files: the format, further folders, and a message for everything that can be wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from aboard import boards
from aboard.boards import board, files
from aboard.boards.board import Board, Memory
from aboard.errors import BoardError
from aboard.target import Target
from support import markdown

MANUAL = markdown.CHECKOUT / "docs" / "how-to" / "adding_a_board.md"

SOC = """
name = "Chip"
source = "Data sheet"

[[cores]]
name = "cpu0"
mcpu = "cortex-m4"
clock_hz = 1_000_000

[[memory]]
name = "flash"
kind = "flash"
address = 0
size_bytes = 0x1000
load = true

[[memory]]
name = "ram"
kind = "ram"
address = 0x2000_0000
size_bytes = 0x800
data = true

[uart.uart0]
driver = "cmsdk"
address = 0x4000_0000
clock_hz = 1_000_000
irq = 3

[counter]
driver = "systick"
hz = 1_000_000
"""

BOARD = """
name = "Board"
soc = "acme/chip"
source = "Schematic"
aliases = ["acme-board"]

[rpc]
uart = "uart0"

[emulator.qemu]
program = "qemu-system-arm"
machine = "acme"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of boards with one board, `acme/board`, beside the built-in ones."""
    write(tmp_path)
    monkeypatch.setenv(boards.SEARCH_PATH, str(tmp_path))
    return tmp_path


def write(folder: Path, board_text: str = BOARD, soc_text: str = SOC, name: str = "board") -> Path:
    path = folder / "acme" / f"{name}.toml"
    for file, text in ((path, board_text), (folder / "soc" / "acme" / "chip.toml", soc_text)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return path


def test_a_further_folder_adds_boards(folder: Path) -> None:
    assert "acme/board" in boards.names()
    found = boards.load("acme-board")
    assert (found.id, found.flash_bytes, found.ram_bytes) == ("acme/board", 0x1000, 0x800)
    assert found.uart is not None
    assert found.uart.irq == 3
    assert "arm/mps2_an386" in boards.names()


def test_a_further_folder_comes_first(folder: Path) -> None:
    (folder / "arm").mkdir()
    (folder / "arm" / "mps2_an386.toml").write_text(BOARD.replace("acme-board", "mine"))
    assert boards.load("arm/mps2_an386").soc == "acme/chip"


def test_a_changed_file_is_read_again(folder: Path) -> None:
    assert boards.load("acme/board").name == "Board"
    write(folder, BOARD.replace('"Board"', '"Another name"'))
    assert boards.load("acme/board").name == "Another name"


def test_a_board_may_add_memory(folder: Path) -> None:
    more = '[[memory]]\nname = "psram"\nkind = "external"\naddress = 0x6000_0000\nsize_bytes = 0x100\n'
    write(folder, BOARD + more)
    assert [region.name for region in boards.load("acme/board").memory] == ["flash", "ram", "psram"]


SOC_ERRORS = {
    "unknown key": (
        "size_bytes = 0x800",
        "size = 0x800",
        r"memory\.1\.size: unknown key, got size\. Did you mean size_b",
    ),
    "missing key": ("size_bytes = 0x800", "", r"memory\.1\.size_bytes: missing, got nothing, expected a value"),
    "unknown core": ("cortex-m4", "cortex-m44", r"cores\.0\.mcpu: core cortex-m44: unknown.*Did you mean cortex-m4"),
    "wrong kind": ('kind = "ram"', 'kind = "rom"', r"memory\.1\.kind: Input should be 'flash', 'ram'.*got 'rom'"),
    "no size": ("size_bytes = 0x800", "size_bytes = 0", r"memory\.1\.size_bytes: .*greater than 0, got 0"),
    "text for number": ("irq = 3", 'irq = "three"', r"uart\.uart0\.irq: .*valid integer.*got 'three'"),
    "address too large": ("0x4000_0000", "0x1_4000_0000", r"uart\.uart0\.address: .*less than 4294967296"),
    "no core": (SOC[SOC.index("[[cores]]") : SOC.index("[[memory]]")], "cores = []\n", r"cores: .*at least 1 item"),
    "step without an action": (
        "[counter]",
        "[[setup]]\naddress = 4\n\n[counter]",
        r"setup\.0: does not say one thing, got nothing, expected write, set, clear, wait_set or wait_clear",
    ),
    "step with two actions": (
        "irq = 3",
        "irq = 3\nsetup = [{ address = 4, set = 1, wait_set = 2 }]",
        r"uart\.uart0\.setup\.0: does not say one thing, got set, wait_set, expected write, set, clear, wait_set or",
    ),
    "unknown key of a step": (
        "[counter]",
        "[[setup]]\naddress = 4\nwait = 1\n\n[counter]",
        r"setup\.0\.wait: unknown key, got wait\. Did you mean what, write, wait_set",
    ),
    "wrong kind of an accelerator": (
        "[counter]",
        '[[accelerators]]\nkind = "NPU"\n\n[counter]',
        r"accelerators\.0\.kind: String should match pattern .*got 'NPU'",
    ),
    "unknown key of an accelerator": (
        "[counter]",
        '[[accelerators]]\nkind = "npu"\nattrs = { macs = 8 }\n\n[counter]',
        r"accelerators\.0\.attrs: unknown key, got attrs\. Did you mean attributes",
    ),
    "configurable attribute without a value": (
        "[counter]",
        '[[accelerators]]\nkind = "npu"\nattributes = { irq = 8 }\nconfigurable = ["irq", "macs"]\n\n[counter]',
        r"accelerators\.0: configurable names no attribute, got macs, expected some of attributes",
    ),
    "not TOML": ("[counter]", "[counter", r"chip\.toml: not TOML, got: "),
}


@pytest.mark.parametrize("what", sorted(SOC_ERRORS))
def test_what_is_wrong_in_a_soc_file_is_refused(folder: Path, what: str) -> None:
    old, new, text = SOC_ERRORS[what]
    assert old in SOC
    write(folder, soc_text=SOC.replace(old, new, 1))
    with pytest.raises(BoardError, match=rf"soc/acme/chip\.toml.*{text}" if what != "not TOML" else text) as error:
        boards.load("acme/board")
    assert "docs/how-to/adding_a_board.md" in str(error.value)


JOINED_ERRORS = {
    "overlap": (
        "address = 0x2000_0000",
        "address = 0xf00",
        r"memory: regions overlap, got flash 0x0\.\.0x1000 and ram 0xf00",
    ),
    "same name": ('name = "ram"', 'name = "flash"', r"memory: a name is used twice, got flash"),
    "no home of code": ("load = true", "", r"load = true in the wrong number of regions, got none, expected 1 region"),
    "two homes": (
        "data = true",
        "data = true\nload = true",
        r"load = true in the wrong number .* got flash, ram, expected 1",
    ),
    "no counter": (SOC[SOC.index("[counter]") :], "", r"counter: missing, expected what times a run on a board"),
    "bits that follow fewer": (
        "[counter]",
        "[[status]]\naddress = 0x4000_0000\nbits = 0x30\nfollows = 0x1\n\n[counter]",
        r"status: not as many bits as they follow, got 0x30 at 0x40000000 and 0x1, expected a control bit for each",
    ),
    "two accelerators of a kind": (
        "[counter]",
        '[[accelerators]]\nkind = "npu"\n\n[[accelerators]]\nkind = "npu"\n\n[counter]',
        r"accelerators: a name is used twice, got npu",
    ),
    "accelerator of an unknown core": (
        "[counter]",
        '[[accelerators]]\nkind = "npu"\ncores = ["cpu1"]\n\n[counter]',
        r"accelerators\.npu\.cores: unknown core of acme/chip, got cpu1, expected one of: cpu0",
    ),
    "no such port": (
        "[uart.uart0]",
        "[uart.uart1]",
        r"rpc\.uart: no such serial port, got uart0\. Did you mean uart1\?",
    ),
}


@pytest.mark.parametrize("what", sorted(JOINED_ERRORS))
def test_what_does_not_go_together_is_refused(folder: Path, what: str) -> None:
    old, new, text = JOINED_ERRORS[what]
    assert old in SOC
    write(folder, soc_text=SOC.replace(old, new, 1))
    with pytest.raises(BoardError, match=rf"acme/board\.toml: .*{text}"):
        boards.load("acme/board")


def test_what_is_wrong_in_a_board_file_is_said_at_once(folder: Path) -> None:
    wrong = BOARD.replace("machine", "machina").replace('name = "Board"', 'nmae = "Board"')
    write(folder, wrong)
    with pytest.raises(BoardError) as error:
        boards.load("acme/board")
    message = str(error.value)
    assert "nmae: unknown key, got nmae. Did you mean name" in message
    assert "emulator.qemu.machina: unknown key, got machina. Did you mean machine" in message
    assert "emulator.qemu.machine: missing" in message


def test_unknown_soc_names_the_nearest(folder: Path) -> None:
    write(folder, BOARD.replace("acme/chip", "acme/chp"))
    with pytest.raises(BoardError, match=r"soc: no such file, got acme/chp\. Did you mean acme/chip"):
        boards.load("acme/board")


def test_unknown_board_names_the_nearest() -> None:
    with pytest.raises(BoardError, match=r"board arm/mps2_an86: unknown.*Did you mean arm/mps2_an386.*ABOARD_BOARDS"):
        boards.load("arm/mps2_an86")


def test_unknown_core_of_a_board() -> None:
    with pytest.raises(
        BoardError, match=r"unknown core, got cpu1, expected one of: cpu0\. Write it as in arm/mps2_an386:c"
    ):
        boards.load("arm/mps2_an386").core("cpu1")


def test_an_alias_belongs_to_one_board(folder: Path) -> None:
    write(folder, BOARD, name="other")
    with pytest.raises(BoardError, match=r"other\.toml: aliases: used by another board, got acme-board of acme/board"):
        boards.aliases()


def test_a_broken_file_hides_no_other_board(folder: Path) -> None:
    (folder / "acme" / "broken.toml").write_bytes(b"\xff")
    assert boards.load("acme-board").id == "acme/board"
    with pytest.raises(BoardError, match=r"broken\.toml: not TOML"):
        boards.load("acme/broken")


def test_a_file_that_cannot_be_read(folder: Path) -> None:
    (folder / "acme" / "gone.toml").symlink_to(folder / "nowhere.toml")
    with pytest.raises(BoardError, match=r"gone\.toml: cannot be read, got No such file or directory"):
        boards.load("acme/gone")


REGION = st.tuples(st.integers(0, 40), st.integers(1, 12))


@given(st.lists(REGION, min_size=2, max_size=5))
@settings(max_examples=50, deadline=None)
def test_regions_are_refused_exactly_when_an_address_belongs_to_two(regions: list[tuple[int, int]]) -> None:
    memory = [
        Memory(name=f"m{i}", kind="ram", address=start, size_bytes=size, load=i == 0, data=i == 1)
        for i, (start, size) in enumerate(regions)
    ]
    owners = [address for start, size in regions for address in range(start, start + size)]
    fields = boards.load("ti/lm3s6965evb").model_dump() | {"memory": memory}
    if len(owners) == len(set(owners)):
        assert len(Board.model_validate(fields).memory) == len(regions)
    else:
        with pytest.raises(ValueError, match="regions overlap"):
            Board.model_validate(fields)


def test_the_manual_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```toml\n# boards/(\S+)\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    for name, text in blocks:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setenv(boards.SEARCH_PATH, str(tmp_path))
    sensor, larger = boards.load("sensor"), boards.load("acme/sensor_xl")
    assert (sensor.id, sensor.ram_bytes, larger.ram_bytes) == ("acme/sensor", 16 << 10, 32 << 10)
    assert sensor.uart is not None
    assert sensor.uart.params == {"tx_pin": 9, "rx_pin": 11}
    assert sensor.uart == larger.uart
    assert sensor.counter == larger.counter
    assert list(larger.emulators) == ["unicorn"]
    assert Target("acme/sensor -opt=size").cpu.name == "cortex-m0"
    assert Target("desk") == Target("acme/sensor")
    app, radio = boards.load("acme/hub"), boards.load("hub-radio")
    assert (app.target, app.flash_bytes, app.ram_bytes) == ("acme/hub:app", 512 << 10, 256 << 10)
    assert (radio.target, radio.flash_bytes, radio.ram_bytes) == ("acme/hub:radio", 128 << 10, 32 << 10)
    assert Target("acme/hub:net") == Target("hub-radio")
    assert Target("acme/server").runtime == "host"
    with pytest.raises(BoardError, match=r"gpu is a GPU, which is not supported, got Acme graphics"):
        boards.load("acme/server:gpu")


def test_the_manual_names_every_key() -> None:
    text = MANUAL.read_text(encoding="utf-8")
    keys = set(re.findall(r"[`\[.]([a-z_]+)(?:\]\]?|`|\.<name>| = )", text))
    records: list[type[BaseModel]] = [
        files.BoardFile,
        files.Soc,
        board.Core,
        board.Memory,
        board.Fetch,
        board.Uart,
        board.Counter,
        board.Interrupts,
        board.Accelerator,
    ]
    records += [board.SetupStep, board.BoardStatus, board.Boot, board.Rpc, board.Qemu, board.Unicorn, board.Gpu]
    wanted = {name for record in records for name in record.model_fields} - {"emulator"}
    assert wanted - keys == set()
