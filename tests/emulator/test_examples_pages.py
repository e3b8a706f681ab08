"""The examples of applications: the commands of their pages print what the pages say, for 100 samples at least."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from support import markdown

EXAMPLES = Path("docs/examples")


@pytest.mark.parametrize(("name", "least"), [("keyword_spotting", 0.9), ("anomaly_detection", 0.95)])
def test_the_commands_of_an_example_print_what_its_page_says(name: str, least: float, tmp_path: Path) -> None:
    for folder in ("board", name):
        ignored = shutil.ignore_patterns("build", "__pycache__")
        shutil.copytree(markdown.CHECKOUT / EXAMPLES / folder, tmp_path / folder, ignore=ignored)
    blocks = markdown.blocks(f"{EXAMPLES / name}/README.md")
    (script,) = (text for language, text in blocks if language == "sh")
    printed = "".join(markdown.run(line, tmp_path / name) for line in markdown.commands(script))
    result, size = [text for language, text in blocks if language == "text"][:2]
    assert size in printed
    ((right, samples),) = re.findall(r"^(\d+) of (\d+) \w+ recognised", printed, re.MULTILINE)
    assert int(samples) >= 100
    assert int(right) / int(samples) >= least
    assert "decisions equal those of numpy" in printed
    for figure, stated in re.findall(r"^([a-z ]+): ([\d,]+)$", result, re.MULTILINE):
        (found,) = re.findall(rf"^{figure}: ([\d,]+)$", printed, re.MULTILINE)
        assert int(found.replace(",", "")) == pytest.approx(int(stated.replace(",", "")), rel=0.01), figure
    assert re.findall(r"^\d+ of \d+ \w+ recognised.*$", result, re.MULTILINE)
