"""Lists the tools that aboard uses and whether they are installed, as data for `aboard doctor`.

A tool is needed if a model cannot run on an emulated board without it: model readers, build tools, a cross compiler and
an emulator. All other tools are optional: they serve some boards only.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from aboard import flashers
from aboard.base import programs
from aboard.boards import cpu as cpus
from aboard.boards.zephyr import workspace
from aboard.errors import ToolError
from aboard.project import toolchain
from aboard.target import kind, kinds, plugins

Kind = Literal["toolchain", "build", "emulator", "probe", "device", "package"]
#: `needed`; `one` (one tool of this kind is needed); `optional`.
Need = Literal["needed", "one", "optional"]


@dataclass(frozen=True)
class Check:
    """A tool and whether it is installed.

    Attributes:
        name: Command, or name of the Python package.
        kind: `toolchain`, `build`, `emulator`, `probe` (flashes boards), `device` (a plug-in, or a tool that a plug-in
            needs) or `package` (of Python).
        purpose: What aboard uses it for.
        found: True when the tool is installed and runs.
        version: The version that the tool prints; None if the tool is missing, or prints none without a board.
        path: Path of the program.
        how_to_get: How to install or repair the tool.
        problem: Why an installed tool does not run.
        need: `needed`, `one` (one tool of this kind is needed) or `optional`.
    """

    name: str
    kind: Kind
    purpose: str
    found: bool
    version: str | None
    path: str | None
    how_to_get: str
    problem: str | None = None
    need: Need = "optional"


@dataclass(frozen=True)
class _Tool:
    """A program; `version_arguments` is None if it prints no version without a board or a licence."""

    name: str
    kind: Kind
    purpose: str
    how_to_get: str
    version_arguments: tuple[str, ...] | None = ("--version",)
    need: Need = "optional"


_TOOLS: tuple[_Tool, ...] = (
    _Tool("cmake", "build", "configures projects", "pip install cmake, or apt install cmake", need="needed"),
    _Tool("ninja", "build", "builds projects", "pip install ninja, or apt install ninja-build", need="needed"),
    _Tool("qemu-system-arm", "emulator", "emulates Cortex-M boards", "apt install qemu-system-arm", need="one"),
    _Tool("qemu-system-riscv32", "emulator", "emulates RISC-V boards", "apt install qemu-system-misc", need="one"),
    _Tool("renode", "emulator", "emulates boards with their peripherals", programs.RENODE_SOURCE, need="one"),
    _Tool("renode-test", "emulator", "runs Robot tests on emulated boards", programs.RENODE_SOURCE, None),
)

#: Cores that each emulator supports, where it supports some only.
_EMULATED: Mapping[str, Callable[[cpus.Cpu], bool]] = {
    "qemu-system-arm": lambda cpu: cpu.is_arm_m,
    "qemu-system-riscv32": lambda cpu: cpu.is_riscv,
}

#: Python packages, looked up without an import. The packages that this module imports are not listed.
_PACKAGES: tuple[tuple[str, Need, str, str], ...] = (
    ("tflite", "needed", "reads models", "pip install tflite"),
    ("flatbuffers", "needed", "reads models", "pip install flatbuffers"),
    ("cffi", "optional", "runs models in this process (-runtime=host)", "pip install cffi"),
    (
        "tflite_micro",
        "optional",
        "reference of `aboard verify`",
        "pip install --pre tflite-micro; without it `aboard verify` compares with numpy",
    ),
)


def missing(checks: Sequence[Check]) -> list[str]:
    """Returns the needed tools that are missing, one phrase each; empty if none is missing.

    Args:
        checks: The result of `inspect`.
    """
    lacking = [check.name for check in checks if check.need == "needed" and not check.found]
    able: dict[str, set[str]] = {}
    for each, what in (("toolchain", "a compiler for microcontrollers"), ("emulator", "an emulator")):
        some = [check for check in checks if check.kind == each and check.need == "one"]
        able[each] = {arch for check in some if check.found for arch in _architectures(check.name)}
        if not able[each]:
            lacking.append(f"{what} (one of {', '.join(check.name for check in some)})")
    if all(able.values()) and not able["toolchain"] & able["emulator"]:
        lacking.append(f"an emulator for {' or '.join(sorted(able['toolchain']))}, which the compiler is for")
    return lacking


def _architectures(name: str) -> set[str]:
    """Returns the architectures that a compiler or an emulator supports: `Cortex-M`, `RISC-V`."""
    compilers = {compiler.name: compiler.cores for compiler in toolchain.COMPILERS}
    cores = compilers.get(name) or _EMULATED.get(name)
    return {"RISC-V" if cpu.is_riscv else "Cortex-M" for cpu in _microcontrollers() if cores is None or cores(cpu)}


def inspect() -> list[Check]:
    """Returns a check for every tool that aboard can use, in the order toolchains, build tools, emulators, probes.

    Raises no error for a broken tool: its check has `found` False and states the `problem`.
    """
    with ThreadPoolExecutor(max_workers=4) as pool:
        compilers = pool.map(_compiler, toolchain.COMPILERS)
        others = pool.map(_program, (*_TOOLS, *_probes()))
        checks = [*compilers, *others, _zephyr(), _unicorn(), *_devices(), *_left_out(), *_packages()]
    order: tuple[Kind, ...] = get_args(Kind)
    return sorted(checks, key=lambda check: order.index(check.kind))


def _probes() -> list[_Tool]:
    """Returns the programs of all flashers, including the flashers of other packages."""
    return [
        _Tool(flasher.program, "probe", flasher.purpose, flasher.how_to_get, flasher.version_arguments)
        for flasher in flashers.all_flashers().values()
        if flasher.program is not None
    ]


def _left_out() -> list[Check]:
    """Returns a check for each flasher of a package that could not be loaded."""
    return [
        Check(e.name, "probe", f"flasher of {e.source}", False, None, None, "repair or remove it", e.problem)
        for e in flashers.from_packages()
        if e.problem
    ]


def _compiler(compiler: toolchain.Compiler) -> Check:
    tool = _Tool(
        compiler.name,
        "toolchain",
        compiler.purpose,
        compiler.how_to_get,
        compiler.version_arguments,
        "one" if any(map(compiler.cores, _microcontrollers())) else "optional",
    )
    return _checked(tool, compiler.find())


def _program(tool: _Tool) -> Check:
    find = programs.find_renode if tool.name.startswith("renode") else programs.find
    check = _checked(tool, find(tool.name))
    if tool.name != "renode" or not check.found or check.path is None:
        return check
    problem = programs.renode_problem(Path(check.path))
    return replace(check, found=problem is None, problem=problem)


def _checked(tool: _Tool, path: Path | None) -> Check:
    version = problem = None
    if path is not None and tool.version_arguments is not None:
        try:
            version = programs.version(path, tool.version_arguments)
        except ToolError as error:
            problem = str(error)
    found = path is not None and problem is None
    where = None if path is None else str(path)
    return Check(tool.name, tool.kind, tool.purpose, found, version, where, tool.how_to_get, problem, tool.need)


def _microcontrollers() -> list[cpus.Cpu]:
    return [cpu for cpu in map(cpus.find, cpus.names()) if not cpu.has_host_compiler]


def _packages() -> list[Check]:
    checks = []
    for name, need, purpose, hint in _PACKAGES:
        spec = importlib.util.find_spec(name)
        path = spec.origin if spec else None
        checks.append(Check(name, "package", purpose, spec is not None, None, path, hint, need=need))
    return checks


def _devices() -> list[Check]:
    """Returns a check for each tool that a kind of target needs, and for each plug-in that failed to load."""
    checks = [
        Check(
            found.name, "device", f"plug-in of {found.source}", False, None, None, "repair or remove it", found.problem
        )
        for found in plugins.load()
        if found.problem
    ]
    for name in kinds():
        try:
            needs = kind(name).probe()
        except Exception as error:
            # A plug-in's probe is foreign code, so its failure is reported and not raised.
            failed = f"its probe failed: {error}"
            checks.append(Check(name, "device", "a kind of target", False, None, None, "repair its package", failed))
            continue
        checks += [Check(n.name, "device", n.purpose, n.found, n.version, n.path, n.how_to_get) for n in needs]
    return checks


def _zephyr() -> Check:
    """Looks for a Zephyr tree from the current folder, as a build does."""
    purpose = "builds Zephyr applications"
    try:
        tree = workspace.find(Path.cwd())
    except ToolError as error:
        problem = str(error) if os.environ.get(workspace.BASE) else None
        return Check("zephyr", "build", purpose, False, None, None, workspace.HOW_TO_GET, problem)
    return Check("zephyr", "build", purpose, True, tree.release, str(tree.base), workspace.HOW_TO_GET)


def _unicorn() -> Check:
    """Looks up the Python package unicorn without an import."""
    spec = importlib.util.find_spec("unicorn")
    version = importlib.metadata.version("unicorn") if spec else None
    path = str(Path(spec.origin).parent) if spec and spec.origin else None
    hint = "pip install unicorn"
    purpose = "emulates boards in this process"
    return Check("unicorn", "emulator", purpose, spec is not None, version, path, hint, need="one")
