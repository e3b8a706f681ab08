"""The release of Zephyr that a project names has its board."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from aboard import boards
from aboard.api import create
from aboard.boards.board import Board
from aboard.boards.records import OLDEST_ZEPHYR
from aboard.boards.zephyr import releases, workspace
from aboard.errors import ProjectError
from support.bundles import tiny_bundle

TARGETS = Path(__file__).parents[2] / "data" / "zephyr" / "boards_3.7.1.txt"
OFFERED = ("v3.7.1", "v4.0.0", "v4.1.0", "main")


def views() -> Iterator[Board]:
    """Yields every board that Zephyr has, as each of its cores sees it."""
    for name in boards.names():
        first = boards.load(name)
        for core in first.cores:
            board = boards.load(f"{name}:{core.name}") if len(first.cores) > 1 else first
            if board.zephyr is not None:
                yield board


def test_boards_state_the_release_that_has_them_where_the_oldest_has_not() -> None:
    known = {line for line in TARGETS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")}
    stated = {board.target: board.zephyr_since for board in views() if board.zephyr not in known}
    assert stated == {
        "arm/mps2_an386": "4.1",
        "arm/mps2_an500": "4.1",
        "infineon/kit_pse84_eval": "none",
        "nordic/nrf54l15dk": "4.0",
        "nxp/frdm_mcxn947:cpu1": "4.1",
        "raspberrypi/rpi_pico2:cpu0": "4.1",
        "raspberrypi/rpi_pico2:hazard3": "4.3",
        "renesas/ek_ra6m4": "4.0",
        "renesas/ek_ra8p1": "none",
    }
    assert {board.zephyr_since for board in views() if board.zephyr in known} == {OLDEST_ZEPHYR}
    assert tuple(map(int, OLDEST_ZEPHYR.split("."))) == workspace.OLDEST


def board_since(release: str) -> Board:
    return boards.load("arm/mps2_an386").model_copy(update={"zephyr_since": release})


@pytest.mark.parametrize(
    ("since", "given", "chosen"),
    [
        ("3.7", None, "v3.7.1"),
        ("3.7", "v4.1.0", "v4.1.0"),
        ("4.0", None, "v4.0.0"),
        ("4.1", None, "v4.1.0"),
        ("4.1", "main", "main"),
        ("4.3", "main", "main"),
    ],
)
def test_the_first_release_with_the_board_is_taken(since: str, given: str | None, chosen: str) -> None:
    assert releases.choose(board_since(since), OFFERED, "v3.7.1", given) == chosen


@pytest.mark.parametrize(
    ("since", "given", "message"),
    [
        (
            "4.1",
            "v4.0.0",
            r"Zephyr has mps2/an386 from release 4\.1 on, got v4\.0\.0, expected v4\.1\.0 or main\. Say -O zephyr=v4",
        ),
        ("4.3", None, r"from release 4\.3 on, got v3\.7\.1, expected main\. Say -O zephyr=main$"),
        ("none", "main", r"arm/mps2_an386: no release of Zephyr is known that has the board, got mps2/an386"),
    ],
)
def test_a_release_without_the_board_is_refused(since: str, given: str | None, message: str) -> None:
    with pytest.raises(ProjectError, match=message):
        releases.choose(board_since(since), OFFERED, "v3.7.1", given)


def test_a_project_names_the_release_and_is_not_made_without_one(tmp_path: Path) -> None:
    bundle = tiny_bundle(tmp_path / "bundle", "cortex-m4")
    made = create(bundle, "arm/mps2_an386", "zephyr", tmp_path / "app")
    west = yaml.safe_load((made.path / "west.yml").read_text(encoding="utf-8"))
    assert west["manifest"]["projects"][0]["revision"] == "v4.1.0"
    assert made.info.options["zephyr"] == "v4.1.0"
    with pytest.raises(ProjectError, match=r"Zephyr has mps2/an386 from release 4\.1 on, got v3\.7\.1"):
        create(bundle, "arm/mps2_an386", "zephyr", tmp_path / "other", {"zephyr": "v3.7.1"})
    assert not (tmp_path / "other").exists()
