"""Whatever writes goes through `outputs` or `scratch`: what writes by itself is listed here, with where and why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import aboard

PACKAGE = Path(aboard.__file__).parent
WRITING = {"write_text", "write_bytes", "touch", "rename", "mkdir", "makedirs", "savez", "savez_compressed"}
WRITING |= {"copyfile", "copytree", "rmtree", "unlink", "rmdir"}
WRITING |= {"TemporaryDirectory", "mkdtemp", "mkstemp", "NamedTemporaryFile"}

#: Files that write by themselves, and where to.
ALLOWED = {
    "base/bundle_files.py": "the new folder of a project that `outputs` gives",
    "base/manifest.py": "the new folder that `outputs` gives",
    "base/scratch.py": "the owner of temporary folders",
    "boards/zephyr/probe.py": "scratch",
    "boards/zephyr/device_tree.py": "scratch",
    "boards/zephyr/device_tree_source.py": "scratch",
    "boards/zephyr/tree_kconfig.py": "scratch",
    "cli/boards_add.py": "folders only; their files go through `outputs`",
    "cli/deploy.py": "removes the project that it has just made where the image does not fit",
    "cli/model.py": "copies a bundle into the new folder of a project",
    "cli/new.py": "the new folder that `outputs` gives",
    "cycles/plugin.py": "scratch",
    "device/flash.py": "a log in a project's build folder",
    "emit/amalgamation.py": "the new folder that `outputs` gives",
    "emit/bundle.py": "the new folder that `outputs` gives",
    "farm/shipping.py": "scratch",
    "flashers/base.py": "scratch",
    "flashers/formats.py": "scratch",
    "flashers/openocd.py": "scratch",
    "flashers/uf2.py": "the drive of a boot loader, which takes images",
    "frameworks/worker.py": "the empty folder of scratch that its caller gives",
    "frameworks/keras.py": "a copy in the folder of scratch that the converter's worker gets",
    "frontend/sources.py": "the new folder that `outputs` gives",
    "matrix/files.py": "the folder of a table; its reports go through `outputs`",
    "matrix/row.py": "scratch",
    "models/train_digits.py": "a tool of the developers, for the shipped models",
    "outputs/file.py": "the rule",
    "outputs/folder.py": "the rule",
    "outputs/place.py": "the rule",
    "outputs/record.py": "the rule",
    "project/build.py": "the log of a project's build folder",
    "project/build_result.py": "a project's build folder, which builds make anew",
    "project/create.py": "the new folder that `outputs` gives",
    "project/render.py": "the new folder that `outputs` gives",
    "project/zephyr_build.py": "a project's build folder",
    "target/new_target.py": "the new folder that `outputs` gives",
    "testing/ci.py": "folders only; their files go through `outputs`",
    "tuner/trials.py": "lines at the end of a file beside the records, for a search that goes on",
    "tuning/record_file.py": "the folder of the records; the file goes through `outputs`",
}


def calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def opens_for_writing(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "open"
        and any(isinstance(a, ast.Constant) and a.value in ("w", "wb", "a", "ab", "x", "xb") for a in node.args)
        for node in ast.walk(tree)
    )


def test_nothing_else_writes() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if WRITING & set(calls(tree)) or opens_for_writing(tree):
            found.add(path.relative_to(PACKAGE).as_posix())
    # Archives in memory are opened for writing, too.
    assert found - {"device/input_files.py"} == set(ALLOWED)


def test_scratch_alone_makes_temporary_folders() -> None:
    makers = {"TemporaryDirectory", "mkdtemp", "mkstemp", "NamedTemporaryFile"}
    found = {path.name for path in PACKAGE.rglob("*.py") if makers & set(calls(ast.parse(path.read_text())))}
    assert found == {"scratch.py"}


def imported(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_code_that_talks_to_a_device_writes_no_files() -> None:
    talking = [*PACKAGE.glob("rpc/*.py"), *PACKAGE.glob("transports/*.py"), *PACKAGE.rglob("session.py")]
    assert {"client.py", "serial.py", "session.py"} <= {path.name for path in talking}
    for path in talking:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not WRITING & set(calls(tree)), path
        assert not opens_for_writing(tree), path
        assert not {name for name in imported(tree) if name.split(".")[-1] in ("outputs", "scratch")}, path
