"""Builds a project's image in a Zephyr workspace, and reads the sizes of the image."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aboard.base import programs
from aboard.boards import cpu as cpus
from aboard.boards.zephyr import cmake as command_lines
from aboard.boards.zephyr import explain, modules, reports, workspace
from aboard.boards.zephyr import toolchain as zephyr_toolchain
from aboard.boards.zephyr.cmake import Tools
from aboard.boards.zephyr.workspace import Workspace
from aboard.errors import CapacityError, ToolError
from aboard.project import elf
from aboard.project import toolchain as toolchains
from aboard.project.build_result import LOG_NAME, BuildResult, make_anew
from aboard.project.elf import ImageSizes
from aboard.project.project import Project
from aboard.project.toolchain import Compiler, Toolchain

_STAMP = "aboard_zephyr.txt"
_TIMEOUT_S = 1800
_COMPILER = re.compile(r"^CMAKE_C_COMPILER:\w+=(.+)$", re.MULTILINE)
_ERROR = re.compile(r"^.*(?:\berror: |undefined reference to |CMake Error).*$", re.MULTILINE)
_OVERFLOW = re.compile(r"region [`'](?P<region>\w+)'[: ]+overflowed by (?P<bytes>\d+) bytes")


def build(project: Project, override: str | None = None) -> BuildResult:
    """Builds a project. Files that are up to date are not built again.

    Args:
        project: A project of the template `zephyr`.
        override: `zephyr-sdk`, or the name or path of a GNU compiler; None for the default toolchain.

    Raises:
        ToolError: The workspace, a module or a tool is missing, or the compiler found an error.
        CapacityError: The image is larger than the board's memory.
    """
    tree = workspace.find(project.path)
    tools = Tools(
        programs.cmake(),
        programs.require("ninja", "Install it: pip install ninja, or apt install ninja-build"),
    )
    chosen = zephyr_toolchain.variables(cpus.find(project.board.core().mcpu), override)
    folder = project.path / "build"
    configure = command_lines.configure(tools, tree, Path(), Path("build"), str(project.board.zephyr), chosen)
    if _prepare(folder, tree, configure):
        _run(configure, project, tree)
        (folder / _STAMP).write_text(_stamp(tree, configure), encoding="utf-8")
    _run(command_lines.build(tools, Path("build")), project, tree)
    if not project.board.is_host:
        _report(tools, project, tree)
    return _result(project, _toolchain(project, override))


def _result(project: Project, used: Toolchain) -> BuildResult:
    folder = project.path / "build"
    log = folder / LOG_NAME
    on_host = project.board.is_host
    return BuildResult(
        image=project.image,
        sizes=sizes(project),
        toolchain=used,
        log=log,
        regions=() if on_host else reports.regions(_log(folder)),
        modules=() if on_host else reports.modules(folder, project.path),
    )


def sizes(project: Project) -> ImageSizes:
    """Returns the sizes of a project's image, from the linker's regions and from Zephyr's reports if they exist.

    Raises:
        ToolError: The project has not been built.
    """
    folder = project.path / "build"
    found = elf.sizes(project.image, {name: _library(folder, name) for name in project.info.models})
    if project.board.is_host:
        return replace(found, stack_reserved=0)
    found = replace(found, stack_reserved=int(project.info.options.get("stack_bytes", 0)))
    if not all((folder / report).is_file() for report in reports.TARGETS.values()):
        return found
    used = {region.name: region.used_bytes for region in reports.regions(_log(folder))}
    linked = {part.name: part.flash_bytes for part in reports.modules(folder, project.path)}
    models = {name: linked.get(f"model {name}", 0) for name in project.info.models}
    return replace(
        found,
        image_flash_bytes=used.get("FLASH", found.image_flash_bytes),
        image_ram_bytes=used.get("RAM", found.image_ram_bytes),
        includes_stack="RAM" in used,
        models=models,
        model_flash_bytes=sum(models.values()),
    )


def _log(folder: Path) -> str:
    log = folder / LOG_NAME
    return log.read_text(encoding="utf-8") if log.is_file() else ""


def _library(folder: Path, name: str) -> Path:
    return folder / "modules" / f"model_{name}" / "library" / f"libmodel_{name}.a"


def _prepare(folder: Path, tree: Workspace, configure: Sequence[str]) -> bool:
    """Makes the build folder and returns True if CMake must configure it. A changed choice empties the folder."""
    stamp, cache = folder / _STAMP, folder / "CMakeCache.txt"
    same = stamp.is_file() and stamp.read_text(encoding="utf-8") == _stamp(tree, configure)
    # CMake stores absolute paths, so a folder that was moved is configured again.
    here = f"CMAKE_CACHEFILE_DIR:INTERNAL={folder}\n"
    if same and cache.is_file() and here in cache.read_text(encoding="utf-8"):
        return False
    make_anew(folder)
    return True


def _stamp(tree: Workspace, configure: Sequence[str]) -> str:
    return f"{tree.base} {tree.release}\n{' '.join(configure)}\n"


def _report(tools: Tools, project: Project, tree: Workspace) -> None:
    """Makes the reports of the image, unless they are newer than the image."""
    built = project.image.stat().st_mtime_ns
    files = [project.path / "build" / name for name in reports.TARGETS.values()]
    if any(not file.is_file() or file.stat().st_mtime_ns < built for file in files):
        _run(command_lines.build(tools, Path("build"), *reports.TARGETS), project, tree)


def _run(command: Sequence[str], project: Project, tree: Workspace) -> None:
    try:
        code, output = programs.run_tethered(
            command, project.path, command_lines.environment(tree, os.environ), _TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(
            f"{command[0]}: cannot be run or did not end, got {error}. Run it by hand to see why"
        ) from error
    log = project.path / "build" / LOG_NAME
    with log.open("a", encoding="utf-8") as stream:
        stream.write(f"$ {' '.join(command)}\n{output}\n")
    if code != 0:
        raise _failure(output, project, tree, log)


def _failure(output: str, project: Project, tree: Workspace, log: Path) -> ToolError | CapacityError:
    over = {match["region"]: int(match["bytes"]) for match in _OVERFLOW.finditer(output)}
    if over:
        parts = "; ".join(f"{region}: got {excess} bytes too many, expected none" for region, excess in over.items())
        return CapacityError(
            f"{project.board.id}: the image does not fit. {parts}. Try the template's options profile=off and "
            f"input_copy=off, --opt size, a smaller model or a larger board; the whole log: {log}"
        )
    board = str(project.board.zephyr)
    known = explain.explain(output, board, modules.needed(project.board), tree.modules)
    if known is not None:
        return ToolError(f"zephyr in {tree.base} ({tree.found_by}), log in {log}: {known}")
    found = _ERROR.search(output)
    lines = output.strip().splitlines()
    what = found.group().strip() if found else (lines[-1] if lines else "no output")
    return ToolError(f"{project.path}: the build failed, got {what}. Read the whole log: {log}")


def _toolchain(project: Project, override: str | None) -> Toolchain:
    """Returns the compiler that Zephyr chose."""
    cache = project.path / "build" / "CMakeCache.txt"
    found = _COMPILER.search(cache.read_text(encoding="utf-8"))
    if found is None:
        raise ToolError(f"{cache}: names no compiler, expected CMAKE_C_COMPILER. Remove the folder and build again")
    path = Path(found.group(1))
    core = cpus.find(project.board.core().mcpu)
    known = {compiler.name: compiler for compiler in toolchains.COMPILERS}
    compiler = known.get(path.name) or Compiler(
        path.name, "gcc", f"compiles for {core.name}", lambda cpu: cpu == core, "install the Zephyr SDK"
    )
    reason = "named by the caller" if override else "Zephyr's choice"
    return Toolchain(compiler, path, programs.version(path), core, reason)
