"""The published points of the host's kernels: the page shows the record, and the record has every declared value."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench import tuning
from support import models

ROWS: list[dict[str, Any]] = json.loads(tuning.RECORD.read_text(encoding="utf-8"))


def test_the_page_shows_the_record() -> None:
    page = tuning.PAGE.read_text(encoding="utf-8")
    assert page.split(tuning.BEGIN)[1].split(tuning.END)[0].strip() == tuning.tables(ROWS).strip()


@pytest.mark.skipif(models.path(tuning.MODEL) is None, reason="the model is not here")
@pytest.mark.parametrize("board", tuning.BOARDS)
def test_every_declared_value_is_in_the_record(board: str) -> None:
    search = tuning.search(board, None)
    recorded = {row["workload"]: row["points"] for row in ROWS if row["board"] == board}
    for part in search.parts:
        tried = {tuple(point["values"].items()) for point in recorded[part.workload]}
        declared = {tuple(point.items()) for point in part.points}
        assert {value for point in tried for value in point} == {value for point in declared for value in point}
        if "conv2d(" in part.workload:
            own = {name for point in declared if ("kernel", part.defaults["kernel"]) in point for name, _ in point}
            assert len(own) >= 4
