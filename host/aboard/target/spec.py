"""Parses the written forms of a target (strings, dicts, aliases) without looking up kinds or boards."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from aboard.errors import TargetError
from aboard.target import lookup
from aboard.target.aliases import Spec
from aboard.target.composite import COMPOSITE, DEVICE, DEVICES, HOST

#: Separator between host and devices in the short form.
_PLUS = "+"


@dataclass(frozen=True)
class Form:
    """A target as the user wrote it.

    Attributes:
        head: Kind or hardware; None if neither is given.
        given: Attributes.
        where: The target, for messages.
    """

    head: object
    given: dict[str, object]
    where: str


def read(spec: object, way: tuple[str, ...] = ()) -> Form:
    """Splits a target into its head and its attributes, and expands aliases.

    Args:
        spec: String, dict, or the text of a JSON object.
        way: Aliases that are being expanded, to detect cycles.

    Raises:
        TargetError: The target has another type, is not well formed, or its alias refers to itself.
    """
    if isinstance(spec, str) and spec.lstrip().startswith("{"):
        return read(from_json(spec), way)
    if isinstance(spec, str):
        form = _read_text(spec)
    elif isinstance(spec, Mapping):
        given = {str(name): value for name, value in spec.items()}
        form = Form(given.pop("kind", None), given, f"target {dict(spec)}")
        if form.head == COMPOSITE.name and DEVICES in given:
            given[DEVICE] = given.pop(DEVICES)
    else:
        raise TargetError(
            f"target: of the wrong type, got {type(spec).__name__}, expected a string or a dict. "
            f"Write it as in `c -mcpu=cortex-m4`"
        )
    known = lookup.aliases()
    return _expanded(form, known, way) if isinstance(form.head, str) and form.head in known else form


def from_json(text: str) -> object:
    """Returns the value of a JSON text.

    Raises:
        TargetError: The text is not JSON.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise TargetError(
            f"target: not JSON ({error}), got {text[:40]!r}, expected an object. Write it as in "
            '{"kind": "c", "mcpu": "cortex-m4"}'
        ) from error


def _expanded(form: Form, known: Mapping[str, Spec], way: tuple[str, ...]) -> Form:
    """Expands an alias and adds the attributes written after it. For a composite target they go to the host."""
    name = str(form.head)
    if name in way:
        raise TargetError(
            f"{form.where}: alias is cyclic, got {' -> '.join([*way, name])}, expected a kind or a board at the end. "
            "Change one of the aliases"
        )
    meant = read(known[name], (*way, name))
    if meant.head != COMPOSITE.name:
        return Form(meant.head, {**meant.given, **form.given}, form.where)
    own = {key: value for key, value in form.given.items() if key in COMPOSITE.schema}
    for_host = {key: value for key, value in form.given.items() if key not in own}
    if for_host:
        host = read(meant.given.get(HOST))
        own[HOST] = {"kind": host.head, **host.given, **for_host}
    return Form(meant.head, {**meant.given, **own}, form.where)


def _read_text(text: str) -> Form:
    where = f"target {text!r}"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise TargetError(f"{where}: {error}. Close the quotation mark") from error
    if not words:
        raise TargetError("target: empty, expected a kind or a board. Write it as in `c -mcpu=cortex-m4`")
    if _PLUS in words:
        return _read_short(words, where)
    head = None if words[0].startswith("-") else words.pop(0)
    given: dict[str, object] = {}
    devices: list[object] = []
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not equals or not name:
            raise TargetError(
                f"{where}: not an attribute, got {word!r}, expected -name=value. Write it as in `-opt=size`"
            )
        if head == COMPOSITE.name and name == DEVICE:
            devices.append(value)
            continue
        if name in given:
            raise TargetError(f"{where}: -{name} is given twice, got {value!r} and {given[name]!r}. Remove one")
        given[name] = value
    if devices:
        given[DEVICE] = devices
    return Form(head, given, where)


def _read_short(words: list[str], where: str) -> Form:
    """Reads `HOST + DEVICE + DEVICE`."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == _PLUS:
            parts.append([])
        else:
            parts[-1].append(word)
    if not all(parts):
        raise TargetError(
            f"{where}: nothing stands beside a +, expected a target. Write it as in `c -mcpu=cortex-m4 + cmsis-nn`"
        )
    host, *devices = (" ".join(map(shlex.quote, part)) for part in parts)
    return Form(COMPOSITE.name, {HOST: host, DEVICE: devices}, where)
