"""docs/how-to/choosing_a_target.md: its commands run, and what its tables say is so."""

from __future__ import annotations

import re
import shlex

import pytest

from aboard import cli
from aboard.boards import cpu
from aboard.target import Target, kind
from support import markdown

PAGE = "docs/how-to/choosing_a_target.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
COMMANDS = [line for language, text in markdown.blocks(PAGE) if language == "sh" for line in markdown.commands(text)]


def rows(heading: str) -> list[list[str]]:
    """Cells of the table whose head starts with a word."""
    table = re.search(rf"^ *\| {heading} .*\n *\|-.*\n((?: *\|.*\n)+)", TEXT, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table[1].splitlines()]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("command", [*COMMANDS, *re.findall(r"`(aboard targets show [^`]+)`", TEXT)])
def test_the_commands_run(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(shlex.split(command)[1:]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 1


def test_what_names_hardware_does() -> None:
    names = {name: Target(name) for name in (code(row[0])[0] for row in rows("you write"))}
    assert names["nucleo-f7"] == names["st/nucleo_f767zi"]
    assert names["rk3399/bigcpu"] == Target("rk3399:bigcpu")
    assert names["st/nucleo_f767zi -opt=size"] == names["c -hardware=nucleo-f7 -opt=size"]
    assert Target("nordic/nrf5340dk") == Target("nordic/nrf5340dk:app") != names["nordic/nrf5340dk:net"]


def test_memory_regions_of_the_page_are_those_of_the_boards() -> None:
    section = TEXT.partition("## Memory regions\n")[2].partition("\n## ")[0]
    targets = [Target(text) for text in re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)]
    assert [bool(target.arenas()) for target in targets] == [True, True, True, False, True, True]
    assert [target.weights_region for target in targets] == [None, None, None, "itcm", "psram", None]
    assert targets[2].arenas()[0].limit == 64 * 1024
    assert Target("st/nucleo_h743zi -arena=axi_sram -weights=flash") == Target("st/nucleo_h743zi")


def test_cores_of_the_tables_are_known_and_all_named() -> None:
    families = {code(row[1])[0] for row in rows("chips")}
    assert all(Target(f"c -mcpu={name}").cpu.name == name for name in families)
    microcontrollers = {name for name in cpu.names() if not cpu.find(name).has_host_compiler}
    without_a_family = {"rv32imafc", "cortex-m35p", "cortex-m52"}
    assert {cpu.find(name).base for name in families} == microcontrollers - without_a_family
    assert {code(row[1])[0] for row in rows("bits 15 to 4")} == {n for n in microcontrollers if n.startswith("cortex")}


def test_flags_of_gcc_become_targets() -> None:
    for given, here in ((code(row[0])[0], code(row[1])[0]) for row in rows("flags of gcc")):
        core = Target(here).cpu
        if core.is_riscv:
            march = given.split()[0].removeprefix("-march=")
            assert core.name == march.partition("_")[0] + ("_zbb" if "_zbb" in march else "")
            continue
        assert f"-mcpu={core.base}" in given.split()[0]
        assert f"-mfloat-abi={core.float_abi}" in given.split()
        assert core.fpu in given or "-mfpu" not in given


def test_every_modifier_and_attribute_is_named() -> None:
    modifiers = {word for row in rows("modifier") for word in code(row[0])}
    assert modifiers == {f"+{m}" for name in cpu.names() for m in cpu.find(name).optional}
    assert all(f"`-{name}" in TEXT or f"-{name}=" in TEXT for name in kind("c").schema)
