"""Prints a graph as text: the same graph always gives the same text.

Names with characters of the text's own syntax are in quotes; hidden characters become visible escapes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from aboard.base import printable
from aboard.ir.graph import Graph, Node, State, Tensor
from aboard.ir.types import Array, Rounding

_SHORT = 8

#: Names that need no quotes.
_PLAIN = re.compile(r"[\w./:;+@-]+", re.ASCII)


@runtime_checkable
class Summarized(Protocol):
    """Attributes that are too long to print one by one."""

    def summary(self) -> str:
        """Returns the text to print instead."""


def dump(graph: Graph) -> str:
    """Returns a graph as text, one line for each input, state, constant, node and output; ends with a newline.

    Args:
        graph: The graph; need not be valid.
    """
    lines = [f"graph {graph.name} from {printable.one_line(graph.source) or '-'} {{"]
    lines += [f"  input {_name(tensor)}: {tensor.type}" for tensor in graph.inputs]
    lines += [f"  {_state(state)}" for state in graph.states]
    lines += [f"  const {_name(t)}: {t.type} = {_content(t.data)}" for t in graph.tensors() if t.data is not None]
    lines += [f"  {_node(node)}" for node in graph.nodes]
    lines += [f"  output {_name(tensor)}" for tensor in graph.outputs]
    return "\n".join([*lines, "}"]) + "\n"


def _name(tensor: Tensor) -> str:
    name = tensor.name
    return f"%{name}" if _PLAIN.fullmatch(name) else f"%{printable.one_line(json.dumps(name, ensure_ascii=False))}"


def _state(state: State) -> str:
    return f"state {_name(state.read)}: {state.read.type} = {_content(state.initial)} then {_name(state.write)}"


def _node(node: Node) -> str:
    results = ", ".join(f"{_name(t)}" for t in node.outputs)
    operands = ", ".join("-" if t is None else f"{_name(t)}" for t in node.inputs)
    types = ", ".join(str(t.type) for t in node.outputs)
    sources = f" from {', '.join(map(str, node.sources))}" if node.sources else ""
    return f"{results} = {node.op}({operands}){attributes(node)} : {types}{sources}"


def attributes(node: Node) -> str:
    """Returns the attributes of a node as text, ` {name=value, ...}`; the rounding last, and only if it is exact."""
    if isinstance(node.attrs, Summarized):
        return f" {{{printable.one_line(node.attrs.summary())}}}"
    names = [field.name for field in dataclasses.fields(node.attrs) if field.name != "rounding"]
    names += ["rounding"] if node.attrs.rounding is not Rounding.TFLITE else []
    fields = [(name, getattr(node.attrs, name)) for name in names]
    return " {" + ", ".join(f"{name}={_plain(value)}" for name, value in fields) + "}" if fields else ""


def _plain(value: Any) -> str:
    if isinstance(value, Enum):
        return value.name.lower()
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return "(" + ", ".join(f"{field.name}={_plain(getattr(value, field.name))}" for field in fields) + ")"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return printable.one_line(str(value))


def _content(values: Array) -> str:
    """Returns the values of a small constant, and a fingerprint of a large one."""
    if values.size <= _SHORT:
        return "[" + ", ".join(str(value) for value in values.ravel().tolist()) + "]"
    return f"sha256:{hashlib.sha256(values.tobytes()).hexdigest()[:16]}"
