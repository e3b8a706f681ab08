"""Which cores can be devices of which hosts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aboard import boards
from aboard.errors import BoardError, TargetError
from aboard.target import Target
from support import two_core_board

FIRST, SECOND = "arm/mps2_an521:cpu0", "arm/mps2_an521:cpu1"
START = '{ address = 0x5000_0000, write = "vectors" }, { address = 0x5000_0004, set = 1 }'


def test_the_second_core_of_a_board() -> None:
    target = Target(f"{FIRST} + {SECOND} -claim-ops=conv2d")
    assert target.devices[0].cpu.name == "cortex-m33"
    assert target.devices[0].caller == target.host
    assert Target("mps2-an521-both") == Target(f"{FIRST} + {SECOND}")


def test_any_core_where_it_is_a_plain_call() -> None:
    target = Target(f"c -runtime=host + {SECOND}")
    assert target.devices[0].hardware == SECOND


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"{FIRST} + arm/mps2_an386",
            f"a device: is a core of another board, got arm/mps2_an386, expected {SECOND}. Name another device",
        ),
        (
            f"arm/mps2_an386 + {SECOND}",
            f"is a core of another board, got {SECOND}, expected none, for arm/mps2_an386 has one core. Name another",
        ),
        (
            f"{FIRST} + {FIRST} -claim-ops=add",
            f"a device: is the host's own core, got {FIRST}, expected another one. Name another core",
        ),
        (
            "c -runtime=host + c -runtime=host",
            "is the host's own core, got ",
        ),
        (
            f"{SECOND} + {FIRST}",
            "soc/arm/mps2_an521.toml: cores.cpu0: does not say how the core is started, got no key start, expected",
        ),
        (
            "nordic/nrf5340dk:app + nordic/nrf5340dk:net",
            "soc/nordic/nrf5340.toml: cores.net: does not say how the core is started",
        ),
        (
            f"c -mcpu=cortex-m4 + {SECOND}",
            "the host names no board, got cortex-m4 and cortex-m33, expected two cores of one board. Write them as in",
        ),
        (
            f"{FIRST} + c -mcpu=cortex-m33",
            "the core names no board, got cortex-m33+nodsp+nofp and cortex-m33, expected two cores of one board.",
        ),
    ],
)
def test_pairs_that_cannot_be(text: str, expected: str) -> None:
    with pytest.raises(TargetError, match=re.escape(expected)):
        Target(text)


def hub(folder: Path, monkeypatch: pytest.MonkeyPatch, *changes: tuple[str, str]) -> None:
    """Makes the board acme/hub, whose second core is started by its first, with some text of its SoC changed."""
    soc = two_core_board.SOC
    for old, new in (('name = "net"\n', f'name = "net"\nstart = [{START}]\n'), *changes):
        assert old in soc
        soc = soc.replace(old, new, 1)
    two_core_board.install(folder)
    two_core_board.write(folder / "soc" / "acme" / "twin.toml", soc)
    monkeypatch.setenv(boards.SEARCH_PATH, str(folder))


#: What lets both cores reach the memory of the first.
SHARED = [
    ('load = ["net"]\ncores = ["net"]', 'cores = ["net"]'),
    ('load = ["app"]', "load = true"),
    ('data = true\ncores = ["app"]', 'data = ["app"]'),
    (
        'address = 0x2000_0000\nsize_bytes = 0x200\ndata = true\ncores = ["net"]',
        'address = 0x2100_0000\nsize_bytes = 0x200\ndata = ["net"]',
    ),
]
LIKE_FIRST = ('mcpu = "cortex-m33+nodsp+nofp"', 'mcpu = "cortex-m33+nodsp"')


def test_a_core_whose_file_says_how_it_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub(tmp_path, monkeypatch, *SHARED, LIKE_FIRST)
    assert Target("acme/hub:app + acme/hub:net").devices[0].hardware == "acme/hub:net"
    vectors, bits = boards.load("acme/hub:net").core().start
    assert (vectors.address, vectors.write, bits.address, bits.set) == (0x5000_0000, "vectors", 0x5000_0004, 1)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            [('load = ["app"]', 'load = ["app"]\ncores = ["app"]'), LIKE_FIRST],
            "net does not reach the code of the host, got net_flash, net_ram, expected flash of acme/hub:a",
        ),
        (
            [*SHARED[:2], LIKE_FIRST],
            "net does not reach the data of the host, got flash, net_flash, net_ram, expected app_r",
        ),
        (
            [*SHARED, ('mcpu = "cortex-m33+nodsp+nofp"', 'mcpu = "rv32imc"')],
            "there is no start-up code for calls between such cores, got rv32imc, expected a Cortex-M",
        ),
        (
            SHARED,
            "has no FPU, so its code cannot be linked with the host's, got cortex-m33+nodsp+nofp and",
        ),
    ],
)
def test_cores_that_share_no_memory_or_no_code(
    changes: list[tuple[str, str]], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub(tmp_path, monkeypatch, *changes)
    with pytest.raises(TargetError, match=re.escape(expected)):
        Target("acme/hub:app + acme/hub:net")


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("{ address = 0 }", "does not say one thing, got nothing, expected write, set or clear"),
        ("{ address = 0, set = 1, clear = 2 }", "does not say one thing, got set, clear, expected write, set or clear"),
        ("{ address = 0, sets = 1 }", "unknown key, got sets. Did you mean set"),
    ],
)
def test_a_step_of_a_start_says_one_thing(
    step: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub(tmp_path, monkeypatch, (START, step))
    with pytest.raises(BoardError, match=re.escape(problem)):
        boards.load("acme/hub:net")
