"""The page on adding a pass: its file and its line of the pipeline, put into a copy of the repository, work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import markdown, page_checkout

PAGE = "docs/how-to/adding_a_pass.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
PIPELINE = "host/aboard/passes/pipeline.py"
FILES = page_checkout.files(PAGE)
_NEUTRAL = re.compile(r"^NEUTRAL: .*?^\)\n", re.MULTILINE | re.DOTALL)
_IMPORT = "from aboard.passes.merge_reshapes import MergeReshapes\n"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the repository needs to compile a model, changed as the page says."""
    copy = page_checkout.copy(tmp_path_factory.mktemp("checkout"))
    page_checkout.add(copy, {path: text for path, text in FILES.items() if path != PIPELINE})
    pipeline = (copy / PIPELINE).read_text(encoding="utf-8")
    changed = pipeline.replace(_IMPORT, f"from aboard.passes.merge_pads import MergePads\n{_IMPORT}")
    changed, count = _NEUTRAL.subn(FILES[PIPELINE], changed)
    assert (count, changed.count("MergePads")) == (1, 2)
    (copy / PIPELINE).write_text(changed, encoding="utf-8")
    return copy


def test_the_page_has_the_files_it_names() -> None:
    assert sorted(FILES) == ["host/aboard/passes/merge_pads.py", PIPELINE, "tests/passes/test_merge_pads.py"]


def test_the_page_adds_one_line_to_the_pipeline() -> None:
    (now,) = _NEUTRAL.findall((markdown.CHECKOUT / PIPELINE).read_text(encoding="utf-8"))
    added = set(FILES[PIPELINE].splitlines()) - set(now.splitlines())
    assert added == {"    MergePads(),"}
    assert set(now.splitlines()) <= set(FILES[PIPELINE].splitlines())


def test_the_pass_of_the_page_works(checkout: Path) -> None:
    assert "3 passed" in page_checkout.run(
        checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/passes/test_merge_pads.py"
    )
    command = "from aboard.cli import main; main()"
    listed = page_checkout.run(checkout, "-c", command, "passes", "--target", "c -mcpu=cortex-m4").splitlines()
    (line,) = [line for line in listed if " merge-pads " in line]
    assert line.split() == ["9", "merge-pads", "neutral", "makes", "a", "pad", "of", "a", "pad", "one", "pad"]


def test_the_files_of_the_page_are_tidy(checkout: Path) -> None:
    page_checkout.run(checkout, "-m", "ruff", "check", *FILES)
    page_checkout.run(checkout, "-m", "ruff", "format", "--check", *FILES)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:host|tests)/[\w/]+\.\w+)`", TEXT)) - set(FILES)))
def test_files_that_the_page_mentions_exist(path: str) -> None:
    assert (markdown.CHECKOUT / path).is_file()


def test_names_that_the_page_mentions_exist() -> None:
    from aboard.ir import rewriting as ir_rewriting
    from aboard.passes import Pass, pipeline, registry, rewriting

    for owner, names in (
        (Pass, ("run", "pending", "unlowerable", "requires")),
        (pipeline, ("NEUTRAL", "HOST")),
        (registry, ("register",)),
        (ir_rewriting, ("only_reader",)),
        (rewriting, ("can_bypass", "bypass")),
    ):
        for name in names:
            assert hasattr(owner, name), name
            assert f"`{name}`" in TEXT, name
