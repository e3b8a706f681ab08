"""The rooms of the package, as the table in the page on architecture has them, and its files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import aboard
from support import markdown

PACKAGE = Path(aboard.__file__).parent
PAGE = markdown.CHECKOUT / "docs" / "explanation" / "architecture.md"
_ROW = re.compile(r"^\| (?P<rooms>`[^|]*`) \| [^|]* \| (?P<path>both|device|compile) \|$", re.MULTILINE)


def layers() -> list[tuple[tuple[str, ...], str]]:
    """Returns the rows of the table: rooms, and the path that needs them."""
    return [(tuple(re.findall(r"`(\w+)`", row["rooms"])), row["path"]) for row in _ROW.finditer(PAGE.read_text())]


RANK: Mapping[str, int] = {room: rank for rank, (rooms, _) in enumerate(layers()) for room in rooms}
PATH: Mapping[str, str] = {room: path for rooms, path in layers() for room in rooms}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def room(module: str) -> str | None:
    """Returns the room of a module; None for the package itself."""
    return module.split(".")[1] if "." in module else None
