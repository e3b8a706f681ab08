"""Packages with cores and kernels that tests put where Python finds them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from aboard.boards import core_packages
from aboard.boards import cpu as cpus
from aboard.kernels import registry
from aboard.kernels.select import cost_model, specific

_CACHES = (
    core_packages.from_packages,
    cpus.find,
    registry.from_packages,
    registry._all,
    registry.measurements,
    registry.measured_kernels,
    specific._keys,
    specific._cores,
    cost_model._nearest_row,
)


def write(folder: Path, name: str, entries: str, files: Mapping[str, str], version: str = "1.0") -> None:
    """Writes a package and its metadata, as an installer does.

    Args:
        folder: A folder on the path.
        name: Name of the package.
        entries: Text of `entry_points.txt`.
        files: Text of each file by its path below the folder.
        version: Version of the package.
    """
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(entries)


@contextmanager
def on_path(folder: Path) -> Iterator[None]:
    """Lets this process find the packages of a folder, and forgets them afterwards."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        importlib.invalidate_caches()
        _forget()
        try:
            yield
        finally:
            for name in set(sys.modules) - before:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                    del sys.modules[name]
    _forget()


def _forget() -> None:
    for cache in _CACHES:
        cache.cache_clear()
