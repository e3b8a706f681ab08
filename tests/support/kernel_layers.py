"""Layers for the kernels of one name: what they compute, what they refuse, and whether they are right on a board."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

import aboard
from aboard.compiler.pipeline import Module
from aboard.importers import load
from aboard.ir import Node
from aboard.kernels import of
from aboard.kernels.contract import Implementation
from aboard.kernels.select import strategy
from aboard.target import Target
from support import oracle
from support.preferred import preferred
from support.weighted_models import Layer


@dataclass(frozen=True)
class KernelLayers:
    """Kernels of one name, on a target that has them.

    Attributes:
        name: Name of the implementations.
        target: The target.
        kinds: Operators that they compute.
        drawn: Draws a layer of an operator.
    """

    name: str
    target: Target
    kinds: tuple[str, ...]
    drawn: Callable[[str], st.SearchStrategy[Layer]]

    def implementation(self, node: Node) -> Implementation:
        """Returns the implementation of a node's op."""
        return next(i for i in of(node.op) if i.name == self.name)

    def refusal(self, layer: Layer, target: Target | None = None) -> str | None:
        """Returns why the kernels do not compute a layer; None when they do."""
        (node,) = load(layer.model(), name="model").nodes
        return self.implementation(node).refuses(node, target or self.target)

    def layers(
        self, kind: str, drawn: Callable[[str], st.SearchStrategy[Layer]] | None = None
    ) -> st.SearchStrategy[Layer]:
        """Draws a layer that the kernels compute, from other draws if these are given.

        Groups of one channel become depthwise layers, of other kernels.
        """

        def computed(layer: Layer) -> bool:
            grouped = layer.kind == "CONV_2D" and layer.shape_weights[-1] == 1 < layer.shape_in[-1]
            return not grouped and self.refusal(layer) is None

        return (drawn or self.drawn)(kind).filter(computed)

    def check(self, drawn: Sequence[Layer], board: str) -> list[Module]:
        """Fails unless all layers, in one image, give the reference's bytes on a board, with these kernels alone."""
        cases = [(layer.model(), layer.input()) for layer in drawn]
        with strategy.forced(preferred(self.name)):
            modules = [aboard.compile(model, board=board, name=f"m{i}") for i, (model, _) in enumerate(cases)]
        assert {node.implementation for module in modules for node in module.manifest.nodes} == {self.name}
        with tempfile.TemporaryDirectory() as folder:
            project = aboard.create(modules, board=board, path=Path(folder) / "project")
            project.build()
            with project.session() as device:
                for number, (model, x) in enumerate(cases):
                    (wanted,) = oracle.tflm(model, x)
                    np.testing.assert_array_equal(device.run(x, model=f"m{number}"), wanted, err_msg=f"model {number}")
        return modules
