"""The scripts for Renode in projects: executed by a reader of ours, for every board that Renode can be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import pytest

import aboard
from aboard import boards
from aboard.api import Project
from aboard.boards.board import Renode
from support.bundles import tiny_bundle
from support.renode_keywords import suite_of
from support.renode_script import Monitor, read_platform

BOARDS = [name for name in boards.names() if boards.load(name).emulator.renode]
CASES = [
    (name, template)
    for name in BOARDS
    for template in ("baremetal", "zephyr")
    if (boards.load(name).rpc if template == "baremetal" else boards.load(name).zephyr)
]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    name, template = request.param
    folder = tmp_path_factory.mktemp("a folder")
    bundle = tiny_bundle(folder / "bundle", boards.load(name).core().mcpu, "tiny")
    return aboard.create([bundle], name, template, folder / "app")


def renode_of(project: Project) -> Renode:
    return cast(Renode, project.board.emulator.renode)


def included(project: Project, *before: str) -> Monitor:
    monitor = Monitor()
    for line in before:
        monitor.execute(line)
    monitor.include(project.path / "renode/board.resc")
    return monitor


def as_path(argument: str) -> Path:
    return Path(argument.removeprefix("@").replace("\\ ", " "))


def test_the_script_runs_as_it_stands(project: Project) -> None:
    monitor, renode = included(project), renode_of(project)
    ((image,), (platform,)) = monitor.of("sysbus LoadELF"), monitor.of("machine LoadPlatformDescription")
    assert as_path(image).resolve() == project.image
    assert monitor.of("emulation CreateServerSocketTerminal") == ['4321 "rpc" false']
    assert monitor.of("connector Connect") == [f"sysbus.{renode.uart} rpc"]
    assert monitor.of("cpu PerformanceInMips") == [str(renode.instructions_per_second // 1_000_000)]
    own = project.info.template == "baremetal" and renode.overrides
    if renode.platform and not own:
        assert platform == f"@{renode.platform}"
        assert not (project.path / "renode/board.repl").exists()
    elif own:
        text = as_path(platform).read_text(encoding="utf-8")
        assert text.startswith(f'using "{renode.platform}"\n')
        assert read_platform(text)["uart0"].properties == {"easyDMA": "false"}
    else:
        made = read_platform(as_path(platform).read_text(encoding="utf-8"))
        assert {renode.uart, "cpu", "nvic"} <= set(made)


def test_where_the_vectors_are_not_first_renode_is_told(project: Project) -> None:
    told = included(project).of("cpu VectorTableOffset")
    assert told == (["0x10000100"] if project.board.id == "raspberrypi/rpi_pico" else [])


def test_what_start_up_code_waits_for_is_there(project: Project) -> None:
    """Status bits that set-up steps wait for, on platforms that Renode ships without clocks or power control."""
    told = {int(tag.split()[0][1:], 16): int(tag.split()[-1], 16) for tag in included(project).of("sysbus Tag")}
    expected = {"sifive/hifive1": {0x1000_8000, 0x1000_8004, 0x1000_8008}, "st/nucleo_h743zi": {0x5802_4804}}
    assert set(told) == expected.get(project.board.id, set())
    for step in project.board.setup:
        if step.wait_set is not None and step.address in told:
            assert told[step.address] & step.wait_set == step.wait_set


def test_ticks_of_a_shipped_platform_are_those_of_the_board(project: Project) -> None:
    counter = project.board.counter
    told = included(project).of("nvic Frequency")
    own = project.info.template == "baremetal" and counter is not None and counter.driver == "systick"
    assert told == ([str(counter.hz)] if own and counter and renode_of(project).platform else [])


def test_image_and_port_may_be_given(project: Project) -> None:
    monitor = included(project, "$elf=@/other/image.elf", "$port=5555", '$name="other"')
    assert monitor.of("sysbus LoadELF") == ["@/other/image.elf"]
    assert monitor.of("emulation CreateServerSocketTerminal") == ['5555 "rpc" false']
    assert monitor.of("mach create") == ['"other"']


def test_every_variable_has_a_value(project: Project) -> None:
    text = (project.path / "renode/board.resc").read_text(encoding="utf-8")
    script = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    assert set(re.findall(r"\$(\w+)", script)) <= {"name", "elf", "port", "ORIGIN", "reset"}


def test_the_suite_is_accepted_by_a_dry_run(project: Project, tmp_path: Path) -> None:
    with (tmp_path / "said").open("w", encoding="utf-8") as said:
        suite = suite_of(project.path / "renode/board.robot")
        assert suite.run(dryrun=True, output=None, stdout=said).return_code == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("connector Connect sysbus.uart0", "There was an error executing command 'connector Connect sysbus.uart0'"),
        ("sysbus LoadELF $elfe", r"No such variable: \$elfe"),
        ("machine LoadPlatform @x.repl", "There was an error executing"),
    ],
)
def test_the_reader_refuses_what_renode_would(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Monitor().execute(line)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("uart0: UART.PL011 @ sysbus 0x40004000\n    IRQ -> nvic@3\n", "uart0: no such peripheral, got nvic"),
        ("uart0 UART.PL011 @ sysbus 0x40004000\n", "not a line of a platform description: uart0 UART"),
        ("ram: Memory.MappedMemory @ sysbus 0x0\nsize: 0x10\n", "not a line of a platform description: size"),
    ],
)
def test_the_reader_refuses_a_description_that_is_none(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_platform(text)
