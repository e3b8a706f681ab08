"""Builds a project's image with CMake and Ninja."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from aboard.base import programs
from aboard.boards import cpu as cpus
from aboard.boards.board import Board
from aboard.boards.zephyr import toolchain as zephyr_toolchain
from aboard.errors import CapacityError, ProjectError, ToolError
from aboard.project import elf, templates
from aboard.project import toolchain as toolchains
from aboard.project.build_result import LOG_NAME, BuildResult, make_anew
from aboard.project.elf import ImageSizes
from aboard.project.project import Project
from aboard.project.toolchain import Toolchain

_STAMP = "aboard_toolchain.txt"
_TIMEOUT_S = 900
#: To learn the sizes of types and the libraries of a compiler, which no project needs, CMake compiles a program: 0.15 s
#: a project.
_NOT_ASKED = {"CMAKE_C_ABI_COMPILED": "1", "CMAKE_C_COMPILER_WORKS": "1"}
_ERROR = re.compile(r"^.*(?:\berror: |undefined reference to |CMake Error).*$", re.MULTILINE)
# GNU ld names the region; lld names the section and the region.
_OVERFLOW = re.compile(r"region [`'](?P<region>\w+)'[: ]+overflowed by (?P<bytes>\d+) bytes")


def build(project: Project, override: str | None = None) -> BuildResult:
    """Builds a project. Files that are up to date are not built again.

    Args:
        project: The project.
        override: Name of a toolchain, or path of a compiler; None for the default toolchain.

    Raises:
        ToolError: A tool is missing, or the compiler found an error.
        CapacityError: The image is larger than the board's memory.
        ProjectError: aboard does not build projects of this template; another program does.
    """
    template = templates.load(project.info.template)
    if template.build == "none":
        raise ProjectError(
            f"{project.path}: is not built by aboard, got a project of the template {template.name}, expected one that "
            f"CMake builds. {template.next}"
        )
    if template.build == "zephyr":
        # Packages that only Zephyr's workspaces need are loaded for them alone.
        from aboard.project import zephyr_build

        return zephyr_build.build(project, override)
    toolchain = toolchains.choose(project.board.core().mcpu, override)
    folder = project.path / "build"
    log = folder / LOG_NAME
    cmake = programs.cmake()
    ninja = programs.require("ninja", "Install it: pip install ninja, or apt install ninja-build")
    if _prepare(folder, toolchain):
        variables = {**toolchain.cmake_variables(), **_NOT_ASKED, "CMAKE_MAKE_PROGRAM": str(ninja)}
        defined = [f"-D{name}={value}" for name, value in variables.items()]
        _run([str(cmake), "-S", ".", "-B", "build", "-G", "Ninja", *defined], project, log)
        (folder / _STAMP).write_text(_stamp(toolchain), encoding="utf-8")
    _run([str(cmake), "--build", "build"], project, log)
    return BuildResult(project.image, sizes(project), toolchain, log)


def check(board: Board, template: str | None, override: str | None) -> None:
    """Checks that a toolchain exists, before a model is compiled.

    Args:
        board: The board.
        template: Name of the project's template; None for the default template of the board.
        override: Name of a toolchain, or path of a compiler.

    Raises:
        ToolError: No toolchain was found.
    """
    chosen = templates.load(template or templates.default(board.id, is_host=board.is_host))
    if chosen.build == "zephyr":
        zephyr_toolchain.variables(cpus.find(board.core().mcpu), override)
    else:
        toolchains.choose(board.core().mcpu, override)


def sizes(project: Project) -> ImageSizes:
    """Returns the sizes of a project's image.

    Raises:
        ToolError: The project has not been built.
    """
    if templates.load(project.info.template).build == "zephyr":
        from aboard.project import zephyr_build

        return zephyr_build.sizes(project)
    libraries = {name: f"build/models/{name}/libmodel_{name}.a" for name in project.info.models}
    return elf.sizes(project.image, {name: project.path / path for name, path in libraries.items()})


def _stamp(toolchain: Toolchain) -> str:
    return f"{toolchain.path} {toolchain.version}\n"


def _prepare(folder: Path, toolchain: Toolchain) -> bool:
    """Makes the build folder and returns True if CMake must configure it. A new compiler empties the folder."""
    stamp = folder / _STAMP
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == _stamp(toolchain):
        # CMake stores absolute paths, so a folder that was moved is configured again.
        cache = folder / "CMakeCache.txt"
        if cache.is_file() and f"CMAKE_CACHEFILE_DIR:INTERNAL={folder}\n" in cache.read_text(encoding="utf-8"):
            return False
    make_anew(folder)
    return True


def _run(command: list[str], project: Project, log: Path) -> None:
    # Flags in the user's environment would change the build of generated code.
    environment = {
        key: value for key, value in os.environ.items() if key not in ("CFLAGS", "CC", "LDFLAGS", "CPPFLAGS")
    }
    try:
        code, output = programs.run_tethered(command, project.path, environment, _TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(
            f"{command[0]}: cannot be run or did not end, got {error}. Run it by hand to see why"
        ) from error
    with log.open("a", encoding="utf-8") as stream:
        stream.write(f"$ {' '.join(command)}\n{output}\n")
    if code != 0:
        raise _failure(output, project, log)


def _failure(output: str, project: Project, log: Path) -> ToolError | CapacityError:
    overflows = {match["region"]: int(match["bytes"]) for match in _OVERFLOW.finditer(output)}
    if overflows:
        regions = {region.name: region for region in project.board.memory}
        parts = [
            f"{'flash' if regions[name].load else 'ram'}: got {regions[name].size_bytes} bytes in {name}, expected at "
            f"least {regions[name].size_bytes + excess}"
            for name, excess in overflows.items()
            if name in regions
        ]
        return CapacityError(
            f"{project.board.id}: the image does not fit. {'; '.join(parts)}. Try the template's options profile=off "
            f"and input_copy=off, --opt size, a smaller model or a larger board; the whole log: {log}"
        )
    found = _ERROR.search(output)
    lines = output.strip().splitlines()
    what = found.group().strip() if found else (lines[-1] if lines else "no output")
    return ToolError(f"{project.path}: the build failed, got {what}. Read the whole log: {log}")
