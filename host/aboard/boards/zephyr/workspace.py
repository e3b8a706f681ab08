"""Finds the Zephyr tree for a project, and the modules beside the tree."""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from aboard.errors import ToolError

#: Oldest supported release: the first with the second form of board names (hardware model v2) and `arch_esf`.
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
        base: Folder of the tree, as in ZEPHYR_BASE.
        version: Release of the tree, such as (3, 7, 1).
        topdir: West workspace that contains the tree; None if there is no workspace.
        found_by: How the tree was found, for reports.
        modules: Folders of the modules by name.
        given: True if aboard must pass the modules to CMake, because west does not know them.
    """

    base: Path
    version: tuple[int, int, int]
    topdir: Path | None
    found_by: str
    modules: Mapping[str, Path]
    given: bool

    @property
    def release(self) -> str:
        """The release as text, such as `3.7.1`."""
        return ".".join(map(str, self.version))


def find(start: Path, environment: Mapping[str, str] | None = None) -> Workspace:
    """Returns the Zephyr workspace for a project.

    The order: ZEPHYR_BASE, the west workspace around the project, the west workspace around the current folder, and the
    tree that `west zephyr-export` has registered with CMake.

    Args:
        start: Folder of the project.
        environment: Environment variables; by default those of this process.

    Raises:
        ToolError: There is no workspace, the folder is not a Zephyr tree, or the release is too old.
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
    """Returns the path of Zephyr in a west workspace, from the configuration of west."""
    config = configparser.ConfigParser()
    try:
        config.read(topdir / ".west" / "config", encoding="utf-8")
    except configparser.Error:
        return "zephyr"
    return config.get("zephyr", "base", fallback="zephyr")


def _exported(home: Path) -> Iterator[Path]:
    """Yields the existing Zephyr trees in CMake's package registry."""
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
            f"{OLDEST[1]} or later. In the workspace, run: git -C {base.name} checkout v3.7.1 && west update"
        )
    topdir = _topdir(base)
    named = [Path(text) for text in variables.get(MODULES, "").split(";") if text]
    known = _modules(base, topdir or base.parent)
    by_name = {_name_of(folder): folder for folder in named} if named else known
    extra = [Path(text) for text in variables.get(EXTRA_MODULES, "").split(";") if text]
    by_name = {**by_name, **{_name_of(folder): folder for folder in extra}}
    # Outside a west workspace, Zephyr does not look for modules. It reads ZEPHYR_MODULES from the environment itself.
    return Workspace(base, version, topdir, found_by, by_name, given=topdir is None and not named)


def _version(base: Path, found_by: str) -> tuple[int, int, int]:
    path = base / "VERSION"
    try:
        numbers = dict(_NUMBER.findall(path.read_text(encoding="utf-8")))
        return int(numbers["VERSION_MAJOR"]), int(numbers["VERSION_MINOR"]), int(numbers["PATCHLEVEL"])
    except (OSError, KeyError, UnicodeDecodeError) as error:
        raise ToolError(f"{base}: not a Zephyr tree, got no version in {path} ({found_by}). {HOW_TO_GET}") from error


def _modules(base: Path, root: Path) -> dict[str, Path]:
    """Returns the modules of Zephyr's manifest that exist in the workspace, and the modules beside the tree."""
    found: dict[str, Path] = {}
    beside = {"cmsis": "cmsis", "cmsis_6": "cmsis_6"}
    for name, place in {**beside, **_places(base)}.items():
        for folder in (root / place, root / name):
            if (folder / "zephyr" / "module.yml").is_file():
                found.setdefault(name, folder)
    return found


def _places(base: Path) -> dict[str, str]:
    """Returns the path of each module in Zephyr's manifest, relative to the workspace."""
    try:
        manifest = yaml.safe_load((base / "west.yml").read_text(encoding="utf-8"))["manifest"]
        return {project["name"]: project.get("path", project["name"]) for project in manifest["projects"]}
    except (OSError, yaml.YAMLError, KeyError, TypeError):
        return {}


def _name_of(folder: Path) -> str:
    """Returns the name of a module from its module.yml, else the name of its folder."""
    try:
        said = yaml.safe_load((folder / "zephyr" / "module.yml").read_text(encoding="utf-8"))
        return str(said["name"])
    except (OSError, yaml.YAMLError, KeyError, TypeError):
        return folder.name
