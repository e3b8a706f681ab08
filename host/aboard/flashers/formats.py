"""Converts ELF images to the formats that tools take: Intel HEX and UF2."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from aboard.errors import ToolError

_HEX_BYTES = 16
_PAGE = 1 << 16
# https://github.com/microsoft/uf2: blocks of 512 bytes with magic numbers at both ends and 256 bytes of data.
_UF2_START = (0x0A324655, 0x9E5D5157)
_UF2_END = 0x0AB16F30
_UF2_FAMILY_PRESENT = 0x2000
_UF2_PAYLOAD = 256
_UF2_FIELD = 476


@dataclass(frozen=True)
class Segment:
    """A piece of an image.

    Attributes:
        address: Its flash address.
        data: Its bytes.
    """

    address: int
    data: bytes


def segments(elf: Path) -> list[Segment]:
    """Returns the flash content of an image, sorted by address; initialised data is at its load address.

    Raises:
        ToolError: The file is missing, is no ELF file, or holds nothing to flash.
    """
    try:
        with elf.open("rb") as stream:
            loaded = [part for part in ELFFile(stream).iter_segments("PT_LOAD") if part["p_filesz"]]
            found = [Segment(part["p_paddr"], part.data()) for part in loaded]
    except OSError as error:
        raise ToolError(f"{elf}: no image, got {error.strerror}, expected a built one. Run `aboard build`") from error
    except ELFError as error:
        raise ToolError(f"{elf}: not an ELF file, got {error}, expected an image. Build it again") from error
    if not found:
        raise ToolError(f"{elf}: holds nothing to flash, got no loaded segment, expected one. Build it again")
    return sorted(found, key=lambda segment: segment.address)


def write_hex(elf: Path, path: Path) -> Path:
    """Writes an image as Intel HEX; returns the path.

    Raises:
        ToolError: As for `segments`.
    """
    lines = [line for segment in segments(elf) for line in _hex_lines(segment)]
    path.write_text("\n".join([*lines, _record(0, 1, b"")]) + "\n", encoding="ascii")
    return path


def write_bin(elf: Path, path: Path) -> Path:
    """Writes an image as the bytes of flash from its lowest address on, with 0xFF between segments; returns the path.

    Raises:
        ToolError: As for `segments`.
    """
    found = segments(elf)
    data = bytearray()
    for segment in found:
        data = data.ljust(segment.address - found[0].address, b"\xff") + segment.data
    path.write_bytes(data)
    return path


def _hex_lines(segment: Segment) -> Iterator[str]:
    page = None
    offset = 0
    while offset < len(segment.data):
        address = segment.address + offset
        if address // _PAGE != page:
            page = address // _PAGE
            yield _record(0, 4, struct.pack(">H", page))
        # A record must not cross the end of its 64 KiB page.
        length = min(_HEX_BYTES, _PAGE - address % _PAGE)
        yield _record(address % _PAGE, 0, segment.data[offset : offset + length])
        offset += length


def _record(address: int, kind: int, data: bytes) -> str:
    body = struct.pack(">BHB", len(data), address, kind) + data
    return f":{(body + bytes([-sum(body) & 0xFF])).hex().upper()}"


def write_uf2(elf: Path, path: Path, family: int) -> Path:
    """Writes an image as UF2; returns the path.

    Args:
        elf: The image.
        path: The file.
        family: Id of the chip family, which the boot loader compares.

    Raises:
        ToolError: As for `segments`.
    """
    pages: dict[int, bytearray] = {}
    for segment in segments(elf):
        for offset, byte in enumerate(segment.data):
            address = segment.address + offset
            pages.setdefault(address // _UF2_PAYLOAD, bytearray(_UF2_PAYLOAD))[address % _UF2_PAYLOAD] = byte
    blocks = sorted(pages.items())
    with path.open("wb") as stream:
        for number, (page, data) in enumerate(blocks):
            head = struct.pack(
                "<8I",
                *_UF2_START,
                _UF2_FAMILY_PRESENT,
                page * _UF2_PAYLOAD,
                _UF2_PAYLOAD,
                number,
                len(blocks),
                family,
            )
            stream.write(head + bytes(data).ljust(_UF2_FIELD, b"\0") + struct.pack("<I", _UF2_END))
    return path
