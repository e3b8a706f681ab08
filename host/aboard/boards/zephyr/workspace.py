"""Finds the Zephyr tree that a project is built with, and the modules beside it."""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from aboard.errors import ToolError

#: Oldest release that projects are made for: the one that has the second form of board names and `arch_esf`.
OLDEST = (3, 7)

BASE = "ZEPHYR_BASE"
MODULES = "ZEPHYR_MODULES"
EXTRA_MODULES = "EXTRA_ZEPHYR_MODULES"

_NUMBER = re.compile(r"^(VERSION_MAJOR|VERSION_MINOR|PATCHLEVEL)\s*=\s*(\d+)", re.MULTILINE)

HOW_TO_GET = (
    "Around a project, in its folder: west init -l . && west update. Or a workspace of its own, in a new folder: "
    "west init -m https://github.com/zephyrproject-rtos/zephyr --mr v3.7.1 . && west update. "
    "One that is there already: export ZEPHYR_BASE=<workspace>/zephyr"
)


@dataclass(frozen=True)
class Workspace:
    """A Zephyr tree with its modules.

    Attributes:
        base: The tree, as ZEPHYR_BASE.
        version: Its release, such as (3, 7, 1).
        topdir: The west workspace it is in; None for a tree that is in none.
        found_by: What said where it is, for reports.
        modules: Folders of its modules by name.
        given: True when the modules have to be named to CMake, because west does not know them.
    """

    base: Path
    version: tuple[int, int, int]
    topdir: Path | None
    found_by: str
    modules: Mapping[str, Path]
    given: bool

    @property
    def release(self) -> str:
        """The release in words: `3.7.1`."""
        return ".".join(map(str, self.version))


def find(start: Path, environment: Mapping[str, str] | None = None) -> Workspace:
    """Returns the workspace for a project.

    It is what ZEPHYR_BASE names, else the west workspace around the project, else the one around the current folder,
    else the tree that `west zephyr-export` has registered with CMake.

    Args:
        start: Folder of the project.
        environment: Variables; those of this process where none are given.

    Raises:
        ToolError: There is none, it is no Zephyr tree, or it is too old.
    """
    variables = os.environ if environment is None else environment
    for base, found_by in _candidates(start, variables):
        return _opened(base, found_by, variables)
    raise ToolError(
        f"zephyr: no workspace, got no {BASE} and no west workspace above {start}, expected a tree of Zephyr "
        f"{OLDEST[0]}.{OLDEST[1]} or later. {HOW_TO_GET}"
    )


def _candidates(start: Path, variables: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    if variables.get(BASE):
        yield Path(variables[BASE]).expanduser(), BASE
    for folder in (start.resolve(), Path.cwd()):
        topdir = _topdir(folder)
        if topdir is not None:
            yield topdir / _base_of(topdir), f"west workspace {topdir}"
    for base in _exported(Path(variables.get("HOME", "~")).expanduser()):
        yield base, "west zephyr-export"


def _topdir(folder: Path) -> Path | None:
    return next((place for place in (folder, *folder.parents) if (place / ".west" / "config").is_file()), None)


def _base_of(topdir: Path) -> str:
    """Returns where Zephyr lies in a west workspace, as its configuration says."""
    config = configparser.ConfigParser()
    try:
        config.read(topdir / ".west" / "config", encoding="utf-8")
    except configparser.Error:
        return "zephyr"
    return config.get("zephyr", "base", fallback="zephyr")


def _exported(home: Path) -> Iterator[Path]:
    """Yields the trees in CMake's registry of packages that are still there."""
    for entry in sorted((home / ".cmake" / "packages" / "Zephyr").glob("*")):
        try:
            package = Path(entry.read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError):
            continue
        base = package.parents[2] if len(package.parents) > 2 else package
        if (base / "VERSION").is_file():
            yield base


def _opened(base: Path, found_by: str, variables: Mapping[str, str]) -> Workspace:
    base = base.resolve()
    version = _version(base, found_by)
    if version[:2] < OLDEST:
        raise ToolError(
            f"{base}: Zephyr is too old, got {'.'.join(map(str, version))} ({found_by}), expected {OLDEST[0]}."
            f"{OLDEST[1]} or later. In the workspace: git -C {base.name} checkout v3.7.1 && west update"
        )
    topdir = _topdir(base)
    named = [Path(text) for text in variables.get(MODULES, "").split(";") if text]
    known = _modules(base, topdir or base.parent)
    by_name = {_name_of(folder): folder for folder in named} if named else known
    extra = [Path(text) for text in variables.get(EXTRA_MODULES, "").split(";") if text]
    by_name = {**by_name, **{_name_of(folder): folder for folder in extra}}
    # Outside a west workspace Zephyr looks for no modules, and ZEPHYR_MODULES in the environment it reads itself.
    return Workspace(base, version, topdir, found_by, by_name, given=topdir is None and not named)


def _version(base: Path, found_by: str) -> tuple[int, int, int]:
    path = base / "VERSION"
    try:
        numbers = dict(_NUMBER.findall(path.read_text(encoding="utf-8")))
        return int(numbers["VERSION_MAJOR"]), int(numbers["VERSION_MINOR"]), int(numbers["PATCHLEVEL"])
    except (OSError, KeyError, UnicodeDecodeError) as error:
        raise ToolError(
            f"{base}: is no Zephyr tree, got no version in {path} ({found_by}), expected one. {HOW_TO_GET}"
        ) from error


def _modules(base: Path, root: Path) -> dict[str, Path]:
    """Returns the modules of Zephyr's own manifest that lie where it puts them, and those beside the tree."""
    found: dict[str, Path] = {}
    beside = {"cmsis": "cmsis", "cmsis_6": "cmsis_6"}
    for name, place in {**beside, **_places(base)}.items():
        for folder in (root / place, root / name):
            if (folder / "zephyr" / "module.yml").is_file():
                found.setdefault(name, folder)
    return found


def _places(base: Path) -> dict[str, str]:
    """Returns where Zephyr's manifest puts each module, relative to the workspace."""
    try:
        manifest = yaml.safe_load((base / "west.yml").read_text(encoding="utf-8"))["manifest"]
        return {project["name"]: project.get("path", project["name"]) for project in manifest["projects"]}
    except (OSError, yaml.YAMLError, KeyError, TypeError):
        return {}


def _name_of(folder: Path) -> str:
    """Returns the name of a module: what its module.yml says, else its folder's."""
    try:
        said = yaml.safe_load((folder / "zephyr" / "module.yml").read_text(encoding="utf-8"))
        return str(said["name"])
    except (OSError, yaml.YAMLError, KeyError, TypeError):
        return folder.name
