"""The examples of applications: the commands of their pages print what the pages say, for 100 samples at least."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from support import markdown

EXAMPLES = Path("docs/examples")


def number(text: str) -> int:
    return int(text.replace(",", ""))


LEAST = {
    "keyword_spotting": 0.9,
    "wake_word": 0.95,
    "anomaly_detection": 0.95,
    "gesture_recognition": 0.95,
    "person_detection": 0.85,
}


@pytest.mark.parametrize(("name", "least"), LEAST.items())
def test_the_commands_of_an_example_print_what_its_page_says(name: str, least: float, tmp_path: Path) -> None:
    for folder in ("board", "common", name):
        ignored = shutil.ignore_patterns("build", "__pycache__")
        shutil.copytree(markdown.CHECKOUT / EXAMPLES / folder, tmp_path / folder, ignore=ignored)
    blocks = markdown.blocks(f"{EXAMPLES / name}/README.md")
    (script,) = (text for language, text in blocks if language == "sh")
    printed = "".join(markdown.run(line, tmp_path / name) for line in markdown.commands(script))
    result, size = [text for language, text in blocks if language == "text"][:2]
    ((right, samples),) = re.findall(r"^(\d+) of (\d+) \w+ recognised", printed, re.MULTILINE)
    assert int(samples) >= 100
    assert int(right) / int(samples) >= least
    assert "decisions equal those of numpy" in printed
    for figure, stated in re.findall(r"^([a-z ]+): ([\d,]+)$", result, re.MULTILINE):
        (found,) = re.findall(rf"^{figure}: ([\d,]+)$", printed, re.MULTILINE)
        assert number(found) == pytest.approx(number(stated), rel=0.01), figure
    sizes = [re.findall(r"^ +(\d+)\t +(\d+)\t +(\d+)", text, re.MULTILINE) for text in (printed, size)]
    assert list(map(number, sizes[0][0])) == pytest.approx(list(map(number, sizes[1][0])), rel=0.01)
    assert re.findall(r"^\d+ of \d+ \w+ recognised.*$", result, re.MULTILINE)
