"""The target: where code runs, in one canonical form."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Literal, cast

from aboard.boards import cpu as cpus
from aboard.errors import TargetError
from aboard.target import accelerators, claims, hardware, regions
from aboard.target.composite import COMPOSITE, DEVICE, DEVICES, HOST
from aboard.target.kind import Kind, Value
from aboard.target.lookup import kind, kinds
from aboard.target.regions import ArenaRegion
from aboard.target.spec import Form, from_json, read


@functools.total_ordering
class Target:
    """The hardware and the options that code is compiled for. Immutable.

    A target is made from a string (`c -mcpu=cortex-m4 -runtime=standalone`), a dict (`{"kind": "c", "mcpu":
    "cortex-m4"}`), a hardware string (`arm/mps2_an386`, `arm/mps2_an386 -opt=size`), or an alias. All forms are brought
    into one canonical form: `Target(str(t)) == t`.

    A composite target has a host and devices: `{"kind": "composite", "host": ..., "devices": [...]}`, as a string
    `composite -device='...' -host='...'`, or short `c -mcpu=cortex-m4 + cmsis-nn`. Its other properties (`cpu`, `keys`,
    `opt`, `runtime`, `input_mode`, `hardware`) are the properties of its host.

    Attributes:
        kind: The target kind.
        attrs: All attributes, including defaults and implied attributes, sorted by name.
        host: The CPU that computes the nodes that no device claims; the target itself if there are no devices.
        devices: Devices of a composite target, in the order in which they may claim.
        caller: For a device, the host of its composite target, which calls the device; else None. Comparison ignores
            it.
    """

    kind: Kind
    attrs: Mapping[str, Value]
    host: Target
    devices: tuple[Target, ...]
    caller: Target | None

    def __init__(
        self, spec: str | Mapping[str, object] | Target, *, as_device: bool = False, host: Target | None = None
    ) -> None:
        """Parses a target.

        Args:
            spec: String, dict, or another target.
            as_device: True for a device of a composite target; then every kind is allowed.
            host: For a device, the host of its composite target, whose board may state attributes of the device.

        Raises:
            TargetError: The kind, hardware or an attribute is unknown, a value is not allowed, or the kind can only be
                a device.
        """
        board = None if host is None else host.hardware
        self._fill(spec, board)
        if self.kind.subgraph_only and not as_device:
            raise TargetError(
                f"target {_shown(spec)}: kind {self.kind.name} can only be a device of a composite target, got it "
                f"alone. "
                f'Write {{"kind": "composite", "host": "c -mcpu=cortex-m4", "devices": ["{self._given()}"]}} with your '
                f"core, or `c -mcpu=cortex-m4 + {self._given()}`"
            )
        if not as_device:
            claims.refuse(self.attrs, f"target {_shown(spec)}")
        accelerators.check(self.kind, self.attrs, board, f"target {_shown(spec)}")

    def _fill(self, spec: str | Mapping[str, object] | Target, board: str | None) -> None:
        if isinstance(spec, Target):
            self.kind, self.attrs, self.devices, self.caller = spec.kind, spec.attrs, spec.devices, spec.caller
            self.host = self if spec.host is spec else spec.host
            return
        form = read(spec)
        self.devices = ()
        self.host = self
        self.caller = None
        if form.head == COMPOSITE.name:
            self._fill_composite(form)
            return
        self.kind, given = _with_hardware(form.head, form.given, form.where)
        given = {**accelerators.implied(self.kind, board), **given}
        self.attrs = MappingProxyType(claims.canonical(self.kind.resolve(given, form.where), form.where))

    def _fill_composite(self, form: Form) -> None:
        given, where = dict(form.given), form.where
        host, devices = given.pop(HOST, None), given.pop(DEVICE, [])
        if host is None:
            raise TargetError(f"{where}: the host is missing, expected -host=. Add the CPU that calls the devices")
        if not isinstance(devices, Sequence) or isinstance(devices, str):
            raise TargetError(
                f"{where}: devices are of the wrong type, got {devices!r}, expected a list of targets. Give a list"
            )
        if not devices:
            raise TargetError(f"{where}: no device is given, expected one or more. Add one, or use the host alone")
        self.kind = COMPOSITE
        self.attrs = MappingProxyType(COMPOSITE.resolve(given, where))
        self.host = _part(host, where, "the host")
        self.devices = tuple(_part(device, where, "a device", self.host) for device in devices)
        if self.host.kind.device_type != "cpu":
            raise TargetError(
                f"{where}: the host is not a CPU, got kind {self.host.kind.name}, expected one of: "
                f"{', '.join(n for n in kinds() if kind(n).device_type == 'cpu')}. Name it among the devices"
            )
        claims.refuse(self.host.attrs, f"{where}: the host")
        for device in self.devices:
            if self.devices.count(device) > 1:
                raise TargetError(f"{where}: two devices are the same, got {device} twice. Remove one")
            problem = device.kind.refuses_host(device, self.host)
            if problem is not None:
                raise TargetError(f"{where}: a device: {problem}")
            device.caller = self.host

    @classmethod
    def from_json(cls, text: str) -> Target:
        """Returns the target that `to_json` wrote.

        Raises:
            TargetError: The text is not JSON, or does not describe a target.
        """
        return cls(cast("Mapping[str, object]", from_json(text)))

    def to_json(self) -> str:
        """Returns the kind and all attributes as a JSON object, sorted."""
        parts: dict[str, object] = {}
        if self.devices:
            parts = {DEVICES: [str(device) for device in self.devices], HOST: str(self.host)}
        return json.dumps({"kind": self.kind.name, **parts, **self.attrs})

    def get(self, name: str) -> Value | None:
        """Returns an attribute of the target or of a composite target's host; None if neither has the attribute."""
        own = self.attrs.get(name)
        return own if own is not None or self.host is self else self.host.get(name)

    def overridden(self, attrs: Mapping[str, Value]) -> Target:
        """Returns the same target with some attributes of its host changed.

        Raises:
            TargetError: An attribute is unknown, or its value is not allowed.
        """
        changed = Target({"kind": self.host.kind.name, **self.host.attrs, **attrs})
        if self.host is self:
            return changed
        return Target({"kind": self.kind.name, **self.attrs, HOST: changed, DEVICES: list(self.devices)})

    @property
    def key(self) -> str:
        """The hardware in one text: kind, board, core and versions of devices; without the figures of the board."""
        schema = self.kind.schema
        identity = {name: value for name, value in self.attrs.items() if schema[name].identity}
        return self._text(identity, lambda part: part.key)

    @property
    def hardware(self) -> str | None:
        """The board, `vendor/board` or `vendor/board:core`; None if the target names only a core."""
        name = self.get("hardware")
        return None if name is None else str(name)

    @cached_property
    def cpu(self) -> cpus.Cpu:
        """The core that the code runs on."""
        return cpus.find(str(self.host.attrs["mcpu"]))

    @cached_property
    def keys(self) -> frozenset[str]:
        """Implementation keys: `portable`; `arm_thumb1`, `arm_mla`, `arm_dsp`, `arm_mve`, `riscv`, `host` by core."""
        return self.host.kind.default_keys | self.host.kind.keys(self.host.attrs)

    @property
    def opt(self) -> Literal["size", "balanced", "speed"]:
        """The preference between small and fast code (`-opt`)."""
        return cast(Literal["size", "balanced", "speed"], self.host.attrs["opt"])

    @property
    def runtime(self) -> str:
        """The runtime: `standalone`, `host`, or a runtime of a package (`aboard.target.runtimes`)."""
        return str(self.host.attrs["runtime"])

    @property
    def input_mode(self) -> Literal["consumed", "kept", "rows"]:
        """The handling of the input (`-input`): overwritten, preserved, or streamed row by row."""
        return cast(Literal["consumed", "kept", "rows"], self.host.attrs["input"])

    def arenas(self, weights_bytes: int = 0) -> tuple[ArenaRegion, ...]:
        """Returns the memory regions of the arenas (`-arena`), fastest first; empty for one arena in the data region.

        Args:
            weights_bytes: Bytes of the weights, which reduce the space of an arena in the same region.
        """
        return regions.arenas(self.host.attrs, weights_bytes)

    @property
    def state_mode(self) -> str:
        """The memory of state (`-state`): `separate`, `arena`, or the name of a memory region."""
        return str(self.host.attrs.get("state", regions.STATE_SEPARATE))

    @property
    def flash_max(self) -> int | None:
        """Bytes of flash that a model may take (`-flash-max`); None for no limit."""
        return regions.limit(self.host.attrs, "flash-max")

    @property
    def ram_max(self) -> int | None:
        """Bytes that all arenas together may take (`-ram-max`); None for no limit."""
        return regions.limit(self.host.attrs, "ram-max")

    @property
    def weights_region(self) -> str | None:
        """Memory region of the weights (`-weights`); None for the region of the code."""
        name = self.host.attrs.get("weights")
        return None if name is None else str(name)

    def _text(self, attrs: Mapping[str, Value], part: Callable[[Target], str] = str) -> str:
        words = [(name, _printed(value)) for name, value in attrs.items()]
        if self.devices:
            words += [(DEVICE, part(device)) for device in self.devices] + [(HOST, part(self.host))]
        # Sorting is stable, so devices keep their order.
        words.sort(key=lambda word: word[0])
        return " ".join([self.kind.name, *(f"-{name}={shlex.quote(value)}" for name, value in words)])

    def _given(self) -> str:
        """Returns the kind and the attributes that differ from their defaults."""
        schema = self.kind.schema
        return self._text({name: value for name, value in self.attrs.items() if value != schema[name].default})

    def __str__(self) -> str:
        return self._text(self.attrs)

    def __repr__(self) -> str:
        return f"Target({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Target) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return str(self) < str(other) if isinstance(other, Target) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))


def _printed(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shown(spec: object) -> str:
    return repr(spec) if isinstance(spec, str) else str(spec)


def _part(spec: object, where: str, what: str, host: Target | None = None) -> Target:
    """Returns the host or a device of a composite target."""
    if not isinstance(spec, str | Mapping | Target):
        raise TargetError(
            f"{where}: {what} is of the wrong type, got {spec!r}, expected a target. Write it as a string"
        )
    try:
        part = Target(spec, as_device=True, host=host)
    except TargetError as error:
        raise TargetError(f"{where}: {what}: {error}") from error
    if part.devices:
        raise TargetError(
            f"{where}: {what} is composite itself, expected a target without devices. "
            "Name its host and its devices one by one"
        )
    return part


def _with_hardware(head: object, given: dict[str, object], where: str) -> tuple[Kind, dict[str, object]]:
    """Returns the kind and the attributes. Given attributes take precedence over those that the hardware implies."""
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
    implied = dict(found.implied)
    if "mcpu" in given:
        # The runtime depends on the core: the runtime of the board's own core may not suit another core.
        implied.pop("runtime", None)
    return chosen, {**implied, **given}
