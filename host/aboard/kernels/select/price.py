"""The price of flash: instructions that a byte must save."""

from __future__ import annotations

from aboard.target import Target

#: Instructions that a byte of flash must save, by `-opt`. With 30 for `balanced`, a kilobyte saves 31,000, about a
#: hundredth of an inference of the benchmark models, which take 38 to 280 kilobytes.
FLASH_PRICE = {"speed": 0.0, "balanced": 30.0, "size": 1000.0}

#: Instructions that a byte of unrolled code must save within a kernel that chooses its unrolling. The value is the same
#: for all `-opt`: the kernel decides before its cost is compared with others.
UNROLLED_CODE_PRICE = 80


def flash_price(target: Target) -> float:
    """Returns the instructions of an inference that a byte of flash must save on a target."""
    return FLASH_PRICE[target.opt]
