"""Attribute columns: values that Python code attaches to a kind by name, without editing the kind.

A column has a name, a type and a help text. This file declares the columns that the compiler reads; a package may
declare more with `declare`. `attach` attaches a value to a kind; `get`, `call` and `call_all` read values. In a column
of functions, the first argument of each function is the `Target`, so that two versions of a device can share a kind and
return different results.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from aboard.errors import TargetError, did_you_mean


class Named(Protocol):
    """The part of a kind that columns need: its name."""

    @property
    def name(self) -> str:
        """Name of the kind, the key of its values."""


class OfKind(Protocol):
    """The part of a `Target` that columns need: its kind."""

    @property
    def kind(self) -> Named:
        """The kind of the target."""


#: Follows what a column expects: the help of the column is the definition that its values have to meet.
_MEANING = "Give the column such a value; its meaning:"


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        name: Name, lower case with underscores.
        help: Meaning of the values, one sentence.
        values: Type of a value; in a column of functions, the return type. It is written `module:name` if the type
            belongs to the compile path, because the device path does not load that.
        function: True if the values are functions of the target; False for plain values.
        arguments: For the help: the arguments of a function after the target.
        many: True if several values of equal priority are allowed.
        optional: True if a function may also return None.
    """

    name: str
    help: str
    values: type | str
    function: bool = True
    arguments: tuple[str, ...] = ()
    many: bool = False
    optional: bool = False

    @property
    def type_name(self) -> str:
        """Name of the type, without its module."""
        return self.values.rpartition(":")[2] if isinstance(self.values, str) else self.values.__name__

    def resolved_type(self) -> type:
        """Returns the type, and imports its module if needed."""
        if not isinstance(self.values, str):
            return self.values
        module, _, name = self.values.partition(":")
        found: type = getattr(importlib.import_module(module), name)
        return found


@dataclass(frozen=True)
class _Value:
    value: Any
    priority: int


State = tuple[dict[str, Column], dict[tuple[str, str], tuple[_Value, ...]]]

_COLUMNS: dict[str, Column] = {}
_VALUES: dict[tuple[str, str], tuple[_Value, ...]] = {}


def declare(column: Column) -> Column:
    """Adds a column.

    Raises:
        TargetError: The name is taken.
    """
    if column.name in _COLUMNS:
        raise TargetError(f"column {column.name}: is declared twice, expected a name of its own. Rename one of them")
    _COLUMNS[column.name] = column
    return column


def columns() -> Mapping[str, Column]:
    """Returns all columns by name."""
    return MappingProxyType(dict(sorted(_COLUMNS.items())))


def column(name: str) -> Column:
    """Returns a column.

    Raises:
        TargetError: No column has that name.
    """
    if name not in _COLUMNS:
        raise TargetError(f"column {name}: unknown. {did_you_mean(name, _COLUMNS)} Add a column with `declare`")
    return _COLUMNS[name]


def attach(kind: str, name: str, value: Any, *, priority: int = 0) -> None:
    """Attaches a value to a kind.

    Args:
        kind: Name of the kind; the kind need not be registered yet.
        name: Name of the column.
        value: A value of the column's type; in a column of functions, a function of the target.
        priority: The value with the highest priority wins; `call_all` calls all functions in order of priority.

    Raises:
        TargetError: The column is not known, the value has another type, or this priority is taken.
    """
    found = column(name)
    where = f"kind {kind}, column {name}"
    if found.function and not callable(value):
        raise TargetError(f"{where}: got {type(value).__name__}, expected a function. {_MEANING} {found.help}")
    if not found.function:
        _check_type(found, value, where)
    others = _VALUES.get((kind, name), ())
    if not found.many and any(other.priority == priority for other in others):
        raise TargetError(
            f"{where}: there are two values of priority {priority}, expected one. "
            "Attach one of them with another priority"
        )
    _VALUES[kind, name] = tuple(sorted([*others, _Value(value, priority)], key=lambda a: -a.priority))


def _check_type(found: Column, value: Any, where: str) -> None:
    wanted = found.resolved_type()
    if not isinstance(value, wanted):
        raise TargetError(f"{where}: got {type(value).__name__}, expected {found.type_name}. {_MEANING} {found.help}")


def names_of(kind: str) -> list[str]:
    """Returns the names of the columns in which a kind has a value, sorted."""
    return sorted(name for owner, name in _VALUES if owner == kind)


def has(target: OfKind, name: str) -> bool:
    """True if the kind of a target has a value in a column."""
    return bool(_VALUES.get((target.kind.name, column(name).name)))


def get(target: OfKind, name: str) -> Any:
    """Returns the value of highest priority; None if there is no value. A function is returned, not called."""
    values = _VALUES.get((target.kind.name, column(name).name), ())
    return values[0].value if values else None


def plain(kind: str, name: str) -> list[Any]:
    """Returns all values of a kind in a column of plain values, highest priority first."""
    return [found.value for found in _VALUES.get((kind, name), ())]


def call(target: OfKind, name: str, *arguments: Any) -> Any:
    """Calls the function of highest priority with the target and returns its result; None if there is no function.

    Raises:
        TargetError: The result has another type than the column.
    """
    function = get(target, name)
    return None if function is None else _called(target, column(name), function, arguments)


def call_all(target: OfKind, name: str, *arguments: Any) -> list[Any]:
    """Calls every function of a column, highest priority first, and returns their results.

    Raises:
        TargetError: A result has another type than the column.
    """
    values: Sequence[_Value] = _VALUES.get((target.kind.name, column(name).name), ())
    return [_called(target, column(name), found.value, arguments) for found in values]


def _called(target: OfKind, found: Column, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    result = function(target, *arguments)
    if result is None and found.optional:
        return None
    _check_type(found, result, f"kind {target.kind.name}, column {found.name}: its function's result")
    return result


def snapshot() -> State:
    """Returns a copy of columns and values, for `restore`."""
    return dict(_COLUMNS), dict(_VALUES)


def restore(state: State) -> None:
    """Restores columns and values from a snapshot, after a plug-in failed or after a test."""
    columns_before, values_before = state
    _COLUMNS.clear()
    _COLUMNS.update(columns_before)
    _VALUES.clear()
    _VALUES.update(values_before)


for _known in (
    Column(
        "patterns",
        "Patterns of the subgraphs that the device can compute (aboard.partition.pattern)",
        tuple,
        many=True,
    ),
    Column(
        "supports",
        "Returns why the device refuses a node, or an empty text; called before any pattern",
        str,
        arguments=("node",),
        many=True,
    ),
    Column(
        "cost",
        "Cost of a region on the device, for -partition=cost",
        "aboard.kernels.accelerator:Cost",
        arguments=("region",),
    ),
    Column(
        "passes",
        "Rewriting passes, each with its place in the pipeline",
        tuple,
        many=True,
    ),
    Column(
        "codegen",
        "Generates the C function that computes a claimed region: source, packed constants, scratch",
        "aboard.kernels.accelerator:DeviceCode",
        arguments=("region",),
    ),
    Column(
        "runtime",
        "C sources and headers for the generated code",
        "aboard.target.device:Runtime",
    ),
    Column(
        "options",
        "Options of projects that choose other C files for the device (DeviceOption)",
        tuple,
    ),
    Column(
        "project",
        "What the driver needs of a project: handlers of interrupts, Zephyr's modules and Kconfig, a template",
        "aboard.target.device:ProjectNeeds",
    ),
    Column(
        "memory",
        "Memory regions of the device (MemoryRegion): alignment, size, speed, units that reach them",
        tuple,
    ),
    Column(
        "tiles",
        "Rules for cutting a match into tiles; None if the device needs no tiles for it",
        "aboard.target.device:TileConstraint",
        arguments=("matched", "tuning"),
        optional=True,
    ),
    Column(
        "tuning",
        "Knobs: names and allowed values",
        tuple,
    ),
    Column(
        "peripherals",
        "Models of the device for emulators that run in this process (aboard.emulation.DeviceModel)",
        tuple,
    ),
    Column(
        "intrinsics",
        "C expressions by which the CPU computes functions, by name and type (aboard.target.Intrinsic)",
        dict,
    ),
):
    declare(_known)
