"""The table of rooms in the page on architecture is true: imports go one way, the device path needs no compiler."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from support import markdown
from support.rooms import FILES, PACKAGE, PATH, RANK, room

_LOOSE = 8
COMPILE_PATH = {room for room, path in PATH.items() if path == "compile"} - {"cli", "testing", "models", "demo"}

UNIT = markdown.CHECKOUT / "tests" / "unit"
#: Folders of unit tests that mirror no room: pages, the firmware, this repository, and all that deals with Zephyr.
_NO_ROOMS = {"docs", "firmware", "repository", "zephyr"}


def imports(module: str) -> Iterator[str]:
    """Yields the modules of aboard that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.ImportFrom) and node.module in FILES:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in FILES else node.module


@functools.cache
def edges() -> dict[str, set[str]]:
    """Returns what each file imports. A package imports its own modules to register or name them: that is no circle."""
    return {
        module: {other for other in imports(module) if other != module and not other.startswith(f"{module}.")}
        for module in FILES
    }


def circle(imported: Mapping[str, set[str]]) -> list[str]:
    """Returns modules that import each other in a circle; empty where there is none."""
    left = {module: set(others) for module, others in imported.items()}
    while ends := {module for module, others in left.items() if not others & left.keys()}:
        left = {module: others for module, others in left.items() if module not in ends}
    return sorted(left)


def test_every_room_is_in_the_table() -> None:
    rooms = {room(module) for module in FILES if not module.startswith("aboard.__")} - {None}
    assert rooms - set(RANK) == set()
    assert set(RANK) - rooms == set()


def test_few_files_lie_loose() -> None:
    loose = [path.name for path in PACKAGE.glob("*.py")]
    assert len(loose) <= _LOOSE, loose


def test_unit_tests_lie_in_the_rooms_that_they_test() -> None:
    assert {path.parent.name for path in UNIT.rglob("test_*.py")} - set(RANK) == {*_NO_ROOMS, UNIT.name}
    assert [path.name for path in UNIT.glob("*.py")] == ["test_public_api.py"]


@pytest.mark.parametrize("name", sorted(RANK))
def test_imports_go_one_way(name: str) -> None:
    upward = {
        f"{module} imports {other}"
        for module in FILES
        if room(module) == name
        for other in edges()[module]
        if RANK.get(room(other) or "", -1) > RANK[name]
    }
    assert upward == set()


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circle(edges()) == []
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["a", "b", "c"]


def test_the_device_path_never_names_the_compile_path() -> None:
    found = {
        f"{module} imports {other}"
        for module in FILES
        if PATH.get(room(module) or "") in {"device", "both"}
        for other in edges()[module]
        if room(other) in COMPILE_PATH
    }
    assert found == set()


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_aboard_loads_next_to_nothing() -> None:
    loaded = {name for name in loaded_by("import aboard") if name.startswith("aboard")}
    assert loaded == {"aboard", "aboard.errors", "aboard.base", "aboard.base.fault_record", "aboard.base.printable"}


def test_the_session_loads_neither_compiler_nor_importer_packages() -> None:
    loaded = loaded_by("import aboard.api, aboard.boards")
    assert {name for name in loaded if name.split(".")[0] in {"tflite", "flatbuffers", "cffi", "west"}} == set()
    assert {name.split(".")[1] for name in loaded if name.startswith("aboard.")} & COMPILE_PATH == set()
