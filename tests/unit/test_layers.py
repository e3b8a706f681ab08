"""Imports go one way through the packages, and the device path does without the compiler."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import aboard

PACKAGE = Path(aboard.__file__).parent

#: Layers, lowest first: a part imports from its own line and the lines above.
LAYERS = (
    ("printable", "resources", "version"),
    ("errors", "quoting"),
    ("scratch",),
    ("fields", "outputs"),
    ("bundle_files", "manifest", "manifest_checks"),
    ("tensor_io", "operands"),
    ("programs", "extensions", "machine", "platforms"),
    ("target", "board_records", "board", "board_files", "boards", "zephyr"),
    ("toolchain", "doctor", "feeds", "image", "new_target", "templates", "attached", "devices", "flashers", "tuning"),
    ("placement", "mlperf"),
    ("capacity", "measurements", "renode_platform", "transports"),
    ("project_files", "rpc"),
    ("faults",),
    ("identity", "taps"),
    ("emulation",),
    ("build", "zephyr_build", "projects", "runners", "session", "ci", "flash", "debug"),
    ("ir",),
    ("ops",),
    ("tiling",),
    ("importers", "passes", "kernels", "reference"),
    ("memory", "partition", "schedule"),
    ("emit",),
    ("backends",),
    ("fitting",),
    ("ram_advice",),
    ("compiler", "host_runtime"),
    ("verify", "evaluate", "host_trace"),
    ("region_check",),
    ("reports", "tuner"),
    ("cli", "demo", "testing"),
)

#: What a device-only installation cannot load.
COMPILE_PATH = {
    "compiler",
    "emit",
    "fitting",
    "host_runtime",
    "importers",
    "ir",
    "kernels",
    "memory",
    "ops",
    "partition",
    "passes",
    "ram_advice",
    "reference",
    "schedule",
    "tiling",
}
DEVICE_PATH = {name for layer in LAYERS[: LAYERS.index(("ir",))] for name in layer}

#: Imports inside functions that go the other way, each for a reason.
EXCEPTIONS = {
    ("target", "boards"): "a hardware string names a board file, whose cores are those of the CPU table",
}


def part(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Yields the parts of aboard that a file imports when it runs, lazy imports included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {id(inner) for node in ast.walk(tree) if is_type_checking(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "aboard":
            names = [f"aboard.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("aboard."))


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.name != "__init__.py")
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def test_every_part_has_its_layer() -> None:
    parts = {part(path) for path in FILES} - {"models"}
    assert parts - set(RANK) == set()


@pytest.mark.parametrize("name", sorted(RANK))
def test_imports_go_one_way(name: str) -> None:
    upward = {
        f"{path.relative_to(PACKAGE)} imports {used}"
        for path in FILES
        if part(path) == name
        for used in imports(path)
        if used != name and RANK[used] > RANK[name] and (name, used) not in EXCEPTIONS
    }
    assert upward == set()


def test_the_device_path_never_names_the_compile_path() -> None:
    found = {
        f"{path.relative_to(PACKAGE)} imports {used}"
        for path in FILES
        if part(path) in DEVICE_PATH
        for used in imports(path)
        if used in COMPILE_PATH
    }
    assert found == set()


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_aboard_loads_next_to_nothing() -> None:
    loaded = {name for name in loaded_by("import aboard") if name.startswith("aboard")}
    assert loaded == {"aboard", "aboard.errors", "aboard.printable"}


def test_the_session_loads_neither_compiler_nor_importer_packages() -> None:
    loaded = loaded_by("import aboard.session, aboard.projects, aboard.boards")
    assert {name for name in loaded if name.split(".")[0] in {"tflite", "flatbuffers", "cffi", "west"}} == set()
    assert {name.split(".")[1] for name in loaded if name.startswith("aboard.")} & COMPILE_PATH == set()
