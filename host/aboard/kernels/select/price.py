"""The price of flash: instructions that a byte must save."""

from __future__ import annotations

from aboard.target import Target

#: Instructions that a byte of flash must save, by `-opt`. 30 for `balanced`: a kilobyte then saves 31,000, about a
#: hundredth of an inference of the benchmarks' models, which take 38 to 280 kilobytes.
FLASH_PRICE = {"speed": 0.0, "balanced": 30.0, "size": 1000.0}

#: Instructions that a byte of unrolled code must save within a kernel that chooses how far to unroll. All values of
#: `-opt` have the same: the kernel decides before its cost is compared with that of others.
UNROLLED_CODE_PRICE = 80


def flash_price(target: Target) -> float:
    """Returns the instructions of an inference that a byte of flash must save on a target."""
    return FLASH_PRICE[target.opt]
