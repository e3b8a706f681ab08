"""What commands print about an emulated board is as the snapshots in tests/snapshots have it."""

from __future__ import annotations

import pytest

from support import snapshots
from support.snapshot_cases import SESSIONS


@pytest.mark.parametrize("session", [s for s in SESSIONS if s.on_a_board], ids=lambda session: session.name)
def test_a_session_on_a_board_prints_what_its_snapshot_has(session: snapshots.Session) -> None:
    kept = (snapshots.COMMANDS / f"{session.name}.txt").read_text(encoding="utf-8")
    assert snapshots.session(session) == kept, "if the change is meant: make snapshots"
