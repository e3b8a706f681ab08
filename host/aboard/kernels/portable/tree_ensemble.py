"""tree_ensemble in portable C: a walk through constant tables for each tree."""

from __future__ import annotations

import math
from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable import tree_tables
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops import tree_ensemble as op
from aboard.target import Target

#: Instructions of a node of a walk, of a tree, and of a weight (Cortex-M4, QEMU).
_NODE, _TREE, _WEIGHT = 17, 20, 12


@implements
class TreeEnsemblePortable(Implementation):
    """Tables of nodes and leaves, in the smallest of several forms."""

    op, name = "tree_ensemble", "portable_walk_f32"

    @override
    def formula(self, node: Node) -> float | None:
        forest = op.trees(node)
        nodes, weights = tree_tables.expected(forest)
        samples = math.prod(node.input(0).shape[:-1])
        return samples * (_TREE * len(forest.roots) + _NODE * nodes + _WEIGHT * weights)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        attrs, shape = op.attributes(node), node.input(0).shape
        packed = tree_tables.pack(op.trees(node), attrs.aggregate)
        trees: dict[str, Literal] = {
            "samples": math.prod(shape[:-1]),
            "features": shape[-1],
            "targets": attrs.targets,
            **packed.trees,
            "aggregate": f"ABOARD_TREE_{attrs.aggregate.name}",
            "initial": attrs.aggregate.initial,
        }
        form = "dense" if "firsts" not in packed.tables else "indexed" if "indices" in packed.tables else "sparse"
        return KernelCall(
            header="portable/tree_ensemble.h",
            function=f"aboard_tree_ensemble_{form}",
            params_type=f"aboard_tree_ensemble_{form}_t",
            params={"trees": trees, **packed.leaves},
            arguments=(
                InputArg(0, "const float *"),
                OutputArg(0, "float *"),
                *(ConstantArg(PackedConstant(name, values)) for name, values in packed.tables.items()),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )
