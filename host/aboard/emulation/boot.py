"""Boot ROMs, as far as images need them.

RP2040's checks the image's first block, copies it to RAM and calls it. RP2350's reads a block that describes the image.
"""

from __future__ import annotations

from aboard.boards.board import Boot

_POLYNOMIAL, _START = 0x04C11DB7, 0xFFFFFFFF
_CHECKSUM_BYTES = 4
#: RP2350 data sheet, 5.9: the words that begin and end a block, the types of its items, and the type of the image: an
#: executable for Arm in secure state.
_BLOCK_START, _BLOCK_END = 0xFFFFDED3, 0xAB123579
_IMAGE_TYPE, _VECTOR_TABLE, _LAST = 0x42, 0x03, 0xFF
_ARM_IMAGE = 0x1021


def crc32(data: bytes) -> int:
    """Returns the CRC-32 of RP2040's boot ROM (data sheet, 2.8.1.3.1): not reflected, not inverted."""
    crc = _START
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = crc << 1 ^ (_POLYNOMIAL if crc >> 31 else 0)
            crc &= 0xFFFFFFFF
    return crc


def code(boot: Boot, block: bytes) -> bytes:
    """Returns the code that the boot ROM copies to RAM.

    Args:
        boot: The requirements of the boot ROM.
        block: The first bytes of the image.

    Raises:
        ValueError: The block's checksum, in its last four bytes, is wrong.
    """
    body, checksum = block[:-_CHECKSUM_BYTES], int.from_bytes(block[-_CHECKSUM_BYTES:], "little")
    if checksum != crc32(body):
        raise ValueError(
            f"boot block of {boot.driver}: wrong checksum, got {checksum:#010x}, expected {crc32(body):#010x}"
        )
    return body


def vectors(boot: Boot, block: bytes) -> int:
    """Returns the address of the vector table that a block of RP2350 names.

    Args:
        boot: The requirements of the boot ROM.
        block: The first bytes of the image.

    Raises:
        ValueError: The block has no start or no end, its loop does not lead back to it, an item is missing, or the
            image is of another type.
    """
    words = [int.from_bytes(block[at : at + 4], "little") for at in range(0, len(block), 4)]
    if words[0] != _BLOCK_START:
        raise ValueError(f"boot block of {boot.driver}: no start, got {words[0]:#010x}, expected {_BLOCK_START:#010x}")
    at, items = 1, dict[int, list[int]]()
    while at < len(words) and words[at] & 0xFF != _LAST:
        length = max(words[at] >> 8 & 0xFF, 1)
        items[words[at] & 0xFF] = words[at : at + length]
        at += length
    tail = words[at : at + 3]
    if tail != [(at - 1) << 8 | _LAST, 0, _BLOCK_END]:
        raise ValueError(
            f"boot block of {boot.driver}: wrong end, got {', '.join(f'{word:#010x}' for word in tail)}, expected "
            f"{(at - 1) << 8 | _LAST:#010x}, 0x00000000, {_BLOCK_END:#010x}"
        )
    kind = items.get(_IMAGE_TYPE, [0])[0] >> 16
    if kind != _ARM_IMAGE or _VECTOR_TABLE not in items:
        raise ValueError(
            f"boot block of {boot.driver}: no image for Arm with a vector table, got type {kind:#06x} and items "
            f"{sorted(items)}, expected type {_ARM_IMAGE:#06x} and item {_VECTOR_TABLE}"
        )
    return items[_VECTOR_TABLE][1]
