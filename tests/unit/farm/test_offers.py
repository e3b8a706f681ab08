"""Boards of a farm are chosen by conditions; the addresses of schedulers and workers are checked."""

from __future__ import annotations

import pytest

from aboard.errors import ExtraError, InputError, ToolError
from aboard.farm import engine, offers, supervisor
from aboard.farm.offers import Offer


def offer(*boards: str) -> Offer:
    return Offer("", "", "emulator", boards, "0", None, "free", "", 0, 0, 0, (), 0, 0)


FARM = [offer("arm/mps2_an385", "arm/mps2_an386", "bbc/microbit"), offer("riscv/qemu_virt32", "mine/board")]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("core=cortex-m4", ["arm/mps2_an386"]),
        ("core=cortex-m0 and ram<32K", ["bbc/microbit"]),
        ("flash=262144 and ram<=16K and ram>8K", ["bbc/microbit"]),
        ("ram>=8M and flash>=64K", ["riscv/qemu_virt32"]),
        ("feature=dsp", ["arm/mps2_an386"]),
        ("board=arm/mps2_an385", ["arm/mps2_an385"]),
        ("soc=arm/mps2_an386 and ram>=128K", ["arm/mps2_an386"]),
    ],
)
def test_boards_by_conditions(where: str, expected: list[str]) -> None:
    assert offers.matching(where, FARM) == expected


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("colour=red", "cannot be read, got 'colour=red', expected NAME=VALUE"),
        ("", "cannot be read, got ''"),
        ("core=cortex-m4 and", "cannot be read, got ''"),
        ("ram>=lots", "cannot be read, got 'ram>=lots'"),
        ("core>cortex-m3", "core has no order, got >. Write core=VALUE"),
    ],
)
def test_conditions_that_cannot_be_read(where: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        offers.matching(where, FARM)
    assert problem in str(caught.value)


def test_no_board_fulfils_the_conditions() -> None:
    with pytest.raises(ToolError, match="no board of the farm fulfils it, got 5 kinds of board"):
        offers.matching("core=cortex-m7", FARM)


def test_workers_listen_where_the_user_says() -> None:
    assert supervisor.host_of("tcp://127.0.0.1:1", None) == "127.0.0.1"
    assert supervisor.host_of("tls://localhost:1", None) == "127.0.0.1"
    assert supervisor.host_of("tcp://farm.lan:8786", "10.0.0.7") == "10.0.0.7"
    with pytest.raises(InputError, match="on which address of this machine workers listen, got none"):
        supervisor.host_of("tcp://farm.lan:8786", None)
    for address in ("127.0.0.1:8786", "http://farm:1", "tcp://farm", "tcp://farm:x", "tcp://[:1"):
        with pytest.raises(InputError, match="not an address of a scheduler"):
            supervisor.host_of(address, None)


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ExtraError, match=r"pip install 'distributed>=[\d.]+,<\d+'$"):
        engine.require()
