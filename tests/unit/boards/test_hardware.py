"""The hardware registry: boards of many vendors as data, their cores, their other names, and what is refused."""

from __future__ import annotations

import itertools
import re
import typing
from pathlib import Path

import pytest
from pydantic import BaseModel

from aboard import boards
from aboard.base import resources
from aboard.boards import board as records
from aboard.boards.board import Board, Fetch, FlashTiming
from aboard.boards.memory_records import Lines
from aboard.errors import BoardError, TargetError
from aboard.target import Target
from aboard.target.origins import origins
from support.two_core_board import BOARD, SOC, install, write

K, M = 1 << 10, 1 << 20

#: Hardware string, core, clock in MHz, room for code, room for data: from the data sheets.
FIGURES = [
    ("ambiq/apollo4p_blue_kxr_evb", "cortex-m4", 192, 1952 * K, 2752 * K),
    ("arduino/nano_33_ble", "cortex-m4", 64, 1 * M, 256 * K),
    ("arduino/portenta_h7:m7", "cortex-m7", 480, 1 * M, 512 * K),
    ("arduino/portenta_h7:m4", "cortex-m4", 240, 1 * M, 288 * K),
    ("arm/mps2_an521:cpu1", "cortex-m33", 20, 4 * M, 2 * M),
    ("espressif/esp32c3_devkitm", "rv32imc", 40, 4 * M, 384 * K),
    ("espressif/esp32c6_devkitc", "rv32imac", 40, 8 * M, 512 * K),
    ("infineon/cy8ckit_062s2_43012:cm0p", "cortex-m0plus", 100, 8 * K, 8 * K),
    ("nordic/nrf52840dk", "cortex-m4", 64, 1 * M, 256 * K),
    ("nordic/nrf5340dk:app", "cortex-m33", 128, 1 * M, 512 * K),
    ("nordic/nrf5340dk:net", "cortex-m33+nodsp+nofp", 64, 256 * K, 64 * K),
    ("nordic/nrf54l15dk", "cortex-m33", 128, 1524 * K, 256 * K),
    ("nxp/frdm_mcxn947:cpu1", "cortex-m33+nodsp+nofp", 150, 1 * M, 96 * K),
    ("nxp/mimxrt1060_evk", "cortex-m7", 600, 8 * M, 768 * K),
    ("raspberrypi/rpi_pico", "cortex-m0plus", 133, 2 * M, 264 * K),
    ("raspberrypi/rpi_pico2:hazard3", "rv32imac", 150, 4 * M, 520 * K),
    ("renesas/ek_ra6m4", "cortex-m33", 200, 1 * M, 256 * K),
    ("sifive/hifive1", "rv32imac", 16, 12 * M, 16 * K),
    ("silabs/xg24_dk2601b", "cortex-m33", 78, 1536 * K, 256 * K),
    ("st/nucleo_f103rb", "cortex-m3", 72, 128 * K, 20 * K),
    ("st/nucleo_f746zg", "cortex-m7+nofp.dp", 216, 1 * M, 256 * K),
    ("st/nucleo_f767zi", "cortex-m7", 216, 2 * M, 384 * K),
    ("st/nucleo_h745zi_q:cm4", "cortex-m4", 240, 1 * M, 288 * K),
    ("st/nucleo_l4r5zi", "cortex-m4", 120, 2 * M, 640 * K),
    ("st/stm32f4_disco", "cortex-m4", 168, 1 * M, 128 * K),
    ("st/nucleo_u575zi_q", "cortex-m33", 160, 2 * M, 768 * K),
]

ALL = boards.names()
CORES = [f"{name}:{core.name}" for name in ALL for core in boards.load(name).cores]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of boards that comes before the built-in ones, with the board acme/hub of two cores."""
    monkeypatch.setenv(boards.SEARCH_PATH, str(tmp_path))
    return install(tmp_path)


def test_there_are_boards_of_many_vendors() -> None:
    real = [name for name in ALL if not boards.load(name).is_host]
    assert len(real) >= 30
    assert len({name.partition("/")[0] for name in real}) >= 8


@pytest.mark.parametrize(("hardware", "mcpu", "mhz", "flash", "ram"), FIGURES, ids=[row[0] for row in FIGURES])
def test_figures(hardware: str, mcpu: str, mhz: int, flash: int, ram: int) -> None:
    board = boards.load(hardware)
    assert (board.core().mcpu, board.core().clock_hz) == (mcpu, mhz * 1_000_000)
    assert (board.flash_bytes, board.ram_bytes) == (flash, ram)
    assert Target(hardware).cpu.name == mcpu


@pytest.mark.parametrize("hardware", CORES)
def test_every_core_is_a_target_that_round_trips(hardware: str) -> None:
    target = Target(hardware)
    board = boards.load(hardware)
    assert target.hardware == board.target
    assert target.cpu.name == board.core().mcpu
    assert Target(str(target)) == Target.from_json(target.to_json()) == Target(str(target.hardware)) == target
    assert Target(hardware.replace(":", "/")) == target
    assert Target(target.key).key == target.key
    assert Board.model_validate_json(board.model_dump_json()) == board


@pytest.mark.parametrize("name", ALL)
def test_every_file_says_where_its_figures_come_from(name: str) -> None:
    board = boards.load(name)
    assert all(len(source) > 15 for source in (board.source, board.soc_source))
    if board.counter is None:
        assert "https://" in board.source
        assert "https://" in board.soc_source


SOURCE = re.compile(
    r"data sheet|manual|\.dtsi?\b|QEMU|https://|schematic|Application Note|specification|"
    r"\b[RP]M\d{4}|POSIX|the machine says",
    re.I,
)
#: Groups of figures, the first of each. [flash] and [emulator.renode] have a key for it.
GROUPS = re.compile(r"\[\[?(cores|memory|gpus|accelerators|setup|boot|counter|rpc|uart\.\w+|emulator\.qemu)\]")
FILES = sorted(path for path in resources.boards().glob("**/*.toml") if path.name != "aliases.toml")


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.stem}" for path in FILES])
def test_every_group_of_figures_says_where_they_come_from(path: Path) -> None:
    lines, seen, without = path.read_text(encoding="utf-8").splitlines(), set(), []
    for at, line in enumerate(lines):
        found = GROUPS.match(line)
        if found and found[1] not in seen:
            seen.add(found[1])
            above = itertools.takewhile(lambda text: text.startswith("#"), reversed(lines[:at]))
            if not SOURCE.search(" ".join(above)):
                without.append(found[1])
    assert without == []


def numbers(record: type[BaseModel]) -> list[str]:
    """Names of a record's fields that are numbers."""
    hints = typing.get_type_hints(record)
    return [name for name, hint in hints.items() if hint in (int, int | None)]


def test_keys_of_numbers_have_their_unit() -> None:
    without = {
        "address",
        "run_address",
        "data_address",
        "of",
        "irq",
        "serial",
        "baud",
        "wait_states",
    }  # not amounts; baud and wait states are their own units
    without |= {"set", "clear", "wait_set", "wait_clear", "bits", "follows", "secure_bit"}  # masks
    found = {name for record in vars(records).values() if is_record(record) for name in numbers(record)}
    assert {"size_bytes", "clock_hz", "hz", "instructions_per_second"} <= found
    assert [name for name in found - without if not re.search(r"(^|_)(bytes|hz|second)$", name)] == []


def test_wait_states_are_those_that_the_start_up_code_sets() -> None:
    """The lowest bits of FLASH_ACR are the wait states, in all families of ST."""
    written: dict[str, int | None] = {}
    for name in ALL:
        board = boards.load(name)
        steps = [step for step in board.setup if step.what.startswith("FLASH_ACR: ") and step.write is not None]
        if steps:
            written[board.soc] = int(steps[0].write) & 0xF if isinstance(steps[0].write, int) else None
            assert board.core().wait_states == written[board.soc], name
    assert len(written) >= 8
    assert written["st/stm32f446re"] == 5


def test_the_flash_of_a_board_takes_wait_states_for_each_line_that_no_cache_holds() -> None:
    timing = boards.load("st/nucleo_f446re").flash_timing
    assert timing is not None
    assert (timing.wait_states, timing.fetch.key) == (5, "16/1024/128")
    # The read of six cycles begins with the line before, whose four instructions take four.
    assert timing.cycles(Lines(10, 0)) == 50
    assert timing.cycles(Lines(10, 3)) == 56
    assert str(timing) == "5 wait states, 1,024 bytes of instruction cache"
    assert str(FlashTiming(1, Fetch(line_bytes=8, code_cache_bytes=0, data_cache_bytes=0))) == (
        "1 wait state, no instruction cache"
    )


def test_boards_that_run_from_memory_without_wait_states_have_no_timing_of_flash() -> None:
    assert boards.load("arm/mps2_an386").flash_timing is None
    # The caches of Cortex-M7 are those of the core.
    assert boards.load("st/nucleo_f746zg").flash_timing is None


def is_record(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel)


def test_machines_of_host_class_run_shared_libraries() -> None:
    for name in ("rasp4b", "rk3399", "aws/c4.xlarge"):
        assert Target(name).runtime == "host"
        assert "-runtime=host" in str(Target(name))
    assert Target("rasp4b -runtime=standalone").runtime == "standalone"


def test_the_key_tells_boards_and_cores_apart_and_nothing_else() -> None:
    keys = {Target(hardware).key for hardware in CORES}
    assert len(keys) == len(CORES)
    assert Target("st/nucleo_f767zi -opt=size -input=kept").key == Target("nucleo-f7").key


def test_the_key_stays_when_a_figure_is_corrected(folder: Path) -> None:
    before = Target("acme/hub:net").key
    write(folder / "soc" / "acme" / "twin.toml", SOC.replace("0x200\n", "0x180\n"))
    assert boards.load("acme/hub:net").ram_bytes == 0x180
    assert Target("acme/hub:net").key == before


def test_each_core_sees_a_board_of_its_own(folder: Path) -> None:
    app, net = boards.load("acme/hub"), boards.load("acme/hub:net")
    assert (app.target, net.target) == ("acme/hub:app", "acme/hub:net")
    assert [region.name for region in app.memory] == ["flash", "app_ram"]
    assert [region.name for region in net.memory] == ["flash", "net_flash", "net_ram"]
    assert (app.flash_bytes, app.ram_bytes) == (0x1000, 0x400)
    assert (net.flash_bytes, net.ram_bytes) == (0x800, 0x200)
    assert (app.counter, app.rpc, app.uart) == (None, None, None)
    assert net.counter is not None
    assert net.uart is not None
    assert (app.zephyr, net.zephyr) == ("hub/app", "hub/net")
    assert boards.load("acme/hub:cpuapp") == app
    assert app.usb == ("0d28:0204",)


SOC_ERRORS = {
    "regions one core reaches": (
        "size_bytes = 0x1000",
        "size_bytes = 0x1001",
        r"regions overlap, got flash 0x0\.\.0x1001 and net_flash 0x1000",
    ),
    "no home for a core": (
        'load = ["net"]',
        "",
        r"load = true in the wrong number of regions for core net, got none, expected 1 region",
    ),
    "core of a role": (
        'load = ["app"]',
        'load = ["ap"]',
        r"memory\.flash\.load: unknown core of acme/twin, got ap, expected one of: app, net",
    ),
    "core of a region": ('cores = ["app"]', 'cores = ["apps"]', r"memory\.app_ram\.cores: unknown core .* got apps"),
    "core of the counter": ('core = "net"', 'core = "nett"', r"counter\.core: unknown core .* got nett"),
    "cores named alike": ('aliases = ["cpuapp"]', 'aliases = ["net"]', r"cores: a name is used twice, got net"),
    "core named as a GPU": ('aliases = ["cpuapp"]', 'aliases = ["gpu"]', r"cores: a name is used twice, got gpu"),
    "unknown key of a core": ("aliases", "alias", r"cores\.0\.alias: unknown key, got alias\. Did you mean aliases"),
    "unknown key of a GPU": ("model", "modle", r"gpus\.0\.modle: unknown key, got modle\. Did you mean model"),
    "no unit in a key": (
        "size_bytes = 0x400",
        "size = 0x400",
        r"memory\.2\.size: unknown key.*Did you mean size_bytes",
    ),
    "unknown core of the table": ("cortex-m33+nodsp+nofp", "cortex-m34", r"core cortex-m34: unknown.*cortex-m33"),
    "line of no power of two": (
        'load = ["app"]',
        'load = ["app"]\nfetch = { line_bytes = 12, code_cache_bytes = 0, data_cache_bytes = 0 }',
        r"memory\.0\.fetch.*: line_bytes is no power of two, got 12, expected 4, 8, 16",
    ),
    "cache of no whole lines": (
        'load = ["app"]',
        'load = ["app"]\nfetch = { line_bytes = 16, code_cache_bytes = 1_024, data_cache_bytes = 100 }',
        r"data_cache_bytes is no number of lines, got 100, expected a multiple of line_bytes = 16 up to 16384",
    ),
    "cache of too many lines": (
        'load = ["app"]',
        'load = ["app"]\nfetch = { line_bytes = 16, code_cache_bytes = 32_768, data_cache_bytes = 0 }',
        r"code_cache_bytes is no number of lines, got 32768",
    ),
    "fetch of a region that holds no code": (
        'load = ["app"]',
        "fetch = { line_bytes = 16, code_cache_bytes = 0, data_cache_bytes = 0 }",
        r"memory\.0.*: fetch of a region without load = true, got flash, expected the region of the code",
    ),
    "fetch without wait states": (
        'load = ["app"]',
        'load = ["app"]\nfetch = { line_bytes = 16, code_cache_bytes = 0, data_cache_bytes = 0 }',
        r"memory: flash has fetch and core app no wait_states, expected both or none",
    ),
    "beyond the addresses": (
        "address = 0x2000_0000\nsize_bytes = 0x400",
        "address = 0xFFFF_FFF0\nsize_bytes = 0x400",
        r"app_ram ends too high, got 0x1000003f0, expected at most 0x100000000",
    ),
    "neither flag nor names": ('load = ["app"]', 'load = "app"', r"memory\.0\.load.*, got 'app'"),
}


@pytest.mark.parametrize("what", sorted(SOC_ERRORS))
def test_what_is_wrong_in_a_soc_of_several_cores_is_refused(folder: Path, what: str) -> None:
    old, new, text = SOC_ERRORS[what]
    assert old in SOC
    write(folder / "soc" / "acme" / "twin.toml", SOC.replace(old, new, 1))
    with pytest.raises(BoardError, match=text) as error:
        boards.load("acme/hub")
    assert "docs/how-to/adding_a_board.md" in str(error.value)


BOARD_ERRORS = {
    "core of the line": ('cores = ["net"]', 'cores = ["nat"]', r"rpc\.cores: unknown core of acme/twin, got nat"),
    "core of Zephyr's name": ("{ app =", "{ apps =", r"zephyr: unknown core of acme/twin, got apps"),
    "USB id": ("0d28:0204", "0D28-0204", r"usb\.0: .*pattern.*, got '0D28-0204'"),
    "alias with a slash": ("[rpc]", 'aliases = ["a/b"]\n[rpc]', r"aliases\.0: .*pattern.*, got 'a/b'"),
}


@pytest.mark.parametrize("what", sorted(BOARD_ERRORS))
def test_what_is_wrong_in_a_board_of_several_cores_is_refused(folder: Path, what: str) -> None:
    old, new, text = BOARD_ERRORS[what]
    assert old in BOARD
    write(folder / "acme" / "hub.toml", BOARD.replace(old, new, 1))
    with pytest.raises(BoardError, match=rf"acme/hub\.toml: .*{text}"):
        boards.load("acme/hub")


def test_where_each_attribute_comes_from() -> None:
    board_file = resources.boards() / "nordic" / "nrf5340dk.toml"
    soc_file = resources.boards() / "soc" / "nordic" / "nrf5340.toml"
    found = {o.name: (o.value, o.origin, o.file) for o in origins(Target("nordic/nrf5340dk:net -opt=size"))}
    assert found["hardware"] == ("nordic/nrf5340dk:net", "the board", board_file)
    assert found["mcpu"] == ("cortex-m33+nodsp+nofp", "core net of the SoC", soc_file)
    assert found["runtime"] == ("standalone", "the board", board_file)
    assert found["mfpu"] == ("none", "follows from -mcpu", None)
    assert found["opt"] == ("size", "given", None)
    assert found["input"] == ("consumed", "default", None)


def test_origins_want_hardware() -> None:
    with pytest.raises(TargetError, match=r"names no hardware, expected a board\. `aboard hardware` lists them"):
        origins(Target("c -mcpu=cortex-m4"))
