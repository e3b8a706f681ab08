"""docs/how-to/renode_and_ci.md says what is there: boards, keywords, files, options."""

from __future__ import annotations

import re
from pathlib import Path

import click
from robot import api
from robot.running import testlibraries

import aboard
from aboard import boards
from aboard.cli.ci import init
from support import markdown
from support.bundles import tiny_bundle

PAGE = "docs/how-to/renode_and_ci.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Returns the cells of the table below a heading, without its head."""
    part = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in table[1:]]


def test_the_boards_are_those_that_renode_can_be() -> None:
    listed = {}
    for names, platform in rows("Boards"):
        listed.update(dict.fromkeys(re.findall(r"`(\w+/\w+)`", names), "shipped" in platform))
    able = {name: board.emulator.renode for name in boards.names() if (board := boards.load(name)).emulator.renode}
    assert listed == {name: renode.platform is not None for name, renode in able.items()}


def test_the_keywords_are_those_of_the_library(tmp_path: Path) -> None:
    project = aboard.create([tiny_bundle(tmp_path / "b", "cortex-m4")], "arm/mps2_an386", path=tmp_path / "app")
    library = testlibraries.TestLibrary.from_name("aboard.testing.robot_library.Aboard", args=[str(project.path)])
    listed = {row[0].strip("`") for row in rows("Suites of your own")}
    assert listed == {keyword.name for keyword in library.keywords}
    (suite,) = [text for language, text in markdown.blocks(PAGE) if language == "robotframework"]
    (project.path / "ci").mkdir()
    path = project.path / "ci/own.robot"
    path.write_text(suite, encoding="utf-8")
    with (tmp_path / "said").open("w", encoding="utf-8") as said:
        assert api.TestSuite.from_file_system(path).run(dryrun=True, output=None, stdout=said).return_code == 0


def test_files_of_a_project_and_options_are_as_said(tmp_path: Path) -> None:
    project = aboard.create([tiny_bundle(tmp_path / "b", "cortex-m4")], "arm/mps2_an386", path=tmp_path / "app")
    for row in rows("What a project has"):
        assert (project.path / row[0].strip("`")).is_file()
    options = {word for parameter in init.params if isinstance(parameter, click.Option) for word in parameter.opts}
    assert set(re.findall(r"`(--(?:reference|samples|force)\b)", TEXT)) <= options
    assert "--reference" in options
