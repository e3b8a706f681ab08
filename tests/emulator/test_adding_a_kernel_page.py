"""The page on adding a kernel: its files, put into a copy of the repository, work, and its command measures them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from aboard.base import programs
from support import markdown, page_checkout

PAGE = "docs/how-to/adding_a_kernel.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
FILES = page_checkout.files(PAGE)
HEADER, SAMPLES = "firmware/kernels/arm_dsp/clamp.h", "tests/bench/samples.toml"
DATA = "host/aboard/kernels/select/data/cortex-m4.json"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the files of the page in it."""
    more = ("tests/bench", "tests/ops", "tests/unit/kernels/test_rooms.py", "docs/benchmarks.json")
    copy = page_checkout.copy(tmp_path_factory.mktemp("checkout"), *more)
    page_checkout.add(copy, FILES)
    return copy


def test_the_page_has_the_files_it_names() -> None:
    python = ["host/aboard/kernels/arm_dsp/clamp.py", "tests/emulator/test_clamp_dsp.py"]
    assert sorted(FILES) == sorted([*python, HEADER, SAMPLES])


def test_the_tests_of_the_page_pass(checkout: Path) -> None:
    (command,) = re.findall(r"^\.venv/bin/(pytest .*)$", TEXT, re.MULTILINE)
    page_checkout.run(checkout, "-m", *command.split(), "-p", "no:cacheprovider")


def test_the_files_of_the_page_are_tidy(checkout: Path) -> None:
    paths = [path for path in FILES if path.endswith(".py")]
    page_checkout.run(checkout, "-m", "ruff", "check", *paths)
    page_checkout.run(checkout, "-m", "ruff", "format", "--check", *paths)
    clang_format = programs.require("clang-format", "pip install clang-format")
    subprocess.run([clang_format, "--dry-run", "-Werror", HEADER], cwd=checkout, check=True)


def test_the_kernel_is_chosen_as_the_page_shows(checkout: Path) -> None:
    write = "import sys; sys.path.insert(0, 'tests'); from support import layer_shapes, models; "
    write += "open('rectifiers.tflite', 'wb').write(layer_shapes.sample('rectifiers'))"
    page_checkout.run(checkout, "-c", write)
    command = ["targets", "why", "rectifiers.tflite", "--board", "arm/mps2_an386"]
    told = page_checkout.run(checkout, "-c", "from aboard.cli import main; main()", *command)
    shown = [
        line
        for line in TEXT.splitlines()
        if "less specific than dsp_clamp_s8" in line or "the most specific one that can" in line
    ]
    assert len(shown) == 2
    assert set(shown) <= set(told.splitlines())


def test_the_command_of_the_page_writes_the_lines_of_data(checkout: Path) -> None:
    (command,) = re.findall(r"^make (bench-costs .*)$", TEXT, re.MULTILINE)
    printed = "".join(page_checkout.run(checkout, *program) for program in page_checkout.made(*command.split()))
    shown = [line for line in TEXT.splitlines() if line.startswith("cortex-m4: ")]
    assert [without_figures(line) for line in printed.splitlines()] == [without_figures(line) for line in shown]
    data = json.loads((checkout / DATA).read_text(encoding="utf-8"))
    price = {row["implementation"]: row["element"] for row in data["kernels"] if row["op"] == "relu"}
    assert price == {
        "dsp_clamp_s8": pytest.approx(1.5, 0.2),
        "lookup": pytest.approx(4.5, 0.2),
        "clamp": pytest.approx(6.5, 0.2),
    }
    before = json.loads((markdown.CHECKOUT / DATA).read_text(encoding="utf-8"))
    assert [row for row in data["kernels"] if not row["op"].startswith("relu")] == before["kernels"]
    kernels = ("aboard_clamp_dsp", "aboard_clamp_s8")
    assert [row for row in data["code"] if row["function"] not in kernels] == before["code"]
    assert {row["opt"] for row in data["code"] if row not in before["code"]} == {"size", "balanced"}


def without_figures(line: str) -> str:
    # Layers that cost the same in two images count once, which depends on the compiler.
    return re.sub(r"[\d.]+ (?=%|bytes|layers)", "# ", line)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:host|tests|firmware)/[\w/]+\.\w+)`", TEXT)) - set(FILES)))
def test_files_that_the_page_mentions_exist(path: str) -> None:
    assert (markdown.CHECKOUT / path).is_file()


def test_names_that_the_page_mentions_exist() -> None:
    from aboard.kernels import ConstantArg, Implementation, ScratchArg

    for name in ("keys", "name", "refuses", "specialised", "in_place", "strided", "by_rows", "lower", "formula"):
        assert hasattr(Implementation, name) or name in Implementation.__annotations__, name
        assert f"`{name}`" in TEXT, name
    for known in (Implementation, ConstantArg, ScratchArg):
        assert f"`{known.__name__}`" in TEXT
