"""What `aboard compile` tells people of a compiled model."""

from __future__ import annotations

from aboard.manifest import BufferRecord, Manifest, NodeRecord, label
from aboard.reports.table import amount, facts, table

#: Columns of the chart of lifetimes; models with more nodes share columns.
_CHART = 48


def summary(manifest: Manifest) -> str:
    """Returns the whole report: operators, totals, memory map."""
    return "\n\n".join([operators(manifest), totals(manifest), memory_map(manifest)])


def operators(manifest: Manifest) -> str:
    """Returns a table with one line for each operator as compiled."""
    rows = [
        (
            i,
            node.op,
            label(node.name),
            _shape(node),
            node.implementation,
            node.macs,
            node.weights_bytes,
            node.scratch_bytes,
        )
        for i, node in enumerate(manifest.nodes)
    ]
    total = (
        "",
        "",
        "",
        "",
        "",
        sum(node.macs for node in manifest.nodes),
        sum(node.weights_bytes for node in manifest.nodes),
        "",
    )
    return table(("#", "op", "name", "output", "kernel", "MACs", "weights", "scratch"), rows, total)


def totals(manifest: Manifest) -> str:
    """Returns what the model needs, the bound on its RAM included."""
    gap = manifest.ram_bytes - manifest.ram_lower_bound_bytes
    bound = "met" if gap == 0 else f"{gap:,} bytes below"
    return facts(
        [
            ("model", f"{manifest.model_file} (SHA-256 {manifest.model_hash[:16]})"),
            ("target", manifest.target),
            ("MACs", f"{manifest.macs:,} in the model, {manifest.macs_run:,} as compiled"),
            ("RAM", f"{amount(manifest.ram_bytes)}: tensors, scratch, inputs and outputs"),
            ("RAM bound", f"{amount(manifest.ram_lower_bound_bytes)} for this order: {bound}"),
            ("constants", amount(manifest.weights_bytes)),
            ("inputs", _inputs(manifest)),
        ]
    )


def memory_map(manifest: Manifest) -> str:
    """Returns the arena: what lies where, and during which operators."""
    steps = max(len(manifest.nodes), 1)
    ordered = sorted((b for b in manifest.buffers if b.bytes), key=lambda buffer: (buffer.offset, buffer.first))
    rows = [(b.offset, b.bytes, label(b.name), f"{b.first}-{b.last}", _lifetime(b, steps)) for b in ordered]
    return f"Memory map of the arena ({amount(manifest.ram_bytes)})\n\n" + table(
        ("offset", "bytes", "buffer", "ops", "lives"), rows
    )


def _shape(node: NodeRecord) -> str:
    return "x".join(map(str, node.outputs[0].shape)) if node.outputs else ""


def _inputs(manifest: Manifest) -> str:
    if manifest.input_mode == "kept":
        return "kept: a run leaves them as they were"
    return "consumed: a run may overwrite them (-input=kept keeps them, at its price in RAM)"


def _lifetime(buffer: BufferRecord, steps: int) -> str:
    width = min(steps, _CHART)
    first, last = buffer.first * width // steps, buffer.last * width // steps
    return "." * first + "#" * (last - first + 1) + "." * (width - last - 1)
