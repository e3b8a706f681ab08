"""Sizes by region and by part, from what the linker and Zephyr's reports say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aboard.boards.zephyr import reports
from aboard.boards.zephyr.reports import ModuleUse, RegionUse
from aboard.errors import ToolError

TABLE = """\
Memory region         Used Size  RegionUse Size  %age Used
           FLASH:       11476 B         4 MB      0.27%
             RAM:        {ram} B       256 KB      1.71%
        IDT_LIST:          0 GB        32 KB      0.00%
Generating files
"""


def test_the_last_table_counts() -> None:
    output = f"$ cmake\n{TABLE.format(ram=1)}$ cmake\n{TABLE.format(ram=4480)}"
    assert reports.regions(output) == (RegionUse("FLASH", 11476, 4 << 20), RegionUse("RAM", 4480, 256 << 10))
    assert reports.regions("ninja: no work to do.\n") == ()


def leaf(name: str, size: int) -> dict[str, Any]:
    return {"name": name, "size": size}


def node(name: str, *children: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "size": sum(child["size"] for child in children), "children": list(children)}


def test_parts_of_an_image(tmp_path: Path) -> None:
    project = tmp_path / "app"
    inside = node(
        "app",
        node("models", node("kws", node("src", node("kws.c", leaf("kws_run", 500), leaf("weights", 4000))))),
        node("firmware", node("rpc", node("server.c", leaf("poll", 60)))),
        node("src", node("main.c", leaf("arena", 700))),
    )
    for part in reversed(tmp_path.parts[1:]):
        inside = node(part, inside)
    module = node(
        "ws", node("modules", node("hal", node("nordic", node("nrfx", node("uarte.c", leaf("nrfx_init", 30))))))
    )
    root = node(
        "Root",
        node("(no paths)", leaf("CSWTCH.5", 6)),
        node("ZEPHYR_BASE", node("kernel", node("sched.c", leaf("z_swap", 90)))),
        node("OUTPUT_DIR", node("zephyr", node("isr_tables.c", leaf("table", 8)))),
        node("/", inside, module, node("libgcc", leaf("__aeabi_ldivmod", 20))),
    )
    (tmp_path / "rom.json").write_text(json.dumps({"symbols": root}))
    (tmp_path / "ram.json").write_text(json.dumps({"symbols": node("Root", node("(hidden)", leaf("(hidden)", 16)))}))
    assert reports.modules(tmp_path, project) == (
        ModuleUse("model kws", 0, 4500),
        ModuleUse("application", 0, 700),
        ModuleUse("zephyr kernel", 0, 90),
        ModuleUse("aboard", 0, 60),
        ModuleUse("hal/nordic", 0, 30),
        ModuleUse("other", 16, 6),
        ModuleUse("libgcc", 0, 20),
        ModuleUse("zephyr generated", 0, 8),
    )


@pytest.mark.parametrize("content", [None, "{", '{"tree": 1}'])
def test_a_report_that_cannot_be_read(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "ram.json").write_text(content)
    with pytest.raises(ToolError, match=r"ram\.json: cannot be read, got .*, expected Zephyr's report\. Build again"):
        reports.modules(tmp_path, tmp_path)
