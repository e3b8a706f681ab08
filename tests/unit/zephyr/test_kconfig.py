"""Cores and memory from what Kconfig has settled."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.boards.zephyr import kconfig
from aboard.errors import BoardError


def config(*lines: str) -> dict[str, str]:
    return dict(line.split("=") if "=" in line else (line, "y") for line in lines)


def test_a_config_is_read(tmp_path: Path) -> None:
    file = tmp_path / ".config"
    file.write_text('CONFIG_ARM=y\n# CONFIG_FPU is not set\nCONFIG_SOC="stm32f746xx"\nCONFIG_SRAM_SIZE=320\n')
    assert kconfig.read(file) == {"ARM": "y", "SOC": "stm32f746xx", "SRAM_SIZE": "320"}
    with pytest.raises(BoardError, match=r"nothing: cannot be read, got No such file or directory"):
        kconfig.read(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["ARM", "CPU_CORTEX_M", "CPU_CORTEX_M0"], "cortex-m0"),
        (["ARM", "CPU_CORTEX_M0PLUS"], "cortex-m0plus"),
        (["ARM", "CPU_CORTEX_M3"], "cortex-m3"),
        (["ARM", "CPU_CORTEX_M4", "CPU_HAS_FPU"], "cortex-m4"),
        (["ARM", "CPU_CORTEX_M4"], "cortex-m4+nofp"),
        (["ARM", "CPU_CORTEX_M7", "CPU_HAS_FPU"], "cortex-m7+nofp.dp"),
        (["ARM", "CPU_CORTEX_M7", "CPU_HAS_FPU", "CPU_HAS_FPU_DOUBLE_PRECISION"], "cortex-m7"),
        (["ARM", "CPU_CORTEX_M33", "ARMV8_M_DSP", "CPU_HAS_FPU"], "cortex-m33"),
        (["ARM", "CPU_CORTEX_M33"], "cortex-m33+nodsp+nofp"),
        (["ARM", "CPU_CORTEX_M55", "ARMV8_1_M_MVEI", "ARMV8_1_M_MVEF", "CPU_HAS_FPU"], "cortex-m55"),
        (["ARM", "CPU_CORTEX_M55", "ARMV8_1_M_MVEI", "CPU_HAS_FPU"], "cortex-m55+nomve.fp"),
        (["ARM", "CPU_CORTEX_M55", "CPU_HAS_FPU"], "cortex-m55+nomve"),
        (["ARM", "CPU_CORTEX_M85", "ARMV8_1_M_MVEI", "ARMV8_1_M_MVEF", "CPU_HAS_FPU"], "cortex-m85"),
        (["ARM", "CPU_CORTEX_M35P", "ARMV8_M_DSP", "CPU_HAS_FPU"], "cortex-m35p"),
        (["ARM", "CPU_CORTEX_M23"], "cortex-m23"),
        (["RISCV", "RISCV_ISA_RV32I", "RISCV_ISA_EXT_M", "RISCV_ISA_EXT_A", "RISCV_ISA_EXT_C"], "rv32imac"),
        (["RISCV", "RISCV_ISA_RV32I", "RISCV_ISA_EXT_M", "RISCV_ISA_EXT_C"], "rv32imc"),
    ],
)
def test_cores(lines: list[str], expected: str) -> None:
    assert kconfig.core(config(*lines), "b").mcpu == expected


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["ARCH=xtensa"], r"zephyr:b: no kernels for its core, got architecture xtensa, expected one of: .*cortex-m4"),
        (["ARCH=arm", "CPU_CORTEX_M1"], r"got architecture arm \(cortex-m1\), expected one of"),
        (["RISCV", "ARCH=riscv", "64BIT"], r"got architecture riscv, expected"),
        (["ARCH_POSIX"], r"is a 32-bit process, .* Say --board zephyr:native_sim/native/64"),
    ],
)
def test_cores_without_kernels(lines: list[str], message: str) -> None:
    with pytest.raises(BoardError, match=message):
        kconfig.core(config(*lines), "b")


def test_memory_of_code_and_data() -> None:
    flash, ram = kconfig.memory(
        config(
            "XIP", "FLASH_SIZE=1024", "FLASH_BASE_ADDRESS=0x8000000", "SRAM_SIZE=320", "SRAM_BASE_ADDRESS=0x20000000"
        )
    )
    assert (flash.name, flash.address, flash.size_bytes, flash.load, flash.data) == (
        "flash",
        0x8000000,
        1 << 20,
        True,
        False,
    )
    assert (ram.name, ram.address, ram.size_bytes, ram.load, ram.data) == ("ram", 0x20000000, 320 << 10, False, True)


def test_a_partition_is_what_counts() -> None:
    flash, _ = kconfig.memory(
        config(
            "XIP",
            "FLASH_SIZE=1024",
            "FLASH_LOAD_SIZE=0x40000",
            "FLASH_LOAD_OFFSET=0xc000",
            "SRAM_SIZE=1",
            "SRAM_BASE_ADDRESS=0x20000000",
        )
    )
    assert (flash.address, flash.size_bytes) == (0xC000, 0x40000)


def test_an_image_in_ram_has_one_region() -> None:
    (ram,) = kconfig.memory(config("SRAM_SIZE=256", "SRAM_BASE_ADDRESS=0x80000000"))
    assert (ram.load, ram.data, ram.size_bytes) == (True, True, 256 << 10)
    assert kconfig.memory(config("XIP")) == ()
