"""The pattern language: descriptions of subgraphs that a device can compute.

A pattern describes a node by its op and attributes, and the nodes before it through its operands::

    chain(
        op("conv2d", any_tensor(), constant(DType.INT8), attrs={"dilations": (1, 1)}, name="conv"),
        optional(op("relu", "relu6")),
    )

`op` takes names of ops, then patterns of operands. Operands without a pattern may be anything. Only the match may
read results inside the match: in a chain, each link has a single consumer. If a device's pattern matches a node in
several ways, the largest match counts; among equal ones, the first alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from aboard.ir import Array, DType, Node

#: Maps a node or a constant to the reason why it does not fit, or None.
NodePredicate = Callable[[Node], str | None]
ValuePredicate = Callable[[Array], str | None]


class Pattern:
    """Base of all patterns."""


@dataclass(frozen=True)
class AnyTensor(Pattern):
    """Matches any operand, computed or constant, present or absent."""


@dataclass(frozen=True)
class ConstantPattern(Pattern):
    """Matches an operand that is known at compile time.

    Attributes:
        dtype: Its element type; None for any.
        where: Checks its values: returns the reason why they do not fit, or None.
        absent: True if the operand may also be missing.
    """

    dtype: DType | None = None
    where: ValuePredicate | None = None
    absent: bool = False


@dataclass(frozen=True)
class OpPattern(Pattern):
    """Matches a computed tensor by the node that computes it.

    Attributes:
        ops: Names of ops; one must be equal.
        operands: Patterns of its operands, in order; operands without a pattern may be anything.
        dtype: Element type of its first result; None for any.
        attrs: Attributes with the value they must have, or a function that returns True for the values that fit.
        where: Checks the node last: returns the reason why it does not fit, or None.
        name: Name of the node in a match; "" for none.
    """

    ops: tuple[str, ...]
    operands: tuple[Pattern, ...] = ()
    dtype: DType | None = None
    attrs: Mapping[str, object] = field(default_factory=dict)
    where: NodePredicate | None = None
    name: str = ""


@dataclass(frozen=True)
class Either(Pattern):
    """Matches if one of its alternatives matches."""

    choices: tuple[Pattern, ...]


@dataclass(frozen=True)
class OptionalLink:
    """A link of a chain that may be missing."""

    link: OpPattern


@dataclass(frozen=True)
class DevicePattern:
    """A pattern that a device offers (column `patterns`).

    Attributes:
        name: Name, unique among the patterns of the device; the code generator receives it in `Region.patterns`.
        pattern: The pattern.
        merge: True if a region may hold several matches of such patterns, one reading another's result.
        exact: True if the device also computes nodes with `Rounding.EXACT` (`-arithmetic=exact`).
        borders: Largest number of inputs and outputs of a region together, constants not counted; None for any number.
            Matches are not merged beyond it, and a match that alone has more is refused.
        priority: Among matches with equally many nodes, the highest priority wins, then the first name.
    """

    name: str
    pattern: Pattern
    merge: bool = False
    priority: int = 0
    exact: bool = False
    borders: int | None = None


def any_tensor() -> AnyTensor:
    """Returns a pattern for any operand."""
    return AnyTensor()


def constant(dtype: DType | None = None, *, where: ValuePredicate | None = None) -> ConstantPattern:
    """Returns a pattern for an operand known at compile time."""
    return ConstantPattern(dtype, where)


def constant_or_absent(dtype: DType | None = None, *, where: ValuePredicate | None = None) -> ConstantPattern:
    """Returns a pattern for an operand that is known at compile time or missing, such as a bias."""
    return ConstantPattern(dtype, where, absent=True)


def op(
    *parts: str | Pattern,
    dtype: DType | None = None,
    attrs: Mapping[str, object] | None = None,
    where: NodePredicate | None = None,
    name: str = "",
) -> OpPattern:
    """Returns a pattern for a node.

    Args:
        parts: Names of the op, then patterns of its operands.
        dtype: Element type of its first result.
        attrs: Attributes with their value, or with a function that returns True for accepted values.
        where: Returns the reason why a node does not fit, or None.
        name: Name of the node in a match.
    """
    names = tuple(part for part in parts if isinstance(part, str))
    operands = tuple(part for part in parts if isinstance(part, Pattern))
    return OpPattern(names, operands, dtype, dict(attrs or {}), where, name)


def either(*choices: Pattern) -> Either:
    """Returns a pattern that matches if one of several patterns matches."""
    flat = [inner for choice in choices for inner in (choice.choices if isinstance(choice, Either) else (choice,))]
    return Either(tuple(flat))


def optional(link: OpPattern) -> OptionalLink:
    """Returns a link of a chain that may be missing."""
    return OptionalLink(link)


def chain(first: Pattern, *links: OpPattern | OptionalLink) -> Pattern:
    """Returns a pattern for nodes one after another: each link reads the one before it as operand 0."""
    whole = first
    for link in links:
        inner = link.link if isinstance(link, OptionalLink) else link
        longer = replace(inner, operands=(whole, *inner.operands[1:]))
        whole = either(longer, whole) if isinstance(link, OptionalLink) else longer
    return whole


def parts(pattern: Pattern) -> Iterator[Pattern]:
    """Yields a pattern and all patterns within it, outermost first."""
    yield pattern
    inner = (
        pattern.operands if isinstance(pattern, OpPattern) else pattern.choices if isinstance(pattern, Either) else ()
    )
    for part in inner:
        yield from parts(part)


def ops_of(pattern: Pattern) -> set[str]:
    """Returns the names of all ops a pattern mentions."""
    return {name for part in parts(pattern) if isinstance(part, OpPattern) for name in part.ops}


def local_problem(pattern: OpPattern, node: Node) -> str | None:
    """Returns why a node does not fit a pattern, apart from its operands, or None."""
    if node.op not in pattern.ops:
        return f"is {node.op}, expected {' or '.join(pattern.ops)}"
    if pattern.dtype is not None and node.output.dtype is not pattern.dtype:
        return f"result, got {node.output.dtype.value}, expected {pattern.dtype.value}"
    for name, wanted in pattern.attrs.items():
        got = getattr(node.attrs, name)
        if callable(wanted):
            if not wanted(got):
                return f"{name}, got {got}, which it does not take"
        elif got != wanted:
            return f"{name}, got {got}, expected {wanted}"
    return pattern.where(node) if pattern.where is not None else None


def operand_problem(pattern: ConstantPattern, node: Node, index: int) -> str | None:
    """Returns why an operand of a node is not the constant that a pattern requires, or None."""
    tensor = node.optional_input(index)
    if tensor is None:
        return None if pattern.absent else f"operand {index} is missing"
    if tensor.data is None:
        return f"operand {index} is computed, expected a constant"
    if pattern.dtype is not None and tensor.dtype is not pattern.dtype:
        return f"operand {index}, got {tensor.dtype.value}, expected {pattern.dtype.value}"
    return pattern.where(tensor.data) if pattern.where is not None else None
