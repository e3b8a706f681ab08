"""The project of the toy models (`tests/firmware/rpc/toy_models.h`), with the manifests a compiler would write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aboard.base.manifest import Manifest
from aboard.base.manifest_records import NodeRecord, OperandRecord, StateRecord, TensorRecord
from aboard.boards.board import Memory

SHAPE = (1, 2, 3, 4)
SURVIVING = (0, 1, 3)


@dataclass(frozen=True)
class ToyBoard:
    id: str = "fake/device"
    memory: tuple[Memory, ...] = ()


def _tensor(
    name: str, offset: int, dtype: str = "int8", shape: tuple[int, ...] = SHAPE, size: int = 24
) -> TensorRecord:
    return TensorRecord(name=name, c_name=name, dtype=dtype, shape=shape, offset=offset, bytes=size)


def _operand(name: str, offset: int, *, narrow: bool = False) -> OperandRecord:
    return OperandRecord(
        tensor=name,
        source=None,
        dtype="int8",
        shape=(1, 2, 3, 3) if narrow else SHAPE,
        offset=offset,
        row_stride=12,
        pixel_stride=4,
        channel_map=SURVIVING if narrow else None,
        reference_channels=4 if narrow else None,
    )


def _node(name: str, inputs: tuple[OperandRecord, ...], outputs: tuple[OperandRecord, ...]) -> NodeRecord:
    return NodeRecord(
        name=name,
        op=name,
        implementation="toy",
        sources=(0,),
        macs=24,
        rows=2,
        weights_bytes=0,
        scratch_bytes=0,
        workspace_bytes=96,
        inputs=inputs,
        outputs=outputs,
    )


def _manifest(
    name: str,
    digest: bytes,
    inputs: tuple[TensorRecord, ...],
    outputs: tuple[TensorRecord, ...],
    nodes: tuple[NodeRecord, ...],
) -> Manifest:
    return Manifest(
        generator="by hand",
        name=name,
        model_file=f"{name}.tflite",
        model_hash=digest.ljust(32, b"\0").hex(),
        target="c",
        core="cortex-m4",
        input_mode="consumed",
        macs=0,
        macs_run=0,
        ram_bytes=128,
        ram_lower_bound_bytes=128,
        weights_bytes=0,
        cflags=(),
        sources=(),
        headers=(),
        inputs=inputs,
        outputs=outputs,
        nodes=nodes,
        buffers=(),
    )


ADDER = _manifest(
    "adder",
    bytes([0xAD, 0xDE, 1, 2, 3]),
    (_tensor("a", 0), _tensor("b", 32)),
    (_tensor("sum", 0), _tensor("masked", 96)),
    (
        _node("add", (_operand("a", 0), _operand("b", 32)), (_operand("sum", 64),)),
        _node("negate", (_operand("sum", 0),), (_operand("negated", 32, narrow=True),)),
        _node("widen", (_operand("negated", 0, narrow=True),), (_operand("masked", 32),)),
    ),
)

DOUBLER = _manifest(
    "doubler",
    bytes([0xD0, 0xB1, 4, 5, 6]),
    (_tensor("x", 0, "float32", (1, 5), 20),),
    (_tensor("y", 24, "float32", (1, 5), 20),),
    (_node("double", (), ()),),
)

KEEPER = _manifest(
    "keeper",
    bytes([0x4B, 7, 8, 9]),
    (_tensor("x", 0, "uint8", (4,), 4),),
    (_tensor("y", 4, "uint8", (4,), 4),),
    (
        _node(
            "keep",
            (),
            (
                OperandRecord(
                    tensor="y", source=None, dtype="uint8", shape=(4,), offset=0, row_stride=4, pixel_stride=1
                ),
            ),
        ),
    ),
).model_copy(
    update={
        "ram_bytes": 16,
        "states": (
            _tensor("total", 0, "uint8", (4,), 4).model_copy(update={"arena": 1}),
            _tensor("runs", 4, "int16", (1,), 2).model_copy(update={"arena": 1}),
        ),
        "state": StateRecord(bytes=6, memory=1),
    }
)


@dataclass(frozen=True)
class ToyProject:
    board: ToyBoard = ToyBoard()
    path: Path = Path("toy")
    image: Path = Path("toy/firmware.elf")
    build_id: str = "build-1"
    models: tuple[Manifest, ...] = (ADDER, DOUBLER)
