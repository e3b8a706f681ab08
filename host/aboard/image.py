"""Sizes of a built image, from the sections of its ELF file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from aboard.errors import ToolError

_RESERVED = (".stack", ".heap")
_MODEL = ".model"
_ARCHIVE_MAGIC = b"!<arch>\n"
_MEMBER_HEADER = 60


@dataclass(frozen=True)
class ImageSizes:
    """What an image takes of flash and RAM.

    Attributes:
        image_flash_bytes: Code, constants, and the first values of data.
        image_ram_bytes: Data and bss; without stack and heap.
        model_flash_bytes: The models' part of flash: code, kernels, constants, and what they need of the compiler's
            library.
        stack_reserved: Bytes set aside for the stack; 0 where the operating system does that.
        models: The part of each model alone, by name.
    """

    image_flash_bytes: int
    image_ram_bytes: int
    model_flash_bytes: int
    stack_reserved: int
    models: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Section:
    name: str
    size: int
    alloc: bool
    writable: bool
    stored: bool


def _sections(stream: BinaryIO) -> Iterator[_Section]:
    for section in ELFFile(stream).iter_sections():
        flags = section["sh_flags"]
        yield _Section(
            section.name,
            section["sh_size"],
            bool(flags & SH_FLAGS.SHF_ALLOC),
            bool(flags & SH_FLAGS.SHF_WRITE),
            section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL"),
        )


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise ToolError(f"{path}: no image, got {error.strerror}, expected a built one. Run `aboard build`") from error


def sizes(elf: Path, archives: Mapping[str, Path] | None = None) -> ImageSizes:
    """Returns the sizes of an image.

    Args:
        elf: The image.
        archives: The models' libraries by name, for images whose link does not set the models apart (those of this
            machine); what the linker left out is counted too.

    Raises:
        ToolError: The file is missing or no ELF file.
    """
    with _open(elf) as stream:
        try:
            sections = [section for section in _sections(stream) if section.alloc]
        except ELFError as error:
            raise ToolError(f"{elf}: is no ELF file, got {error}, expected an image. Build it again") from error
    counted = [section for section in sections if not section.name.startswith(_RESERVED)]
    parts = [section for section in sections if section.name == _MODEL or section.name.startswith(f"{_MODEL}.")]
    models = {section.name.removeprefix(f"{_MODEL}."): section.size for section in parts if section.name != _MODEL}
    if not parts and archives:
        models = {name: archive_bytes(path) for name, path in archives.items()}
    shared = sum(section.size for section in parts if section.name == _MODEL)
    return ImageSizes(
        image_flash_bytes=sum(section.size for section in counted if section.stored),
        image_ram_bytes=sum(section.size for section in counted if section.writable),
        model_flash_bytes=sum(models.values()) + shared,
        stack_reserved=sum(section.size for section in sections if section.name.startswith(".stack")),
        models=models,
    )


def archive_bytes(path: Path) -> int:
    """Returns the bytes of code and constants in a static library.

    Raises:
        ToolError: The file is missing or no library of ELF files.
    """
    total = 0
    with _open(path) as stream:
        if stream.read(len(_ARCHIVE_MAGIC)) != _ARCHIVE_MAGIC:
            raise ToolError(f"{path}: is no static library, expected one. Build the project again")
        for start, size in _members(stream):
            stream.seek(start)
            content = stream.read(size)
            if content.startswith(b"\x7fELF"):
                total += _object_bytes(io.BytesIO(content))
    return total


def _members(stream: BinaryIO) -> Iterator[tuple[int, int]]:
    """Yields start and size of each member of an archive in the common format."""
    while len(header := stream.read(_MEMBER_HEADER)) == _MEMBER_HEADER:
        start, size = stream.tell(), int(header[48:58])
        yield start, size
        stream.seek(start + size + size % 2)


def _object_bytes(stream: BinaryIO) -> int:
    return sum(section.size for section in _sections(stream) if section.alloc and section.stored)
