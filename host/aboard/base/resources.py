"""Paths of the package's data, in a checkout or in an installed wheel. No other file builds these paths."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_WHEEL_DATA = _PACKAGE / "_data"
_CHECKOUT = _PACKAGE.parent.parent


def _folder(name: str) -> Path:
    installed = _WHEEL_DATA / name
    return installed if installed.is_dir() else _CHECKOUT / name


def boards() -> Path:
    """Returns the folder of the board files (`<vendor>/<board>.toml`, `soc/<vendor>/<soc>.toml`)."""
    return _folder("boards")


def firmware() -> Path:
    """Returns the folder of the C sources for projects."""
    return _folder("firmware")


def project_templates() -> Path:
    """Returns the folder of the project templates, one sub-folder each."""
    return _folder("project_templates")


def benchmarks() -> Path:
    """Returns the file of recorded benchmarks. It also holds the figures of other systems."""
    installed = _WHEEL_DATA / "benchmarks.json"
    return installed if installed.is_file() else _CHECKOUT / "docs" / "benchmarks.json"


def anchors() -> Path:
    """Returns the path of an optional file with figures of other systems, beside a checkout."""
    return _CHECKOUT.parent / "shared" / "bench" / "anchors.json"


def models() -> Path:
    """Returns the folder of the models that the package ships."""
    return _PACKAGE / "models"
