"""A device for tests whose C code goes by the compiler's tiles: a scratchpad in RAM, and copies for transfers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aboard.ir import Tensor
from aboard.kernels.accelerator import ClaimedRegion, DeviceCode
from aboard.kernels.contract import ConstantArg, InputArg, OutputArg, PackedConstant, Scratch, ScratchArg
from aboard.ops import weighted
from aboard.ops.box import Box
from aboard.ops.subgraph import Matched
from aboard.target import MemoryRegion, Target, TileConstraint
from aboard.tiling import Tile, Transfer
from support.fake_device import layer_fields

#: Bytes of the scratchpad.
SCRATCHPAD = 256


def memory(target: Target) -> tuple[MemoryRegion, ...]:
    """Returns the scratchpad."""
    return (MemoryRegion("scratchpad", SCRATCHPAD, align=4),)


def tiles(target: Target, matched: Matched, tuning: Mapping[str, Any]) -> TileConstraint:
    """Returns the limits: rows and channels are cut, and a channel has a bias, a multiplier and a shift."""
    return TileConstraint("scratchpad", parameter_bytes=12, macs_per_cycle=4.0)


def codegen(target: Target, region: ClaimedRegion) -> DeviceCode:
    """Returns a function that brings in, computes and takes away tile by tile."""
    (matched,), (plan,) = region.patterns, region.tiles
    assert plan is not None
    packed = _Packed(matched)
    lines: list[str] = []
    for tile in plan.tiles:
        for transfer in tile.loads:
            lines += _load(transfer, packed)
        lines += _compute(matched, tile)
        lines += [f"memcpy(y + {at}, pad + {place}, {size});" for at, place, size in _runs(tile.store)]
    body = "\n".join(f"    {line}" for line in lines)
    head = f"aboard_status_t {region.name}(const int8_t *x, int8_t *y, int8_t *pad, const int8_t *packed)"
    text = f'#include <string.h>\n#include "fake_product.h"\n\n{head} {{\n{body}\n    return ABOARD_OK;\n}}\n'
    constant = PackedConstant("packed", np.frombuffer(bytes(packed.data), np.int8), 16)
    scratch = Scratch(plan.bytes, 16)
    arguments = (
        InputArg(0, "const int8_t *"),
        OutputArg(0, "int8_t *"),
        ScratchArg(scratch, "int8_t *"),
        ConstantArg(constant),
    )
    return DeviceCode(text, arguments, (region.graph.outputs[0].shape,))


class _Packed:
    """Constants in the order in which tiles bring them in, each part once."""

    def __init__(self, matched: Matched) -> None:
        self.node = matched.named["layer"]
        self.data = bytearray()
        self.places: dict[tuple[Tensor, Box, bool], int] = {}

    def offset(self, transfer: Transfer) -> int:
        """Returns where a part lies."""
        key = transfer.tensor, transfer.box, transfer.parameters
        if key not in self.places:
            self.places[key] = len(self.data)
            self.data += self._pack(transfer)
        return self.places[key]

    def _pack(self, transfer: Transfer) -> bytes:
        channels = slice(transfer.box.start[0], transfer.box.stop[0])
        if not transfer.parameters:
            matrix = np.asarray(transfer.tensor.data)[channels].reshape(transfer.box.shape[0], -1)
            return np.ascontiguousarray(matrix.T).tobytes()
        bias = self.node.optional_input(2)
        sums = np.zeros(transfer.box.elements, np.int32) if bias is None else np.asarray(bias.data)[channels]
        scale = np.stack(weighted.multipliers(self.node, 0), axis=1)[channels].astype(np.int32)
        return bytes(sums.astype(np.int32).tobytes() + scale.tobytes())


def _load(transfer: Transfer, packed: _Packed) -> list[str]:
    if transfer.tensor.is_constant:
        return [f"memcpy(pad + {transfer.offset}, packed + {packed.offset(transfer)}, {transfer.bytes});"]
    return [f"memcpy(pad + {place}, x + {at}, {size});" for at, place, size in _runs(transfer)]


def _runs(transfer: Transfer) -> list[tuple[int, int, int]]:
    """Returns offset in the tensor, offset in the scratchpad and bytes of each run of an int8 tensor's part."""
    index = np.arange(transfer.tensor.type.elements).reshape(transfer.tensor.shape)[transfer.box.slices].reshape(-1)
    size = transfer.bytes // transfer.box.runs(transfer.tensor.shape)
    return [(int(at), transfer.offset + number * size, size) for number, at in enumerate(index[::size])]


def _compute(matched: Matched, tile: Tile) -> list[str]:
    node = matched.named["layer"]
    x, weights = tile.place(node.input(0)), tile.place(node.input(1))
    bias = tile.place(node.input(1), parameters=True)
    outs = weights.box.shape[0]
    inner = weights.box.elements // outs
    fields = [x.box.elements // inner, inner, outs, *layer_fields(matched, {})[3:]]
    return [
        f"fake_product(&(const fake_layer_t){{{', '.join(map(str, fields))}}},",
        f"             pad + {x.offset}, pad + {weights.offset},",
        f"             (const void *)(pad + {bias.offset}), (const void *)(pad + {bias.offset + 4 * outs}),",
        f"             pad + {tile.store.offset});",
    ]
