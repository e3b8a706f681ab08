"""Every error message in the source of `host/aboard`, found by reading its syntax trees.

Three forms are found:

- a call of an error class: `raise ModelError(f"{path}: empty. ...")`, also in a function that returns the error;
- `super().__init__(...)` in an error class;
- `raise unsupported(...)`, where a function that is annotated with an error class adds words of its own: the words
  given to it are listed with the name of the function.

A message that is a local variable, a constant or the call of a function that returns text is followed to its texts,
where these stand in the package. A placeholder has the short name of its expression: `{self.path.name}` is `{name}`.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "host" / "aboard"

#: Exit code of each class at the root of a family; a class of another family is a bug where nothing catches it.
_ROOTS = {"AboardError": 1, "ClickException": 1, "UsageError": 2, "BadParameter": 2}
_BUG = 70
_CONVERSIONS = frozenset({"str", "repr", "map", "sorted", "list", "tuple", "set", "int", "len", "quote", "shown"})


@dataclass(frozen=True)
class Message:
    """The template of an error message.

    Attributes:
        file: Relative to the package.
        kind: Name of the error's class.
        exit_code: Of a command that fails with it.
        text: The message, with `{names}` for values and `[one|other]` for words that depend on a condition.
        wrapper: Function that adds words to the text; empty for a whole message.
    """

    file: str
    kind: str
    exit_code: int
    text: str
    wrapper: str = ""

    def __str__(self) -> str:
        unless = " unless caught" if self.exit_code == _BUG else ""
        through = f", in the words of {self.wrapper}()" if self.wrapper else ""
        return f"{self.kind}: exit {self.exit_code}{unless}, stderr{through}\n    {self.text}"


@dataclass
class _Package:
    """What names mean: error classes with their exit codes, functions, and constants that are text."""

    nodes: Mapping[str, Sequence[ast.AST]]  # by file, its module first
    codes: dict[str, int] = field(default_factory=lambda: dict(_ROOTS))
    functions: dict[str, list[ast.FunctionDef]] = field(default_factory=dict)
    constants: dict[str, dict[str, ast.expr]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        classes = [node for nodes in self.nodes.values() for node in nodes if isinstance(node, ast.ClassDef)]
        # A round for each link of the longest chain of base classes.
        while sum(self._adds(node) for node in classes):
            pass
        for file, (module, *nodes) in self.nodes.items():
            for node in nodes:
                if isinstance(node, ast.FunctionDef):
                    self.functions.setdefault(node.name, []).append(node)
            for statement in module.body if isinstance(module, ast.Module) else ():
                for name, value in _assigned(statement):
                    if name.isupper():
                        self.constants.setdefault(name, {})[file] = value

    def _adds(self, node: ast.ClassDef) -> bool:
        """Takes over the exit code of a base class; False where there is none, or where it is known."""
        codes = [self.codes[name] for name in map(short_name, node.bases) if name in self.codes]
        if not codes or node.name in self.codes:
            return False
        self.codes[node.name] = codes[0]
        return True

    def exit_code(self, kind: str) -> int:
        return self.codes.get(kind, _BUG)

    def constant(self, name: str, file: str) -> list[ast.expr]:
        """Returns the value of a constant as a file sees it: its own, else the only one of that name."""
        values = self.constants.get(name, {})
        if file in values:
            return [values[file]]
        return list(values.values()) if len(values) == 1 else []

    def wraps(self, name: str) -> str | None:
        """Returns the error class that functions of a name return; None where they return none."""
        for node in self.functions.get(name, ()):
            kind = short_name(node.returns) if node.returns is not None else ""
            if kind in self.codes:
                return kind
        return None


@functools.cache
def collect(package: Path = PACKAGE) -> list[Message]:
    """Returns the messages of a package, sorted by room and file, in a file as they stand there."""
    paths = sorted(package.rglob("*.py"), key=lambda path: path.relative_to(package).parts)
    known = _Package({path.relative_to(package).as_posix(): _nodes(path) for path in paths})
    return [message for name in known.nodes for message in dict.fromkeys(_in_file(name, known))]


@functools.cache
def tree(file: str) -> ast.Module:
    """Returns the syntax tree of a file of the package."""
    return ast.parse((PACKAGE / file).read_text(encoding="utf-8"))


def _nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def texts(node: ast.expr, file: str) -> list[str]:
    """Returns every text that an expression can be; constants and functions of its file are followed."""
    return [" ".join(text.split()) for text in _Texts(file, {}, _alone(file)).of(node)]


@functools.cache
def _alone(file: str) -> _Package:
    return _Package({file: list(ast.walk(tree(file)))})


def _in_file(file: str, known: _Package) -> Iterator[Message]:
    nodes = known.nodes[file]
    scopes = _scopes(nodes[0])
    raised = {id(node.exc) for node in nodes if isinstance(node, ast.Raise)}
    calls = (node for node in nodes if isinstance(node, ast.Call))
    for node in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        name, scope = short_name(node.func), scopes[id(node)]
        given = node.args[0] if node.args else None
        wrapper = ""
        if name == "__init__" and scope.error_class:
            name = scope.error_class
        elif id(node) in raised and name not in known.codes and not name.endswith("Error"):
            wrapper, name = name, known.wraps(name) or ""
            given = next((each for each in node.args if isinstance(each, (ast.Constant, ast.JoinedStr))), None)
        elif name not in known.codes and id(node) not in raised:
            continue
        if not name or given is None:
            continue
        for text in _Texts(file, scope.locals, known).of(given):
            if text.strip():
                yield Message(file, name, known.exit_code(name), " ".join(text.split()), wrapper)


@dataclass
class _Scope:
    """What is known inside one function: local variables, and the error class it belongs to."""

    locals: dict[str, list[ast.expr]] = field(default_factory=dict)
    error_class: str = ""


def _scopes(tree: ast.AST) -> dict[int, _Scope]:
    """Returns the scope of every node, by the node's id."""
    found: dict[int, _Scope] = {}

    def visit(node: ast.AST, scope: _Scope, owner: str) -> None:
        found[id(node)] = scope
        if isinstance(node, ast.ClassDef):
            owner = node.name if any(short_name(base).endswith("Error") for base in node.bases) else ""
        elif isinstance(node, (ast.FunctionDef, ast.Lambda)):
            scope = _Scope(error_class=owner)
            for each in ast.walk(node):
                for name, value in _assigned(each):
                    scope.locals.setdefault(name, []).append(value)
        for child in ast.iter_child_nodes(node):
            visit(child, scope, owner)

    visit(tree, _Scope(), "")
    return found


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and isinstance(node.target, ast.Name) and node.value:
        yield node.target.id, node.value


class _Texts:
    """Turns expressions into the texts they can be."""

    def __init__(self, file: str, variables: Mapping[str, list[ast.expr]], known: _Package, depth: int = 0) -> None:
        self._file = file
        self._locals = variables
        self._known = known
        self._depth = depth

    def of(self, node: ast.expr) -> list[str]:
        """Returns every text that a message can be, at least one."""
        if isinstance(node, ast.IfExp):
            return [*self.of(node.body), *self.of(node.orelse)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return ["".join(parts) for parts in product(self.of(node.left), self.of(node.right))]
        if isinstance(node, ast.Constant):
            return [str(node.value)] if isinstance(node.value, str) else []
        if isinstance(node, ast.JoinedStr):
            return ["".join(map(self._part, node.values))]
        if self._depth < 4:
            texts = list(self._followed(node))
            if texts:
                return texts
        return ["{" + short_name(node) + "}"]

    def _part(self, node: ast.expr) -> str:
        """Returns the text of a piece of an f-string."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.FormattedValue):
            return self._part(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(map(self._part, node.values))
        if isinstance(node, ast.IfExp):
            return f"[{self._part(node.body)}|{self._part(node.orelse)}]"
        if isinstance(node, ast.Name) and node.id.isupper():
            return next(iter(self._followed(node)), "{" + node.id + "}")
        return "{" + short_name(node) + "}"

    def _followed(self, node: ast.expr) -> Iterator[str]:
        """Yields the texts of a variable, a constant or a function's results."""
        if isinstance(node, ast.Name):
            values = self._locals.get(node.id) or self._known.constant(node.id, self._file)
            yield from self._all(values, self._locals)
        elif isinstance(node, ast.Call):
            candidates = self._known.functions.get(short_name(node.func), [])
            if len(candidates) == 1 and short_name(candidates[0].returns).startswith("str"):
                body = candidates[0]
                variables: dict[str, list[ast.expr]] = {}
                for each in ast.walk(body):
                    for name, value in _assigned(each):
                        variables.setdefault(name, []).append(value)
                returned = (each.value for each in ast.walk(body) if isinstance(each, ast.Return) and each.value)
                yield from self._all(returned, variables)

    def _all(self, values: Iterable[ast.expr], variables: Mapping[str, list[ast.expr]]) -> Iterator[str]:
        for value in values:
            if isinstance(value, (ast.Constant, ast.JoinedStr, ast.BinOp, ast.IfExp, ast.Call, ast.Name)):
                texts = _Texts(self._file, variables, self._known, self._depth + 1).of(value)
                yield from (text for text in texts if not (text.startswith("{") and text.count("}") == 1))


def short_name(node: ast.AST | None) -> str:
    """Returns what an expression is called in a template: its last name, without conversions around it."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Call):
        name = short_name(node.func)
        if node.args and (name == "join" or name in _CONVERSIONS):
            return short_name(node.args[-1])
        return short_name(node.func.value) if name == "strip" and isinstance(node.func, ast.Attribute) else name
    if isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):
        return short_name(node.generators[0].iter)
    if isinstance(node, (ast.Subscript, ast.Starred, ast.FormattedValue, ast.NamedExpr)):
        return short_name(node.value)
    if isinstance(node, ast.BinOp):
        return short_name(node.left)
    if isinstance(node, ast.BoolOp):
        return short_name(node.values[0])
    return short_name(node.elts[-1]) if isinstance(node, (ast.List, ast.Tuple)) and node.elts else "value"


def page(messages: Iterable[Message]) -> str:
    """Returns the snapshot: messages under the names of their files, with room for one change on one line."""
    lines = ["Every error message in host/aboard. `make snapshots` writes this file."]
    file = ""
    for message in messages:
        if message.file != file:
            file = message.file
            lines += ["", file, "-" * len(file)]
        lines.append(str(message))
    return "\n".join(lines) + "\n"
