"""Placeholders at the end of messages whose texts say what to do: each is declared with the source of its texts.

Tests hold every text to the rule. A text may end with a placeholder that is declared, too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from aboard import flashers
from aboard.flashers import Problem
from aboard.frameworks import foreign, keras, pytorch, scikit_learn
from aboard.project import templates
from aboard.rpc import status
from support import error_messages

#: Texts, each with its file.
Source = Callable[[], Iterable[tuple[str, str]]]
#: In place of a file: every file.
ANY = "*"


def _returned(*functions: str) -> Source:
    """Returns the texts that functions return. Each is `file:function`, and stands for all methods of that name."""

    def texts() -> Iterator[tuple[str, str]]:
        for file, _, name in (function.rpartition(":") for function in functions):
            for node in ast.walk(error_messages.tree(file)):
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    for each in ast.walk(node):
                        if isinstance(each, ast.Return) and each.value is not None:
                            yield from _texts(file, each.value)

    return texts


def _argument(position: int, function: str, *files: str) -> Source:
    """Returns the texts that calls in files give to a function as the argument at a position."""

    def texts() -> Iterator[tuple[str, str]]:
        for file in files:
            for node in ast.walk(error_messages.tree(file)):
                if isinstance(node, ast.Call) and error_messages.short_name(node.func) == function:
                    yield from _texts(file, node.args[position])

    return texts


def _assigned(file: str, variable: str) -> Source:
    """Returns the texts that a variable gets."""

    def texts() -> Iterator[tuple[str, str]]:
        for node in ast.walk(error_messages.tree(file)):
            if isinstance(node, ast.Assign) and variable in map(error_messages.short_name, node.targets):
                yield from _texts(file, node.value)

    return texts


def _raised(*files: str) -> Source:
    """Returns the error messages of files, for errors that another message quotes."""
    return lambda: (
        (each.file, each.text) for each in error_messages.collect() if each.file in files and each.exit_code == 1
    )


def _said(texts: Callable[[], Iterable[str]]) -> Source:
    """Returns texts that the package gives when it is asked."""
    return lambda: ((ANY, text) for text in texts())


def _texts(file: str, node: ast.expr) -> Iterator[tuple[str, str]]:
    for part in node.values if isinstance(node, ast.BoolOp) else [node]:
        yield from ((file, text) for text in error_messages.texts(part, file) if text)


def _advice_of_flashers() -> Iterator[str]:
    for problem in Problem:
        yield problem.advice
    for flasher in flashers.all_flashers().values():
        yield from flasher.advice.values()


def _advice_of_frameworks() -> Iterator[str]:
    """Yields the advice of foreign formats, and that of converters for errors of each kind."""
    yield from (kind.advice for kind in vars(foreign).values() if isinstance(kind, foreign.ForeignFormat))
    yield from (advice for _, _, advice in keras.EXPLAINED)
    texts = (
        "",
        "Weights only load failed",
        "No ONNX function found",
        "data-dependent",
        "is not fitted",
        "Unable to create node",
    )
    errors = [*map(ValueError, texts), ModuleNotFoundError(), type("MissingConverter", (Exception,), {})()]
    for converter in (keras, pytorch, scikit_learn):
        yield from (converter.explain(error)[1] for error in errors)


def _next_steps() -> list[str]:
    found = map(templates.load, templates.names())
    return [template.next for template in found if template.build == "none"]


def _advice_of_statuses() -> list[str]:
    return [status.advice(number) for number in range(max(status.Status) + 2)]


def _explained(*functions: str) -> Source:
    return _returned(*(f"boards/zephyr/explain.py:{name}" for name in functions))


_ZEPHYR = _explained("_board", "_modules", "_incomplete", "_package", "_toolchain", "_kconfig")
_RUNNERS = tuple(f"runners/{name}.py:missing" for name in ("flashed", "qemu", "renode", "unicorn"))
_EXTENSIONS = ("base/extensions.py:_problem", "base/extensions.py:_unloadable")
_FILES_WITH_PROGRAMS = (
    "boards/zephyr/probe.py", "flashers/base.py", "project/build.py", "project/zephyr_build.py", "runners/debug.py",
    "runners/qemu.py",
)  # fmt: skip

#: By file and placeholder.
TAILS: Mapping[tuple[str, str], Source] = {
    (ANY, "did_you_mean"): _returned("errors.py:did_you_mean"),
    ("base/programs.py", "error"): _raised("base/programs.py"),
    ("base/programs.py", "how_to_get"): _argument(1, "require", *_FILES_WITH_PROGRAMS),
    ("boards/zephyr/explain.py", "advice"): _returned("boards/zephyr/modules.py:advice"),
    ("boards/zephyr/probe.py", "known"): _ZEPHYR,
    ("flashers/__init__.py", "missing"): _returned("flashers/base.py:missing"),
    ("flashers/__init__.py", "problem"): _returned("flashers/base.py:missing"),
    ("flashers/base.py", "advice"): _said(_advice_of_flashers),
    ("frameworks/conversion.py", "facts"): _said(_advice_of_frameworks),
    ("frameworks/model_file.py", "advice"): _said(_advice_of_frameworks),
    ("frameworks/objects.py", "advice"): _said(_advice_of_frameworks),
    ("importers/registry.py", "hint"): _assigned("importers/registry.py", "hint"),
    ("passes/text.py", "hint"): _assigned("passes/text.py", "hint"),
    ("project/build.py", "next"): _said(_next_steps),
    ("project/zephyr_build.py", "known"): _ZEPHYR,
    ("rpc/requester.py", "advice"): _said(_advice_of_statuses),
    ("rpc/requester.py", "next_step"): _argument(2, "_crashed", "rpc/requester.py"),
    ("runners/__init__.py", "missing"): _returned(*_RUNNERS),
    ("runners/__init__.py", "problem"): _returned(*_RUNNERS, *_EXTENSIONS),
    ("runners/debug.py", "missing"): _returned("flashers/base.py:missing"),
    ("runners/flashed.py", "missing"): _returned("flashers/base.py:missing"),
    ("runners/renode.py", "missing"): _returned("runners/renode.py:missing"),
    ("runners/renode.py", "renode_problem"): _returned("base/programs.py:renode_problem"),
    ("runners/unicorn.py", "problem"): _returned("runners/unicorn.py:missing"),
    ("target/c.py", "error"): _raised("boards/cpu.py"),
    ("target/second_core.py", "error"): _raised("boards/board.py", "boards/files.py", "boards/registry.py"),
    ("target/target.py", "problem"): _returned("target/second_core.py:refuses_host"),
}
