"""Kernels: how each op is computed on a kind of core. One file per op; `contract` says what one provides."""

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
