"""The page about saving state works as it stands there."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from aboard.base import resources
from support import markdown, oracle, streams

PAGE = markdown.blocks("docs/how-to/saving_state.md")


def test_the_page_works(tmp_path: Path) -> None:
    (tmp_path / "host").symlink_to(markdown.CHECKOUT / "host")
    (tmp_path / "wake.tflite").write_bytes(streams.window())
    code = "\n".join(text for language, text in PAGE if language == "python")
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    markdown.run(f"{sys.executable} -W error example.py", tmp_path)
    for line in (line for language, text in PAGE if language == "sh" for line in markdown.commands(text)):
        markdown.run(line, tmp_path)
    draws = [np.random.default_rng(seed).integers(-128, 127, (1, 2, 1, 6), endpoint=True) for seed in (1, 2, 3)]
    wanted = oracle.tflm_steps(streams.window(), [[x.astype(np.int8)] for x in draws])
    with np.load(tmp_path / "y.npz") as file:
        np.testing.assert_array_equal(next(iter(file.values())), wanted[-1][0])


def test_the_line_of_the_configuration_is_that_of_the_template() -> None:
    (line,) = [text for language, text in PAGE if language == "c"]
    assert line in (resources.project_templates() / "shared" / "main.c.j2").read_text(encoding="utf-8")
