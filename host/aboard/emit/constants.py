"""The generated header with the constants of a model, or of a graph inside it."""

from __future__ import annotations

from aboard.emit import c_text
from aboard.emit.banner import banner
from aboard.emit.instances import Instances
from aboard.ir import Graph
from aboard.target import Target


def weights_text(graph: Graph, instances: Instances, generator: str, target: Target) -> str:
    """Returns the header with the constants."""
    guard = f"{graph.name.upper()}_WEIGHTS_H"
    section = None if target.weights_region is None else f".aboard.weights.{target.weights_region}"
    parts = [
        banner(graph, generator, target, f"Constants of the model {graph.name}. Included by {graph.name}.c only."),
        f"#ifndef {guard}\n#define {guard}\n",
        '#include <stdbool.h>\n#include <stdint.h>\n\n#include "aboard/config.h"\n',
        *(c_text.array(array.name, array.values, array.align, section=section) + "\n" for array in instances.arrays),
        "#endif\n",
    ]
    return "\n".join(parts)
