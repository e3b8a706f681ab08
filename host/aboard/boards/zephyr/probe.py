"""Boards without a board file: reads their description from Zephyr's device tree and Kconfig."""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from aboard.base import programs
from aboard.base.scratch import Scratch
from aboard.boards import cpu as cpus
from aboard.boards.board import Board, Emulators, Qemu
from aboard.boards.zephyr import cmake, explain, kconfig, toolchain, workspace
from aboard.boards.zephyr.cmake import Tools
from aboard.boards.zephyr.workspace import Workspace
from aboard.errors import BoardError, ToolError

_TIMEOUT_S = 300
#: Longest board id: the size of `aboard_server_config_t.board`.
_LONGEST_ID = 40
#: A minimal application.
_APPLICATION = {
    "CMakeLists.txt": (
        "cmake_minimum_required(VERSION 3.20.0)\nfind_package(Zephyr REQUIRED HINTS $ENV{ZEPHYR_BASE})\n"
        "project(probe LANGUAGES C)\ntarget_sources(app PRIVATE main.c)\n"
    ),
    "prj.conf": "",
    "main.c": "int main(void) {\n    return 0;\n}\n",
}
_GUESS = "cortex-m3"
_SOC_NAME = re.compile(r"^\s*-?\s*name:\s*([\w.-]+)\s*$", re.MULTILINE)
#: Options of QEMU in Zephyr's command that the runner sets by itself.
_OWN_OPTIONS = {
    "-chardev": 1,
    "-serial": 1,
    "-mon": 1,
    "-monitor": 1,
    "-icount": 1,
    "-rtc": 1,
    "-pidfile": 1,
    "-kernel": 1,
    "-vga": 1,
    "-net": 1,
    "-display": 1,
    "-nographic": 0,
    "-s": 0,
}
_PROGRAMS = ("qemu-system-arm", "qemu-system-riscv32")


def board(name: str) -> Board:
    """Returns a board by its name in Zephyr.

    Args:
        name: Name as in `west boards` and in Zephyr's documentation: `nucleo_wb55rg`, `mps2/an385`.

    Raises:
        BoardError: Zephyr has no such board, or aboard has no kernels for its core.
        ToolError: There is no workspace, or a module or tool is missing.
    """
    if len(f"zephyr:{name}") > _LONGEST_ID:
        length = len(name) + len("zephyr:")
        raise BoardError(
            f"zephyr:{name}: the name is too long, got {length} characters, expected at most {_LONGEST_ID}, "
            "which the device tells. Write a board file: docs/how-to/adding_a_board.md"
        )
    tree = workspace.find(Path.cwd())
    return _probed(name, tree.base)


@functools.lru_cache(maxsize=32)
def _probed(name: str, base: Path) -> Board:
    tree = workspace.find(Path.cwd(), {**os.environ, workspace.BASE: str(base)})
    tools = Tools(
        programs.cmake(),
        programs.require("ninja", "Install it: pip install ninja, or apt install ninja-build"),
    )
    with Scratch() as folder:
        build = folder / "build"
        for file, text in _APPLICATION.items():
            (folder / file).write_text(text, encoding="utf-8")
        output = _configure(tools, tree, folder, build, name)
        config = build / "zephyr" / ".config"
        if not config.is_file():
            raise _failure(output, name, tree)
        settled = kconfig.read(config)
        return _board(name, tree, settled, _qemu(tools, build))


def _configure(tools: Tools, tree: Workspace, folder: Path, build: Path, name: str) -> str:
    """Configures the application. Steps after Kconfig may fail: the compiler may be for another architecture."""
    chosen = _toolchain()
    command = cmake.configure(tools, tree, folder, build, name, chosen)
    return _run(command, folder, tree)[1]


def _toolchain() -> dict[str, str]:
    try:
        return toolchain.variables(cpus.find(_GUESS), None)
    except ToolError:
        return {}  # a board of this machine needs no toolchain; for any other board, Zephyr reports the missing one


def _run(command: Sequence[str], folder: Path, tree: Workspace) -> tuple[int, str]:
    try:
        return programs.run_tethered(command, folder, cmake.environment(tree, os.environ), _TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(
            f"{command[0]}: cannot be run or did not end, got {error}. Run it by hand to see why"
        ) from error


def _failure(output: str, name: str, tree: Workspace) -> BoardError | ToolError:
    known = explain.explain(output, name, (), tree.modules)
    where = f"{tree.base} ({tree.found_by})"
    if known is None:
        last = next((line for line in reversed(output.splitlines()) if line.strip()), "no output")
        return ToolError(
            f"zephyr in {where}: cannot be configured for board {name}, got {last.strip()}. See why with "
            f"`west build -b {name} samples/hello_world`"
        )
    if known.startswith(explain.NO_BOARD):
        return BoardError(f"zephyr in {where}: {known}")
    return ToolError(f"zephyr in {where}: {known}")


def _board(name: str, tree: Workspace, config: kconfig.Config, qemu: Qemu | None) -> Board:
    core = kconfig.core(config, name)
    on_host = cpus.find(core.mcpu).is_host_class
    source = f"Zephyr {tree.release}: device tree and Kconfig of {name}"
    try:
        return Board(
            id=f"zephyr:{name}",
            name=f"{name} of Zephyr ({core.mcpu})",
            soc=_soc(tree.base, config.get("SOC", "") or "native"),
            source=source,
            soc_source=source,
            zephyr=name,
            cores=(core,),
            memory=() if on_host else kconfig.memory(config),
            emulator=Emulators(qemu=qemu),
        )
    except ValidationError as error:
        first = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise BoardError(f"zephyr:{name}: {first}. Write a board file: docs/how-to/adding_a_board.md") from error


def _soc(base: Path, soc: str) -> str:
    """Returns `vendor/soc`; the vendor is the name of the folder in Zephyr that contains the SoC."""
    name = soc.lower()
    for path in sorted((base / "soc").glob("**/soc.yml")):
        if soc in _SOC_NAME.findall(path.read_text(encoding="utf-8")):
            return f"{path.relative_to(base / 'soc').parts[0]}/{name}"
    return f"zephyr/{name}"


def _qemu(tools: Tools, build: Path) -> Qemu | None:
    """Returns the QEMU settings with which Zephyr runs the board; None if Zephyr does not run it in QEMU."""
    if not (build / "build.ninja").is_file():
        return None
    command = [str(tools.ninja), "-C", str(build), "-t", "commands", "run_qemu"]
    code, output = programs.run(command, build, dict(os.environ), _TIMEOUT_S)
    lines = [line for line in output.splitlines() if "qemu-system" in line]
    return qemu(lines[-1]) if code == 0 and lines else None


def qemu(command: str) -> Qemu | None:
    """Returns QEMU settings for a board, from the command by which Zephyr runs QEMU.

    In that command, the serial line is multiplexed with a monitor, which loses bytes. The settings therefore leave out
    the line, the clock and the screen, and a runner adds its own.

    Args:
        command: Shell command, as `ninja -t commands run_qemu` prints it.
    """
    words = shlex.split(command)
    at = next((i for i, word in enumerate(words) if Path(word).name in _PROGRAMS), None)
    if at is None:
        return None
    options: dict[str, str] = {}
    kept: list[str] = []
    rest = iter(words[at + 1 :])
    for word in rest:
        skipped = _OWN_OPTIONS.get(word)
        if skipped is not None:
            for _ in range(skipped):
                next(rest, None)
        elif word in ("-machine", "-M", "-cpu"):
            options["cpu" if word == "-cpu" else "machine"] = next(rest, "")
        else:
            kept.append(word)
    if not options.get("machine"):
        return None
    program: str = Path(words[at]).name
    return Qemu.model_validate(
        {"program": program, "machine": options["machine"], "cpu": options.get("cpu"), "arguments": tuple(kept)}
    )
