"""Boot ROMs, as far as images need them.

RP2040's checks the image's first block, copies it to RAM and calls it. RP2350's and i.MX RT1060's read a block that
describes the image. That of ESP32-C3 and ESP32-C6 looks for two words, and starts the instruction behind them.
"""

from __future__ import annotations

from aboard.boards.board import Boot

_POLYNOMIAL, _START = 0x04C11DB7, 0xFFFFFFFF
_CHECKSUM_BYTES = 4
#: RP2350 data sheet, 5.9: the words that begin and end a block, the types of its items, and the types of images: an
#: executable for Arm in secure state, and one for RISC-V.
_BLOCK_START, _BLOCK_END = 0xFFFFDED3, 0xAB123579
_IMAGE_TYPE, _VECTOR_TABLE, _ENTRY_POINT, _LAST = 0x42, 0x03, 0x44, 0xFF
_ARM_IMAGE, _RISCV_IMAGE = 0x1021, 0x1101
#: i.MX RT1060 Reference Manual, chapter System Boot: the tag of the flash configuration block ("FCFB"), the first word
#: of the image vector table, and its place in words.
_FLASH_TAG, _IVT_TAG, _IVT = 0x42464346, 0x412000D1, 0x1000 // 4
#: Espressif's direct boot: the word that is twice at the start of flash, and where execution starts.
_DIRECT_BOOT, _DIRECT_ENTRY = 0xAEDB041D, 0x42000008


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
    """Returns the address of the vector table that a block names, for a Cortex-M core.

    Args:
        boot: The requirements of the boot ROM.
        block: The first bytes of the image.

    Raises:
        ValueError: The boot ROM does not accept the block.
    """
    return (
        _boot_header(boot, block) if boot.driver == "mimxrt1060" else _described(boot, block, _ARM_IMAGE, _VECTOR_TABLE)
    )


def entry(boot: Boot, block: bytes) -> int:
    """Returns the address of the first instruction that a block names, for a RISC-V core.

    Args:
        boot: The requirements of the boot ROM.
        block: The first bytes of the image.

    Raises:
        ValueError: The boot ROM does not accept the block.
    """
    if boot.driver == "esp_direct":
        magic = _words(block)
        if magic != [_DIRECT_BOOT] * 2:
            raise ValueError(
                f"boot block of {boot.driver}: wrong words, got {', '.join(f'{word:#010x}' for word in magic)}, "
                f"expected {_DIRECT_BOOT:#010x} twice"
            )
        return _DIRECT_ENTRY
    return _described(boot, block, _RISCV_IMAGE, _ENTRY_POINT)


def _words(block: bytes) -> list[int]:
    return [int.from_bytes(block[at : at + 4], "little") for at in range(0, len(block), 4)]


def _described(boot: Boot, block: bytes, kind: int, item: int) -> int:
    """Returns the address in an item of a block of RP2350.

    Args:
        boot: The requirements of the boot ROM.
        block: The first bytes of the image.
        kind: The type that the image must have.
        item: Type of the item.

    Raises:
        ValueError: The block has no start or no end, its loop does not lead back to it, the item is missing, or the
            image is of another type.
    """
    words = _words(block)
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
    found = items.get(_IMAGE_TYPE, [0])[0] >> 16
    if found != kind or item not in items:
        raise ValueError(
            f"boot block of {boot.driver}: no image that the core can start, got type {found:#06x} and items "
            f"{sorted(items)}, expected type {kind:#06x} and item {item}"
        )
    return items[item][1]


def _boot_header(boot: Boot, block: bytes) -> int:
    """Returns the address of the vector table in the header of an i.MX RT1060.

    Raises:
        ValueError: The configuration of the flash or the header is not what the boot ROM expects.
    """
    words = _words(block)
    header, data = words[_IVT : _IVT + 8], words[_IVT + 8 : _IVT + 11]
    base = header[5] - 4 * _IVT
    wrong = {
        "the flash configuration": (words[0], _FLASH_TAG),
        "the header": (header[0], _IVT_TAG),
        "its boot data": (header[4], header[5] + 0x20),
        "the start of the image": (data[0], base),
        "the vector table": (header[1], base + len(block)),
    }
    for what, (got, expected) in wrong.items():
        if got != expected:
            raise ValueError(
                f"boot block of {boot.driver}: {what} is wrong, got {got:#010x}, expected {expected:#010x}"
            )
    return header[1]
