"""How the port of a board on the desk is opened: as the board's file says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from aboard import boards
from aboard.device import flash


@pytest.mark.parametrize(
    ("said", "options", "opened"),
    [
        ({}, {}, (115200, {"rtscts": False, "dtr": True, "rts": True})),
        ({"rts_cts": True, "baud": 3_000_000}, {}, (3_000_000, {"rtscts": True, "dtr": True, "rts": True})),
        ({"dtr": False, "rts": False}, {"baud": 9600}, (9600, {"rtscts": False, "dtr": False, "rts": False})),
    ],
)
def test_the_board_says_how(
    said: dict[str, Any], options: dict[str, int], opened: tuple[int, dict[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    board = boards.load("st/nucleo_f746zg")
    assert board.rpc is not None
    board = board.model_copy(update={"rpc": board.rpc.model_copy(update=said)})
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(flash, "SerialTransport", lambda port, baud, **lines: calls.append((port, baud, lines)))
    project: Any = SimpleNamespace(board=board, info=SimpleNamespace(options=options))
    flash.open_line(project, "/dev/ttyACM0")
    assert calls == [("/dev/ttyACM0", *opened)]
