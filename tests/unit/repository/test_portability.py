"""The device path is portable: it is checked for Windows and macOS without these systems.

Its modules import what only POSIX has in functions alone, and mypy finds no name in them that a system does not have.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import markdown
from support.examples import either
from support.rooms import FILES, PATH, room

#: Modules of the standard library that Windows does not have.
POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
#: Parts of the device path that start programs and talk to them: on Windows their constructors raise a ToolError.
PROGRAMS = {"aboard.runners.process", "aboard.transports.pipe", "aboard.transports.pty"}
DEVICE_PATH = {name: path for name, path in FILES.items() if PATH.get(room(name) or "") in {"both", "device"}}


def imported_at_once(tree: ast.Module) -> Iterator[str]:
    """Yields the modules that are imported when a file is imported: all but those inside of functions."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


def test_no_module_of_the_device_path_needs_posix_to_be_imported() -> None:
    assert len(DEVICE_PATH) > 100
    found = {
        f"{name} imports {module}"
        for name, path in DEVICE_PATH.items()
        for module in POSIX & set(imported_at_once(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == set()


def test_imports_in_functions_are_not_those_of_the_file() -> None:
    source = (
        "import os\nif os:\n    import tty\nclass A:\n    from pty import x\n    def f(self):\n        import grp\n"
    )
    assert set(imported_at_once(ast.parse(source))) == {"os", "tty", "pty"}


@pytest.mark.parametrize("system", either(["win32", "darwin"], ["win32"]))
def test_the_device_path_names_nothing_that_a_system_lacks(system: str, tmp_path: Path) -> None:
    files = [str(path) for name, path in DEVICE_PATH.items() if name not in PROGRAMS]
    options = ["--platform", system, "--follow-imports", "silent", "--cache-dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *files],
        cwd=markdown.CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == (f"Success: no issues found in {len(files)} source files\n", 0)
