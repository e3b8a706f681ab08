"""What an operator of a TFLite file must be, read from the checks of the ops: `host/aboard/ops/refusals.json`.

The checks of an operator are the functions of `aboard.ops` that its import reaches: from `from_tflite` and `verify` of
its op, or from the function that composes it. Their error messages have one form, `<what>, got <x>, expected <y>.
<what to do>`, so that each message is also a rule: `<what>: <y>`. Values that are known only for a model are `...`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from aboard import ops
from aboard.ops import registry
from support import error_messages

PAGE = Path(inspect.getfile(registry)).with_name("refusals.json")

_ROOM = "aboard.ops."

#: Modules whose messages say nothing of one operator.
_SHARED = frozenset({"aboard.ops.registry", "aboard.ops.interpreter", "aboard.ops.chain"})

#: What every message of a check has.
_WANTED = "expected "

#: Methods of `SourceNode` that take the values of an operand.
_CONSTANT = frozenset({"constant", "integers"})

_MESSAGE = re.compile(r"(?P<what>[^.]*?),(?: got (?P<got>.*?),)? expected (?P<wanted>.*?)(?:\. (?P<advice>.*))?$")
#: Subjects that say nothing without the name that the message has.
_VAGUE = frozenset({"option", "operands of states", "tensor"})
_TYPES = re.compile(r"element types?\b")
_PART = re.compile(r"an? (?P<part>[a-z ]+) of ")
_EITHER = re.compile(r"\[(?P<one>[^|\]]*)\|(?P<other>[^\]]*)\]")
_REASON = re.compile(r"[^.;]*(?:TensorFlow Lite Micro|tflite-micro|[Tt]he reference)[^.;]*")


def page() -> str:
    """Returns the text of `refusals.json`: for each operator that ops import, its rules."""
    return json.dumps({kind: rules(kind) for kind in ops.tflite_kinds()}, indent=1) + "\n"


def rules(kind: str) -> list[str]:
    """Returns what the operators of a kind must be, in the order of the checks."""
    own = next((op for name in registry.names() if kind in (op := registry.get(name)).tflite), None)
    if own is None:
        entries: list[tuple[object, type | None]] = [(registry._COMPOSED[kind], None)]
    else:
        entries = [(type(own).from_tflite, type(own)), (type(own).verify, type(own))]
    found, known = dict[str, None](), set[str]()
    for entry, owner in entries:
        new = [rule for function in _reached(entry, owner) for rule in _rules(function)]
        # What verify says on a subject of from_tflite, it says for passes.
        found |= dict.fromkeys(rule for rule in new if _subject(rule) not in known)
        known |= {_subject(rule) for rule in new}
    return list(found)


def _subject(rule: str) -> str:
    return rule.partition(":")[0]


@functools.cache
def _rules(function: FunctionType) -> tuple[str, ...]:
    """Returns the rules in the source of a function."""
    return tuple(_read_rules(function))


def _read_rules(function: FunctionType) -> Iterator[str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    file = Path(inspect.getfile(function)).relative_to(error_messages.PACKAGE).as_posix()
    within = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CONSTANT:
            yield from (f"operand {each.value}: a constant" for each in node.args if isinstance(each, ast.Constant))
        elif (
            isinstance(node, (ast.JoinedStr, ast.Constant)) and id(node) not in within and _WANTED in ast.unparse(node)
        ):
            for text in error_messages.texts(node, file):
                yield from _rule(text, function)


def _rule(text: str, function: FunctionType) -> Iterator[str]:
    """Yields the rule that an error message states, with the part of TensorFlow Lite Micro in it."""
    message = _MESSAGE.match(text)
    if message is None or _TYPES.match(message["what"]):
        return
    what = re.sub(r"( of| in)? \{(name|tensor|label)\}", "", message["what"])
    part = _PART.match(message["got"] or "")
    subject = _filled(f"{what}, {part['part']}" if part is not None else what, function).removeprefix("tensor, ")
    wanted = _filled(message["wanted"], function)
    if subject.startswith("...") or subject in _VAGUE:
        return
    reason = _REASON.search(message["advice"] or "")
    if reason is not None:
        yield f"{subject}: {wanted}. {_filled(reason[0].strip(), function)}"
    elif not re.fullmatch(r"[. ]*(and|or)?[. ]*", wanted):
        yield f"{subject}: {wanted}"


def _filled(text: str, function: FunctionType) -> str:
    """Returns a template with the values of constants, and with `...` for other values."""

    def value(name: re.Match[str]) -> str:
        known = function.__globals__.get(name[1])
        return str(known) if name[1].isupper() and isinstance(known, (int, float, str)) else "..."

    text = _EITHER.sub(lambda each: f"{each['one']} or {each['other']}" if each["one"] and each["other"] else "", text)
    return re.sub(r"\{(\w+)\}", value, text)


def _reached(entry: object, owner: type | None) -> list[FunctionType]:
    """Returns the functions of `aboard.ops` that a function can call, itself included.

    Args:
        entry: The function.
        owner: The op whose methods it calls; None for a function that composes.
    """
    waiting, found = [entry], list[FunctionType]()
    while waiting:
        given = waiting.pop(0)
        function = inspect.unwrap(given) if callable(given) else given
        if isinstance(function, FunctionType) and function not in found and _is_written(function):
            found.append(function)
            waiting += _called(function, owner)
    return [function for function in found if function.__module__ not in _SHARED]


def _is_written(function: FunctionType) -> bool:
    """True for functions in the files of `aboard.ops`; a dataclass also has others."""
    return function.__module__.startswith(_ROOM) and not function.__code__.co_filename.startswith("<")


def _called(function: FunctionType, owner: type | None) -> Iterator[object]:
    """Yields what a function may call: globals, functions of modules, methods of classes and of the op, closures."""
    names = list(_names(function.__code__))
    for cell in function.__closure__ or ():
        yield cell.cell_contents
    for name in names:
        known = function.__globals__.get(name)
        if isinstance(known, ModuleType):
            yield from (getattr(known, each, None) for each in names)
        elif isinstance(known, type):
            yield from _methods(vars(known).values())
        else:
            yield known
        if owner is not None:
            yield getattr(owner, name, None)


def _methods(members: Iterable[object]) -> Iterator[object]:
    for member in members:
        yield member.__func__ if isinstance(member, (classmethod, staticmethod)) else member


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
