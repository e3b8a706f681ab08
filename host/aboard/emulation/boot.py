"""Boot ROMs, as far as images need them: RP2040's checks the image's first block, copies it to RAM and calls it."""

from __future__ import annotations

from aboard.boards.board import Boot

_POLYNOMIAL, _START = 0x04C11DB7, 0xFFFFFFFF
_CHECKSUM_BYTES = 4


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
