"""Where Zephyr is found, and what is said where it is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aboard.boards.zephyr import workspace
from aboard.boards.zephyr.workspace import find
from aboard.errors import ToolError

MANIFEST = """
manifest:
  projects:
    - name: cmsis
      path: modules/hal/cmsis
    - name: hal_stm32
      path: modules/hal/stm32
    - name: hal_nordic
"""


def tree(base: Path, version: str = "3.7.1") -> Path:
    major, minor, patch = version.split(".")
    base.mkdir(parents=True)
    text = (
        f"VERSION_MAJOR = {major}\nVERSION_MINOR = {minor}\nPATCHLEVEL = {patch}\nVERSION_TWEAK = 0\nEXTRAVERSION =\n"
    )
    (base / "VERSION").write_text(text)
    (base / "west.yml").write_text(MANIFEST)
    return base


def module(folder: Path, name: str | None = None) -> Path:
    (folder / "zephyr").mkdir(parents=True)
    (folder / "zephyr" / "module.yml").write_text(f"name: {name}\n" if name else "build:\n  cmake: .\n")
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in no workspace, which is also the current one."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_zephyr_base_goes_first(tmp_path: Path, elsewhere: Path) -> None:
    base = tree(tmp_path / "tree" / "zephyr")
    (tmp_path / "ws" / ".west").mkdir(parents=True)
    (tmp_path / "ws" / ".west" / "config").write_text("[zephyr]\nbase = zephyr\n")
    tree(tmp_path / "ws" / "zephyr", "4.1.0")
    found = find(tmp_path / "ws" / "app", {"ZEPHYR_BASE": str(base)})
    assert (found.base, found.release, found.found_by, found.topdir) == (base, "3.7.1", "ZEPHYR_BASE", None)


def test_the_workspace_around_the_project(tmp_path: Path, elsewhere: Path) -> None:
    (tmp_path / "ws" / ".west").mkdir(parents=True)
    (tmp_path / "ws" / ".west" / "config").write_text("[manifest]\npath = app\n\n[zephyr]\nbase = deps/zephyr\n")
    base = tree(tmp_path / "ws" / "deps" / "zephyr", "4.1.0")
    module(tmp_path / "ws" / "modules" / "hal" / "cmsis")
    found = find(tmp_path / "ws" / "apps" / "mine", {"HOME": str(elsewhere)})
    assert (found.base, found.version, found.topdir) == (base, (4, 1, 0), tmp_path / "ws")
    assert found.modules == {"cmsis": tmp_path / "ws" / "modules" / "hal" / "cmsis"}
    # West knows them.
    assert not found.given


def test_the_workspace_around_the_current_folder(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ws" / ".west").mkdir(parents=True)
    (tmp_path / "ws" / ".west" / "config").write_text("[manifest]\npath = zephyr\n")
    base = tree(tmp_path / "ws" / "zephyr")
    (tmp_path / "ws" / "deep" / "inside").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "ws" / "deep" / "inside")
    assert find(elsewhere, {"HOME": str(elsewhere)}).base == base


def test_a_tree_that_was_exported(tmp_path: Path, elsewhere: Path) -> None:
    base = tree(tmp_path / "there" / "zephyr")
    registry = elsewhere / ".cmake" / "packages" / "Zephyr"
    registry.mkdir(parents=True)
    (registry / "1gone").write_text(str(tmp_path / "gone/zephyr/share/zephyr-package/cmake"))
    (registry / "2there").write_text(str(base / "share/zephyr-package/cmake"))
    assert find(elsewhere, {"HOME": str(elsewhere)}) == workspace.Workspace(
        base, (3, 7, 1), None, "west zephyr-export", {}, given=True
    )


def test_modules_beside_a_tree_that_is_in_no_workspace(tmp_path: Path, elsewhere: Path) -> None:
    base = tree(tmp_path / "zephyr")
    cmsis = module(tmp_path / "cmsis")
    stm32 = module(tmp_path / "modules" / "hal" / "stm32")
    found = find(elsewhere, {"ZEPHYR_BASE": str(base)})
    assert found.modules == {"cmsis": cmsis, "hal_stm32": stm32}
    assert found.given


def test_modules_that_the_environment_names(tmp_path: Path, elsewhere: Path) -> None:
    base = tree(tmp_path / "zephyr")
    module(tmp_path / "cmsis")
    one, two = module(tmp_path / "a", "hal_one"), module(tmp_path / "two")
    named = find(elsewhere, {"ZEPHYR_BASE": str(base), "ZEPHYR_MODULES": f"{one};{two}"})
    assert named.modules == {"hal_one": one, "two": two}
    # Zephyr reads the variable itself.
    assert not named.given
    more = find(elsewhere, {"ZEPHYR_BASE": str(base), "EXTRA_ZEPHYR_MODULES": str(one)})
    assert set(more.modules) == {"cmsis", "hal_one"}


def test_no_workspace_is_told_with_the_commands_that_make_one(elsewhere: Path) -> None:
    with pytest.raises(ToolError) as caught:
        find(elsewhere, {"HOME": str(elsewhere)})
    text = str(caught.value)
    assert text.startswith(
        f"zephyr: no workspace, got no ZEPHYR_BASE and no west workspace above {elsewhere}, expected"
    )
    assert "west init -l . && west update" in text
    assert "west init -m https://github.com/zephyrproject-rtos/zephyr --mr v3.7.1 . && west update" in text
    assert text.endswith("export ZEPHYR_BASE=<workspace>/zephyr")


def test_an_old_tree_is_refused(tmp_path: Path, elsewhere: Path) -> None:
    base = tree(tmp_path / "zephyr", "3.5.0")
    message = re.escape(
        f"{base}: Zephyr is too old, got 3.5.0 (ZEPHYR_BASE), expected 3.7 or later. In the workspace, run: "
    )
    with pytest.raises(ToolError, match=message):
        find(elsewhere, {"ZEPHYR_BASE": str(base)})


@pytest.mark.parametrize("content", [None, "VERSION_MAJOR = 3\n", b"\xff\xfe"])
def test_a_folder_that_is_no_tree(tmp_path: Path, elsewhere: Path, content: str | bytes | None) -> None:
    if content is not None:
        (tmp_path / "VERSION").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ToolError, match=r"not a Zephyr tree, got no version in .*VERSION \(ZEPHYR_BASE\)\."):
        find(elsewhere, {"ZEPHYR_BASE": str(tmp_path)})
