"""The page on adding an op: its files, put into a copy of the repository, are all it takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import markdown, page_checkout

PAGE = "docs/how-to/adding_an_op.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
FILES = page_checkout.files(PAGE)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the repository needs to compile a model, with the files of the page in it."""
    copy = page_checkout.copy(tmp_path_factory.mktemp("checkout"))
    page_checkout.add(copy, FILES)
    return copy


def test_the_page_has_the_files_it_names() -> None:
    assert sorted(FILES) == [
        "firmware/kernels/portable/relu_0_to_1.h",
        "host/aboard/kernels/portable/relu_0_to_1.py",
        "host/aboard/ops/relu_0_to_1.py",
        "tests/ops/test_relu_0_to_1.py",
    ]


def test_the_op_of_the_page_works(checkout: Path) -> None:
    page_checkout.run(checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/ops/test_relu_0_to_1.py")


def test_the_files_of_the_page_are_tidy(checkout: Path) -> None:
    paths = [path for path in FILES if path.endswith(".py")]
    page_checkout.run(checkout, "-m", "ruff", "check", *paths)
    page_checkout.run(checkout, "-m", "ruff", "format", "--check", *paths)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:host|tests|firmware)/[\w/]+\.\w+)`", TEXT)) - set(FILES)))
def test_files_that_the_page_mentions_exist(path: str) -> None:
    assert (markdown.CHECKOUT / path).is_file()


def test_names_that_the_page_mentions_exist() -> None:
    from aboard.ir import Attributes
    from aboard.kernels import ConstantArg, Implementation, KernelCall, ScratchArg
    from aboard.ops import Op, SourceNode

    for owner, names in (
        (
            Op,
            ("attributes", "from_tflite", "infer", "verify", "evaluate", "shares", "macs", "elementwise", "moves_data"),
        ),
        (SourceNode, ("unsupported",)),
        (Implementation, ("lower", "in_place", "strided")),
    ):
        for name in names:
            assert hasattr(owner, name), f"{owner.__name__}.{name}"
            assert f"`{name}" in TEXT or f".{name}" in TEXT, name
    assert "step_rows" in KernelCall.__dataclass_fields__
    for known in (Attributes, ConstantArg, ScratchArg):
        assert known.__name__ in TEXT
