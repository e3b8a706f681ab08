"""Command lines that build with Zephyr, and their environment variables. The functions are pure: they run nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aboard.boards.zephyr.workspace import BASE, MODULES, Workspace

#: Environment variables of the user that would change the build of generated code.
_NOT_OURS = ("CFLAGS", "CC", "LDFLAGS", "CPPFLAGS", "CXXFLAGS")


@dataclass(frozen=True)
class Tools:
    """Paths of the build programs.

    Attributes:
        cmake: CMake.
        ninja: Ninja.
    """

    cmake: Path
    ninja: Path


def configure(
    tools: Tools, workspace: Workspace, source: Path, binary: Path, board: str, toolchain: Mapping[str, str]
) -> list[str]:
    """Returns the command that configures an application.

    Args:
        tools: The programs.
        workspace: The Zephyr tree.
        source: Folder of the application.
        binary: Build folder.
        board: Zephyr's name of the board.
        toolchain: CMake variables that choose the compiler.
    """
    defined = {
        "BOARD": board,
        "CMAKE_MAKE_PROGRAM": tools.ninja.as_posix(),
        # Zephyr's scripts need PyYAML, pyelftools, west and others; this Python has these packages.
        "Python3_EXECUTABLE": Path(sys.executable).as_posix(),
        **toolchain,
    }
    if workspace.given and workspace.modules:
        defined[MODULES] = ";".join(folder.as_posix() for folder in workspace.modules.values())
    arguments = [f"-D{name}={value}" for name, value in defined.items()]
    return [str(tools.cmake), "-S", str(source), "-B", str(binary), "-G", "Ninja", *arguments]


def build(tools: Tools, binary: Path, *targets: str) -> list[str]:
    """Returns the command that builds the image, or the given targets."""
    chosen = [word for target in targets for word in ("--target", target)]
    return [str(tools.cmake), "--build", str(binary), *chosen]


def environment(workspace: Workspace, inherited: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment variables for the commands.

    Args:
        workspace: The Zephyr tree.
        inherited: Variables of this process.
    """
    kept = {name: value for name, value in inherited.items() if name not in _NOT_OURS}
    # Zephyr's scripts call `west` and each other by name, so this Python's folder is on PATH.
    path = f"{Path(sys.executable).parent}:{inherited.get('PATH', '')}"
    return {**kept, BASE: str(workspace.base), "PATH": path}
