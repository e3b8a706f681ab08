"""CMSIS-NN's source tree: its location, and the files that a call needs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from aboard.errors import TargetError
from aboard.target import Need, Runtime, Target

VARIABLE = "CMSIS_NN_PATH"
ZEPHYR = "ZEPHYR_BASE"

#: Path of the library in a Zephyr workspace, from ZEPHYR_BASE.
_MODULE = Path("..") / "modules" / "lib" / "cmsis-nn"

_HEADER = Path("Include") / "arm_nnfunctions.h"
HOW_TO_GET = (
    "Get it with `git clone -b v7.0.0 https://github.com/ARM-software/CMSIS-NN` and name the folder with -cmsis-nn= or "
    f"in the environment variable {VARIABLE}; in a Zephyr workspace {ZEPHYR} is enough"
)

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_WORD = re.compile(r"\barm_\w+")
#: A function at the left margin with its body: the library's style. Group 1 is its name, 2 its parameters.
_DEFINITION = re.compile(r"^(?!static\b)[A-Za-z_][\w \t\n*]*?\b(arm_\w+)\s*\(([^(){};]*)\)\s*\{", re.MULTILINE)
_DECLARATION = re.compile(r"^[A-Za-z_][\w \t\n*]*?\b(arm_\w+)\s*\(([^(){};]*)\)\s*;", re.MULTILINE)


def find(target: Target) -> Path:
    """Returns the folder of the source tree.

    Args:
        target: Device of the kind `cmsis-nn`; its attribute takes precedence over the environment.

    Raises:
        TargetError: No source tree is named, or the named folder is not one.
    """
    for name, folder in _named(target.get("cmsis-nn")):
        if _is_tree(folder):
            return folder
        if name != ZEPHYR:
            raise TargetError(
                f"target {target}: {name} names no source tree of CMSIS-NN, got {folder}, expected a folder with "
                f"{_HEADER}. {HOW_TO_GET}"
            )
    raise TargetError(
        f"target {target}: the sources of CMSIS-NN are not there, got neither -cmsis-nn= nor {VARIABLE}, expected the "
        f"folder with {_HEADER}. {HOW_TO_GET}"
    )


def probe() -> Sequence[Need]:
    """Returns whether the sources are in the folder that the environment names."""
    folder = next((folder for _, folder in _named(None) if _is_tree(folder)), None)
    path = None if folder is None else str(folder)
    return [Need("CMSIS-NN", "sources for the device cmsis-nn", folder is not None, HOW_TO_GET, path)]


def _named(attribute: object) -> Iterator[tuple[str, Path]]:
    """Yields the sources of a tree's path in order of precedence, with the folder each names."""
    if attribute is not None:
        yield "-cmsis-nn=", Path(str(attribute)).expanduser()
    if os.environ.get(VARIABLE):
        yield VARIABLE, Path(os.environ[VARIABLE]).expanduser()
    if os.environ.get(ZEPHYR):
        yield ZEPHYR, (Path(os.environ[ZEPHYR]) / _MODULE).resolve()


def _is_tree(folder: Path) -> bool:
    return (folder / _HEADER).is_file()


def sources(tree: Path, function: str, arguments: int) -> Runtime:
    """Returns the files that a call needs: of the function, of all functions that it calls, and their headers.

    Args:
        tree: The source tree.
        function: Name of the function.
        arguments: Number of arguments of the call.

    Raises:
        TargetError: The tree has no such function, or the function takes other arguments.
    """
    texts, places = _read(tree)
    _check(tree, function, arguments, texts, places)
    wanted: dict[str, None] = {}
    left = [places[function]]
    while left:
        path = left.pop()
        if path in wanted:
            continue
        wanted[path] = None
        bare = _COMMENT.sub(" ", texts[path])
        left += [places[word] for word in _WORD.findall(_DECLARATION.sub(" ", bare)) if word in places]
        left += _included(path, bare, texts)
    files = {path: texts[path] for path in sorted(wanted)}
    licence = tree / "LICENSE"
    if licence.is_file():
        files["LICENSE"] = licence.read_text(encoding="utf-8")
    return Runtime(files, include_folders=("Include",), is_foreign=True)


@lru_cache(maxsize=4)
def _read(tree: Path) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Returns the text of each file by its path in the tree, and the file that defines each function."""
    paths = sorted([*tree.glob("Include/**/*.h"), *tree.glob("Source/**/*.c")])
    texts = {path.relative_to(tree).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    places = {
        name: path
        for path, text in texts.items()
        if path.endswith(".c")
        for name, _ in _DEFINITION.findall(_COMMENT.sub(" ", text))
    }
    return texts, places


def _check(tree: Path, function: str, arguments: int, texts: Mapping[str, str], places: Mapping[str, str]) -> None:
    declared = dict(_DECLARATION.findall(_COMMENT.sub(" ", texts[_HEADER.as_posix()])))
    got = len(declared[function].split(",")) if function in declared else 0
    if function not in places or got != arguments:
        what = f"with {got} arguments" if function in declared and function in places else "none of that name"
        raise TargetError(
            f"CMSIS-NN in {tree}: {function}, got {what}, expected it with {arguments} arguments as in release 7.0.0. "
            "Check out the tag v7.0.0"
        )


def _included(path: str, text: str, texts: Mapping[str, str]) -> list[str]:
    """Returns the headers of the tree that a file includes."""
    folders = (path.rpartition("/")[0], "Include")
    return [f"{folder}/{name}" for name in _INCLUDE.findall(text) for folder in folders if f"{folder}/{name}" in texts]
