"""Names of hardware: aliases of boards, of cores and of other aliases, and what is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard import boards
from aboard.boards import cpu
from aboard.errors import BoardError, TargetError
from aboard.target import Target, kinds
from support.two_core_board import BOARD, install, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of boards that comes before the built-in ones, with the board acme/hub of two cores."""
    monkeypatch.setenv(boards.SEARCH_PATH, str(tmp_path))
    return install(tmp_path)


def test_no_alias_is_the_name_of_a_kind_or_core() -> None:
    assert set(boards.aliases()) & {*kinds(), *cpu.names()} == set()


def test_every_alias_means_a_core_or_a_gpu() -> None:
    for alias, meaning in boards.aliases().items():
        assert meaning in boards.gpus() or Target(alias) == Target(meaning)


@pytest.mark.parametrize(
    ("alias", "hardware", "core"),
    [
        ("nucleo-l4", "st/nucleo_l4r5zi", "cortex-m4"),
        ("rasp4b", "raspberrypi/rpi_4b", "cortex-a72"),
        ("rk3399:bigcpu", "rockchip/rk3399:bigcpu", "cortex-a72"),
        ("rk3399/bigcpu", "rockchip/rk3399:bigcpu", "cortex-a72"),
        ("rk3399:littlecpu", "rockchip/rk3399:littlecpu", "cortex-a53"),
        ("aws/c4.xlarge", "aws/c4.xlarge", "x86-64"),
        ("nrf5340dk_nrf5340_cpunet", "nordic/nrf5340dk:net", "cortex-m33+nodsp+nofp"),
        ("portenta-h7:m4", "arduino/portenta_h7:cm4", "cortex-m4"),
    ],
)
def test_other_names_are_the_same_target(alias: str, hardware: str, core: str) -> None:
    target = Target(alias)
    assert (target.hardware, target.cpu.name) == (hardware, core)
    assert target == Target(hardware)
    assert hash(target) == hash(Target(hardware))


def test_an_alias_may_mean_a_core_and_another_alias(folder: Path) -> None:
    write(folder / "aliases.toml", '[aliases]\ndesk = "radio"\nradio = "acme/hub:net"\nhubby = "acme/hub"\n')
    assert boards.aliases()["desk"] == "acme/hub:net"
    assert Target("desk") == Target("radio") == Target("acme/hub:net") == Target("hubby:net") == Target("hubby/net")
    assert boards.path_of("desk") == folder / "acme" / "hub.toml"


ALIAS_ERRORS = {
    "cyclic": (
        'one = "two"\ntwo = "three"\nthree = "one"\n',
        r"aliases\.toml: aliases: cyclic alias, got one -> two -> three -> one, expected one that ends at a board",
    ),
    "its own": ('one = "one"\n', r"cyclic alias, got one -> one"),
    "nowhere": (
        'one = "acme/hubb"\n',
        r"aliases: one is neither of a board nor of an alias, got acme/hubb\. Did you mean",
    ),
    "clash": (
        'nucleo-l4 = "acme/hub"\n',
        r"aliases\.toml: aliases: used by another board, got nucleo-l4 of st/nucleo_l4r5zi, expected a name of its own",
    ),
    "two cores": ('one = "two:app"\ntwo = "acme/hub:net"\n', r"a core is named twice, got app of acme/hub:net"),
    "unknown key": ('[more]\nx = "y"\n', r"aliases\.toml: more: unknown key, got more\. Choose one of: aliases"),
    "not a name": ('"st/x" = "acme/hub"\n', r"aliases\.toml: aliases\.st/x"),
}


@pytest.mark.parametrize("what", sorted(ALIAS_ERRORS))
def test_what_is_wrong_with_an_alias_is_refused(folder: Path, what: str) -> None:
    text, message = ALIAS_ERRORS[what]
    write(folder / "aliases.toml", f"[aliases]\n{text}")
    with pytest.raises(BoardError, match=message):
        boards.aliases()
    assert boards.load("acme/hub").id == "acme/hub"


def test_a_wrong_alias_is_an_error_of_the_target(folder: Path) -> None:
    write(folder / "aliases.toml", '[aliases]\none = "two"\ntwo = "one"\n')
    with pytest.raises(
        TargetError, match=r"target 'one': .*aliases\.toml: aliases: cyclic alias, got one -> two -> one"
    ):
        Target("one")


def test_an_alias_is_not_the_id_of_a_board(folder: Path) -> None:
    write(folder / "acme" / "hub.toml", BOARD.replace("[rpc]", 'aliases = ["hub"]\n[rpc]'))
    write(folder / "aliases.toml", '[aliases]\nhub = "acme/hub"\n')
    assert boards.aliases()["hub"] == "acme/hub"  # said twice is no clash
    write(folder / "acme" / "other.toml", BOARD.replace("[rpc]", 'aliases = ["hub"]\n[rpc]'))
    with pytest.raises(BoardError, match=r"other\.toml: aliases: used by another board, got hub of acme/hub"):
        boards.aliases()


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("nvidia/gtx2080ti", r"is a GPU, which is not supported, got NVIDIA GeForce RTX 2080 Ti \(TU102\), expected a"),
        ("nvidia/gtx2080ti", r"with a CPU core: cortex-a53, .*x86-64\. `aboard hardware` lists them"),
        ("nvidia-t4", r"board nvidia/t4: is a GPU"),
        (
            "rk3399:gpu",
            r"gpu is a GPU, which is not supported, got Arm Mali-T860 MP4, expected a CPU core: bigcpu, little",
        ),
        (
            "nordic/nrf5340dk:gpu",
            r"unknown core, got gpu, expected one of: app, net\. Write it as in nordic/nrf5340dk:a",
        ),
        ("st/nucleo_f767z", r"unknown kind or hardware st/nucleo_f767z\. Did you mean st/nucleo_f767zi"),
        ("nucleo-l5", r"Did you mean .*nucleo-l4"),
        ("rk3399:hugecpu", r"unknown core, got hugecpu, expected one of: bigcpu, littlecpu"),
    ],
)
def test_what_is_refused_by_name(spec: str, text: str) -> None:
    with pytest.raises(TargetError, match=text):
        Target(spec)


def test_gpus_are_no_boards() -> None:
    assert "nvidia/gtx2080ti" in boards.gpus()
    assert set(boards.gpus()) & set(boards.names()) == set()
    assert boards.gpu("nvidia/t4").gpu == "TU104"
    with pytest.raises(BoardError, match=r"GPU nvidia/t5: unknown\. Did you mean nvidia/t4"):
        boards.gpu("nvidia/t5")
    with pytest.raises(BoardError, match=r"is a GPU, which is not supported"):
        boards.load("gtx2080ti")


def test_a_gpu_file_is_checked(folder: Path) -> None:
    write(folder / "acme" / "card.toml", 'name = "Card"\ngpu = "X1"\nsource = "test"\nmemory = 8\n')
    with pytest.raises(BoardError, match=r"card\.toml: memory: unknown key, got memory"):
        boards.load("acme/card")


def test_unknown_board_names_the_nearest() -> None:
    with pytest.raises(
        BoardError, match=r"board st/nucleo_l4r5z: unknown.*Did you mean st/nucleo_l4r5zi.*`aboard hardware`"
    ):
        boards.load("st/nucleo_l4r5z")
