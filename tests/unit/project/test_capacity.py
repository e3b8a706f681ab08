"""Whether a model fits a board: what it needs, item by item, and the same verdict as creating a project."""

from __future__ import annotations

import pytest

import aboard
from aboard import boards
from aboard.base import resources
from aboard.base.manifest import Manifest
from aboard.errors import CapacityError
from aboard.project import capacity

DIGITS = resources.models() / "digits.tflite"


def digits(board: str, **changes: object) -> Manifest:
    return aboard.compile(DIGITS, board=board).manifest.model_copy(update=changes)


def test_items_add_up_to_what_is_needed() -> None:
    manifest = digits("bbc/microbit")
    fit = capacity.fit_alone(manifest, boards.load("bbc/microbit"))
    assert fit.problems == ()
    # Arenas are aligned to 16 bytes.
    assert fit.ram.items["arena"] == -(-manifest.ram_bytes // 16) * 16
    assert fit.ram.items["stack"] == 4096
    assert fit.ram.items["buffers"] > 0
    assert fit.ram.needed == sum(fit.ram.items.values())
    assert fit.ram.available == 16384
    assert fit.flash.items["constants"] == manifest.weights_bytes
    assert manifest.flash_predicted_bytes is not None
    assert fit.flash.needed == manifest.flash_predicted_bytes + capacity.IMAGE_FLASH_BYTES


def test_buffers_and_stack_count() -> None:
    board = boards.load("bbc/microbit")
    small = digits("bbc/microbit", ram_bytes=1024)
    beside = capacity.fit_alone(small, board).ram.needed - small.ram_bytes
    assert board.ram_bytes is not None
    largest = board.ram_bytes - beside
    assert capacity.fit_alone(small.model_copy(update={"ram_bytes": largest}), board).problems == ()
    over = capacity.fit_alone(small.model_copy(update={"ram_bytes": largest + 1}), board)
    assert over.problems == (f"ram: {board.ram_bytes + 16:,} bytes needed, {board.ram_bytes:,} available",)


def test_code_counts_as_predicted_but_refuses_no_project() -> None:
    board = boards.load("bbc/microbit")
    assert board.flash_bytes is not None
    large = digits("bbc/microbit", flash_predicted_bytes=board.flash_bytes)
    assert capacity.fit_alone(large, board).problems == (
        f"flash: {board.flash_bytes + capacity.IMAGE_FLASH_BYTES:,} bytes needed, {board.flash_bytes:,} available",
    )
    options: dict[str, object] = {}
    assert capacity.check([large], options, board)  # type: ignore[arg-type]  # no options are needed here
    constants = large.model_copy(update={"weights_bytes": board.flash_bytes})
    with pytest.raises(CapacityError, match="flash: got 262144 bytes"):
        capacity.check([constants], {}, board)


def test_a_region_that_the_board_lacks_is_a_problem() -> None:
    manifest = digits("bbc/microbit", weights_region="itcm")
    (problem,) = capacity.fit_alone(manifest, boards.load("bbc/microbit")).problems
    assert "itcm" in problem


def test_this_machine_has_no_limits() -> None:
    fit = capacity.fit_alone(digits("host/native"), boards.load("host/native"))
    assert (fit.ram.available, fit.flash.available, fit.problems) == (None, None, ())
