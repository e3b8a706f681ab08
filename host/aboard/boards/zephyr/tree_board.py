"""Finds a board in a Zephyr tree and describes it from the files of the tree: no workspace, no modules, no CMake."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from aboard.base import programs
from aboard.boards import cpu as cpus
from aboard.boards.zephyr import device_tree, kconfig, tree_kconfig
from aboard.boards.zephyr.device_tree import DeviceTree
from aboard.errors import BoardError, did_you_mean

_NAME = re.compile(r"^\s*(?:-\s*)?name:\s*['\"]?([\w.-]+)", re.MULTILINE)
_FULL_NAME = re.compile(r"^\s*full_name:\s*['\"]?(.+?)['\"]?\s*$", re.MULTILINE)
_VENDOR = re.compile(r"^\s*vendor:\s*([\w.-]+)", re.MULTILINE)
_RUNNER = re.compile(r"board_runner_args\(\s*([\w-]+)\s+([^)]*)\)")
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_TIMEOUT_S = 20


@dataclass(frozen=True)
class TreeBoard:
    """A board as a Zephyr tree describes it.

    Attributes:
        name: Full name with qualifiers, as given.
        title: Name for people.
        vendor: Name of the folder of the vendor.
        soc: Name of the SoC.
        version: Release of the tree and, if it is a checkout, the commit.
        folder: Folder of the board, relative to the tree.
        files: Files that the description comes from, relative to the tree.
        tree: What the device tree states.
        mcpu: gcc's name of the core, with modifiers for missing units; None if aboard has no kernels for the core.
        clock_hz: Clock of the core; None if neither the device tree nor Kconfig states it.
        runners: Arguments of flash tools in `board.cmake`, by Zephyr's name of the tool.
    """

    name: str
    title: str
    vendor: str
    soc: str
    version: str
    folder: str
    files: tuple[str, ...]
    tree: DeviceTree
    mcpu: str | None
    clock_hz: int | None
    runners: dict[str, tuple[str, ...]]


def describe(base: Path, name: str) -> TreeBoard:
    """Returns a board of a Zephyr tree.

    Args:
        base: Folder of the tree (ZEPHYR_BASE).
        name: Name as in Zephyr's documentation, with qualifiers if the board has several SoCs or cores.

    Raises:
        BoardError: The tree has no such board, or its files cannot be read.
        ToolError: A package or the C preprocessor is missing.
    """
    base = base.resolve()
    head, *qualifiers = name.split("/")
    folder, text = _folder(base, head)
    source = _source(folder, head, qualifiers)
    tree = device_tree.read(base, source)
    soc = _soc(folder, head, qualifiers, text, source)
    soc_folder = _soc_folder(base, soc)
    config = tree_kconfig.read(base, folder, soc_folder, (head, "/".join([head, *(qualifiers or [soc])])))
    vendor = _VENDOR.search(text)
    title = _FULL_NAME.search(text)
    settings = [path for path in (folder / "board.cmake", folder / "board.yml") if path.is_file()]
    return TreeBoard(
        name=name,
        title=title[1] if title else head,
        vendor=vendor[1] if vendor else folder.parent.name,
        soc=soc,
        version=version(base),
        folder=folder.relative_to(base).as_posix(),
        files=(*tree.files, *(path.relative_to(base).as_posix() for path in (*settings, soc_folder / "Kconfig.soc"))),
        tree=tree,
        mcpu=_mcpu(config, name),
        clock_hz=tree.clock_hz or _clock(config),
        runners=_runners(folder / "board.cmake"),
    )


def version(base: Path) -> str:
    """Returns the release of a tree, with the commit if git knows it."""
    text = (base / "VERSION").read_text(encoding="utf-8") if (base / "VERSION").is_file() else ""
    numbers = re.findall(r"^(?:VERSION_MAJOR|VERSION_MINOR|PATCHLEVEL)\s*=\s*(\d+)", text, re.MULTILINE)
    release = ".".join(numbers) or "unknown"
    git = programs.find("git")
    if git is None or not (base / ".git").exists():
        return release
    code, output = programs.run([str(git), "rev-parse", "HEAD"], base, dict(os.environ), _TIMEOUT_S)
    return f"{release}, commit {output.strip()}" if code == 0 else release


def _folder(base: Path, head: str) -> tuple[Path, str]:
    """Returns the folder of a board and the text of its `board.yml`."""
    known: list[str] = []
    for path in sorted((base / "boards").glob("*/**/board.yml")):
        text = path.read_text(encoding="utf-8")
        names = _NAME.findall(text)
        if head in names[:1] or (head in names and (path.parent / f"{head}.dts").is_file()):
            return path.parent, text
        known += names[:1]
    raise BoardError(f"zephyr: no such board in {base}, got {head}. {did_you_mean(head, known)}")


def _source(folder: Path, head: str, qualifiers: list[str]) -> Path:
    """Returns the device tree of a board with these qualifiers; the SoC may be left out of either name."""
    wanted = [[head, *qualifiers], [head, *qualifiers[1:]]]
    for words in wanted:
        path = folder / f"{'_'.join(words)}.dts"
        if path.is_file():
            return path
    found = sorted(folder.glob(f"{head}*.dts"))
    if len(found) == 1 and not qualifiers:
        return found[0]
    names = ", ".join(path.stem for path in found) or "none"
    raise BoardError(
        f"zephyr: no device tree of board {'/'.join([head, *qualifiers])}, got these in {folder}: {names}. Name the "
        "board with its qualifiers, as west boards -f '{qualifiers}' lists them"
    )


def _soc(folder: Path, head: str, qualifiers: list[str], text: str, source: Path) -> str:
    """Returns the name of the SoC: a qualifier, or the only SoC that `board.yml` names."""
    if qualifiers:
        return qualifiers[0]
    socs: list[str] = _NAME.findall(text.partition("socs:")[2])
    if socs:
        return next((soc for soc in socs if soc in source.stem.removeprefix(head)), socs[0])
    raise BoardError(f"zephyr: board.yml of {head} names no SoC, got {folder}, expected socs. Choose another board")


def _soc_folder(base: Path, soc: str) -> Path:
    for path in sorted((base / "soc").glob("**/soc.yml")):
        if soc in _NAME.findall(path.read_text(encoding="utf-8")):
            return path.parent
    raise BoardError(f"zephyr: no soc.yml names the SoC, got {soc}, expected one below {base / 'soc'}. Run west update")


def _mcpu(config: kconfig.Config, name: str) -> str | None:
    try:
        mcpu = kconfig.core(config, name).mcpu
    except BoardError:
        return None
    return cpus.find(mcpu).name


def _clock(config: kconfig.Config) -> int | None:
    """Returns Kconfig's clock of the system timer, where the timer is the core's own SysTick."""
    text = config.get("SYS_CLOCK_HW_CYCLES_PER_SEC", "0")
    clock = int(text, 0) if re.fullmatch(r"0x[0-9a-fA-F]+|\d+", text) else 0
    return clock if clock > 1_000_000 else None


def _runners(path: Path) -> dict[str, tuple[str, ...]]:
    """Returns the arguments of `board_runner_args` by tool; those of conditional branches are left to Zephyr."""
    if not path.is_file():
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for tool, words in _RUNNER.findall(re.sub(r"#.*", "", path.read_text(encoding="utf-8"))):
        arguments = tuple(quoted or plain for quoted, plain in _WORD.findall(words))
        found[tool] = (*found.get(tool, ()), *arguments)
    return found
