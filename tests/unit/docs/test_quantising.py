"""docs/how-to/quantising.md: its commands and its code run, and the table of columns is that of the command."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from aboard.base import resources
from support import markdown

PAGE = "docs/how-to/quantising.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")


def test_commands_and_code_run(tmp_path: Path) -> None:
    for name in ("digits_test.npz", "digits_f32.tflite"):
        shutil.copy(resources.models() / name, tmp_path)
    printed = []
    for language, text in markdown.blocks(PAGE):
        if language == "sh":
            printed += [markdown.run(command, tmp_path) for command in markdown.commands(text)]
        elif language == "python":
            (tmp_path / "page.py").write_text(text, encoding="utf-8")
            after, ram = markdown.run("python page.py", tmp_path).split()
            assert float(after) >= 0.96
            assert int(ram) < 3000
    assert (tmp_path / "digits.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    head = next(line.split() for line in printed[0].splitlines() if line.startswith("layer "))
    assert re.findall(r"^\| `(\w+)` \| (?:Of|The further)", TEXT, re.MULTILINE) == head[3:]
    assert re.search(r"^accuracy +9[6-9]", printed[1], re.MULTILINE)
