"""Where the data of the package lies, in a checkout or in an installed wheel; nothing else knows."""

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
    """Returns the folder of the C sources that projects are made of."""
    return _folder("firmware")


def project_templates() -> Path:
    """Returns the folder that holds one folder for each project template."""
    return _folder("project_templates")


def benchmarks() -> Path:
    """Returns the file of recorded benchmarks, other systems' figures among them."""
    installed = _WHEEL_DATA / "benchmarks.json"
    return installed if installed.is_file() else _CHECKOUT / "docs" / "benchmarks.json"


def anchors() -> Path:
    """Returns where a file of other systems' figures may lie beside a checkout."""
    return _CHECKOUT.parent / "shared" / "bench" / "anchors.json"


def models() -> Path:
    """Returns the folder of the models that come with the package."""
    return _PACKAGE / "models"
