"""Hardware strings: what a board implies, and what may be overridden."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard import boards
from aboard.errors import TargetError
from aboard.target import Target

DUAL = """
name = "Two cores"
source = "test"
[[cores]]
name = "app"
mcpu = "cortex-m33"
clock_hz = 128_000_000
[[cores]]
name = "net"
mcpu = "cortex-m33+nodsp+nofp"
clock_hz = 64_000_000
[[memory]]
name = "flash"
kind = "flash"
address = 0
size_bytes = 1024
load = true
[[memory]]
name = "ram"
kind = "ram"
address = 0x2000_0000
size_bytes = 1024
data = true
"""


@pytest.fixture
def dual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of boards with one that has two cores."""
    (tmp_path / "soc" / "acme").mkdir(parents=True)
    (tmp_path / "acme").mkdir()
    (tmp_path / "soc" / "acme" / "twin.toml").write_text(DUAL)
    board = 'name = "Twin"\nsoc = "acme/twin"\nsource = "test"\naliases = ["twin"]\n'
    (tmp_path / "acme" / "twin_board.toml").write_text(board)
    monkeypatch.setenv(boards.SEARCH_PATH, str(tmp_path))
    return tmp_path


def test_a_board_implies_its_core() -> None:
    target = Target("arm/mps2_an386")
    assert target.hardware == "arm/mps2_an386"
    assert (target.cpu.name, target.runtime) == ("cortex-m4", "standalone")
    assert str(target).startswith("c -arithmetic=tflite -hardware=arm/mps2_an386 -input=consumed ")
    assert " -mcpu=cortex-m4 " in str(target)
    assert target.key == "c -hardware=arm/mps2_an386 -mcpu=cortex-m4"


def test_stating_what_is_implied_changes_nothing() -> None:
    target = Target("arm/mps2_an386")
    same = (
        "mps2-an386",
        "c -hardware=mps2-an386",
        "arm/mps2_an386 -mcpu=cortex-m4",
        "arm/mps2_an386:cpu0",
        "arm/mps2_an386/cpu0",
    )
    assert {Target(text) for text in same} == {target}
    assert Target({"hardware": "arm/mps2_an386"}) == target
    assert Target("c -mcpu=cortex-m4") != target


def test_attributes_of_a_board_can_be_overridden() -> None:
    target = Target("arm/mps2_an500 -opt=size -mfpu=none")
    assert (target.opt, target.cpu.name, target.cpu.float_abi) == ("size", "cortex-m7+nofp", "soft")
    assert target != Target("arm/mps2_an500")
    assert "size" not in target.key


def test_cores_of_one_chip_differ(dual: Path) -> None:
    app, net = Target("acme/twin_board:app"), Target("acme/twin_board:net")
    assert (app.cpu.name, net.cpu.name) == ("cortex-m33", "cortex-m33+nodsp+nofp")
    assert app.hardware == "acme/twin_board:app"
    assert Target("twin") == app
    assert Target("twin/net") == net
    assert app.key != net.key
    assert Target(str(net)) == net


def test_the_host_is_a_board() -> None:
    target = Target("host/native")
    assert target.cpu.is_host_class
    assert target.runtime == "standalone"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("arm/mps2_an38", r"target 'arm/mps2_an38': unknown kind or hardware.*Did you mean arm/mps2_an386"),
        ("arm/mps2_an386:net", r"board arm/mps2_an386: unknown core, got net, expected one of: cpu0\. Write it as in"),
        ("cortex-m4", r"unknown kind or hardware cortex-m4\. For a core write `c -mcpu=cortex-m4`\."),
        ("microbitt", r"Did you mean microbit, .*`aboard hardware` boards; ABOARD_BOARDS names further folders"),
        ("arm/mps2_an386 -hardware=arm/mps2_an385", r"hardware is given twice, got arm/mps2_an386 and arm/mps2_an385"),
        ("arm/mps2_an386 -runtime=host", r"-runtime=host needs a core of host class, got cortex-m4"),
    ],
)
def test_what_is_wrong_is_refused(spec: str, text: str) -> None:
    with pytest.raises(TargetError, match=text):
        Target(spec)


def test_an_unknown_core_names_all(dual: Path) -> None:
    with pytest.raises(TargetError, match=r"unknown core, got gpu, expected one of: app, net"):
        Target("acme/twin_board:gpu")


def test_a_broken_board_file_is_a_target_error(dual: Path) -> None:
    (dual / "acme" / "broken.toml").write_text("name = 3")
    with pytest.raises(TargetError, match=r"target 'acme/broken': .*broken\.toml: "):
        Target("acme/broken")
