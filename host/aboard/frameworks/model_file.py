"""The bytes of a model file: those of the file, or of what its framework makes of it."""

from __future__ import annotations

import functools
from pathlib import Path

from aboard.base import printable
from aboard.errors import ModelError
from aboard.frameworks import conversion, signatures
from aboard.frameworks.signatures import SAVED_MODEL, FrameworkFormat

#: Conversions that are remembered: a command may read its file several times, and a converter takes seconds.
_REMEMBERED = 8


def read_bytes(path: Path) -> bytes:
    """Returns the TFLite or ONNX file that a path names, or that a framework converts it to.

    Args:
        path: A file, or the folder of a SavedModel. The content decides on the format.

    Raises:
        ModelError: The file has a format that aboard neither reads nor converts, or a converter refuses it.
        ExtraError: The packages of the framework are not installed.
        OSError: As of `Path.read_bytes`.
    """
    where = printable.one_line(path.name or str(path))
    found = signatures.identify(path, where)
    if found is None:
        return path.read_bytes()
    if not isinstance(found, FrameworkFormat):
        raise ModelError(f"{where}: {found.name}, expected a model that aboard reads. {found.advice}")
    source = path.parent if found is SAVED_MODEL and path.is_file() else path
    return _converted(source.absolute(), found, where, _state(source))


def is_model_folder(path: Path) -> bool:
    """True for a folder that is a model of a framework: a SavedModel."""
    return (path / "saved_model.pb").is_file()


def _state(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Returns what changes when a file, or a file in a folder, changes: paths, times and sizes."""
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    stats = [(str(each), each.stat()) for each in files]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)


@functools.lru_cache(maxsize=_REMEMBERED)
def _converted(source: Path, kind: FrameworkFormat, where: str, state: tuple[tuple[str, int, int], ...]) -> bytes:
    signatures.check_size(sum(size for _, _, size in state), where)
    return conversion.convert(source, kind, where)
