"""The tables of docs/how-to/flashing.md say what board files and flashers say."""

from __future__ import annotations

import re

import pytest

from aboard import boards, flashers
from aboard.boards.files import BoardFile, read
from aboard.flashers import Problem
from support import markdown

PAGE = "docs/how-to/flashing.md"
YES = {True: "yes", False: "no"}


def tools() -> list[str]:
    rows = []
    for flasher in flashers.all_flashers().values():
        able = flasher.capabilities
        program = f"`{flasher.program}`" if flasher.program else "none"
        cells = (
            f"`{flasher.name}`", program, able.form, able.selects, YES[able.verifies], YES[able.debugs],
            flasher.how_to_get,
        )  # fmt: skip
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def flashed() -> list[str]:
    rows = []
    for name in boards.names():
        board = boards.load(name)
        if board.flash is not None:
            able = [flasher.name for flasher in flashers.possible(board) if flasher.name in board.flash.tools]
            rows.append(f"| `{name}` | {', '.join(able)} |")
    return rows


def keys() -> list[str]:
    rows = []
    for flasher in flashers.all_flashers().values():
        fields = flasher.settings.model_fields.items()
        words = [f"`{name}`" if field.is_required() else f"`{name}` ({field.default!r})" for name, field in fields]
        rows.append(f"| `[flash.{flasher.name}]` | {', '.join(words).replace(chr(39), chr(34))} |")
    return rows


def problems() -> list[str]:
    return [f"| `{problem.value}` | {problem.what} | {problem.advice.format(program='tool')} |" for problem in Problem]


@pytest.mark.parametrize("rows", [tools, flashed, keys, problems])
def test_the_tables_are_those_of_the_code(rows) -> None:
    page = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
    expected = "\n".join(rows())
    assert f"|\n{expected}\n\n" in page, f"the table in {PAGE} should be:\n{expected}"


def test_every_tool_of_every_board_is_in_the_table_and_no_other() -> None:
    page = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `(\w+/[\w.]+)` \| (.+) \|$", page, re.MULTILINE))
    said = {name: sorted(boards.load(name).flash.tools) for name in boards.names() if boards.load(name).flash}
    assert {name: sorted(row.split(", ")) for name, row in table.items()} == said


def test_the_example_of_a_board_file_is_one(tmp_path) -> None:
    (example,) = [text for language, text in markdown.blocks(PAGE) if language == "toml"]
    path = tmp_path / "board.toml"
    path.write_text(f'name = "Board"\nsoc = "st/stm32f746zg"\nsource = "here"\n{example}', encoding="utf-8")
    flash = read(path, BoardFile).flash
    assert flash is not None
    assert list(flash.tools) == ["openocd", "jlink", "stlink"]
    board = boards.load("st/nucleo_f746zg").model_copy(update={"flash": flash})
    assert flashers.all_flashers()["openocd"].read(board).config[0] == "interface/stlink.cfg"
