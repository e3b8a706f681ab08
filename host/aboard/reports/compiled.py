"""The text of `aboard compile`: operators, totals, memory map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aboard.base.manifest import Manifest
from aboard.base.manifest_records import BufferRecord, NodeRecord
from aboard.base.table import Label, amount, facts, table
from aboard.base.wrapping import paragraph
from aboard.reports import prediction
from aboard.tuning.key import HOST
from aboard.tuning.space import shown

#: The op whose nodes store no expanded image (`aboard.compiler.recompute`).
_EXPANDED = "expanded_depthwise_conv2d"

#: Columns of the chart of live ranges; in models with more nodes, several nodes share a column.
_CHART = 48
_NARROW_CHART = 12


def summary(manifest: Manifest, explanation: str = "") -> str:
    """Returns the whole report: operators (or what explains them), what was tuned, totals, memory map, state, notes."""
    parts = [explanation or operators(manifest), tuning(manifest), totals(manifest), memory_map(manifest)]
    parts += [state(manifest), notes(manifest)]
    return "\n\n".join(part for part in parts if part)


def operators(manifest: Manifest) -> str:
    """Returns a table with one line for each operator as compiled; operators inside branches and loops follow theirs.

    Totals leave out the latter, because the lines of their branches and loops include them.
    """
    own = device_cycles(manifest)
    rows = [
        (
            place,
            node.op,
            Label(node.name),
            _shape(node),
            node.implementation,
            node.macs,
            node.estimated_instructions,
            *(() if own is None else (node.device_cycles,)),
            node.weights_bytes,
            node.scratch_bytes,
        )
        for place, node in placed(manifest.nodes)
    ]
    total = (
        "",
        "",
        "",
        "",
        "",
        sum(node.macs for node in manifest.nodes),
        prediction.total(manifest),
        *(() if own is None else (own,)),
        sum(node.weights_bytes for node in manifest.nodes),
        "",
    )
    estimates = ("predicted",) if own is None else ("predicted", "device cycles")
    return table(("#", "op", "name", "output", "kernel", "MACs", *estimates, "weights", "scratch"), rows, total)


def device_cycles(manifest: Manifest) -> int | None:
    """Returns the cycles of all nodes on devices by the devices' own estimates; None if no device estimates them."""
    known = [node.device_cycles for node in manifest.nodes if node.device_cycles is not None]
    return sum(known) if known else None


def placed(nodes: Iterable[NodeRecord], within: str = "") -> Iterator[tuple[str, NodeRecord]]:
    """Yields nodes with their places: `3`, and `3.then.0` for the first node of a graph inside node 3."""
    for index, node in enumerate(nodes):
        place = f"{within}{index}"
        yield place, node
        for body in node.bodies:
            yield from placed(body.nodes, f"{place}.{body.role}.")


def tuning(manifest: Manifest) -> str:
    """Returns a table of the values of knobs and their origins; empty without knobs."""
    rows = [
        (i, Label(node.name), node.device or HOST, shown(node.tuning), node.tuning_origin)
        for i, node in enumerate(manifest.nodes)
        if node.tuning or node.tuning_origin
    ]
    return table(("#", "name", "device", "tuning", "from"), rows) if rows else ""


def totals(manifest: Manifest) -> str:
    """Returns the memory that the model needs, with the lower bound of its RAM."""
    own = device_cycles(manifest)
    gap = manifest.ram_bytes - manifest.ram_lower_bound_bytes
    bound = "met" if gap == 0 else f"{gap:,} bytes below"
    divided = [(f"RAM in {a.region}", f"{amount(a.bytes)}, bound {a.lower_bound_bytes:,}") for a in manifest.arenas]
    placed = "" if manifest.weights_region is None else f" in {manifest.weights_region}"
    return facts(
        [
            ("model", f"{manifest.model_file} (SHA-256 {manifest.model_hash[:16]})"),
            ("target", manifest.target),
            ("instructions", _instructions(manifest)),
            ("device cycles", None if own is None else f"{own:,} by the devices' own estimates, not measured"),
            ("MACs", f"{manifest.macs:,} in the model, {manifest.macs_run:,} as compiled"),
            ("expansions", _expansions(manifest)),
            ("RAM", f"{amount(manifest.ram_bytes)}: tensors, scratch, inputs and outputs"),
            *divided,
            ("RAM bound", f"{amount(manifest.ram_lower_bound_bytes)} for this order: {bound}"),
            ("state", None if manifest.state is None else f"{amount(manifest.state.bytes)}{_place(manifest)}"),
            *_cascades(manifest),
            ("constants", f"{amount(manifest.weights_bytes)}{placed}"),
            ("flash", _flash(manifest)),
            ("inputs", _inputs(manifest)),
        ]
    )


def _cascades(manifest: Manifest) -> list[tuple[str, str]]:
    """Returns the nodes of each cascade."""
    members: dict[int, list[int]] = {}
    for index, node in enumerate(manifest.nodes):
        if node.cascade is not None:
            members.setdefault(node.cascade, []).append(index)
    return [(f"cascade {n}", f"nodes {m[0]} to {m[-1]}, computed stripe by stripe") for n, m in members.items()]


def _expansions(manifest: Manifest) -> str | None:
    """Returns the nodes whose expansion is computed again, and what that costs."""
    again = [str(i) for i, node in enumerate(manifest.nodes) if node.op == _EXPANDED]
    if not again:
        return None
    factor = manifest.macs_run / manifest.macs
    nodes = "node" if len(again) == 1 else "nodes"
    cost = f"MACs as compiled are {factor:.2f} times those in the model"
    return f"of {nodes} {', '.join(again)}: not stored, computed again by each stripe; {cost}"


def _flash(manifest: Manifest) -> str | None:
    if manifest.flash_predicted_bytes is None:
        return None
    return f"about {amount(manifest.flash_predicted_bytes)}: constants, and code as predicted"


def _instructions(manifest: Manifest) -> str:
    elsewhere = sum(node.estimated_instructions is None for node in manifest.nodes)
    uncounted = f"; {elsewhere} nodes on devices not counted" if elsewhere else ""
    known, inside = manifest.prediction, any(node.bodies for node in manifest.nodes)
    once = "; loops with one iteration, branches with the longer one" if inside else ""
    return f"{prediction.total(manifest):,} {prediction.caption(known)}{uncounted}{once}; {prediction.error(known)}"


def memory_map(manifest: Manifest) -> str:
    """Returns the memory map: addresses and live ranges of the buffers of each arena."""
    if len(manifest.arenas) < 2:
        return f"Memory map of the arena ({amount(manifest.ram_bytes)})\n\n{_buffers(manifest, 0)}"
    return "\n\n".join(
        f"Memory map of the arena in {arena.region} ({amount(arena.bytes)})\n\n{_buffers(manifest, number)}"
        for number, arena in enumerate(manifest.arenas)
    )


def _place(manifest: Manifest) -> str:
    """Returns where the state block is, in words."""
    block = manifest.state
    if block is None:
        return ""
    if not manifest.has_state_block:
        where = f"at the end of the arena, from byte {block.offset} on"
    else:
        where = f"in {block.region or 'memory of its own'}"
    return f" {where}: what a run leaves for the next one"


def state(manifest: Manifest) -> str:
    """Returns a table of the states; empty for a model without."""
    rows = [(s.offset, s.bytes, Label(s.name), s.dtype, "x".join(map(str, s.shape))) for s in manifest.states]
    heads = ("offset", "bytes", "name", "type", "shape")
    rolling = {} if manifest.state is None else manifest.state.rolling
    if not rolling:
        return f"State\n\n{table(heads, rows)}" if rows else ""
    stored = [f"rolling, {rolling[number]} rows" if number in rolling else "" for number in range(len(rows))]
    more = [(*row, buffer) for row, buffer in zip(rows, stored, strict=True)]
    return f"State\n\n{table((*heads, 'buffer'), more)}"


def notes(manifest: Manifest) -> str:
    """Returns what the importer assumed, a line each; empty for nothing."""
    return "\n".join(paragraph(f"Note: {note}") for note in manifest.notes)


def _buffers(manifest: Manifest, arena: int) -> str:
    steps = max(len(manifest.nodes), 1)
    mine = [buffer for buffer in manifest.buffers if buffer.bytes and buffer.arena == arena]
    ordered = sorted(mine, key=lambda buffer: (buffer.offset, buffer.first))
    rows = [(b.offset, b.bytes, Label(b.name), f"{b.first}-{b.last}", _LiveRange(b, steps)) for b in ordered]
    return table(("offset", "bytes", "buffer", "ops", "live"), rows)


def _shape(node: NodeRecord) -> str:
    return "x".join(map(str, node.outputs[0].shape)) if node.outputs else ""


def _inputs(manifest: Manifest) -> str:
    if manifest.input_mode == "kept":
        return "kept: a run leaves them as they were"
    return "consumed: a run may overwrite them (-input=kept keeps them, at its price in RAM)"


@dataclass(frozen=True)
class _LiveRange:
    """A chart of the nodes at which a buffer is live: `..###.`."""

    buffer: BufferRecord
    steps: int

    def __str__(self) -> str:
        return self.within(_CHART)

    def within(self, width: int) -> str:
        """Returns the chart in that many columns, or fewer if there are fewer nodes."""
        columns = min(self.steps, max(min(width, _CHART), _NARROW_CHART))
        first, last = self.buffer.first * columns // self.steps, self.buffer.last * columns // self.steps
        return "." * first + "#" * (last - first + 1) + "." * (columns - last - 1)
