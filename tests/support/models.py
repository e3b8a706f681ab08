"""Where real models lie: one comes with the package, the others in a folder of their own.

`ABOARD_MODELS` names that folder; without it `../shared/models` beside the checkout is looked at. Tests take cases
from `@pytest.mark.parametrize("name", available([SHIPPED, ...]))`: without the folder only the package's model is left.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from aboard.base import resources

SHIPPED = "digits"
SHIPPED_FLOAT = "digits_f32"
INT8 = ("kws", "vww", "ic", "ad", "sww", "hello_world")
FLOAT = ("ic_f32", "vww_f32")
HYBRID = ("kws_hybrid",)

_CHECKOUT = Path(__file__).resolve().parents[2]


def folder() -> Path | None:
    """Returns the folder of the models that do not come with the package, or None."""
    chosen = Path(os.environ.get("ABOARD_MODELS") or _CHECKOUT.parent / "shared" / "models")
    return chosen if chosen.is_dir() else None


def path(name: str) -> Path | None:
    """Returns the path of a model by its name, such as `kws`; None where the folder is missing or has no such model."""
    if name in (SHIPPED, SHIPPED_FLOAT):
        return resources.models() / f"{name}.tflite"
    found = folder()
    if found is None:
        return None
    model = found / f"{name}.tflite"
    return model if model.is_file() else None


def available(names: Iterable[str]) -> list[str]:
    """Returns the names for which there is a file, for parametrised tests."""
    return [name for name in names if path(name) is not None]


def required(name: str) -> Path:
    """Returns the path of a model that is available."""
    model = path(name)
    if model is None:
        raise FileNotFoundError(f"model {name}: not found; set ABOARD_MODELS to the folder that has it")
    return model


def read(name: str) -> bytes:
    """Returns the bytes of a model that is available."""
    return required(name).read_bytes()
