"""docs/how-to/report.md: its commands run, and what its tables say is so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from aboard import cli
from aboard.base import resources
from aboard.boards import cpu
from aboard.compiler.pipeline import compile_model
from aboard.reports import explained, layers
from support import markdown

PAGE = "docs/how-to/report.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
COMMANDS = [line for language, text in markdown.blocks(PAGE) if language == "sh" for line in markdown.commands(text)]


def rows(heading: str) -> list[list[str]]:
    """Cells of the table whose head starts with a word."""
    table = re.search(rf"^\| {heading} .*\n\|-.*\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_run(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)
    assert words[0] == "aboard"
    assert cli.invoke(words[1:]) == 0, capsys.readouterr().err
    written = tmp_path / words[words.index("-o") + 1]
    assert written.is_file() if written.suffix == ".html" else (written / "manifest.json").is_file()


def test_the_page_has_both_commands() -> None:
    assert {command.split()[1] for command in COMMANDS} == {"report", "compile"}
    assert all("--explain" in command for command in COMMANDS if command.split()[1] == "compile")


def test_the_columns_are_those_of_the_table() -> None:
    module = compile_model(resources.models() / "digits.tflite", target="c -mcpu=cortex-m4")
    head = explained.by_layer(layers.of(module), 160).splitlines()[0].split()
    assert [row[0].strip("`") for row in rows("column")] == head


def test_the_forms_of_weights_are_those_there_are() -> None:
    (meaning,) = (row[1] for row in rows("column") if row[0] == "`weights`")
    found = set()
    for target, model in (("cortex-m33", "digits"), ("cortex-m4", "digits"), ("cortex-m4", "digits_f32")):
        module = compile_model(resources.models() / f"{model}.tflite", target=f"c -mcpu={target} -opt=speed")
        found |= {layer.weights_form for layer in layers.of(module)} - {""}
    assert set(re.findall(r"`([^`]+)`", meaning)) == found


def test_the_bounds_are_those_of_the_cores() -> None:
    named = {"Cortex-M55": "cortex-m55", "Cortex-M4, M7, M33": "cortex-m4", "Cortex-M3": "cortex-m3"}
    named |= {"Cortex-M0, RV32IMC": "cortex-m0"}
    for name, integers, floats, each in rows("core"):
        core = cpu.find(named[name])
        best, of_floats = core.mac_instruction("int8"), core.mac_instruction("float32")
        assert best is not None
        assert each.startswith(f"1/{best.macs:g} " if best.macs > 1 else f"{1 / best.macs:g} ")
        assert best.name.split(",")[0] in integers or best.macs < 1
        assert floats.startswith("none") if of_floats is None else of_floats.name.split()[0] in floats
    assert cpu.find("cortex-m33+nodsp").mac_instruction("int8") == cpu.find("cortex-m3").mac_instruction("int8")
    for core in ("cortex-m7", "cortex-m33"):
        assert cpu.find(core).mac_instruction("int8") == cpu.find("cortex-m4").mac_instruction("int8")
    assert cpu.find("rv32imc").mac_instruction("int8") == cpu.find("cortex-m0").mac_instruction("int8")
