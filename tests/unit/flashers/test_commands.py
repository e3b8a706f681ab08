"""The command line of every flasher, as a table: what is run for which board is seen here and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard import boards, flashers
from aboard.flashers import Job

ELF = Path("/p/build/firmware.elf")
SCRATCH = Path("/scratch")
IMAGES = {"elf": ELF, "hex": SCRATCH / "image.hex", "bin": Path("/p/build/firmware.bin"), "uf2": SCRATCH / "image.uf2"}


def job(board: str, flasher: str, **where: str) -> Job:
    found = boards.load(board)
    tool = flashers.all_flashers()[flasher]
    image = SCRATCH / "image.elf" if flasher == "openocd" else IMAGES[tool.capabilities.form]
    return Job(board, tool.read(found), ELF, image, SCRATCH, Path("/p"), **where)


COMMANDS = [
    ("st/nucleo_f746zg", "openocd", {}, "openocd -f board/st_nucleo_f7.cfg -c |program image.elf verify reset exit|"),
    (
        "nordic/nrf52840dk",
        "openocd",
        {"serial_number": "683123456"},
        (
            "openocd -c |adapter serial 683123456| -f interface/jlink.cfg -c |transport select swd| "
            "-f target/nrf52.cfg -c |program image.elf verify reset exit|"
        ),
    ),
    (
        "nordic/nrf52840dk",
        "openocd",
        {"serial_number": "1;exec touch [x] $y\n"},
        (
            "openocd -c |adapter serial 1\\;exec\\ touch\\ \\[x\\]\\ \\$y\\\\n| -f interface/jlink.cfg "
            "-c |transport select swd| -f target/nrf52.cfg -c |program image.elf verify reset exit|"
        ),
    ),
    (
        "sifive/hifive1",
        "openocd",
        {},
        (
            "openocd -f board/sifive-hifive1.cfg -c init -c |flash protect 0 64 last off| "
            "-c |program image.elf verify reset exit|"
        ),
    ),
    (
        "nordic/nrf52840dk",
        "pyocd",
        {"serial_number": "000683123456"},
        (
            "pyocd load --no-wait --target nrf52840 --frequency 4000000 --uid 000683123456 --format elf "
            "/p/build/firmware.elf"
        ),
    ),
    (
        "st/nucleo_g071rb",
        "pyocd",
        {},
        (
            "pyocd load --no-wait --target stm32g071rbtx -O reset_type=hw -O connect_mode=under-reset --format elf "
            "/p/build/firmware.elf"
        ),
    ),
    (
        "nordic/nrf52840dk",
        "jlink",
        {"serial_number": "000683123456"},
        (
            "jlink -NoGui 1 -ExitOnError 1 -USB 683123456 -device nRF52840_xxAA -if swd -speed 4000 -autoconnect 1 "
            "-CommanderScript flash.jlink"
        ),
    ),
    (
        "ambiq/apollo4p_evb",
        "jlink",
        {},
        (
            "jlink -NoGui 1 -ExitOnError 1 -device AMAP42KK-KBR -if swd -speed 1000 -autoconnect 1 "
            "-CommanderScript flash.jlink"
        ),
    ),
    (
        "st/nucleo_f746zg",
        "stlink",
        {"serial_number": "066AFF"},
        "stlink --serial 066AFF --reset --format ihex write /scratch/image.hex",
    ),
    (
        "nordic/nrf52840dk",
        "nrfjprog",
        {"serial_number": "000683123456"},
        "nrfjprog --program /scratch/image.hex --sectorerase --verify --reset -f NRF52 --snr 683123456",
    ),
    (
        "nordic/nrf5340dk",
        "nrfjprog",
        {},
        "nrfjprog --program /scratch/image.hex --sectorerase --verify --reset -f NRF53 --coprocessor CP_APPLICATION",
    ),
    (
        "espressif/esp32c3_devkitm",
        "esptool",
        {"port": "/dev/ttyUSB0"},
        (
            "esptool --chip esp32c3 --port /dev/ttyUSB0 --baud 921600 --before default-reset --after hard-reset "
            "write-flash --flash-mode dio --flash-freq 40m --flash-size detect 0x0 /p/build/firmware.bin"
        ),
    ),
    ("raspberrypi/rpi_pico", "uf2", {"port": "/media/RPI-RP2"}, "cp image.uf2 /media/RPI-RP2"),
    (
        "nordic/nrf52840dk",
        "west",
        {"serial_number": "683123456"},
        "west flash -d /p/build --skip-rebuild --dev-id 683123456",
    ),
]


@pytest.mark.parametrize(("board", "flasher", "where", "expected"), COMMANDS)
def test_command_line(board: str, flasher: str, where: dict[str, str], expected: str) -> None:
    command = flashers.all_flashers()[flasher].command(job(board, flasher, **where), flasher)
    assert " ".join(f"|{word}|" if " " in word else word for word in command) == expected


def test_every_flasher_is_in_the_table() -> None:
    assert {flasher for _, flasher, _, _ in COMMANDS} == set(flashers.all_flashers())


def test_what_j_link_commander_is_told() -> None:
    script = flashers.all_flashers()["jlink"].scripts(job("nordic/nrf52840dk", "jlink"))
    assert script == {"flash.jlink": "r\nloadfile image.hex\nr\ng\nq\n"}


GDB_SERVERS = [
    (
        "st/nucleo_f746zg",
        "openocd",
        "t -f board/st_nucleo_f7.cfg -c |gdb_port 3333| -c |telnet_port disabled| -c |tcl_port disabled|",
    ),
    (
        "nordic/nrf52dk",
        "pyocd",
        "t gdbserver --no-wait --target nrf52832 --frequency 4000000 --port 3333 --telnet-port 0",
    ),
    (
        "nordic/nrf52dk",
        "jlink",
        (
            "JLinkGDBServerCLExe -select usb -device nRF52832_xxAA -if swd -speed 4000 -port 3333 -singlerun -nogui "
            "-silent"
        ),
    ),
    ("st/nucleo_f746zg", "stlink", "st-util -p 3333"),
    ("nordic/nrf52dk", "west", "t debugserver -d /p/build --skip-rebuild --gdb-port 3333"),
]


@pytest.mark.parametrize(("board", "flasher", "expected"), GDB_SERVERS)
def test_gdb_server(board: str, flasher: str, expected: str) -> None:
    command = flashers.all_flashers()[flasher].gdb_server(job(board, flasher), "t", 3333)
    assert command is not None
    assert " ".join(f"|{word}|" if " " in word else word for word in command) == expected


def test_what_a_flasher_can_do_is_data() -> None:
    able = flashers.all_flashers()
    assert {name for name, f in able.items() if f.capabilities.debugs} == {flasher for _, flasher, _ in GDB_SERVERS}
    assert {name for name, f in able.items() if f.capabilities.verifies} == {
        "openocd", "jlink", "stlink", "nrfjprog", "esptool"
    }  # fmt: skip
    assert {name: f.capabilities.selects for name, f in able.items() if f.capabilities.selects != "serial number"} == {
        "esptool": "port",
        "uf2": "drive",
    }
