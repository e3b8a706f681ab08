"""The target: where code runs, in one canonical form."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Literal, cast

from aboard.errors import TargetError
from aboard.target import cpu as cpus
from aboard.target import hardware
from aboard.target.kind import Kind, Value, kind, kinds


class Target:
    """Says everything the compiler and the runtime may ask about where code will run. Immutable.

    Made from a string (`c -mcpu=cortex-m4 -runtime=standalone`), a dict (`{"kind": "c", "mcpu": "cortex-m4"}`), or a
    hardware string (`arm/mps2_an386`, `arm/mps2_an386 -opt=size`). All canonicalise: `Target(str(t)) == t`.

    Attributes:
        kind: Its kind.
        attrs: All attributes, defaults and implied ones included, sorted by name.
    """

    kind: Kind
    attrs: Mapping[str, Value]

    def __init__(self, spec: str | Mapping[str, object] | Target) -> None:
        """Parses a target.

        Args:
            spec: String, dict, or another target.

        Raises:
            TargetError: It names an unknown kind, hardware or attribute, or a value that is not allowed.
        """
        if isinstance(spec, Target):
            self.kind, self.attrs = spec.kind, spec.attrs
            return
        head: object
        given: dict[str, object]
        if isinstance(spec, str):
            where = f"target {spec!r}"
            head, given = _words(spec)
        elif isinstance(spec, Mapping):
            given = dict(spec)
            where, head = f"target {given}", given.pop("kind", None)
        else:
            raise TargetError(
                f"target: of the wrong type, got {type(spec).__name__}, expected a string or a dict. "
                f"Write it as in `c -mcpu=cortex-m4`"
            )
        self.kind, given = _with_hardware(head, given, where)
        self.attrs = MappingProxyType(self.kind.resolve(given, where))

    @classmethod
    def from_json(cls, text: str) -> Target:
        """Returns the target that `to_json` wrote.

        Raises:
            TargetError: The text is not JSON, or not that of a target.
        """
        try:
            value = json.loads(text)
        except ValueError as error:
            raise TargetError(f"target: not JSON, got {text[:40]!r}, expected an object. {error}") from error
        return cls(value)

    def to_json(self) -> str:
        """Returns the kind and all attributes as a JSON object, sorted."""
        return json.dumps({"kind": self.kind.name, **self.attrs})

    def get(self, name: str) -> Value | None:
        """Returns an attribute, or None where the target has none of that name."""
        return self.attrs.get(name)

    @property
    def key(self) -> str:
        """What tuning records are stored under: kind, hardware and core. Figures of a board are no part of it."""
        schema = self.kind.schema
        return self._text({name: value for name, value in self.attrs.items() if schema[name].identity})

    @property
    def hardware(self) -> str | None:
        """The board, `vendor/board` or `vendor/board:core`; None for a target that names only a core."""
        name = self.attrs.get("hardware")
        return None if name is None else str(name)

    @cached_property
    def cpu(self) -> cpus.Cpu:
        """The core the code runs on."""
        return cpus.find(str(self.attrs["mcpu"]))

    @cached_property
    def keys(self) -> frozenset[str]:
        """Implementation keys: `portable`, and `arm_dsp`, `arm_mve`, `riscv`, `host` as the core has it."""
        return self.kind.keys(self.attrs)

    @property
    def opt(self) -> Literal["size", "balanced", "speed"]:
        """What to prefer where a layer can be small or fast."""
        return cast(Literal["size", "balanced", "speed"], self.attrs["opt"])

    @property
    def runtime(self) -> Literal["standalone", "host"]:
        """What the code is linked with."""
        return cast(Literal["standalone", "host"], self.attrs["runtime"])

    @property
    def input_mode(self) -> Literal["consumed", "kept"]:
        """Whether the model may overwrite its input while it runs (`-input`)."""
        return cast(Literal["consumed", "kept"], self.attrs["input"])

    def _text(self, attrs: Mapping[str, Value]) -> str:
        words = [self.kind.name]
        words += [f"-{name}={shlex.quote(_printed(value))}" for name, value in sorted(attrs.items())]
        return " ".join(words)

    def __str__(self) -> str:
        return self._text(self.attrs)

    def __repr__(self) -> str:
        return f"Target({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Target) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))


def _printed(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _words(text: str) -> tuple[str | None, dict[str, object]]:
    """Splits a target string into its first word (None where it starts with an attribute) and its attributes."""
    where = f"target {text!r}"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise TargetError(f"{where}: {error}. Close the quotation mark") from error
    if not words:
        raise TargetError("target: empty, expected a kind or a board. Write it as in `c -mcpu=cortex-m4`")
    head = None if words[0].startswith("-") else words.pop(0)
    given: dict[str, object] = {}
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not equals or not name:
            raise TargetError(
                f"{where}: not an attribute, got {word!r}, expected -name=value. Write it as in `-opt=size`"
            )
        if name in given:
            raise TargetError(f"{where}: -{name} is given twice, got {value!r} and {given[name]!r}. Remove one")
        given[name] = value
    return head, given


def _with_hardware(head: object, given: dict[str, object], where: str) -> tuple[Kind, dict[str, object]]:
    """Returns the kind, and the attributes with those that the hardware implies below those that were given."""
    is_kind = head in kinds()
    if head is not None and not is_kind:
        if "hardware" in given:
            raise TargetError(
                f"{where}: hardware is given twice, got {head} and {given['hardware']}. Keep one of the two"
            )
        given = {**given, "hardware": head}
    if "hardware" not in given:
        if head is None:
            raise TargetError(f"{where}: neither kind nor hardware, expected one of them. Start with `c`, or a board")
        return kind(str(head)), given
    found = hardware.resolve(str(given.pop("hardware")), where)
    chosen = kind(str(head) if is_kind else found.kind)
    return chosen, {**found.implied, **given}
