"""The page on the Ethos-U55: its commands and its Python work."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path

from support import markdown

PAGE = "docs/how-to/ethos_u.md"


def test_the_page_works(tmp_path: Path) -> None:
    blocks = markdown.blocks(PAGE)
    shell = "".join(text for language, text in blocks if language == "sh")
    partition, deploy, verify, driver, _, dump, asleep, _, zephyr = (
        markdown.run(command, tmp_path) for command in markdown.commands(shell)
    )
    assert re.search(r"ethos-u55 +(\d+) of \1 nodes in 1 region", partition)
    assert "arm/mps3_an547 (qemu)" in deploy
    assert "0 differing bytes" in verify
    for output in (driver, asleep):
        assert re.search(r"digits on arm/mps2_an505 \(unicorn\)\n.*\n.*\nresult +0 differing bytes", output)
    assert "digits_zephyr_project" in zephyr
    (shown,) = (text for language, text in blocks if language == "text" and "IFM_REGION" in text)
    assert len(shown.splitlines()) == 4
    assert set(shown.splitlines()) <= set(dump.splitlines())
    (tmp_path / "host").symlink_to(markdown.CHECKOUT / "host")
    (python,) = (text for language, text in blocks if language == "python")
    (tmp_path / "example.py").write_text(python, encoding="utf-8")
    assert markdown.run(f"{sys.executable} -W error example.py", tmp_path).strip().isdigit()


def test_the_table_is_that_of_the_record() -> None:
    script = runpy.run_path(str(markdown.CHECKOUT / "tests" / "ethos_u" / "verify_models.py"))
    rows = json.loads((markdown.CHECKOUT / "docs" / "npu.json").read_text(encoding="utf-8"))
    assert list(script["missing"](rows)) == []
    assert script["table"](rows) in (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")


def test_the_tables_of_operators_are_those_of_the_record() -> None:
    script = runpy.run_path(str(markdown.CHECKOUT / "tests" / "ethos_u" / "count_operators.py"))
    parts = [{"operators": {"add": 2}, "graphs": {}}, {"operators": {"add": 1, "mul": 4}, "graphs": {"host": 1}}]
    counts = script["merged"](json.dumps(part) for part in parts)
    assert counts == {"operators": {"mul": 4, "add": 3}, "graphs": {"host": 1}}
    head = {"date": "2026-11-27", "version": "1.0"}
    made = script["table"]({part: {**head, "counts": counts[part]} for part in counts})
    assert made.splitlines()[0] == "Operators, 2026-11-27, aboard 1.0:"
    assert "| `mul` | 4 |\n| `add` | 3 |\n| all, without a difference | 7 |" in made
    if script["RECORD"].exists():
        assert script["table"](json.loads(script["RECORD"].read_text())) in (markdown.CHECKOUT / PAGE).read_text()
