"""The generated header with the constants of a model, or of a graph inside it."""

from __future__ import annotations

from aboard.emit import c_text
from aboard.emit.banner import banner
from aboard.emit.instances import Instances, NamedArray
from aboard.ir import Graph
from aboard.target import Target


def weights_text(graph: Graph, instances: Instances, generator: str, target: Target) -> str:
    """Returns the header with the constants."""
    guard = f"{graph.name.upper()}_WEIGHTS_H"
    region = None if target.weights_region is None else f".aboard.weights.{target.weights_region}"
    parts = [
        banner(graph, generator, target, f"Constants of the model {graph.name}. Included by {graph.name}.c only."),
        f"#ifndef {guard}\n#define {guard}\n",
        '#include <stdbool.h>\n#include <stdint.h>\n\n#include "aboard/config.h"\n',
        *(_array(array, region) for array in instances.arrays),
        "#endif\n",
    ]
    return "\n".join(parts)


def _array(array: NamedArray, region: str | None) -> str:
    """Returns the definition of an array. One in RAM is data like any other, which every start-up code copies."""
    # In a section of its own, a compiler does not make it constant because nothing writes it.
    storage, section = ("static", ".data.aboard") if array.in_ram else ("static const", region)
    return c_text.array(array.name, array.values, array.align, storage, section) + "\n"
