"""Commands and registers of the NPU in words: their names, and the meaning of their values.

Names and numbers are those of `firmware/emulation/ethos_u/commands.h`; a test compares both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aboard_ethos_u.borders import Command

OPERATIONS: Mapping[int, str] = {
    0x000: "OP_STOP",
    0x001: "OP_IRQ",
    0x002: "OP_CONV",
    0x003: "OP_DEPTHWISE",
    0x005: "OP_POOL",
    0x006: "OP_ELEMENTWISE",
    0x010: "OP_DMA_START",
    0x011: "OP_DMA_WAIT",
    0x012: "OP_KERNEL_WAIT",
    0x013: "OP_PMU_MASK",
}
#: Registers without a payload, counted from 0x100 in a stream.
PLAIN: Mapping[int, str] = {
    0x00: "IFM_PAD_TOP",
    0x01: "IFM_PAD_LEFT",
    0x02: "IFM_PAD_RIGHT",
    0x03: "IFM_PAD_BOTTOM",
    0x04: "IFM_DEPTH_M1",
    0x05: "IFM_PRECISION",
    0x07: "IFM_UPSCALE",
    0x09: "IFM_ZERO_POINT",
    0x0A: "IFM_WIDTH0_M1",
    0x0B: "IFM_HEIGHT0_M1",
    0x0C: "IFM_HEIGHT1_M1",
    0x0D: "IFM_IB_END",
    0x0F: "IFM_REGION",
    0x11: "OFM_WIDTH_M1",
    0x12: "OFM_HEIGHT_M1",
    0x13: "OFM_DEPTH_M1",
    0x14: "OFM_PRECISION",
    0x15: "OFM_BLK_WIDTH_M1",
    0x16: "OFM_BLK_HEIGHT_M1",
    0x17: "OFM_BLK_DEPTH_M1",
    0x18: "OFM_ZERO_POINT",
    0x1A: "OFM_WIDTH0_M1",
    0x1B: "OFM_HEIGHT0_M1",
    0x1C: "OFM_HEIGHT1_M1",
    0x1F: "OFM_REGION",
    0x20: "KERNEL_WIDTH_M1",
    0x21: "KERNEL_HEIGHT_M1",
    0x22: "KERNEL_STRIDE",
    0x24: "ACC_FORMAT",
    0x25: "ACTIVATION",
    0x26: "ACTIVATION_MIN",
    0x27: "ACTIVATION_MAX",
    0x28: "WEIGHT_REGION",
    0x29: "SCALE_REGION",
    0x2D: "AB_START",
    0x2F: "BLOCKDEP",
    0x30: "DMA0_SRC_REGION",
    0x31: "DMA0_DST_REGION",
    0x80: "IFM2_BROADCAST",
    0x81: "IFM2_SCALAR",
    0x85: "IFM2_PRECISION",
    0x89: "IFM2_ZERO_POINT",
    0x8A: "IFM2_WIDTH0_M1",
    0x8B: "IFM2_HEIGHT0_M1",
    0x8C: "IFM2_HEIGHT1_M1",
    0x8D: "IFM2_IB_START",
    0x8F: "IFM2_REGION",
}
#: Registers with a payload of 32 bits, and 16 more in the command.
WIDE: Mapping[int, str] = {
    **{base + i: f"{name}_BASE{i}" for name, base in (("IFM", 0x00), ("OFM", 0x10), ("IFM2", 0x80)) for i in range(4)},
    **{
        base + 4 + i: f"{name}_STRIDE_{axis}"
        for name, base in (("IFM", 0x00), ("OFM", 0x10), ("IFM2", 0x80))
        for i, axis in enumerate("XYC")
    },
    0x20: "WEIGHT_BASE",
    0x21: "WEIGHT_LENGTH",
    0x22: "SCALE_BASE",
    0x23: "SCALE_LENGTH",
    0x24: "OFM_SCALE",
    0x25: "OPA_SCALE",
    0x26: "OPB_SCALE",
    0x30: "DMA0_SRC",
    0x31: "DMA0_DST",
    0x32: "DMA0_LEN",
}
_FIRST_REGISTER = 0x100
_INTERNAL = 0x100
_POOLS = ("maximum", "average", "sum of a window")
_ELEMENTWISE = (
    *("product", "sum", "difference", "minimum", "maximum", "leaky relu", "absolute value"),
    *("leading zeros", "shift right", "shift left"),
)
_ROUNDINGS = ("as TFLite", "towards zero", "once")
_UPSCALES = ("none", "nearest", "zeros between")
_ACTIVATIONS = {0: "clamp", 3: "tanh", 4: "sigmoid"}
_CLIPS = {2: ", range of uint8", 3: ", range of int8", 5: ", range of int16"}


def name(command: Command) -> str:
    """Returns the name of a command or register; its number if the NPU's model does not know it."""
    if command.payload is not None:
        return WIDE.get(command.code, f"register {command.code:#05x} with a payload")
    if command.code < _FIRST_REGISTER:
        return OPERATIONS.get(command.code, f"command {command.code:#05x}")
    return PLAIN.get(command.code - _FIRST_REGISTER, f"register {command.code:#05x}")


def value(command: Command) -> int:
    """Returns the parameter of a command: 16 bits, or 48 bits with a payload."""
    return command.parameter if command.payload is None else command.payload | command.parameter << 32


def meaning(command: Command, pointers: Mapping[int, str]) -> str:
    """Returns the meaning of a command's value in words; "" if the value says everything.

    Args:
        command: The command.
        pointers: What the base pointers point to, as far as known.
    """
    named, number = name(command), value(command)
    if named.endswith("_REGION"):
        return _region(number, pointers)
    if named.endswith("_M1"):
        return f"means {number + 1}"
    if named.endswith(("_ZERO_POINT", "_SCALAR")) or named in ("ACTIVATION_MIN", "ACTIVATION_MAX"):
        return f"{number - (1 << 16) if number >> 15 else number}"
    if named.endswith("_SCALE"):
        return f"{number & 0xFFFFFFFF} / 2^{number >> 32 & 63}"
    if "_BASE" in named or named in ("DMA0_SRC", "DMA0_DST"):
        return f"at {number:#x}"
    if named.endswith(("_LENGTH", "_LEN")) or "_STRIDE_" in named:
        return f"{number:,} byte{'s' if number != 1 else ''}"
    return _MEANINGS[named](number) if named in _MEANINGS else ""


def _region(number: int, pointers: Mapping[int, str]) -> str:
    if number & _INTERNAL:
        return "shared RAM of the NPU"
    known = f": {pointers[number]}" if number in pointers else ""
    return f"base pointer {number}{known}"


def _element(bits: int, size: int, layout: int) -> str:
    kind = f"{'int' if bits & 1 else 'uint'}{8 << size}"
    return f"{kind}, {'bricks of 16 channels' if layout == 1 else 'rows of pixels'}"


def _input_type(number: int) -> str:
    return _element(number, number >> 2 & 3, number >> 6 & 3)


def _output_type(number: int) -> str:
    scale = "one scale" if number >> 8 & 1 else "a scale for each channel"
    return f"{_element(number, number >> 1 & 3, number >> 6 & 3)}, {scale}, rounds {_of(_ROUNDINGS, number >> 14)}"


def _stride(number: int) -> str:
    across, down = 1 + (number & 1) + ((number >> 6 & 7) << 1), 1 + (number >> 1 & 1) + ((number >> 9 & 7) << 1)
    order = "window first" if number >> 2 & 1 else "depth first"
    return f"strides {down}x{across}, dilation {1 + (number >> 4 & 1)}x{1 + (number >> 3 & 1)}, {order}"


def _activation(number: int) -> str:
    kind = number & 0xFFF
    named = _ACTIVATIONS.get(kind) or (f"table {kind - 16}" if 16 <= kind <= 23 else f"unknown function {kind}")
    return f"{named}{_CLIPS.get(number >> 12, '')}"


def _broadcast(number: int) -> str:
    axes = [axis for bit, axis in ((1, "rows"), (2, "columns"), (4, "channels")) if number & bit]
    parts = ["a scalar"] if number & 0x80 else [f"repeats {' and '.join(axes)}"] if axes else []
    return ", ".join([*parts, *(["operands swapped"] if number & 0x40 else [])]) or "none"


def _of(names: tuple[str, ...], number: int) -> str:
    return names[number] if number < len(names) else f"in an unknown way, {number}"


_MEANINGS: Mapping[str, Callable[[int], str]] = {
    "OP_POOL": lambda number: _of(_POOLS, number),
    "OP_ELEMENTWISE": lambda number: _of(_ELEMENTWISE, number),
    "OP_KERNEL_WAIT": lambda number: f"until at most {number} operations run",
    "OP_DMA_WAIT": lambda number: f"until at most {number} copies run",
    "OP_IRQ": lambda number: f"raises the interrupt, mask {number:#06x}",
    "OP_STOP": lambda number: f"ends the stream, mask {number:#06x}",
    "IFM_PRECISION": _input_type,
    "IFM2_PRECISION": _input_type,
    "OFM_PRECISION": _output_type,
    "IFM_UPSCALE": lambda number: _of(_UPSCALES, number),
    "KERNEL_STRIDE": _stride,
    "ACTIVATION": _activation,
    "IFM2_BROADCAST": _broadcast,
}
