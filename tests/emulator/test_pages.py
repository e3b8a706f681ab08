"""What the README and the quickstart tell people to do works as it stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from support import markdown

README = markdown.blocks("README.md")
QUICKSTART = markdown.blocks("docs/tutorials/quickstart.md")


def shell(blocks: list[tuple[str, str]], start: str) -> list[str]:
    return [
        line
        for language, text in blocks
        if language == "sh"
        for line in markdown.commands(text)
        if line.startswith(start)
    ]


def only(language: str) -> str:
    (text,) = [text for found, text in README if found == language]
    return text


def test_the_readme_starts_with_two_commands() -> None:
    language, text = README[0]
    assert (language, markdown.commands(text)) == ("sh", ["make demo", "make test"])
    makefile = (markdown.CHECKOUT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test", "setup"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_python_example(tmp_path: Path) -> None:
    (tmp_path / "host").symlink_to(markdown.CHECKOUT / "host")
    (tmp_path / "example.py").write_text(only("python"), encoding="utf-8")
    out = markdown.run(f"{sys.executable} -W error example.py", tmp_path)
    with np.load(markdown.CHECKOUT / "host/aboard/models/digits_test.npz") as file:
        label = file["y"][0]
    assert f"predicted {label} label {label}" in out
    assert re.search(r"^\d+ bytes of RAM, planned", out, re.MULTILINE)
    assert "conv2d" in out
    assert "whole run" in out


def test_the_command_line_tour(tmp_path: Path) -> None:
    tour = [line for line in shell(README, "aboard ") if "digits_c" not in line]
    printed = {line.split()[1]: markdown.run(line, tmp_path) for line in tour}
    assert set(printed) == {
        "boards",
        "new",
        "compile",
        "create",
        "build",
        "run",
        "deploy",
        "verify",
        "report",
        "ci",
        "doctor",
    }
    assert "arm/mps2_an386" in printed["boards"]
    assert "0 differing bytes" in printed["verify"]
    with np.load(tmp_path / "y.npz") as outputs:
        assert [outputs[name].shape for name in outputs.files] == [(1, 10)]


def test_the_c_example(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(only("c"), encoding="utf-8")
    for line in shell(README, "aboard compile digits --board host/native"):
        markdown.run(line, tmp_path)
    (build,) = shell(README, "cc ")
    strict = build.replace("cc ", "cc -Wall -Wextra -Werror -Wconversion -Wshadow -Wundef ", 1)
    assert markdown.run(strict, tmp_path) == "this is a 7\n"


def test_the_c_example_in_cpp(tmp_path: Path) -> None:
    text = only("c").replace("_Alignas", "alignas")
    (tmp_path / "main.cpp").write_text(text, encoding="utf-8")
    for line in shell(README, "aboard compile digits --board host/native"):
        markdown.run(line, tmp_path)
    flags = "-Wall -Wextra -Werror -Ibuild/digits_c/include"
    markdown.run(f"cc -std=c99 {flags} -c build/digits_c/src/digits.c -o model.o", tmp_path)
    out = markdown.run(f"c++ -std=c++17 {flags} main.cpp model.o -o main && ./main", tmp_path)
    assert out == "this is a 7\n"


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md"])
def test_relative_links_lead_somewhere(page: str) -> None:
    text = (markdown.CHECKOUT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!http)([^)#]+)", text)
    assert [link for link in links if not (markdown.CHECKOUT / link).exists()] == []


def test_the_front_page_shows_what_its_last_command_prints(tmp_path: Path) -> None:
    (_, script), (_, shown) = markdown.blocks("docs/index.md")
    *before, last = markdown.commands(script)
    printed = [markdown.run(f"{line} 2>&1", tmp_path) for line in before]
    assert "aboard: digits: class 8\n" in printed[-1]
    assert markdown.run(f"{last} 2>/dev/null", tmp_path) == shown


def test_the_quickstart(tmp_path: Path) -> None:
    lines = [line for language, text in QUICKSTART if language == "sh" for line in markdown.commands(text)]
    assert lines[0] == ". .venv/bin/activate"
    printed = {line: markdown.run(line, tmp_path) for line in lines[1:]}
    assert any("0 differing bytes" in text for line, text in printed.items() if line.startswith("aboard verify"))
    (evaluated,) = [text for line, text in printed.items() if line.startswith("aboard evaluate")]
    assert "99.0 %" in evaluated
    assert (tmp_path / "build/first/build/firmware.elf").is_file()
