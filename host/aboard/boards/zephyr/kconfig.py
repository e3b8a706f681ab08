"""Reads the core and the memory of a board from the `.config` that Kconfig writes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from aboard.boards import cpu as cpus
from aboard.boards.board import Core, Memory
from aboard.boards.vendors import cores
from aboard.errors import BoardError

_LINE = re.compile(r'^CONFIG_(\w+)=(?:"(.*)"|(.*))$', re.MULTILINE)
_KILO = 1024
_ARM_M = "CPU_CORTEX_M"

Config = Mapping[str, str]


def read(path: Path) -> dict[str, str]:
    """Returns the values of the symbols that are set in a `.config`, by name without `CONFIG_`; `y` for a switch.

    Raises:
        BoardError: The file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BoardError(
            f"{path}: cannot be read, got {error.strerror}, expected Kconfig's result. Run west update"
        ) from error
    return {name: quoted or plain for name, quoted, plain in _LINE.findall(text)}


def core(config: Config, board: str) -> Core:
    """Returns the core that an image for the board is compiled for.

    Args:
        config: What Kconfig has settled.
        board: Zephyr's name of the board, for messages.

    Raises:
        BoardError: aboard has no kernels for the core.
    """
    if "ARCH_POSIX" in config:
        if "64BIT" not in config:
            raise BoardError(
                f"zephyr:{board}: is a 32-bit process, got a board without CONFIG_64BIT, expected one with it. "
                "Say --board zephyr:native_sim/native/64"
            )
        return Core(name="cpu0", mcpu="native")
    name = _riscv(config) if "RISCV" in config else _arm(config)
    if name is None or name.partition("+")[0] not in cpus.names():
        arch = config.get("ARCH", "none")
        raise BoardError(
            f"zephyr:{board}: no kernels for its core, got architecture {arch}{f' ({name})' if name else ''}, expected "
            f"one of: {', '.join(cpus.names())}. Choose another board"
        )
    return Core(name="cpu0", mcpu=name)


def _arm(config: Config) -> str | None:
    """Returns gcc's name of a Cortex-M core, with modifiers for the units that the core lacks."""
    found = next((symbol for symbol in config if re.fullmatch(_ARM_M + r"\d+(PLUS|P)?", symbol)), None)
    if found is None:
        return None
    base = f"cortex-m{found.removeprefix(_ARM_M).lower()}"
    has = {
        "nodsp": "ARMV8_M_DSP" in config,
        "nomve": "ARMV8_1_M_MVEI" in config,
        "nomve.fp": "ARMV8_1_M_MVEF" in config or "ARMV8_1_M_MVEI" not in config,
        "nofp": "CPU_HAS_FPU" in config,
        "nofp.dp": "CPU_HAS_FPU_DOUBLE_PRECISION" in config or "CPU_HAS_FPU" not in config,
    }
    return cores.named(base, has)


def _riscv(config: Config) -> str | None:
    if "RISCV_ISA_RV32I" not in config:
        return None
    letters = "".join(letter for letter in "mafc" if f"RISCV_ISA_EXT_{letter.upper()}" in config)
    full = f"rv32i{letters}"
    # Extensions that the table of cores does not have are left unused.
    known = (name for name in (full, full.replace("f", ""), full.replace("a", ""), "rv32imc", "rv32im"))
    return next((name for name in known if name in cpus.names() and set(name) <= set(full)), full)


def memory(config: Config) -> tuple[Memory, ...]:
    """Returns the memory regions of code and of data; a single region if the image is loaded into RAM.

    Args:
        config: What Kconfig has settled.
    """
    flash = _number(config, "FLASH_LOAD_SIZE") or _number(config, "FLASH_SIZE") * _KILO
    start = _number(config, "FLASH_BASE_ADDRESS") + _number(config, "FLASH_LOAD_OFFSET")
    ram = _number(config, "SRAM_SIZE") * _KILO
    ram_start = _number(config, "SRAM_BASE_ADDRESS")
    if ram == 0:
        return ()
    in_flash = flash > 0 and start != ram_start and "XIP" in config
    regions = [Memory(name="ram", kind="ram", address=ram_start, size_bytes=ram, load=not in_flash, data=True)]
    if in_flash:
        regions.append(Memory(name="flash", kind="flash", address=start, size_bytes=flash, load=True))
    return tuple(sorted(regions, key=lambda region: region.address))


def _number(config: Config, symbol: str) -> int:
    return int(config.get(symbol, "0"), 0)
