"""Reads TOML files."""

from __future__ import annotations

import copy
import functools
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read(path: Path) -> dict[str, Any]:
    """Returns the content of a TOML file, which the caller may change.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is not TOML in UTF-8.
    """
    return copy.deepcopy(_table(path, path.stat().st_mtime_ns))


# The modification time is part of the cache key, so that a changed file is read again.
@functools.lru_cache(maxsize=1024)
def _table(path: Path, modified_ns: int) -> dict[str, Any]:
    del modified_ns
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return table
