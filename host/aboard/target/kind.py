"""Target kinds: their names, typed attribute schemas, and the registry.

A kind defines the attributes of its targets and the relations between them. A kind does not compile. The facts that the
compiler needs are attached to the kind by name (`aboard.target.columns`). `register` adds a kind,
`aboard.target.plugins` finds packages with kinds, and `aboard.target.lookup` finds a kind by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from aboard.errors import TargetError, did_you_mean
from aboard.target import columns

#: Value of an attribute. A `bool` is allowed because it is a subclass of `int`.
Value = str | int

#: The attribute for the runtime that code is linked with.
_RUNTIME = "runtime"

#: Names of kinds and of attributes: a kind's name is also a folder of the bundle and a part of C names.
_NAME = re.compile(r"[a-z][a-z0-9_-]*")

_TYPES: tuple[type, ...] = (str, int, bool)

_DEVICE_TYPES = ("cpu", "accelerator", "library", "composite")

_WORDS = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


@dataclass(frozen=True)
class Attribute:
    """Schema of one attribute.

    Attributes:
        name: Name, as in `-name=value`.
        help: Meaning of the attribute, one sentence.
        type: Type of the value: `str`, `int` or `bool`.
        default: Default value; None if the user must give a value or other attributes imply it.
        allowed: All allowed values; None for any value.
        implied: For the help: the attributes that imply the value if the user gives none.
        identity: True if the attribute names the hardware (`Target.key`), on which tuning records depend.
    """

    name: str
    help: str
    type: type[str] | type[int] | type[bool] = str
    default: Value | None = None
    allowed: tuple[Value, ...] | None = None
    implied: str = ""
    identity: bool = False

    def parse(self, value: object, where: str) -> Value:
        """Returns a user's value, converted to the type of the attribute.

        Args:
            value: Text, or a value of the attribute's type.
            where: The target, for messages.

        Raises:
            TargetError: The value has another type, or is not one of the allowed values.
        """
        parsed = self._converted(value)
        if parsed is None:
            raise TargetError(
                f"{where}: -{self.name} has the wrong type, got {value!r}, expected {self.type.__name__}. "
                f"Change the value; the attribute means: {self.help}"
            )
        if self.allowed is not None and parsed not in self.allowed:
            expected = ", ".join(map(str, self.allowed))
            raise TargetError(
                f"{where}: -{self.name} has a value that is not allowed, got {parsed}, expected one of: {expected}. "
                f"Write it as in -{self.name}={self.allowed[0]}"
            )
        return parsed

    def _converted(self, value: object) -> Value | None:
        if self.type is bool:
            return value if isinstance(value, bool) else _WORDS.get(str(value).lower())
        if isinstance(value, bool):
            return None
        if self.type is int:
            try:
                return int(value, 0) if isinstance(value, str) else value if isinstance(value, int) else None
            except ValueError:
                return None
        return value if isinstance(value, str) and value else None


#: Names of the attributes that limit the claims of a device (`aboard.target.claims`).
CLAIM_NODES, CLAIM_OPS = "claim-nodes", "claim-ops"

#: Attributes that every kind has for its use as a device of a composite target.
DEVICE_ATTRIBUTES = (
    Attribute(
        CLAIM_NODES,
        "As a device: may claim these nodes only, by their numbers in `aboard partition`, as in 0..4,7; default: all",
    ),
    Attribute(CLAIM_OPS, "As a device: may claim nodes of these ops only, as in conv2d,add; default: all"),
)


@dataclass(frozen=True)
class Need:
    """Something that a kind needs on this machine (a tool, a source tree), and whether it was found.

    Attributes:
        name: Name of the tool or tree.
        purpose: Purpose of the tool or tree for the kind.
        found: True if the tool or tree exists.
        how_to_get: How to install the tool or tree.
        path: Path of the tool or tree.
        version: Version of the tool or tree, if known.
    """

    name: str
    purpose: str
    found: bool
    how_to_get: str
    path: str | None = None
    version: str | None = None


def _unchanged(attrs: Mapping[str, Value], where: str) -> Mapping[str, Value]:
    del where
    return attrs


def _no_keys(attrs: Mapping[str, Value]) -> frozenset[str]:
    del attrs
    return frozenset()


def _no_needs() -> Sequence[Need]:
    return ()


def _any_host(device: Any, host: Any) -> str | None:
    del device, host
    return None


@dataclass(frozen=True)
class Kind:
    """A kind of target.

    Attributes:
        name: First word of the target string.
        help: Description, one sentence.
        device_type: `cpu`, `accelerator`, `library` or `composite`.
        attributes: Schema of its attributes.
        complete: Checks the attributes together, and returns them with the attributes that they imply. Arguments: the
            attributes from the user and the hardware, and the target's text for messages. Defaults are filled in
            afterwards.
        keys: Returns the implementation keys (`Target.keys`) from all attributes.
        subgraph_only: True if the kind can only be a device of a composite target.
        default_keys: Implementation keys of every target of the kind, besides the result of `keys`.
        probe: Returns the needs of the kind on this machine, for `aboard doctor`. Must not raise.
        refuses_host: Returns why a device of the kind cannot serve a host and what to do, or None. Arguments: the
            device and the host of its composite target, both `Target`.
    """

    name: str
    help: str
    device_type: str
    attributes: tuple[Attribute, ...]
    complete: Callable[[Mapping[str, Value], str], Mapping[str, Value]] = field(default=_unchanged, repr=False)
    keys: Callable[[Mapping[str, Value]], frozenset[str]] = field(default=_no_keys, repr=False)
    subgraph_only: bool = False
    default_keys: frozenset[str] = frozenset()
    probe: Callable[[], Sequence[Need]] = field(default=_no_needs, repr=False)
    refuses_host: Callable[[Any, Any], str | None] = field(default=_any_host, repr=False)

    @property
    def schema(self) -> Mapping[str, Attribute]:
        """The attributes by name, sorted, including the claim limits and the runtimes of packages."""
        common = () if self.device_type == "composite" else DEVICE_ATTRIBUTES
        known = {a.name: a for a in sorted((*self.attributes, *common), key=lambda a: a.name)}
        if _RUNTIME in known:
            known[_RUNTIME] = _with_runtimes(self.name, known[_RUNTIME])
        return MappingProxyType(known)

    def resolve(self, given: Mapping[str, object], where: str) -> dict[str, Value]:
        """Returns all attributes of a target, sorted, from the given attributes.

        Args:
            given: Attributes from the user or implied by the hardware.
            where: The target, for messages.

        Raises:
            TargetError: An attribute is unknown, missing, has a wrong value, or contradicts another attribute.
        """
        schema = self.schema
        for name in given:
            if name not in schema:
                raise TargetError(
                    f"{where}: unknown attribute of kind {self.name}, got -{name}. {did_you_mean(name, schema)} "
                    f"`aboard targets show {self.name}` lists all"
                )
        parsed = {name: schema[name].parse(value, where) for name, value in given.items()}
        known = dict(self.complete(parsed, where))
        for name, attribute in schema.items():
            if attribute.default is not None:
                known.setdefault(name, attribute.default)
        return dict(sorted(known.items()))


def _with_runtimes(kind_name: str, attribute: Attribute) -> Attribute:
    added = tuple(runtime.name for runtime in columns.plain(kind_name, "runtimes"))
    return replace(attribute, allowed=(*(attribute.allowed or ()), *added)) if added else attribute


_KINDS: dict[str, Kind] = {}


def register(kind: Kind) -> Kind:
    """Adds a kind to the registry.

    Raises:
        TargetError: The name of the kind or of an attribute is taken or is no name, the device type or the type of an
            attribute is unknown, or a default or an allowed value is wrong.
    """
    if not _NAME.fullmatch(kind.name):
        raise TargetError(
            f"kind {kind.name!r}: not a name of a kind, expected lower case words as in my-npu. Rename it"
        )
    if kind.name in _KINDS:
        raise TargetError(f"kind {kind.name}: is registered twice, expected a name of its own. Rename one of them")
    if kind.device_type not in _DEVICE_TYPES:
        raise TargetError(
            f"kind {kind.name}: unknown device type, got {kind.device_type!r}, expected one of: "
            f"{', '.join(_DEVICE_TYPES)}. Choose one"
        )
    _check_schema(kind.attributes, f"kind {kind.name}")
    _KINDS[kind.name] = kind
    return kind


def _check_schema(attributes: Sequence[Attribute], where: str) -> None:
    """Refuses attributes of a kind whose names or values are wrong."""
    common = {attribute.name for attribute in DEVICE_ATTRIBUTES}
    seen: set[str] = set()
    for attribute in attributes:
        name = attribute.name
        if not _NAME.fullmatch(name):
            raise TargetError(
                f"{where}: not a name of an attribute, got {name!r}, expected words as in ram-max. Rename it"
            )
        if name in common:
            raise TargetError(f"{where}: -{name} is an attribute of every kind, got another of that name. Rename it")
        if name in seen:
            raise TargetError(f"{where}: -{name} is there twice, expected a name of its own. Rename one of them")
        seen.add(name)
        _check_values(attribute, f"{where}: -{name}")


def _check_values(attribute: Attribute, where: str) -> None:
    if attribute.type not in _TYPES:
        expected = ", ".join(found.__name__ for found in _TYPES)
        raise TargetError(f"{where}: unknown type, got {attribute.type!r}, expected one of: {expected}. Choose one")
    if attribute.allowed is not None and not attribute.allowed:
        raise TargetError(f"{where}: allows no value, got (), expected some, or None for any value. Name the values")
    named = () if attribute.default is None else (("default", attribute.default),)
    for what, value in (*named, *(("allowed value", value) for value in attribute.allowed or ())):
        # A bool is an int for isinstance, and an empty text is no value that a user can write.
        if type(value) is not attribute.type or value == "":
            not_empty = " that is not empty" if attribute.type is str else ""
            raise TargetError(
                f"{where}: the {what} is of the wrong type, got {value!r}, expected {attribute.type.__name__}"
                f"{not_empty}. Change the value, or the type"
            )
    if attribute.allowed and attribute.default is not None and attribute.default not in attribute.allowed:
        raise TargetError(
            f"{where}: the default is not allowed, got {attribute.default}, expected one of: "
            f"{', '.join(map(str, attribute.allowed))}. Change the default, or allow it"
        )


def registered() -> Mapping[str, Kind]:
    """Returns the kinds registered so far by name. `lookup` also loads the kinds of packages."""
    return MappingProxyType(_KINDS)


def snapshot() -> dict[str, Kind]:
    """Returns a copy of the registry, for `restore`."""
    return dict(_KINDS)


def restore(state: Mapping[str, Kind]) -> None:
    """Restores the registry from a snapshot, after a plug-in failed or after a test."""
    _KINDS.clear()
    _KINDS.update(state)
