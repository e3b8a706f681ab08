"""Checks that the fields of a manifest agree. A manifest may come from a bundle that others made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from aboard.base.manifest_records import ManifestFields, OperandRecord, TensorRecord

#: Bytes of an element, by the numpy name of its type.
BYTES = {
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint32": 4,
    "uint64": 8,
    "bool": 1,
    "float16": 2,
    "float32": 4,
}


def problems(record: ManifestFields) -> Iterator[str]:
    """Yields the contradictions between valid fields of a manifest, as `<field>: <problem>`."""
    yield from _files(record)
    yield from _arenas(record)
    yield from _tensors(record)
    yield from _state(record)
    yield from _nodes(record)


def _files(record: ManifestFields) -> Iterator[str]:
    for field in ("sources", "headers", "tests"):
        yield from _twice(field, getattr(record, field))
    sources = set(record.sources)
    for number, flags in enumerate(record.source_flags):
        for path in flags.sources:
            if path not in sources:
                yield f"source_flags.{number}.sources: got {path}, expected one of the sources"


def _arenas(record: ManifestFields) -> Iterator[str]:
    yield from _twice("arenas", [arena.region for arena in record.arenas])
    for field, whole, parts in (
        ("ram_bytes", record.ram_bytes, [arena.bytes for arena in record.arenas]),
        ("ram_lower_bound_bytes", record.ram_lower_bound_bytes, [arena.lower_bound_bytes for arena in record.arenas]),
    ):
        if parts and whole != sum(parts):
            yield f"{field}: got {whole}, expected {sum(parts)}, the sum of the arenas"
    if record.ram_lower_bound_bytes > record.ram_bytes:
        yield f"ram_lower_bound_bytes: got {record.ram_lower_bound_bytes}, expected at most {record.ram_bytes}"
    for number, buffer in enumerate(record.buffers):
        yield from _inside(record, f"buffers.{number}", buffer.arena, buffer.offset + buffer.bytes)
        if not buffer.first <= buffer.last < max(len(record.nodes), 1):
            lives = f"lives from {buffer.first} to {buffer.last}"
            yield f"buffers.{number}: {lives}, expected nodes below {len(record.nodes)}"


def _inside(record: ManifestFields, field: str, arena: int, end: int) -> Iterator[str]:
    sizes = record.memory_bytes
    if arena >= len(sizes):
        yield f"{field}.arena: got {arena}, expected below {len(sizes)}"
    elif end > sizes[arena]:
        yield f"{field}: ends at byte {end}, expected at most {sizes[arena]}, the size of its arena"


def _tensors(record: ManifestFields) -> Iterator[str]:
    for field in ("inputs", "outputs", "states"):
        tensors: Sequence[TensorRecord] = getattr(record, field)
        yield from _twice(field, [tensor.c_name for tensor in tensors])
        for number, tensor in enumerate(tensors):
            size = math.prod(tensor.shape) * BYTES[tensor.dtype]
            if tensor.bytes != size:
                yield f"{field}.{number}.bytes: got {tensor.bytes}, expected {size} for its shape and type"
            # A streamed input arrives row by row: memory never holds the whole tensor.
            rows = field == "inputs" and record.input_mode == "rows"
            yield from _inside(record, f"{field}.{number}", tensor.arena, tensor.offset + (0 if rows else tensor.bytes))
    yield from _twice("inputs", [tensor.name for tensor in record.inputs])


def _state(record: ManifestFields) -> Iterator[str]:
    block = record.state
    if (block is None) != (not record.states):
        yield f"state: got {'none' if block is None else 'a block'} for {len(record.states)} states"
    elif block is not None:
        yield from _inside(record, "state", block.memory, block.offset + block.bytes)
        for number, tensor in enumerate(record.states):
            inside = block.offset <= tensor.offset and tensor.offset + tensor.bytes <= block.offset + block.bytes
            if tensor.arena != block.memory or not inside:
                yield f"states.{number}: got memory {tensor.arena}, byte {tensor.offset}, expected the state block"
        yield from _twice("states", [tensor.name for tensor in record.states])


def _nodes(record: ManifestFields) -> Iterator[str]:
    for number, node in enumerate(record.nodes):
        for field in ("inputs", "outputs"):
            operands: Sequence[OperandRecord] = getattr(node, field)
            for place, operand in enumerate(operands):
                where = f"nodes.{number}.{field}.{place}"
                end = operand.offset + math.prod(operand.shape) * BYTES[operand.dtype]
                if end > node.workspace_bytes:
                    yield f"{where}: ends at byte {end}, expected at most {node.workspace_bytes}, the workspace"
                yield from _channels(where, operand)
                if operand.order is not None and sorted(operand.order) != list(range(len(operand.shape))):
                    yield f"{where}.order: got {list(operand.order)}, expected each of {len(operand.shape)} axes once"


def _channels(where: str, operand: OperandRecord) -> Iterator[str]:
    kept, of = operand.channel_map, operand.reference_channels
    if (kept is None) != (of is None):
        yield f"{where}: channel_map and reference_channels, got one of them, expected both or none"
    elif kept is not None and of is not None:
        ascending = all(one < next_one for one, next_one in pairwise(kept))
        if not ascending or not operand.shape or len(kept) != operand.shape[-1] or kept[-1] >= of:
            yield f"{where}.channel_map: got {len(kept)} indices, expected one for each channel, ascending, below {of}"


def _twice(field: str, names: Sequence[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield f"{field}: got {name} twice, expected each once"
        seen.add(name)
