"""Writes docs/reference/board_checks.md from recorded facts; reads no Zephyr tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aboard.boards import registry
from aboard.boards.board import Board
from bench.markdown import table
from boards import facts
from boards.facts import Difference

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "board_checks.md"

_INTRODUCTION = """# Board files, checked

The memory map, core, clock, serial port and flash settings of each board file are compared with the description of the
board in Zephyr {release}: the device tree, Kconfig and `board.cmake` ([commit `{commit}`]({source})). This page and the
record `tests/boards/zephyr.json` are written by one command, never by hand:

```sh
make boards-check ZEPHYR=/path/to/zephyr
```

CI compares the board files with the record. A difference without a reason in `tests/boards/reasons.toml` fails, and so
does a reason without a difference. {count} of {all} boards are in the tree.

"""


_PORTS = """
## Bare-metal ports

How each port was tried. No port of this table was tried on a board: each boots and runs a model in an emulator, by
`tests/emulator/test_ports.py` (`make test-full` runs all of them). QEMU has a model of the machine; Unicorn has
aboard's models of the boot ROM, the serial port, the counter, the interrupt controller and the registers of the
set-up; Renode has its own or a generated platform.

- Runs in: the emulators in which the port runs.
- Clocks: `computed` by `tests/emulator/test_board_setup.py` from the registers that the image leaves, as the reference
  manual says, and compared with the SoC file and the baud rate. `fixed`: the port sets no clock.
- Serial port in Zephyr: `address` where address and interrupt equal those of the device tree, `pins` where
  `tests/unit/boards/test_pins.py` compares the pins. `none`: Zephyr 3.7 does not have the port.
- Boot block: what precedes the vectors for the boot ROM. Unicorn's boot ROM checks it.

ESP32-C3 and ESP32-C6 run in flash by direct boot, without Espressif's second boot loader, at the 40 MHz of the
crystal. They were compiled with Debian's riscv64-unknown-elf-gcc, and with zig.

"""

#: SoCs whose pins `tests/unit/boards/test_pins.py` compares.
_PINS = ("st/", "nordic/nrf5", "espressif/", "nxp/", "raspberrypi/")


def _ports(stated: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yields the row of each core with a bare-metal port."""
    for target in targets():
        board = registry.load(target)
        if board.rpc is None or board.is_host or board.uart is None:
            continue
        console = stated.get(target, {}).get("console")
        compared = "none" if console is None or console["address"] != board.uart.address else "address"
        if compared == "address" and board.soc.startswith(_PINS):
            compared = "address, pins"
        clocks = "computed" if target.removesuffix(":cpu0").removesuffix(":hp") in COMPUTED else "fixed"
        if clocks == "fixed" and board.setup and not board.soc.startswith("nordic/"):
            clocks = "set, not computed"
        boot = f"`{board.boot.driver}`" if board.boot else "none"
        core = board.core().mcpu
        yield f"`{target}`", core, f"`{board.uart.driver}`", ", ".join(board.emulators), clocks, compared, boot


#: Ports whose clock tree `tests/emulator/test_board_setup.py` computes; that test holds the list to its own.
COMPUTED = (
    "espressif/esp32c3_devkitm",
    "espressif/esp32c6_devkitc",
    "nxp/mimxrt1060_evk",
    "raspberrypi/rpi_pico",
    "raspberrypi/rpi_pico2",
    "raspberrypi/rpi_pico2:hazard3",
    "st/nucleo_f411re",
    "st/nucleo_f446re",
    "st/nucleo_f746zg",
    "st/nucleo_g431kb",
    "st/nucleo_h743zi",
    "st/nucleo_l4r5zi",
    "st/nucleo_u575zi_q",
    "st/nucleo_wb55rg",
    "st/stm32f4_disco",
    "weact/blackpill_f411ce",
)


def recorded() -> dict[str, Any]:
    """Returns the content of the record."""
    loaded: dict[str, Any] = json.loads(facts.RECORD.read_text(encoding="utf-8"))
    return loaded


def targets() -> list[str]:
    """Returns every core of every board, as a target."""
    boards = [registry.load(name) for name in registry.names()]
    return [name for board in boards for name in _cores(board)]


def _cores(board: Board) -> list[str]:
    return [board.id] if len(board.cores) == 1 else [f"{board.id}:{core.name}" for core in board.cores]


def differences() -> Iterator[Difference]:
    """Yields the differences of all boards in the record."""
    for target, stated in recorded()["boards"].items():
        yield from facts.differences(registry.load(target), stated)


def unexplained() -> list[Difference]:
    """Returns the differences without a reason."""
    known = facts.reasons()
    return [found for found in differences() if (found.target, found.key) not in known]


def written() -> str:
    """Returns the text of the page."""
    record = recorded()
    stated = record["boards"]
    reasons = facts.reasons()
    different = list(differences())
    known = {target.partition(":")[0] for target in stated}
    introduction = _INTRODUCTION.format(
        release=record["release"],
        commit=record["commit"][:12],
        source=record["source"],
        count=len(known),
        all=len(registry.names()),
    )
    rows = [_row(target, stated.get(target), different) for target in targets()]
    checked = table(("board", "Zephyr's file", "core", "flash", "RAM", "result"), rows, left=6)
    why = [(f"`{d.target}`", d.key, d.ours, d.zephyr, reasons.get((d.target, d.key), "none")) for d in different]
    parts = [
        introduction,
        checked,
        "\n## Differences that stay\n\n",
        table(("board", "fact", "board file", "Zephyr", "reason"), why, left=5),
        _PORTS,
        table(
            ("port", "core", "serial driver", "runs in", "clocks", "serial port in Zephyr", "boot block"),
            list(_ports(stated)),
            left=7,
        ),
    ]
    return "".join(parts)


def _row(target: str, stated: Any, different: list[Difference]) -> tuple[str, ...]:
    if stated is None:
        return (f"`{target}`", "none", "", "", "", _absence(target))
    count = sum(found.target == target for found in different)
    memory = [_size(stated["memory"].get(stated[role])) for role in ("flash", "ram")]
    file = f"`{Path(stated['file']).name}`"
    core = stated["core"] or "none"
    result = "equal" if count == 0 else f"{count} difference{'s' if count > 1 else ''}"
    return (f"`{target}`", file, core, *memory, result)


def _absence(target: str) -> str:
    board = registry.load(target)
    if board.is_host:
        return "a machine of host class"
    if board.zephyr is None:
        return "not a board of Zephyr"
    if board.zephyr_since == "none":
        return "Zephyr has it, in no release that aboard knows"
    return f"Zephyr has it from release {board.zephyr_since} on"


def _size(region: Any) -> str:
    return "none" if region is None else f"{region[2] // 1024} KiB"
