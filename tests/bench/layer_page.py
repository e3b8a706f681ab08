"""The sections of the benchmarks' page about single layers; measures nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from bench.markdown import number, ratio, table

Record = Mapping[str, Any]


def sections(results: Record, anchors: Record, timing: Record) -> list[str]:
    """Returns the introduction and a section for each model and core that was measured layer by layer.

    Args:
        results: Records by model and core.
        anchors: Figures of other systems.
        timing: Bounds of the cores.
    """
    parts: list[str] = []
    for model, cores in results.items():
        for core, record in cores.items():
            theirs = anchors.get("layers", {}).get(model, {}).get(core)
            if record.get("layers"):
                title = f"### {model} on {core}\n\n"
                bound = timing.get(core, {}).get("instructions_per_mac")
                parts.append(title + _layer_table(record["layers"], theirs or [], bound))
    if not parts:
        return []
    text = """## Layer by layer

Instructions of each operator, beside those of TFLM with CMSIS-NN. An operator that stands for several of the model
file stands beside their sum; one that needs no code has 0. MACs are those that are computed: of channels without work
there are none. For each of them: the bound of the core, where every instruction would be a product of as many pairs
as it can take; what was reached; and of which it is made. What stands between the two are the products beyond the
bound (partly filled registers, requantisation), loads and stores, branches, and all others (widening, addresses,
clamps, moves). Cycles are estimates.
"""
    return [text, *parts]


def _layer_table(layers: Sequence[Record], theirs: Sequence[Record], bound: float | None) -> str:
    taken: set[int] = set()
    rows: list[tuple[int, list[str]]] = []
    for layer in layers:
        sources = [source for source in layer["sources"] if source not in taken]
        taken.update(sources)
        anchor = sum(theirs[s]["insns"] for s in sources if s < len(theirs)) or None
        shape = theirs[sources[0]]["shape"] if sources and sources[0] < len(theirs) else ""
        cells = [layer["op"], shape, number(layer["macs"] or None), number(layer["instructions"]), number(anchor)]
        cells += [ratio(layer["instructions"], anchor), *_per_mac(layer, bound)]
        rows.append((sources[0] if sources else 0, cells))
    rows += [
        (index, [anchor["op"].lower(), anchor["shape"], "-", "0", number(anchor["insns"]), *["-"] * 9])
        for index, anchor in enumerate(theirs)
        if index not in taken
    ]
    numbered = [[str(index), *cells] for index, cells in sorted(rows, key=itemgetter(0))]
    head = ["node", "operator", "shape", "MACs", "aboard", "TFLM", "ratio", "bound", "each MAC"]
    return table([*head, "products", "memory", "branches", "other", "cycles", "each MAC"], numbered, left=3)


def _per_mac(layer: Record, bound: float | None) -> list[str]:
    """Returns the columns of a layer that are counted for each multiply-accumulate, and its cycles."""
    macs, made_of = layer["macs"], ("multiply", "memory", "branch", "other")
    least = f"{bound:.3g}" if bound and macs else "-"
    parts = [each(layer.get(part), macs) for part in made_of]
    return [
        least,
        each(layer["instructions"], macs),
        *parts,
        number(layer.get("cycles")),
        each(layer.get("cycles"), macs),
    ]


def each(value: float | None, macs: int | None) -> str:
    """Returns how much of something there is for each multiply-accumulate; a dash where there are none."""
    return "-" if value is None or not macs else f"{value / macs:.2f}"
