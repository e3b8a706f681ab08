"""The page "Your own model": its sections, and the files that its blocks write.

`make test-frameworks` runs its Python and its commands. The other tests run the commands with `STORED`, which
`tests/data/frameworks/store_page.py` wrote.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from support import markdown

PAGE = "docs/how-to/bring_your_own_model.md"

#: Files that blocks of the page wrote.
STORED = markdown.CHECKOUT / "tests" / "data" / "frameworks" / "page"

#: Files of frameworks on the page, and what they are stored as: converted, so that no framework is needed.
CONVERTED = {
    "digits.keras": "digits_keras.tflite",
    "digits.h5": "digits_keras.tflite",
    "digits_saved_model": "digits_keras.tflite",
    "digits_of_one": "digits_keras.tflite",
    "digits.pt2": "digits_torch.onnx",
}

#: Files that are stored as they are.
KEPT = ("forest.onnx", "mlp.onnx", "keras_hybrid.tflite", "keras_tf_int8.tflite", "test.npz", "test_flat.npz")

#: The first heading behind the blocks that need a framework.
_REST = "State and streaming"


def sections() -> dict[str, list[tuple[str, str]]]:
    """Returns the blocks of the sections that need a framework, by their headings."""
    found = itertools.takewhile(lambda item: item[0] != _REST, markdown.sections(PAGE).items())
    return {heading: blocks for heading, blocks in found if blocks}


def code(blocks: list[tuple[str, str]]) -> str:
    """Returns the Python of a section; its blocks are one program."""
    return "\n".join(text for language, text in blocks if language == "python")


def commands(blocks: list[tuple[str, str]]) -> list[str]:
    """Returns the commands of a section."""
    return [line for language, text in blocks if language == "sh" for line in markdown.commands(text)]


def run_code(blocks: list[tuple[str, str]], folder: Path) -> str:
    """Runs the Python of a section in a process of its own, and returns what it printed.

    Args:
        blocks: The blocks of the section.
        folder: The current folder of the process.

    Raises:
        AssertionError: It failed.
    """
    text = code(blocks)
    if not text:
        return ""
    (folder / "section.py").write_text(text, encoding="utf-8")
    return markdown.run("python section.py", folder, seconds=1200)


def with_stored_files(command: str) -> str:
    """Returns a command with the stored file in place of each file of a framework."""
    return " ".join(CONVERTED.get(word, word) for word in command.split(" "))


def check(command: str, printed: str) -> None:
    """Asserts what a command of the page promises: equal results, or an accuracy.

    Args:
        command: `aboard verify`, `evaluate`, `quantize`, `deploy` or `ops` with its arguments.
        printed: What it printed.
    """
    kind = command.split()[1]
    if kind == "verify":
        assert re.search(r"^result +0 differing bytes", printed, re.MULTILINE), printed
    elif kind in ("evaluate", "quantize"):
        accuracy = re.search(r"^accuracy +([\d.]+) %", printed, re.MULTILINE)
        assert accuracy is not None, printed
        assert float(accuracy[1]) >= 85
    elif kind == "deploy":
        assert re.search(r"^instructions +[\d,]+", printed, re.MULTILINE), printed
    else:
        assert kind == "ops"
        assert "CONV_2D" in printed
