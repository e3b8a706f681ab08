"""Kernels: how each op is computed on a kind of core. One file per op; `contract` says what one provides."""

from aboard.kernels.contract import (
    Constant,
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    Literal,
    OutputArg,
    Scratch,
    ScratchArg,
    View,
)
from aboard.kernels.registry import implements, of

__all__ = [
    "Constant",
    "ConstantArg",
    "Implementation",
    "InputArg",
    "KernelCall",
    "Literal",
    "OutputArg",
    "Scratch",
    "ScratchArg",
    "View",
    "implements",
    "of",
]
