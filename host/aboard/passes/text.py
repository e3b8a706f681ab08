"""A pipeline as text: `fold-constants,remove-dead-code,partition,remove-channels{block=4}`.

    pipeline = [ step { "," step } ]
    step     = name [ "{" [ option { " " option } ] "}" ]
    option   = name "=" value

The form is from MLIR's and xDSL's pass managers. Spaces around names, commas and braces are ignored. `partition` is
the step at which devices claim parts of the graph.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from aboard.errors import PassError, did_you_mean
from aboard.passes.contract import Pass
from aboard.passes.pipeline import PARTITION, Option, Pipeline, check_order, options
from aboard.passes.registry import registered

_TOKENS = re.compile(r"\s*(?:(?P<word>[\w.+-]+)|(?P<mark>[,{}=]))")
_BOOLEANS = {"on": True, "off": False}
_END = "the end"
_WRITE = "Write it as in fold-constants,remove-channels{block=4}"


def parse(text: str, *, extra: Sequence[Pass] = (), partitioned: bool = False) -> Pipeline:
    """Returns the pipeline that a text describes.

    Args:
        text: Text in the grammar above; empty for no passes.
        extra: Passes in addition to the registered ones: the passes of a target's devices. If several have one name,
            each mention takes the next.
        partitioned: True if the text must contain the step `partition`; otherwise, all passes come after partitioning.

    Raises:
        PassError: The text breaks the grammar, names an unknown pass or option, gives an option a wrong value, or
                lacks a pass that a later one requires.
    """
    reader = _Reader(list(_tokens(text)))
    known = _Known(list(extra))
    steps: list[Pass | str] = []
    while reader.current != _END:
        steps.append(_step(reader, known))
        if reader.current != _END:
            reader.take(",")
            if reader.current == _END:
                raise reader.wrong("the name of a pass")
    pipeline = _split(steps, partitioned)
    check_order(pipeline)
    return pipeline


@dataclass
class _Reader:
    """The tokens of a text, each with its column; `take` and `word` advance the position."""

    tokens: list[tuple[int, str]]
    position: int = 0

    @property
    def current(self) -> str:
        return self.tokens[self.position][1]

    def take(self, mark: str) -> None:
        if self.current != mark:
            raise self.wrong(repr(mark))
        self.position += 1

    def word(self, expected: str) -> str:
        if self.current in (*",{}=", _END):
            raise self.wrong(expected)
        self.position += 1
        return self.tokens[self.position - 1][1]

    def wrong(self, expected: str) -> PassError:
        got = _END if self.current == _END else repr(self.current)
        column = self.tokens[self.position][0]
        return PassError(f"passes: column {column}, got {got}, expected {expected}. {_WRITE}")


@dataclass
class _Known:
    """The passes that a text may name."""

    extra: list[Pass]
    _used: list[Pass] = field(default_factory=list)

    def find(self, name: str) -> Pass | type[Pass]:
        own = [step for step in self.extra if step.name == name]
        if own:
            left = [step for step in own if not any(step is used for used in self._used)]
            self._used += left[:1]
            return left[0] if left else own[-1]
        classes = registered()
        if name not in classes:
            names = [*classes, *(step.name for step in self.extra), PARTITION]
            raise PassError(f"passes: unknown pass {name}. {did_you_mean(name, names)}")
        return classes[name]


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """Yields the column, counted from 1, and the text of each token, then of the end."""
    text = text.rstrip()
    position = 0
    while position < len(text):
        match = _TOKENS.match(text, position)
        if match is None:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            raise PassError(
                f"passes: column {start + 1}, got {text[start]!r}, expected a name, ',', '{{', '}}' or '='. {_WRITE}"
            )
        yield match.start(match.lastgroup or 0) + 1, match[match.lastgroup or 0]
        position = match.end()
    yield len(text) + 1, _END


def _step(reader: _Reader, known: _Known) -> Pass | str:
    name = reader.word("the name of a pass")
    if name == PARTITION:
        return PARTITION
    found = known.find(name)
    given = dict(_options(reader, found)) if reader.current == "{" else {}
    return dataclasses.replace(found, **given) if isinstance(found, Pass) else found(**given)


def _options(reader: _Reader, owner: Pass | type[Pass]) -> Iterator[tuple[str, Option]]:
    """Yields name and value of each option between braces."""
    known = {name: default for name, _, default in options(owner)}
    seen: set[str] = set()
    reader.take("{")
    while reader.current != "}":
        name = reader.word("the name of an option")
        if name not in known:
            hint = did_you_mean(name, known) if known else "Leave it out."
            raise PassError(f"passes: {owner.name} has no option {name}. {hint}")
        if name in seen:
            raise PassError(f"passes: {owner.name} has the option {name} twice. Give it once")
        seen.add(name)
        reader.take("=")
        value = _value(f"{owner.name}: {name}", type(known[name]), reader.word("a value"))
        allowed = owner.choices.get(name, (value,))
        if value not in allowed:
            expected = " or ".join(map(str, allowed))
            raise PassError(f"passes: {owner.name}: {name}, got {value}, expected {expected}. Correct the value")
        yield name, value
    reader.take("}")


def _value(where: str, kind: type[Option], text: str) -> Option:
    convert, expected = _KINDS[kind]
    try:
        return convert(text)
    except (ValueError, KeyError):
        raise PassError(f"passes: {where}, got {text}, expected {expected}. Correct the value") from None


#: The parser of each type of option, and the name of the type in errors.
_KINDS: dict[type, tuple[Callable[[str], Option], str]] = {
    bool: (_BOOLEANS.__getitem__, "on or off"),
    int: (int, "a whole number"),
    str: (str, "a word"),
}


def _split(steps: list[Pass | str], partitioned: bool) -> Pipeline:
    """Returns the passes before and after the step `partition`."""
    count = steps.count(PARTITION)
    if count > 1:
        raise PassError(f"passes: got {PARTITION} {count} times, expected it once. Leave out all but one")
    if not count and partitioned:
        raise PassError(
            f"passes: {PARTITION} is left out, but the target has devices that claim nodes. "
            f"Put {PARTITION} after the passes that the devices need"
        )
    end = steps.index(PARTITION) if count else 0
    before, after = (tuple(step for step in part if isinstance(step, Pass)) for part in (steps[:end], steps[end:]))
    return Pipeline(before, after)
