"""Sizes of a built image, from the sections of its ELF file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from aboard.errors import ToolError

_RESERVED = (".stack", ".heap")
_MODEL = ".model"
_WEIGHTS = ".weights"
_ARCHIVE_MAGIC = b"!<arch>\n"
_MEMBER_HEADER = 60


@dataclass(frozen=True)
class ImageSizes:
    """Bytes of flash and RAM that an image takes.

    Attributes:
        image_flash_bytes: Code, constants, and initial values of data and of weights that are copied to RAM.
        image_ram_bytes: Data, bss, arenas and weights that are copied to RAM; without stack and heap.
        model_flash_bytes: The models' share of flash: code, kernels, constants, and functions of the compiler's
            library.
        stack_reserved: Bytes reserved for the stack; 0 if the operating system reserves the stack.
        models: Flash of each model alone, by name.
        includes_stack: True if `image_ram_bytes` includes the stacks, as in the report of Zephyr's linker.
    """

    image_flash_bytes: int
    image_ram_bytes: int
    model_flash_bytes: int
    stack_reserved: int
    models: Mapping[str, int] = field(default_factory=dict)
    includes_stack: bool = False

    @property
    def ram_needed_bytes(self) -> int:
        """Bytes of RAM that the image needs on its board: data, bss and stack; there is no heap."""
        return self.image_ram_bytes + (0 if self.includes_stack else self.stack_reserved)


@dataclass(frozen=True)
class Section:
    """A section of an image that occupies device memory.

    Attributes:
        name: Name of the section.
        bytes: Size.
        in_flash: True if the section or its initial values are flashed.
        in_ram: True if the section occupies RAM.
    """

    name: str
    bytes: int
    in_flash: bool
    in_ram: bool


@dataclass(frozen=True)
class Symbol:
    """A function or an array of an image.

    Attributes:
        name: Name in the symbol table.
        bytes: Size.
        section: Name of the section that contains the symbol.
        is_code: True for a function.
    """

    name: str
    bytes: int
    section: str
    is_code: bool


@dataclass(frozen=True)
class _Section:
    name: str
    size: int
    alloc: bool
    writable: bool
    stored: bool
    copied: bool


def _sections(stream: BinaryIO) -> Iterator[_Section]:
    file = ELFFile(stream)
    moved = [segment for segment in file.iter_segments("PT_LOAD") if segment["p_vaddr"] != segment["p_paddr"]]
    for section in file.iter_sections():
        flags = section["sh_flags"]
        yield _Section(
            section.name,
            section["sh_size"],
            bool(flags & SH_FLAGS.SHF_ALLOC),
            bool(flags & SH_FLAGS.SHF_WRITE),
            section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL"),
            any(segment.section_in_segment(section) for segment in moved),
        )


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise ToolError(f"{path}: no image, got {error.strerror}, expected a built one. Run `aboard build`") from error


def _elf(stream: BinaryIO, path: Path) -> ELFFile:
    try:
        return ELFFile(stream)
    except ELFError as error:
        raise ToolError(f"{path}: not an ELF file, got {error}, expected an image. Build it again") from error


def sections(elf: Path) -> tuple[Section, ...]:
    """Returns the sections of an image that occupy memory, in the order of the file.

    Args:
        elf: The image.

    Raises:
        ToolError: The file is missing or no ELF file.
    """
    with _open(elf) as stream:
        _elf(stream, elf)
        found = [section for section in _sections(stream) if section.alloc and section.size]
    return tuple(Section(s.name, s.size, s.stored, s.writable or s.copied) for s in found)


def symbols(elf: Path) -> tuple[Symbol, ...]:
    """Returns the functions and arrays of an image that have a size, sorted by address.

    No byte is counted twice: if several symbols have the same address, the first is taken; if a symbol overlaps the
    next, it ends where the next begins.

    Args:
        elf: The image.

    Raises:
        ToolError: The file is missing or no ELF file.
    """
    found: dict[int, Symbol] = {}
    with _open(elf) as stream:
        file = _elf(stream, elf)
        table = file.get_section_by_name(".symtab")
        for symbol in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
            kind, index = symbol["st_info"]["type"], symbol["st_shndx"]
            if kind in ("STT_FUNC", "STT_OBJECT") and symbol["st_size"] and isinstance(index, int):
                # The lowest bit of a function's address marks Thumb code.
                at = symbol["st_value"] & ~1 if kind == "STT_FUNC" else symbol["st_value"]
                section = file.get_section(index).name
                found.setdefault(at, Symbol(symbol.name, symbol["st_size"], section, kind == "STT_FUNC"))
    places = sorted(found)
    room = [after - at for at, after in zip(places, [*places[1:], 1 << 64], strict=True)]
    return tuple(replace(found[at], bytes=min(found[at].bytes, most)) for at, most in zip(places, room, strict=True))


def sizes(elf: Path, archives: Mapping[str, Path] | None = None) -> ImageSizes:
    """Returns the sizes of an image.

    Args:
        elf: The image, or the library of a model.
        archives: The models' libraries by name, for images whose link does not separate the models (images for this
            machine). Functions that the linker left out are counted too.

    Raises:
        ToolError: The file is missing or no ELF file.
    """
    with _open(elf) as stream:
        if stream.read(len(_ARCHIVE_MAGIC)) == _ARCHIVE_MAGIC:
            return _library_sizes(archives or {elf.stem: elf})
        try:
            sections = [section for section in _sections(stream) if section.alloc]
        except ELFError as error:
            raise ToolError(f"{elf}: not an ELF file, got {error}, expected an image. Build it again") from error
    counted = [section for section in sections if not section.name.startswith(_RESERVED)]
    parts = [section for section in sections if section.name == _MODEL or section.name.startswith(f"{_MODEL}.")]
    models = {section.name.removeprefix(f"{_MODEL}."): section.size for section in parts if section.name != _MODEL}
    for section in sections:
        if section.name.startswith(f"{_WEIGHTS}."):
            models[section.name.removeprefix(f"{_WEIGHTS}.")] += section.size
    if not parts and archives:
        models = {name: archive_bytes(path) for name, path in archives.items()}
    shared = sum(section.size for section in parts if section.name == _MODEL)
    return ImageSizes(
        image_flash_bytes=sum(section.size for section in counted if section.stored),
        image_ram_bytes=sum(section.size for section in counted if section.writable or section.copied),
        model_flash_bytes=sum(models.values()) + shared,
        stack_reserved=sum(section.size for section in sections if section.name.startswith(".stack")),
        models=models,
    )


def _library_sizes(archives: Mapping[str, Path]) -> ImageSizes:
    models = {name: archive_bytes(path) for name, path in archives.items()}
    total = sum(models.values())
    written = sum(archive_bytes(path, writable=True) for path in archives.values())
    return ImageSizes(total, written, total, 0, models)


def archive_bytes(path: Path, *, writable: bool = False) -> int:
    """Returns the bytes of code and constants in a static library.

    Args:
        path: The library.
        writable: True to count writable bytes instead.

    Raises:
        ToolError: The file is missing or is not a library of ELF files.
    """
    total = 0
    with _open(path) as stream:
        if stream.read(len(_ARCHIVE_MAGIC)) != _ARCHIVE_MAGIC:
            raise ToolError(f"{path}: not a static library. Build the project again")
        for start, size in _members(stream):
            stream.seek(start)
            content = stream.read(size)
            if content.startswith(b"\x7fELF"):
                total += _object_bytes(io.BytesIO(content), writable)
    return total


def _members(stream: BinaryIO) -> Iterator[tuple[int, int]]:
    """Yields the offset and the size of each member of a Unix archive, in bytes."""
    while len(header := stream.read(_MEMBER_HEADER)) == _MEMBER_HEADER:
        start, size = stream.tell(), int(header[48:58])
        yield start, size
        stream.seek(start + size + size % 2)


def _object_bytes(stream: BinaryIO, writable: bool) -> int:
    counted = (section for section in _sections(stream) if section.alloc)
    return sum(section.size for section in counted if (section.writable if writable else section.stored))
