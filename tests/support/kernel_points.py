"""Implementations at drawn points of their tuning spaces."""

from __future__ import annotations

from hypothesis import strategies as st

from aboard.ir import Node
from aboard.kernels.contract import Implementation
from aboard.target import Target
from aboard.tuning.choice import GIVEN, ChosenPoint


@st.composite
def tuned(draw: st.DrawFn, implementation: Implementation, node: Node, target: Target) -> Implementation:
    """Draws a value of every knob of an implementation that accepts a node."""
    values = {knob.name: draw(st.sampled_from(knob.values)) for knob in implementation.knobs(node, target)}
    return implementation.at(ChosenPoint(values, GIVEN))
