"""What campaigns found once is repeated in every test run: each case by the script of its campaign."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CASES = sorted((HERE / "cases").glob("*.json"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_failure_of_the_past_stays_away(case: Path) -> None:
    content = json.loads(case.read_text())
    assert content["repeat"] == f"python tests/fuzz/{content['campaign']}.py --replay tests/fuzz/cases/{case.name}"
    command = [sys.executable, str(HERE / f"{content['campaign']}.py"), "--replay", str(case)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
