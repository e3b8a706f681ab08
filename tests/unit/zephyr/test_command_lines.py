"""The commands that build with Zephyr, as tables."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from aboard.boards import cpu
from aboard.boards.board import Qemu
from aboard.boards.zephyr import cmake, probe, toolchain
from aboard.boards.zephyr.workspace import Workspace
from aboard.errors import BoardError, ToolError

TOOLS = cmake.Tools(Path("/t/cmake"), Path("/t/ninja"))
MODULES = {"cmsis": Path("/ws/cmsis"), "hal_nordic": Path("/ws/nordic")}


def workspace(*, given: bool) -> Workspace:
    return Workspace(Path("/ws/zephyr"), (3, 7, 1), None, "ZEPHYR_BASE", MODULES, given=given)


@pytest.mark.parametrize(
    ("given", "further"), [(False, []), (True, ["-DZEPHYR_MODULES=/ws/cmsis;/ws/nordic"])], ids=["west", "no west"]
)
def test_configuring(given: bool, further: list[str]) -> None:
    chosen = {"ZEPHYR_TOOLCHAIN_VARIANT": "gnuarmemb"}
    command = cmake.configure(TOOLS, workspace(given=given), Path(), Path("build"), "nrf52840dk/nrf52840", chosen)
    assert command == [
        "/t/cmake",
        *("-S", ".", "-B", "build", "-G", "Ninja"),
        "-DBOARD=nrf52840dk/nrf52840",
        "-DCMAKE_MAKE_PROGRAM=/t/ninja",
        f"-DPython3_EXECUTABLE={sys.executable}",
        "-DZEPHYR_TOOLCHAIN_VARIANT=gnuarmemb",
        *further,
    ]


def test_building() -> None:
    assert cmake.build(TOOLS, Path("build")) == ["/t/cmake", "--build", "build"]
    assert cmake.build(TOOLS, Path("build"), "ram_report", "rom_report") == [
        *("/t/cmake", "--build", "build"),
        *("--target", "ram_report", "--target", "rom_report"),
    ]


def test_the_environment_is_the_users_without_flags() -> None:
    found = cmake.environment(workspace(given=True), {"PATH": "/bin", "CFLAGS": "-O0", "HOME": "/h"})
    assert found == {"PATH": f"{Path(sys.executable).parent}:/bin", "HOME": "/h", "ZEPHYR_BASE": "/ws/zephyr"}


@pytest.fixture
def compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with two GNU compilers and nothing else."""
    folder = tmp_path / "gnu" / "bin"
    folder.mkdir(parents=True)
    for name in ("arm-none-eabi-gcc", "riscv64-unknown-elf-gcc"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_toolchains(compilers: Path, tmp_path: Path) -> None:
    gnu = compilers.parent
    sdk = tmp_path / "home" / "zephyr-sdk-0.16.8"
    sdk.mkdir(parents=True)
    nobody = {"HOME": "/nobody"}
    arm = {"ZEPHYR_TOOLCHAIN_VARIANT": "gnuarmemb", "GNUARMEMB_TOOLCHAIN_PATH": str(gnu)}
    riscv = {"ZEPHYR_TOOLCHAIN_VARIANT": "cross-compile", "CROSS_COMPILE": f"{compilers}/riscv64-unknown-elf-"}
    table = [
        ("cortex-m4", None, nobody, arm),
        ("cortex-m4", None, {**nobody, "ZEPHYR_TOOLCHAIN_VARIANT": "llvm"}, {}),
        ("cortex-m4", None, {"HOME": str(sdk.parent)}, {}),
        ("cortex-m4", None, {**nobody, "ZEPHYR_SDK_INSTALL_DIR": "/opt/mine"}, {}),
        ("cortex-m4", "zephyr-sdk", nobody, {"ZEPHYR_TOOLCHAIN_VARIANT": "zephyr"}),
        ("cortex-m4", "arm-none-eabi-gcc", {"HOME": str(sdk.parent)}, arm),
        ("cortex-m4", f"{compilers}/arm-none-eabi-gcc", nobody, arm),
        ("rv32imac", None, nobody, riscv),
        ("native", None, {**nobody, "ZEPHYR_TOOLCHAIN_VARIANT": "zephyr"}, {"ZEPHYR_TOOLCHAIN_VARIANT": "host"}),
    ]
    for core, override, environment, expected in table:
        assert toolchain.variables(cpu.find(core), override, environment) == expected, (core, override)


@pytest.mark.parametrize(
    ("core", "override", "message"),
    [
        (
            "cortex-m4",
            "zig",
            r"does not build Zephyr for cortex-m4, got zig, expected zephyr-sdk or the name or path of arm",
        ),
        ("cortex-m4", "/no/arm-none-eabi-gcc", r"not found, got /no/arm-none-eabi-gcc, .* Install the Zephyr SDK"),
        ("native", "clang", r"got clang, expected none: Zephyr takes this machine's gcc"),
    ],
)
def test_wrong_toolchains(core: str, override: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        toolchain.variables(cpu.find(core), override, {})


def test_no_toolchain_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ToolError, match=r"zephyr: no compiler for cortex-m4, got neither the Zephyr SDK nor arm-none-eabi-gcc"
    ):
        toolchain.variables(cpu.find("cortex-m4"), None, {"HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            (
                "cd /b && /usr/bin/qemu-system-arm -cpu cortex-m3 -machine mps2-an385 -nographic -vga none -net none "
                "-pidfile qemu.pid -chardev stdio,id=con,mux=on -serial chardev:con -mon chardev=con,mode=readline "
                "-icount shift=7,align=off,sleep=off -rtc clock=vm -kernel /b/zephyr/zephyr.elf"
            ),
            Qemu(program="qemu-system-arm", machine="mps2-an385", cpu="cortex-m3"),
        ),
        (
            (
                "/sdk/bin/qemu-system-riscv32 -nographic -machine virt -bios none -m 256 -net none -pidfile qemu.pid "
                "-chardev stdio,id=con,mux=on -serial chardev:con -mon chardev=con,mode=readline -kernel z.elf"
            ),
            Qemu(program="qemu-system-riscv32", machine="virt", arguments=("-bios", "none", "-m", "256")),
        ),
        ("/usr/bin/qemu-system-xtensa -machine sim -kernel z.elf", None),
        ("/usr/bin/qemu-system-arm -nographic -kernel z.elf", None),
        ("true", None),
    ],
)
def test_how_zephyr_runs_qemu(command: str, expected: Qemu | None) -> None:
    assert probe.qemu(command) == expected


def test_a_name_that_no_device_can_tell_is_refused() -> None:
    with pytest.raises(BoardError, match=r"zephyr:b{34}: the name is too long, got 41 characters, expected at most 40"):
        probe.board("b" * 34)
