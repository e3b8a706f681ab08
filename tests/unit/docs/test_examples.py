"""The examples of applications: the table of their figures, and their Zephyr applications without a Zephyr tree."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from support import markdown

EXAMPLES = markdown.CHECKOUT / "docs" / "examples"
HEADERS = markdown.CHECKOUT / "tests" / "support" / "zephyr_headers"
KNOWN = markdown.CHECKOUT / "tests" / "data" / "zephyr" / "kconfig.txt"
ZEPHYR = sorted(path.parent for path in EXAMPLES.glob("*/zephyr/CMakeLists.txt"))
SOURCES = sorted((EXAMPLES / "board" / "zephyr").glob("*.c"))


def pages() -> ModuleType:
    path = markdown.CHECKOUT / "scripts" / "examples_pages.py"
    spec = importlib.util.spec_from_file_location("examples_pages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def known() -> dict[str, str]:
    """The options of Zephyr that are known, each with the file of the tree that defines it."""
    lines = KNOWN.read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines if not line.startswith("#"))


def test_the_table_of_the_examples_is_that_of_their_pages() -> None:
    found = pages()
    page = found.TABLE_PAGE.read_text(encoding="utf-8")
    assert found.with_table(page) == page
    assert len(re.findall(r"^\| \[.*\| \d+ of 1\d\d \|", found.table(), re.MULTILINE)) == len(found.NAMES) == 5
    output = "cc\n   text\t   data\n      5\t      6\n7 of 9 clips recognised (77.8 %)\nbytes: 3\n"
    assert found.rewritten("```sh\na\n```\n```text\nold\n```\n```text\nold\n```\n```text\nkept\n```\n", output) == (
        "```sh\na\n```\n```text\n7 of 9 clips recognised (77.8 %)\nbytes: 3\n```\n"
        "```text\n   text\t   data\n      5\t      6\n```\n```text\nkept\n```\n"
    )


@pytest.mark.parametrize("folder", ZEPHYR, ids=lambda folder: folder.parent.name)
def test_a_zephyr_application_is_complete(folder: Path) -> None:
    text = (folder / "CMakeLists.txt").read_text(encoding="utf-8")
    (sensor,) = re.findall(r"^set\(SENSOR (\w+)\)$", text, re.MULTILINE)
    (models,) = re.findall(r"^set\(MODELS ([\w ]+)\)$", text, re.MULTILINE)
    assert all((folder.parent / f"{model}.tflite").is_file() for model in models.split())
    assert f"MODELS = {models}\n" in (folder.parent / "app" / "Makefile").read_text(encoding="utf-8")
    board = EXAMPLES / "board" / "zephyr"
    source = (board / f"{sensor}.c").read_text(encoding="utf-8")
    (alias,) = re.findall(r"DT_ALIAS\((\w+)\)", source)
    (driver,) = re.findall(r"DT_DRV_COMPAT (\w+)", (board / f"recorded_{sensor}.c").read_text(encoding="utf-8"))
    compatible = f"aboard,recorded-{sensor}"
    assert driver == re.sub(r"\W", "_", compatible)
    binding = (board / "dts" / "bindings" / f"{compatible}.yaml").read_text(encoding="utf-8")
    assert f'compatible: "{compatible}"' in binding
    overlays = {path.stem: path.read_text(encoding="utf-8") for path in (folder / "boards").glob("*.overlay")}
    assert f'compatible = "{compatible}"' in overlays["mps2_an385"]
    assert all(f"{alias} = &" in overlay for overlay in overlays.values())
    settings = [path.read_text(encoding="utf-8") for path in (folder / "prj.conf", *folder.glob("boards/*.conf"))]
    names = [name for text in settings for name in re.findall(r"^(CONFIG_\w+)=", text, re.MULTILINE)]
    assert set(names) <= set(known())


def test_there_is_a_zephyr_application_of_each_example() -> None:
    assert {folder.parent.name for folder in ZEPHYR} == set(pages().NAMES)


@pytest.mark.parametrize("base", [os.environ["ZEPHYR_BASE"]] if os.environ.get("ZEPHYR_BASE") else [])
def test_the_known_options_are_those_of_the_tree(base: str) -> None:
    for name, file in known().items():
        text = (Path(base) / file).read_text(encoding="utf-8")
        assert re.search(rf"^\s*(menu)?config {name.removeprefix('CONFIG_')}$", text, re.MULTILINE), name


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_the_c_for_zephyr_compiles(source: Path) -> None:
    flags = ["-std=c11", "-O2", "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    command = ["arm-none-eabi-gcc", *flags, f"-I{HEADERS}", f"-I{EXAMPLES / 'board'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
