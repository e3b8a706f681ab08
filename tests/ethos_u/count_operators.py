"""The long series of operators and graphs on the NPU: a table of docs/how-to/ethos_u.md.

`count_operators.py` runs `tests/ethos_u/test_operators.py` with all its cases, and writes docs/npu_operators.json if
all of them passed: how many nodes the model of the NPU computed as the reference does, by op, and how many graphs, by
who computed them. With `CMSIS_NN_PATH`, graphs are shared with CMSIS-NN too. `count_operators.py operators` runs one
part, and `--page` only writes the table.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

from aboard.base.version import VERSION  # noqa: E402  found through the line above
from bench import markdown  # noqa: E402  likewise

RECORD = ROOT / "docs" / "npu_operators.json"
PAGE = ROOT / "docs" / "how-to" / "ethos_u.md"
BEGIN, END = "<!-- operators: written by make npu-operators -->", "<!-- end of operators -->"
#: Parts of the record, with the tests of each and the first word of its table.
PARTS = {"operators": ("not graphs", "op"), "graphs": ("graphs", "computed by")}

Record = Mapping[str, Any]


def merged(texts: Iterable[str]) -> dict[str, dict[str, int]]:
    """Returns the sums of the counts that processes wrote, the largest first."""
    found: dict[str, Counter[str]] = {part: Counter() for part in PARTS}
    for text in texts:
        for part, counts in json.loads(text).items():
            found[part].update(counts)
    return {part: dict(counts.most_common()) for part, counts in found.items()}


def table(record: Record) -> str:
    """Returns the tables of a record, or that there is none."""
    if not record:
        return "No series is recorded yet."
    lines: list[str] = []
    for part, (_, title) in PARTS.items():
        if part in record:
            one = record[part]
            rows = [[f"`{name}`" if part == "operators" else name, f"{n:,}"] for name, n in one["counts"].items()]
            total = ["all, without a difference", f"{sum(one['counts'].values()):,}"]
            lines += [f"{part.capitalize()}, {one['date']}, aboard {one['version']}:", ""]
            lines += [markdown.table([title, "count"], [*rows, total])]
    return "\n".join(lines).strip()


def counted(part: str) -> dict[str, Any] | None:
    """Runs the series of a part; returns its entry of the record, or None if a test failed."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ABOARD_FULL": "1", "ABOARD_NPU_COUNTS": folder}
        tests = ["tests/ethos_u/test_operators.py", "-k", PARTS[part][0]]
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *tests]
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        counts = merged(path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("*.json")))
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return None if code else {"date": today, "version": VERSION, "counts": counts[part]}


def main(words: Sequence[str]) -> int:
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    failed = False
    for part in [] if "--page" in words else [part for part in PARTS if part in words or not words]:
        entry = counted(part)
        failed |= entry is None
        record |= {} if entry is None else {part: entry}
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(markdown.with_section(page, BEGIN, END, table(record)), encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
