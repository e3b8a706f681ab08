"""Figures of other systems for a model, looked up by the hash of its file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, NonNegativeInt, TypeAdapter, ValidationError

from aboard.base import resources
from aboard.base.manifest import Manifest
from aboard.errors import InputError

_KNOWN = Path(__file__).with_name("known.json")
_VARIABLE = "ABOARD_ANCHORS"


@dataclass(frozen=True)
class System:
    """Bytes and instructions that another system needs; None if not measured.

    Attributes:
        name: Name of the system.
        instructions: Instructions of one inference.
        flash: Bytes of its whole image, including the model.
        ram: Bytes of all tensors and buffers.
        stack: Largest number of stack bytes of one inference.
    """

    name: str
    instructions: int | None
    flash: int | None
    ram: int | None
    stack: int | None


@dataclass(frozen=True)
class Comparison:
    """Other systems with the same model on the same core.

    Attributes:
        model: Name of the model in the file.
        core: Name of the core in the file.
        source: Name of the file, or `recorded with this version`.
        systems: The figures of the systems.
        layers_of: Name of the system whose layers are known.
        layers: Its instructions for each operator of the model file; empty if unknown.
    """

    model: str
    core: str
    source: str
    systems: tuple[System, ...]
    layers_of: str
    layers: tuple[int, ...]

    def of_sources(self, sources: Sequence[Sequence[int]]) -> list[int | None]:
        """Returns the instructions of the other system's layers that correspond to the layers of this module.

        Args:
            sources: For each layer of this module, the numbers of the operators it computes. An operator of several
                layers counts for the first layer.

        Returns:
            For each layer the sum; None if no figure is known.
        """
        taken: set[int] = set()
        found: list[int | None] = []
        for mine in sources:
            fresh = [source for source in mine if source not in taken and source < len(self.layers)]
            taken.update(fresh)
            found.append(sum(self.layers[source] for source in fresh) if fresh else None)
        return found


class _Figures(BaseModel):
    """Figures of a file for a system, a model and a core."""

    model_config = ConfigDict(extra="ignore")

    insns: NonNegativeInt | None = None
    flash_total: NonNegativeInt | None = None
    arena_used: NonNegativeInt | None = None
    ram_total: NonNegativeInt | None = None
    stack_invoke: NonNegativeInt | None = None


class _Operator(BaseModel):
    model_config = ConfigDict(extra="ignore")

    insns: NonNegativeInt


_FIGURES = TypeAdapter(_Figures)
_OPERATORS = TypeAdapter(list[_Operator])
_Form = TypeVar("_Form")


@cache
def _known() -> dict[str, Any]:
    known: dict[str, Any] = json.loads(_KNOWN.read_text(encoding="utf-8"))
    return known


def known_as(model_hash: str) -> str | None:
    """Returns the name that a model has in the files of figures, by its hash, or None."""
    name = _known()["models"].get(model_hash)
    return None if name is None else str(name)


def compare(manifest: Manifest, file: Path | None = None) -> Comparison | None:
    """Returns the figures of other systems for a model.

    Args:
        manifest: The manifest of the model.
        file: The figures. By default the file that the variable ABOARD_ANCHORS names, else the file beside a checkout,
            else the figures recorded with this version.

    Returns:
        The comparison; None if the file has no figures for the model or its core.

    Raises:
        InputError: The file cannot be read, or has another format.
    """
    path, source = _found(file)
    content = _read(path)
    name = known_as(manifest.model_hash)
    if name is None or "+" in manifest.core:
        return None
    core = manifest.core.removeprefix("cortex-")
    systems = []
    for key, about in _known()["systems"].items():
        figures = _at(content, key, name, core)
        if figures is not None:
            systems.append(_system(about["name"], about["ram"], _validated(_FIGURES, figures, path, key)))
    if not systems:
        return None
    layers = [each.insns for each in _validated(_OPERATORS, _at(content, "layers", name, core) or [], path, "layers")]
    of = _known()["systems"][_known()["layers_of"]]["name"]
    return Comparison(name, core, source, tuple(systems), of, tuple(layers))


def _system(name: str, ram: str, figures: _Figures) -> System:
    needs: int | None = getattr(figures, ram)
    return System(name, figures.insns, figures.flash_total, needs, figures.stack_invoke)


def _found(file: Path | None) -> tuple[Path, str]:
    named = file or (Path(os.environ[_VARIABLE]) if os.environ.get(_VARIABLE) else None)
    if named is not None:
        return named, named.name
    beside = resources.anchors()
    if beside.is_file():
        return beside, beside.name
    return resources.benchmarks(), "recorded with this version"


def _read(path: Path) -> Mapping[str, Any]:
    """Returns the systems of a file; in a file of benchmarks they are in a section."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read, got {error.strerror}, expected figures of other systems. {_DO}"
        ) from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON, got {error}, expected figures of other systems. {_DO}") from error
    if isinstance(content, dict) and "results" in content:
        content = content.get("anchors", {})
    if not isinstance(content, dict):
        kind = type(content).__name__
        raise InputError(f"{path}: not an object, got {kind}, expected systems by name. {_DO}")
    return content


def _at(content: Mapping[str, Any], *keys: str) -> Any:
    found: Any = content
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _validated(form: TypeAdapter[_Form], given: Any, path: Path, where: str) -> _Form:
    try:
        return form.validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, (where, *first["loc"])))
        raise InputError(f"{path}: {place}, got {first['input']!r}, expected counts: {first['msg']}. {_DO}") from error


_DO = "Name another file with --anchors, or none"
