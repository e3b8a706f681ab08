"""Kernels: how each op is computed on a kind of core.

- `contract` defines what a kernel provides, `registry` finds the kernels, `accelerator` and `subgraph` are the same for
  claimed regions of a graph;
- one folder per instruction set, as in `firmware/kernels`: `portable`, `arm_dsp`, `arm_mve`, `arm_smlal`. A Python file
  packs the constants of the C header of the same name, and returns the call;
- `select` chooses the kernel of a node;
- the loose files are shared by several instruction sets: packing (`weights`), windows (`windowed`, `overlap`), and
  requantisation epilogues (`requantisation`, `single_rounding`).
"""

from aboard.kernels.contract import (
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    Literal,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
    View,
)
from aboard.kernels.registry import implements, of

__all__ = [
    "ConstantArg",
    "Implementation",
    "InputArg",
    "KernelCall",
    "Literal",
    "OutputArg",
    "PackedConstant",
    "Scratch",
    "ScratchArg",
    "View",
    "implements",
    "of",
]
