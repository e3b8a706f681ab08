"""What board files say to tools: read by the tools' own schemas, and naming what the tools have."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard import boards, flashers
from aboard.base import programs
from aboard.boards.board import Board
from aboard.errors import BoardError, ToolError
from aboard.flashers import uf2

DATA = Path(__file__).parents[2] / "data" / "flash"
FLASHED = [name for name in boards.names() if boards.load(name).flash]
OPENOCD = set((DATA / "openocd_scripts.txt").read_text().splitlines()[1:])
PYOCD = set((DATA / "pyocd_targets.txt").read_text().splitlines()[1:])

#: Named in board files and not in OpenOCD 0.12.0: the chip maker's own OpenOCD has it.
MAKERS_OWN = {"target/psoc6_2m.cfg"}


def test_most_boards_that_people_have_can_be_flashed() -> None:
    real = {name for name in boards.names() if boards.load(name).usb}
    left = sorted(real - set(FLASHED))
    assert len(FLASHED) >= 49
    assert left == [
        "arduino/portenta_h7", "infineon/cy8ckit_062s2_43012", "nordic/nrf54l15dk", "renesas/ek_ra6m4",
    ]  # fmt: skip


@pytest.mark.parametrize("name", FLASHED)
def test_tables_are_right_and_have_a_source(name: str) -> None:
    board = boards.load(name)
    assert board.flash is not None
    assert all(part.strip().startswith("https://") for part in board.flash.source.split(";"))
    for tool in board.flash.tools:
        flashers.all_flashers()[tool].read(board)
    assert Board.model_validate_json(board.model_dump_json()) == board


@pytest.mark.parametrize("name", FLASHED)
def test_files_of_openocd_are_there(name: str) -> None:
    tools = boards.load(name).flash.tools
    named = {text for text in tools.get("openocd", {}).get("config", ()) if text.endswith(".cfg")}
    assert named - MAKERS_OWN <= OPENOCD
    assert all(" " not in text for text in named)


def test_targets_of_pyocd_are_built_in_or_in_a_pack() -> None:
    named = {name: boards.load(name).flash.tools.get("pyocd", {}).get("target") for name in FLASHED}
    by_pack = {target for target in named.values() if target and target not in PYOCD}
    assert by_pack == {"mcxn947", "r7fa4m1ab", "stm32g071rbtx", "stm32g474retx", "stm32u575zitx", "stm32wb55rgvx"}


def test_the_second_core_is_not_flashed_with_the_first_ones_arguments() -> None:
    assert boards.load("nordic/nrf5340dk").flash is not None
    net = boards.load("nordic/nrf5340dk:net")
    assert net.flash is None
    reason = flashers.all_flashers()["jlink"].supports(net)
    assert reason == "whose file has no [flash] for its core net"


def changed(tool: str, table: dict[str, object]) -> Board:
    board = boards.load("st/nucleo_f746zg")
    return board.model_copy(update={"flash": board.flash.model_copy(update={"tools": {tool: table}})})


WRONG = [
    ("jlink", {}, "board st/nucleo_f746zg: flash.jlink: device: missing, got nothing, expected a value"),
    ("jlink", {"device": "X", "sped": 1}, r"flash.jlink: sped: unknown key\. Did you mean speed_khz\?"),
    ("jlink", {"device": "X", "speed_khz": "fast"}, "flash.jlink: speed_khz: .*valid integer.*, got 'fast'"),
    ("nrfjprog", {"family": "NRF99"}, "flash.nrfjprog: family: Input should be 'NRF51'.*, got 'NRF99'"),
]


@pytest.mark.parametrize(("tool", "table", "message"), WRONG)
def test_what_is_wrong_in_a_table_is_named(tool: str, table: dict[str, object], message: str) -> None:
    with pytest.raises(BoardError, match=message):
        flashers.all_flashers()[tool].read(changed(tool, table))


def test_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    board = boards.load("st/nucleo_f746zg")
    assert [f.name for f in flashers.possible(board)] == ["openocd", "stlink", "jlink", "west"]
    assert [f.name for f in flashers.possible(board, "baremetal")] == ["openocd", "stlink", "jlink"]
    monkeypatch.setattr(programs, "find", lambda name: Path(name) if name == "st-flash" else None)
    assert flashers.choose(board).name == "stlink"
    assert flashers.choose(board, "jlink", installed=False).name == "jlink"
    assert flashers.choose(boards.load("raspberrypi/rpi_pico")).name == "uf2"


CHOICES = [
    ("st/nucleo_f746zg", "jlinc", r"runner jlinc: unknown\. Did you mean jlink"),
    (
        "st/nucleo_f746zg",
        "uf2",
        r"runner uf2: cannot flash st/nucleo_f746zg, whose file has no \[flash\.uf2\].*: openocd, ",
    ),
    (
        "st/nucleo_f746zg",
        "west",
        r"runner west: cannot flash st/nucleo_f746zg, whose project is not of the template zephyr",
    ),
    ("st/nucleo_f746zg", "jlink", r"runner jlink: JLinkExe is not on PATH\. To get it: install the J-Link software"),
    (
        "st/nucleo_f746zg",
        None,
        r"nothing to flash it with, expected one of its tools\. openocd: openocd is not on PATH",
    ),
    (
        "arm/mps2_an505",
        None,
        r"cannot be flashed, got a board whose file has no \[flash\] \(uf2, openocd, .*\), .* \(west\)\. Add the table",
    ),
]


@pytest.mark.parametrize(("board", "name", "message"), CHOICES)
def test_what_cannot_be_chosen(board: str, name: str | None, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find", lambda name: None)
    with pytest.raises(ToolError, match=message):
        flashers.choose(boards.load(board), name, "baremetal")


def drive(folder: Path, name: str, board_id: str) -> Path:
    place = folder / name
    place.mkdir()
    (place / "INFO_UF2.TXT").write_text(f"UF2 Bootloader v3.0\r\nModel: Raspberry Pi RP2\r\nBoard-ID: {board_id}\r\n")
    return place


@pytest.fixture
def pico(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> flashers.Job:
    mounts = tmp_path / "mounts"
    places = [tmp_path / "my drive", tmp_path / "other", tmp_path / "second"]
    mounts.write_text("".join(f"/dev/sdb1 {str(p).replace(' ', chr(92) + '040')} vfat rw 0 0\n" for p in places))
    monkeypatch.setattr(uf2, "_MOUNTS", mounts)
    image = tmp_path / "image.uf2"
    image.write_bytes(b"image")
    board = boards.load("raspberrypi/rpi_pico")
    settings = flashers.all_flashers()["uf2"].read(board)
    return flashers.Job(board.id, settings, image, image, tmp_path, tmp_path)


def test_an_image_is_copied_to_the_drive_of_its_board(pico: flashers.Job, tmp_path: Path) -> None:
    place = drive(tmp_path, "my drive", "RPI-RP2")
    drive(tmp_path, "other", "SAMD51")
    done = flashers.all_flashers()["uf2"].run(pico)
    assert (place / "image.uf2").read_bytes() == b"image"
    assert done.command == ("cp", str(pico.image), str(place))


def test_which_drive(pico: flashers.Job, tmp_path: Path) -> None:
    flasher = flashers.all_flashers()["uf2"]
    with pytest.raises(ToolError, match=r"uf2: the board was not found, got 'no UF2 drive'.*Hold the board's BOOTSEL"):
        flasher.run(pico)
    drive(tmp_path, "other", "SAMD51")
    with pytest.raises(
        ToolError,
        match=r"uf2: another chip is attached, got '.*/other of SAMD51'.*Nothing was written to the board\. Choose",
    ):
        flasher.run(pico)
    drive(tmp_path, "my drive", "RPI-RP2")
    drive(tmp_path, "second", "RPI-RP2")
    with pytest.raises(ToolError, match=r"uf2: several boards could be meant, got '.*/my drive, .*/second'.*--device"):
        flasher.run(pico)
    chosen = flashers.Job(**{**pico.__dict__, "port": str(tmp_path / "second")})
    assert flasher.run(chosen).command[-1] == str(tmp_path / "second")
