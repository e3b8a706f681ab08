"""The page on adding a cost sample: its layers are measured in a copy of the repository, and predictions improve."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support import markdown, page_checkout

PAGE = "docs/how-to/adding_a_cost_sample.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
DATA = Path("host/aboard/kernels/select/data")


def figures(checkout: Path, core: str) -> dict[str, dict[str, float]]:
    """Returns the rows of a core by op and kernel."""
    content = json.loads((checkout / DATA / f"{core}.json").read_text(encoding="utf-8"))
    return {f"{row['op']} {row['implementation']}": row for row in content["kernels"]}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A copy of the repository in which the commands of the page ran, and what they printed."""
    copy = page_checkout.copy(tmp_path_factory.mktemp("checkout"), "tests/bench", "tests/ops", "docs/benchmarks.json")
    page_checkout.add(copy, page_checkout.files(PAGE))
    (command,) = re.findall(r"^make (bench-costs .*)$", TEXT, re.MULTILINE)
    first, second = page_checkout.made(*command.split())
    text = page_checkout.run(copy, *first)
    # The code of these kernels was measured before: nothing is added.
    assert page_checkout.run(copy, *second) == ""
    return copy, text


def test_predictions_of_other_models_improve(printed: tuple[Path, str]) -> None:
    checkout, text = printed
    before, after = figures(markdown.CHECKOUT, "cortex-m0"), figures(checkout, "cortex-m0")
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"average_pool2d portable_s8", "max_pool2d portable_s8"}
    for name in changed:
        assert (before[name]["layers"], after[name]["layers"]) == (2, 4)
        assert after[name]["error"] < 0.8 * before[name]["error"]
        assert f"{100 * before[name]['error']:.1f} % -> {100 * after[name]['error']:.1f} %" in text


def test_the_commands_print_what_the_page_shows(printed: tuple[Path, str]) -> None:
    shown = [line for line in TEXT.splitlines() if line.startswith("cortex-m0: ")]
    after = r"-> [\d.]+ %"  # depends on the compiler
    assert [re.sub(after, "", line) for line in printed[1].splitlines()] == [re.sub(after, "", line) for line in shown]


def test_other_cores_and_other_samples_stay(printed: tuple[Path, str]) -> None:
    checkout, _ = printed
    for path in (markdown.CHECKOUT / DATA).glob("*.json"):
        assert path.name == "cortex-m0.json" or path.read_bytes() == (checkout / DATA / path.name).read_bytes()
    samples = [json.loads((root / "tests/bench/layers.json").read_text()) for root in (markdown.CHECKOUT, checkout)]
    added = [layer for layer in samples[1] if layer not in samples[0]]
    assert {(layer["model"], layer["core"]) for layer in added} == {("small_pools", "cortex-m0")}
    assert len(samples[1]) == len(samples[0]) + 4


def test_the_row_of_the_page_is_that_of_the_data() -> None:
    (shown,) = re.findall(r'^\{"op": "max_pool2d".*"error": ([\d.]+)\}$', TEXT, re.MULTILINE)
    assert figures(markdown.CHECKOUT, "cortex-m0")["max_pool2d portable_s8"]["error"] == float(shown)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:host|tests)/[\w/.]+)`", TEXT))))
def test_files_that_the_page_mentions_exist(path: str) -> None:
    assert (markdown.CHECKOUT / path).exists()
