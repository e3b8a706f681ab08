"""Reads a model file with the importer that recognises its content or its suffix.

An importer is a subclass of `Importer`, decorated with `register`, in its own file in this package. A new file is
enough to add a format.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar, TypeVar

from aboard import frameworks
from aboard.base import printable, resources
from aboard.errors import ModelError, did_you_mean
from aboard.ir import Graph
from aboard.ops import control


class Importer(ABC):
    """Reads one file format. One instance serves all files; it holds no state.

    Attributes:
        format: Name of the format, for error messages.
        suffixes: Usual ends of file names, lower case, with the dot.
    """

    format: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def recognises(self, data: bytes) -> bool:
        """True if the content identifies the format."""

    @abstractmethod
    def read(self, data: bytes, where: str, dimensions: Mapping[str, int]) -> Graph:
        """Returns the graph; `load` sets its name, source and hash.

        Args:
            data: The whole file.
            where: File name, the start of every error message.
            dimensions: Sizes of free dimensions by their name in the file.

        Raises:
            ModelError: The file is corrupt or uses an unsupported feature.
        """


_IMPORTERS: list[Importer] = []
_ImporterType = TypeVar("_ImporterType", bound=type[Importer])

#: Headers that a compiler includes by name; a model's header of the same name would replace them.
_SYSTEM_HEADERS = (
    "alloca arm_acle arm_mve arm_neon assert complex ctype endian errno fcntl features fenv float inttypes "
    "iso646 limits locale malloc math memory poll pthread sched setjmp signal stdalign stdarg stdatomic "
    "stdbool stddef stdint stdio stdlib stdnoreturn string strings termios tgmath threads time uchar unistd "
    "wchar wctype"
)


#: Largest number of characters in a model's name.
MOST_NAME = 100


def register(cls: _ImporterType) -> _ImporterType:
    """Adds an importer class to the registry (class decorator)."""
    _IMPORTERS.append(cls())
    return cls


@cache
def _all() -> tuple[Importer, ...]:
    package = importlib.import_module("aboard.importers")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"aboard.importers.{module.name}")
    return tuple(sorted(_IMPORTERS, key=lambda importer: importer.format))


def load(model: str | Path | bytes, name: str | None = None, dimensions: Mapping[str, int] | None = None) -> Graph:
    """Reads a model.

    Args:
        model: Path of the file, or its bytes. A file of a framework is converted (`aboard.frameworks`).
        name: C identifier in lower case, the prefix of every symbol of the generated code. By default it is made from
            the file name (`model` for bytes).
        dimensions: Sizes of the file's free dimensions by their name.

    Returns:
        The verified graph.

    Raises:
        ModelError: The file cannot be read, has an unknown format, is corrupt, or uses an unsupported feature.
        ExtraError: The framework that converts the file is not installed.
    """
    data, where, stem = (model, "model (bytes)", "model") if isinstance(model, bytes) else _read(Path(model))
    if name is not None and len(name) > MOST_NAME:
        raise ModelError(
            f"{where}: name of the model, got {len(name)} characters, expected at most {MOST_NAME}. Shorten it"
        )
    if name is not None and name != identifier(name):
        raise ModelError(
            f"{where}: name of the model, got {name!r}, expected a C identifier in lower case that names no header of "
            f"the C library or of the firmware. Try {identifier(name)}"
        )
    if not data:
        raise ModelError(f"{where}: the file is empty. Export or download the model again")
    importer = _importer(data, where)
    graph = importer.read(data, where, dimensions or {})
    graph.format = importer.format
    graph.name = name or identifier(stem)
    graph.source = where
    graph.model_hash = hashlib.sha256(data).hexdigest()
    for body in control.graphs(graph):
        body.name, body.source = f"{graph.name}_{body.name}", where
        body.model_hash = graph.model_hash
    return graph


def identifier(text: str) -> str:
    """Returns a C identifier in lower case that resembles a text: `ResNet-8 (int8)` gives `resnet_8_int8`.

    It has at most `MOST_NAME` characters, because names of files and symbols begin with it.
    """
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "model"
    ours = name == "aboard" or name.startswith("aboard_") or name in _firmware_headers()
    taken = name[0].isdigit() or ours or name in _SYSTEM_HEADERS.split()
    return (f"model_{name}" if taken else name)[:MOST_NAME].rstrip("_")


@cache
def _firmware_headers() -> frozenset[str]:
    """Returns the names, without suffix, of the headers in the folder of the models' headers in a project."""
    folders = (resources.firmware() / name for name in ("ports", "rpc"))
    return frozenset(path.stem for folder in folders for path in folder.rglob("*.h"))


def _read(path: Path) -> tuple[bytes, str, str]:
    where = printable.one_line(path.name or str(path))
    try:
        return frameworks.read_bytes(path), where, path.stem
    except IsADirectoryError:
        raise ModelError(f"{where}: got a folder, expected a model file. Name the file within it") from None
    except FileNotFoundError:
        near = _models_beside(path)
        hint = did_you_mean(path.name, near) if near else "Check the path"
        raise ModelError(f"{where}: no such file in {path.absolute().parent}. {hint}") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{where}: cannot be read ({error}). Check the path and its permissions") from error


def _models_beside(path: Path) -> list[str]:
    suffixes = {suffix for importer in _all() for suffix in importer.suffixes}
    try:
        return [entry.name for entry in path.parent.iterdir() if entry.suffix.lower() in suffixes]
    except OSError:
        return []


def _importer(data: bytes, where: str) -> Importer:
    """Returns the importer of a file, by content or else by suffix, so that its format reports a damaged file."""
    for importer in _all():
        if importer.recognises(data):
            return importer
    for importer in _all():
        if Path(where).suffix.lower() in importer.suffixes:
            return importer
    formats = ", ".join(f"{importer.format} ({', '.join(importer.suffixes)})" for importer in _all())
    raise ModelError(f"{where}: not a model file, got bytes {data[:8]!r}, expected {formats}. Convert the model first")
