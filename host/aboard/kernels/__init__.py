"""Kernels: the computation of each op on each kind of core.

- `contract` defines the interface of a kernel, `registry` finds the kernels, `packages` those of other packages;
- `accelerator` and `subgraph` are the same for claimed regions of a graph;
- one folder per instruction set, as in `firmware/kernels`: `portable`, `arm_thumb1`, `arm_mla`, `arm_dsp`,
  `arm_mve`. A Python file packs the constants for the C header of the same name, and returns the call;
- `select` chooses the kernel of a node;
- several instruction sets share the files beside the folders: packing (`weights`, `two_products`), windows (`windowed`,
  `overlap`), and requantisation epilogues (`requantisation`, `single_rounding`).
"""

from aboard.kernels.contract import (
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
)
from aboard.kernels.packages import KernelPackage
from aboard.kernels.registry import implements, of
from aboard.kernels.view import Literal, View

__all__ = [
    "ConstantArg",
    "Implementation",
    "InputArg",
    "KernelCall",
    "KernelPackage",
    "Literal",
    "OutputArg",
    "PackedConstant",
    "Scratch",
    "ScratchArg",
    "View",
    "implements",
    "of",
]
