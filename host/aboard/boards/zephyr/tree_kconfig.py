"""Reads what Kconfig of a Zephyr tree states about a SoC and its core, without a workspace: no CMake, no modules."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from aboard.base.scratch import Scratch
from aboard.boards.vendors import packages
from aboard.boards.zephyr import kconfig_functions
from aboard.errors import BoardError

_CALL = re.compile(r"\$\(([\w-]+),")


def read(base: Path, board_folder: Path, soc_folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Returns the values of Kconfig's symbols, as `aboard.boards.zephyr.kconfig.read` does for a `.config`.

    Args:
        base: Folder of the Zephyr tree.
        board_folder: Folder of the board.
        soc_folder: Folder with the `soc.yml` of the SoC.
        names: Name of the board, and full name with its qualifiers.

    Raises:
        ToolError: The package `kconfiglib` is missing.
        BoardError: The Kconfig files cannot be parsed.
    """
    kconfiglib = packages.load("kconfiglib", "kconfiglib")
    board = board_folder.relative_to(base).as_posix()
    soc = soc_folder.relative_to(base).as_posix()
    with Scratch() as folder:
        (folder / "arch").mkdir()
        (folder / "arch" / "Kconfig").write_text('osource "arch/*/Kconfig"\n', encoding="utf-8")
        root = folder / "Kconfig"
        root.write_text(_root(board, soc, names), encoding="utf-8")
        kconfig_functions.define(_called(base, board_folder, soc_folder))
        variables = {
            "srctree": str(base),
            "KCONFIG_BINARY_DIR": str(folder),
            "KCONFIG_FUNCTIONS": kconfig_functions.__name__,
            "ARCH_DIR": "arch",
            "HWM_SCHEME": "v2",
            "BOARD": names[0],
            "BOARD_DIR": board,
            "CONFIG_": "CONFIG_",
        }
        with _environment(variables):
            try:
                parsed = kconfiglib.Kconfig(str(root), warn=False)
            except kconfiglib.KconfigError as error:
                raise BoardError(
                    f"{soc_folder}: Kconfig cannot be parsed, got {error}, expected that of Zephyr 3.7 or later. Build "
                    "the board with Zephyr to see why"
                ) from error
            values = {symbol.name: symbol.str_value for symbol in parsed.unique_defined_syms}
    return {name: value for name, value in values.items() if value not in ("n", "")}


def _root(board: str, soc: str, names: tuple[str, ...]) -> str:
    """Returns a Kconfig file that includes the board, its SoC and the architectures, and nothing else."""
    symbols = dict.fromkeys(re.sub(r"\W", "_", name).upper() for name in names)
    lines = [f"config BOARD_{name}\n\tdef_bool y" for name in symbols]
    lines += [f"config {name}\n\tstring" for name in ("SOC", "SOC_SERIES", "SOC_FAMILY", "SOC_PART_NUMBER")]
    lines += [
        f'osource "{board}/Kconfig.{names[0]}"',
        f'osource "{board}/Kconfig.defconfig"',
        f'osource "{soc}/Kconfig.defconfig"',
        f'source "{soc}/Kconfig.soc"',
        f'osource "{soc}/Kconfig"',
        'source "arch/Kconfig"',
    ]
    return "\n".join(lines) + "\n"


def _called(base: Path, board_folder: Path, soc_folder: Path) -> set[str]:
    """Returns the names of the functions that the Kconfig files call."""
    files = [path for folder in (board_folder, soc_folder, base / "arch") for path in folder.rglob("Kconfig*")]
    return {name for path in files for name in _CALL.findall(path.read_text(encoding="utf-8"))}


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Sets environment variables, which kconfiglib reads, and restores the old ones."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
