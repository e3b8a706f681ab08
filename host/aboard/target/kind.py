"""Target kinds: their names, typed attribute schemas, and the registry.

A kind says which attributes its targets have and what they mean together; it does not compile. What the compiler has
to know of a kind is attached to it by name (`aboard.target.columns`). Kinds are registered with `register`; packages
that bring some are found by `aboard.target.plugins`, and `aboard.target.lookup` finds a kind by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from aboard.errors import TargetError, did_you_mean
from aboard.target import columns

#: Value of an attribute. `bool` is one of its types because it is a kind of `int`.
Value = str | int

#: The attribute that says what code is linked with.
_RUNTIME = "runtime"

_WORDS = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


@dataclass(frozen=True)
class Attribute:
    """Schema of one attribute.

    Attributes:
        name: Name, as in `-name=value`.
        help: What it means, one sentence.
        type: Type of the value: `str`, `int` or `bool`.
        default: Value where none is given; None when it has to be given or is implied by others.
        allowed: All values there are; None for any.
        implied: For the help: what implies the value where none is given.
        identity: True when it names the hardware (`Target.key`), on which tuning records depend.
    """

    name: str
    help: str
    type: type[str] | type[int] | type[bool] = str
    default: Value | None = None
    allowed: tuple[Value, ...] | None = None
    implied: str = ""
    identity: bool = False

    def parse(self, value: object, where: str) -> Value:
        """Returns a value given by a user, converted to the type of the attribute.

        Args:
            value: Text, or a value of the type.
            where: The target, for messages.

        Raises:
            TargetError: It is of another type, or not one of the allowed values.
        """
        parsed = self._converted(value)
        if parsed is None:
            raise TargetError(
                f"{where}: -{self.name} has the wrong type, got {value!r}, expected {self.type.__name__}. {self.help}"
            )
        if self.allowed is not None and parsed not in self.allowed:
            expected = ", ".join(map(str, self.allowed))
            raise TargetError(
                f"{where}: -{self.name} has a value that is not allowed, got {parsed}, expected one of: {expected}. "
                f"{did_you_mean(str(parsed), map(str, self.allowed))}"
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


#: What limits the claims of a device (`aboard.target.claims`).
CLAIM_NODES, CLAIM_OPS = "claim-nodes", "claim-ops"

#: Attributes of every kind that can be a device of a composite target.
DEVICE_ATTRIBUTES = (
    Attribute(
        CLAIM_NODES,
        "As a device: claims at most these nodes, by the numbers that `aboard partition` shows, as in 0..4,7; else any",
    ),
    Attribute(CLAIM_OPS, "As a device: claims at most nodes of these ops, as in conv2d,add; else any"),
)


@dataclass(frozen=True)
class Need:
    """Something a kind needs of this machine (a tool, a source tree), and whether it is there.

    Attributes:
        name: Of the tool or tree.
        purpose: What the kind uses it for.
        found: True when it is there.
        how_to_get: What to do where it is not.
        path: Where it is.
        version: Its version, where it tells one.
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
        help: What it is, one sentence.
        device_type: `cpu`, `accelerator`, `library` or `composite`.
        attributes: Schema of its attributes.
        complete: Called with the attributes given by the user or implied by the hardware, and the target's text for
            messages; checks them together and returns them with those that they imply. Defaults are filled in after it.
        keys: Called with all attributes; returns the implementation keys (`Target.keys`).
        subgraph_only: True when it can only be a device of a composite target.
        default_keys: Implementation keys every target of the kind has, beside those that `keys` returns.
        probe: Returns what the kind needs of this machine; `aboard doctor` shows it. Must not fail.
        refuses_host: Called with a device of the kind and the host of its composite target, both `Target`; returns why
            the two cannot stand together, or None.
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
        """The attributes by name, sorted; those that every device has included, and runtimes that packages added."""
        common = () if self.device_type == "composite" else DEVICE_ATTRIBUTES
        known = {a.name: a for a in sorted((*self.attributes, *common), key=lambda a: a.name)}
        if _RUNTIME in known:
            known[_RUNTIME] = _with_runtimes(self.name, known[_RUNTIME])
        return MappingProxyType(known)

    def resolve(self, given: Mapping[str, object], where: str) -> dict[str, Value]:
        """Returns all attributes of a target, sorted, from those that were given.

        Args:
            given: Attributes as the user wrote them, or as the hardware implies them.
            where: The target, for messages.

        Raises:
            TargetError: An attribute is not known, has a wrong value, is missing, or contradicts another.
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
        TargetError: The name is taken, or that of an attribute.
    """
    if kind.name in _KINDS:
        raise TargetError(f"kind {kind.name}: is registered twice, expected a name of its own. Rename one of them")
    for taken in DEVICE_ATTRIBUTES:
        if any(attribute.name == taken.name for attribute in kind.attributes):
            raise TargetError(
                f"kind {kind.name}: -{taken.name} is an attribute of every kind, got another of that name. Rename it"
            )
    _KINDS[kind.name] = kind
    return kind


def registered() -> Mapping[str, Kind]:
    """Returns the kinds registered so far by name; `lookup` loads those of packages first."""
    return MappingProxyType(_KINDS)


def snapshot() -> dict[str, Kind]:
    """Returns the state of the registry, for `restore`."""
    return dict(_KINDS)


def restore(state: Mapping[str, Kind]) -> None:
    """Puts the registry back into a state: for plug-ins that fail, and for tests."""
    _KINDS.clear()
    _KINDS.update(state)
