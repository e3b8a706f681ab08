"""Names the format of a model file by its content: by its first bytes, or by the names in a ZIP archive."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aboard.errors import ModelError
from aboard.frameworks import foreign
from aboard.frameworks.foreign import ForeignFormat

#: Bytes of a file, and of all files in an archive when it is unpacked, that a converter is given.
MOST_BYTES = 1 << 30

_HEAD_BYTES = 512


@dataclass(frozen=True)
class FrameworkFormat:
    """A format that a framework converts.

    Attributes:
        name: What the file is, with an article.
        converter: Module of this package.
        package: The framework's package.
        extra: Extra of aboard that installs the packages.
    """

    name: str
    converter: str
    package: str
    extra: str


KERAS = FrameworkFormat("a Keras model", "keras", "tensorflow", "keras")
HDF5 = FrameworkFormat("an HDF5 file, as Keras writes", "keras", "tensorflow", "keras")
SAVED_MODEL = FrameworkFormat("a SavedModel of TensorFlow", "keras", "tensorflow", "keras")
EXPORTED_PROGRAM = FrameworkFormat("an exported program of PyTorch", "pytorch", "torch", "torch")

#: Formats of frameworks by the suffix, for files that are damaged.
_BY_SUFFIX = {
    ".keras": KERAS,
    ".h5": HDF5,
    ".hdf5": HDF5,
    ".pt2": EXPORTED_PROGRAM,
}

#: Foreign formats by the first bytes.
_MAGIC: Sequence[tuple[bytes, ForeignFormat]] = (
    (b"GGUF", foreign.GGUF),
    (b"\x93NUMPY", foreign.ARRAYS),
    (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", foreign.STATE_DICT),
    *((b"\x80" + bytes([version]), foreign.PICKLE) for version in range(2, 6)),
    (b"version https://git-lfs", foreign.LFS_POINTER),
)
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ\0", b"BZh", b"\x28\xb5\x2f\xfd")
_MOST_SAFETENSORS_HEADER = 100_000_000


def identify(path: Path, where: str) -> FrameworkFormat | ForeignFormat | None:
    """Returns the format of a file or folder; None for one that importers have to recognise.

    Args:
        path: The file or folder.
        where: Its name, the start of every error message.

    Raises:
        ModelError: The file has the suffix of a framework and the content of nothing.
        OSError: The file cannot be read.
    """
    if path.is_dir():
        return _of_folder(path)
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head[4:8] == b"TFL3" or not head:
        return None
    suffix = path.suffix.lower()
    if head.startswith(b"PK"):
        return _of_archive(path, where)
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return HDF5
    found = _by_content(head, suffix)
    if found is None and path.name == "saved_model.pb":
        return SAVED_MODEL
    if found is None and suffix in _BY_SUFFIX:
        raise _damaged(where, _BY_SUFFIX[suffix].name)
    return found or foreign.BY_SUFFIX.get(suffix)


def _by_content(head: bytes, suffix: str) -> ForeignFormat | None:
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head.startswith(_COMPRESSED):
        return foreign.BY_SUFFIX.get(suffix, foreign.COMPRESSED)
    if head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") <= _MOST_SAFETENSORS_HEADER:
        return foreign.SAFETENSORS
    if head.lstrip()[:14].lower().startswith((b"<!doctype html", b"<html")):
        return foreign.WEB_PAGE
    if head[4:6] == b"ET" and head[6:8].isdigit():
        return foreign.EXECUTORCH
    return None


def _of_folder(path: Path) -> FrameworkFormat | ForeignFormat | None:
    if (path / "saved_model.pb").is_file():
        return SAVED_MODEL
    return foreign.CORE_ML if path.suffix.lower() == ".mlpackage" else None


def _of_archive(path: Path, where: str) -> FrameworkFormat | ForeignFormat:
    """Returns the format of a ZIP archive by the names in its directory; nothing is unpacked."""
    known = _BY_SUFFIX.get(path.suffix.lower()) or foreign.BY_SUFFIX.get(path.suffix.lower()) or foreign.ZIP
    check_size(path.stat().st_size, where)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise _damaged(where, known.name) from error
    check_size(sum(entry.file_size for entry in entries), where)
    names = [entry.filename for entry in entries]
    if "config.json" in names and "model.weights.h5" in names:
        return KERAS
    # PyTorch puts all entries into one folder.
    inner = {name.partition("/")[2] for name in names}
    if any(name.startswith("data/aotinductor/") for name in inner):
        return foreign.AOT_INDUCTOR
    if any(name.startswith("models/") and name.endswith(".json") for name in inner):
        return EXPORTED_PROGRAM
    if "serialized_exported_program.json" in {name.rpartition("/")[2] for name in names}:
        return EXPORTED_PROGRAM
    if any(name.startswith("code/") for name in inner):
        return foreign.TORCHSCRIPT
    if "data.pkl" in inner:
        return foreign.STATE_DICT
    if names and all(name.endswith(".npy") for name in names):
        return foreign.ARRAYS
    if any(name.endswith(".tflite") for name in names):
        return foreign.TASK
    return foreign.BY_SUFFIX.get(path.suffix.lower(), foreign.ZIP)


def check_size(size: int, where: str) -> None:
    """Refuses what is larger than `MOST_BYTES`.

    Args:
        size: Bytes of all files, unpacked.
        where: Name of the file, the start of the error message.

    Raises:
        ModelError: It is larger.
    """
    if size > MOST_BYTES:
        raise ModelError(
            f"{where}: its content, got {size} bytes when it is unpacked, expected at most {MOST_BYTES}. Choose a "
            "smaller model"
        )


def _damaged(where: str, name: str) -> ModelError:
    return ModelError(
        f"{where}: has the suffix or the first bytes of {name}, and the file is damaged. Download or save it again"
    )
