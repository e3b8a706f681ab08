"""All passes by name. A module of this package that defines a pass decorates the class with `register`."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TypeVar

from aboard.passes.contract import Pass

_PASSES: dict[str, type[Pass]] = {}
_PassType = TypeVar("_PassType", bound=type[Pass])


def register(cls: _PassType) -> _PassType:
    """Adds a pass to the registry (class decorator).

    Raises:
        ValueError: Another pass has the name, or an option has no default.
    """
    if any(field.default is field.default_factory for field in dataclasses.fields(cls)):
        raise ValueError(f"pass {cls.name}: has an option without a default. Give every option one")
    if _PASSES.setdefault(cls.name, cls) is not cls:
        raise ValueError(f"pass {cls.name}: {cls.__qualname__} has the name of {_PASSES[cls.name].__qualname__}")
    return cls


def registered() -> Mapping[str, type[Pass]]:
    """Returns the classes of all passes by name: of this package, and registered by others."""
    _import_package()
    return MappingProxyType(_PASSES)


@cache
def _import_package() -> None:
    package = importlib.import_module("aboard.passes")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"aboard.passes.{module.name}")
