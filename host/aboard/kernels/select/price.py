"""The prices of flash and RAM: what a byte must save, in cycles of an inference.

One rule chooses kernels: the least cycles + flash price * bytes of flash + RAM price * bytes of scratch. `-opt` sets
the prices. On a core whose cycles are not known, an instruction counts as a cycle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aboard import ops
from aboard.ir import Node
from aboard.target import Target


@dataclass(frozen=True)
class Prices:
    """What a byte must save in cycles of an inference.

    Attributes:
        flash: For a byte of flash, which counts once for a model.
        ram: For a byte of a node's scratch, whose memory other steps use too.
    """

    flash: float
    ram: float


#: Prices by `-opt`. With 40 for `balanced`, a kilobyte of flash saves 41,000, about a hundredth of an inference of the
#: benchmark models on Cortex-M4, which take 38 to 280 kilobytes; `SHARE` limits it for shorter inferences. Scratch
#: costs only with `size`: it lies in the arena, where the schedule finds room for it beside maps that are larger.
PRICES = {"speed": Prices(0.0, 0.0), "balanced": Prices(40.0, 0.0), "size": Prices(1000.0, 1.0)}

#: Cycles that a byte of unrolled code must save within a kernel that chooses its unrolling. The value is the same
#: for all `-opt`: the kernel decides before its cost is compared with others.
UNROLLED_CODE_PRICE = 80

#: Share of an inference that a byte must save with `balanced` if that is less than its price: a kilobyte, a hundredth.
#: Models of some thousand cycles would else take slow kernels for a few bytes.
SHARE = 1 / (100 * 1024)

#: Products of an instruction of the cores that the price of `balanced` holds for. A core with more products takes fewer
#: cycles for an inference, of which a byte must then save fewer.
_PRODUCTS = 2


#: Instructions for a product of several and its loads, and for a result.
_PRODUCT, _RESULT = 2.0, 3.0


def inference(nodes: Sequence[Node], target: Target) -> float:
    """Returns the instructions of an inference, roughly: what its products and its results take with fast kernels.

    It limits the price of flash where a kernel chooses among its own forms, before the time of any kernel is known.

    Args:
        nodes: The nodes of the model.
        target: The target of the code.
    """
    best = target.cpu.mac_instruction("int8")
    each = _PRODUCT / (1 if best is None else best.macs)
    return sum(each * ops.get(node.op).macs(node) + _RESULT * node.output.type.elements for node in nodes)


def prices(target: Target) -> Prices:
    """Returns the prices of a target."""
    found, best = PRICES[target.opt], target.cpu.mac_instruction("int8")
    if target.opt != "balanced" or best is None:
        return found
    return replace(found, flash=found.flash * _PRODUCTS / max(best.macs, _PRODUCTS))


def flash_price(target: Target, fastest: float = math.inf) -> float:
    """Returns the cycles of an inference that a byte of flash must save.

    Args:
        target: The target.
        fastest: Cycles of an inference with the fastest kernels, which limit the price of `balanced`; infinite for a
            node whose model is not known.
    """
    price = prices(target).flash
    return min(price, fastest * SHARE) if target.opt == "balanced" else price
