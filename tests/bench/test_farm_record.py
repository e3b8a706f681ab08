"""The recorded runs of the farm: the page shows the record, and a line takes the place of the one before."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import farm

NONE = {"faults": "none", "runs": 100, "board": "b", "workers": 2, "pool_s": 10.0, "farm_s": 10.4, "wrong": 0}
KILLS = {"faults": "kills", "runs": 9, "board": "b", "workers": 2, "farm_s": 4.5, "count": 3, "lost": 1, "twice": 2}


def test_the_page_shows_the_record() -> None:
    page = farm.PAGE.read_text(encoding="utf-8")
    assert page.split(farm.BEGIN)[1].split(farm.END)[0].strip() == farm.table(farm.recorded()).strip()


def test_a_line_takes_the_place_of_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farm, "RECORD", tmp_path / "farm.json")
    monkeypatch.setattr(farm, "PAGE", tmp_path / "farm.md")
    farm.PAGE.write_text(f"before\n\n{farm.BEGIN}\n\n{farm.END}\n\nbehind\n")
    assert farm.table(farm.recorded()) == "No run is recorded yet."
    for row in (KILLS, {**NONE, "farm_s": 99.0}, NONE):
        farm.keep(row)
    assert [row["faults"] for row in farm.recorded()] == ["none", "kills"]
    lines = farm.PAGE.read_text().splitlines()
    assert "| none | 100 | - | 10.4 s | 10.0 s | +4.0 % | 0 | 0 | 0 |" in lines
    assert "| kills with -9 | 9 | 3 | 4.5 s | - | - | 1 | 2 | 0 |" in lines
    assert (lines[0], lines[-1]) == ("before", "behind")
