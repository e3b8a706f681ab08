"""ZIP archives of given entries, as frameworks write them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path


def archive(path: Path, entries: Mapping[str, bytes]) -> Path:
    """Writes an archive and returns its path."""
    with zipfile.ZipFile(path, "w") as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return path
