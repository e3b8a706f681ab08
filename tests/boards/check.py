"""Checks the board files against the device trees of a Zephyr tree.

python tests/boards/check.py TREE      reads the tree, and writes tests/boards/zephyr.json and the page
python tests/boards/check.py --page    only writes the page again from what is recorded
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

from aboard.boards import registry  # noqa: E402  found through the line above
from aboard.boards.zephyr import tree_board  # noqa: E402  likewise
from aboard.errors import BoardError  # noqa: E402  likewise
from boards import facts, page  # noqa: E402  likewise


def read(base: Path) -> dict[str, Any]:
    """Returns the facts of all boards that the tree has, by target."""
    found = {}
    for target in page.targets():
        board = registry.load(target)
        if board.zephyr is None:
            continue
        try:
            found[target] = facts.record(tree_board.describe(base, board.zephyr))
        except BoardError as error:
            print(error, file=sys.stderr)
    return found


def _write(record: dict[str, Any]) -> None:
    """Writes the record, one core a line."""
    lines = [f"  {json.dumps(target)}: {json.dumps(stated)}" for target, stated in record["boards"].items()]
    head = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in record.items() if key != "boards"]
    text = "\n".join(["{", *head, ' "boards": {', ",\n".join(lines), " }", "}"])
    facts.RECORD.write_text(f"{text}\n", encoding="utf-8")


def main() -> int:
    """Writes the record and the page. Returns 1 if a difference has no reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", nargs="?", type=Path, help="folder of the Zephyr tree")
    parser.add_argument("--source", default="https://github.com/zephyrproject-rtos/zephyr", help="where it comes from")
    parser.add_argument("--commit", help="its commit, if the folder is no checkout")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    if options.tree is None and not options.page:
        parser.error("name the folder of a Zephyr tree, or say --page")
    if not options.page:
        base = options.tree.resolve()
        release, _, commit = tree_board.version(base).partition(", commit ")
        head = {"source": options.source, "release": release, "commit": options.commit or commit}
        _write({**head, "boards": read(base)})
    page.PAGE.write_text(page.written(), encoding="utf-8")
    unexplained = page.unexplained()
    for difference in unexplained:
        print(f"{difference.target}: {difference.key}: got {difference.ours}, Zephyr states {difference.zephyr}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
