"""docs/how-to/other_cores.md: its commands run, its application compiles and runs, its tables are so."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np

import aboard
from aboard.base import resources
from aboard.boards import cpu as cpus
from aboard.project import templates
from support import markdown

PAGE = "docs/how-to/other_cores.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")


def of_zeros() -> list[int]:
    """Returns the outputs of digits for an image of real zeros."""
    module = aboard.compile(resources.models() / "digits.tflite", target="c -runtime=host")
    result = module.run(np.full(module.manifest.inputs[0].shape, module.manifest.inputs[0].zero_point, np.int8))
    assert isinstance(result, np.ndarray)
    return [int(value) for value in result.ravel()]


def test_the_commands_run_and_the_application_computes_what_the_model_computes(tmp_path: Path) -> None:
    printed = markdown.run("\n".join(text for language, text in markdown.blocks(PAGE) if language == "sh"), tmp_path)
    assert printed.count("digits: ok\n") == 2
    assert {path.name for path in tmp_path.glob("digits_*") if path.is_dir()} == {
        f"digits_{name}" for name in ("generic", "one", "m4", "make", "idf", "pio", "pack")
    }
    (application,) = (text for language, text in markdown.blocks(PAGE) if language == "c")
    folder = tmp_path / "digits_one"
    (folder / "main.c").write_text(application, encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    subprocess.run(["gcc", *flags, "main.c", "digits.c", "-o", "app"], cwd=folder, check=True)
    told = subprocess.run(["./app"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert [int(word) for word in told.split()] == of_zeros()
    assert (tmp_path / "digits_pack" / "aboard.digits.pdsc").is_file()
    assert (tmp_path / "digits_pack" / "digits.clayer.yml").is_file()


def test_the_tables_name_what_there_is() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.*) \|$", TEXT, re.MULTILINE))
    made = set(re.findall(r"--template ([\w-]+)", TEXT))
    assert set(rows) == made
    assert all(not templates.load(name).serves for name in made)
    named = set(re.findall(r"`(rv32\w+|generic)`", TEXT.partition("**ESP-IDF**")[2].partition("**PlatformIO**")[0]))
    assert named <= set(templates.load("esp-idf").cores) <= {*named, "generic"}
    assert cpus.find("generic").is_generic


def test_the_checks_of_the_page_are_those_of_the_header() -> None:
    header = (resources.firmware() / "include" / "aboard" / "config.h").read_text(encoding="utf-8")
    checks = header.count("\nABOARD_REQUIRE(") + header.count("#if CHAR_BIT != 8")
    table = TEXT.partition("| assumption |")[2].partition("\n\n")[0]
    assert len(re.findall(r"^\| (?!-)", table, re.MULTILINE)) == checks == 4
